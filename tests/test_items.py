"""Page, the item that pipelines get."""

import copy
import io
import json

import pytest
from itemadapter import ItemAdapter
from scrapy.exporters import CsvItemExporter, JsonItemExporter, JsonLinesItemExporter, XmlItemExporter

from webcrawl.items import Page
from webcrawl.model import Exchange, Link, Timings

HEADERS = [(b"Content-Type", b"Text/HTML; charset=koi8-r"), (b"Set-Cookie", b"a=b")]
BODY = "<p>Привет".encode("koi8-r")


def exchange(body=BODY, headers=HEADERS):
    return Exchange(
        "http://a.test/",
        b"GET",
        200,
        b"HTTP/1.1 200 OK\r\n\r\n",
        headers,
        body,
        body,
        body,
        "127.0.0.1",
        1.5,
        Timings(),
    )


def page(**more):
    return Page.of(Link("http://a.test/", "LRL", "http://b.test/", "http://s.test/", 1), exchange(**more))


class TestPage:
    def test_it_says_what_was_asked_and_answered(self):
        """URL, history and answer stand in the page's fields."""
        made = page()
        assert (made.url, made.status, made.body, made.depth, made.attempt) == ("http://a.test/", 200, BODY, 2, 1)
        assert (made.via, made.ip, made.fetched_at, made.truncated) == ("http://b.test/", "127.0.0.1", 1.5, "")
        assert (made.content_type, made.header("SET-cookie"), made.header("x")) == ("text/html", "a=b", "")

    def test_text_is_decoded_when_it_is_asked_for(self):
        """Neither encoding nor text is looked for before; then both are those of a browser."""
        made = page()
        assert made.encoding == ""
        assert made.text == "<p>Привет"
        assert made.encoding == "koi8-r"

    def test_a_known_encoding_is_used(self):
        """Who read the links has found the encoding: it is not looked for again."""
        made = page()
        made.encoding = "windows-1251"
        assert made.text == BODY.decode("cp1251")

    def test_a_page_is_small(self):
        """It has no dictionary of its own: thousands are in flight."""
        assert not hasattr(page(), "__dict__")

    @pytest.mark.parametrize("headers", [[], [(b"Content-Type", b"\xff\0")]])
    def test_a_bad_content_type_is_none(self, headers):
        """A header that says nothing leaves the type empty."""
        assert page(headers=headers).content_type == ""

    def test_pages_can_be_copied(self):
        """A pipeline that keeps copies of pages has equal ones."""
        made = page()
        assert copy.copy(made) == made
        assert copy.deepcopy(made).text == made.text


class TestItemAdapter:
    def test_every_field_is_there(self):
        """All that the contract says a page has is there for itemadapter, text too."""
        adapter = ItemAdapter(page())
        wanted = "url status headers body content_type encoding text links depth via ip fetched_at timings digest"
        assert {*wanted.split(), "truncated", "attempt"} <= set(adapter.field_names())
        assert adapter["text"] == "<p>Привет"
        assert adapter.asdict()["timings"]["total"] == 0.0
        assert not {"exchange", "link", "_text"} & set(adapter.asdict())

    def test_fields_can_be_changed(self):
        """An ordinary pipeline sets fields by the adapter."""
        adapter = ItemAdapter(page())
        adapter["title"] = "new"
        adapter["text"] = "changed"
        assert (adapter.item.title, adapter.item.text) == ("new", "changed")

    @pytest.mark.parametrize("exporter", [JsonLinesItemExporter, JsonItemExporter, CsvItemExporter, XmlItemExporter])
    def test_scrapys_exporters_write_it(self, exporter):
        """A feed of pages works as it is: bytes become text that can be turned back."""
        file = io.BytesIO()
        writer = exporter(file)
        writer.start_exporting()
        made = page()
        made.digest, made.meta_robots = b"\x01", frozenset(["noindex"])
        writer.export_item(made)
        writer.finish_exporting()
        assert b"PHA+8NLJ18XU" in file.getvalue()

    def test_json_has_plain_values(self):
        """In JSON lines headers are pairs, the digest is hexadecimal, the timings are numbers."""
        file = io.BytesIO()
        JsonLinesItemExporter(file, fields_to_export=["headers", "digest", "timings", "text"]).export_item(page())
        row = json.loads(file.getvalue())
        assert row["headers"][1] == ["Set-Cookie", "a=b"]
        assert (row["digest"], row["timings"]["dns"], row["text"]) == ("", 0.0, "<p>Привет")
