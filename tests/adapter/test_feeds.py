"""Feeds of pages."""

import io

import pytest

from tests.support.fulltext import page
from webcrawl.adapter.feeds import Csv
from webcrawl.base.readable import in_sheet


def csv_of(*items, **options):
    file = io.BytesIO()
    exporter = Csv(file, **options)
    exporter.start_exporting()
    for item in items:
        exporter.export_item(item)
    return file.getvalue().decode().splitlines()[1:]


def test_no_text_of_a_page_is_a_formula():
    """In a CSV feed an apostrophe stands before a text that a spreadsheet would reckon out."""
    formula = page(body="<p>=HYPERLINK(1)")

    assert ",'=HYPERLINK(1)," in csv_of(formula)[0]
    assert csv_of(formula, fields_to_export=["visible_text"]) == ["'=HYPERLINK(1)"]


@pytest.mark.parametrize("sign", "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
def test_every_beginning_of_a_formula(sign):
    """Whatever a spreadsheet of any language takes for the beginning of a formula gets its
    apostrophe.
    """
    assert in_sheet(f"{sign}1+1") == f"'{sign}1+1"


def test_items_of_a_users_own_stay_as_they_are():
    """What a spider yields is its user's: a number written as text keeps its sign."""
    assert csv_of({"degrees": "-5"}) == ["-5"]
