"""Feeds of pages."""

import io

import pytest
from defusedxml import ElementTree

from tests.support.fulltext import page
from webcrawl.adapter.feeds import Csv, Xml
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


@pytest.mark.parametrize("sign", [*map(chr, range(32)), "\x7f", "\ud800", "\ufffe", "\U0001f600"])
@pytest.mark.parametrize("encoding", [None, "latin-1"])
def test_a_feed_in_xml_is_readable(sign, encoding):
    """Whatever characters a text has, a parser reads the feed: U+FFFD stands in place of those that
    XML cannot have.
    """
    file = io.BytesIO()
    exporter = Xml(file, encoding=encoding)
    exporter.start_exporting()
    exporter.export_item({"title": f"a{sign}b", "words": [sign]})
    exporter.finish_exporting()

    item = ElementTree.fromstring(file.getvalue()).find("item")
    kept = {"\r": "\n"}.get(sign, sign) if sign in "\t\n\r\x7f\U0001f600" else "\ufffd"
    assert (item.findtext("title"), item.findtext("words/value")) == (f"a{kept}b", kept)
