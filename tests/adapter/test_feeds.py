"""Feeds of pages."""

import io

from tests.support.fulltext import page
from webcrawl.adapter.feeds import Csv


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


def test_items_of_a_users_own_stay_as_they_are():
    """What a spider yields is its user's: a number written as text keeps its sign."""
    assert csv_of({"degrees": "-5"}) == ["-5"]
