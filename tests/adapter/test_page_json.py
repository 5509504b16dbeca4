"""Items as JSON, for scrapy-redis' pipeline."""

import io
import json

from scrapy.exporters import JsonLinesItemExporter
from scrapy.utils.serialize import ScrapyJSONEncoder

from webcrawl.adapter.feeds import to_json
from webcrawl.base.model import Exchange, Link, Timings
from webcrawl.content.page import Page

HEADERS = [(b"Content-Type", b"text/html"), (b"Set-Cookie", b"a=\xff")]
BODY = b"<title>T</title><a href=/b>b</a>"


def test_a_page():
    """A page is what a JSON feed makes of it, but for its body and text."""
    head = b"HTTP/1.1 200 OK\r\n\r\n"
    answer = Exchange(
        "http://a.test/", b"GET", 200, head, HEADERS, BODY, BODY, BODY, "127.0.0.1", 1.5, Timings()
    )
    page = Page.of(Link("http://a.test/", "L", "http://b.test/"), answer)
    feed = io.BytesIO()
    JsonLinesItemExporter(feed).export_item(page)
    fields = json.loads(feed.getvalue())
    del fields["body"], fields["text"]

    assert json.loads(to_json(page)) == fields


def test_any_other_item():
    """Other items are written as scrapy-redis does without us."""
    item = {"name": "x", "many": {1}}
    assert to_json(item) == ScrapyJSONEncoder().encode(item)
