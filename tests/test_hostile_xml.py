"""XML made to cost a parser memory, or to have it read what it should not: nothing of it is expanded or fetched."""

import json

import pytest

from tests.cases import cases
from tests.hostile import peak, reset_peak
from webcrawl.html.links import LinkReader

TYPES = ["application/xhtml+xml", "text/html", "application/xml", "application/rss+xml", ""]
LAUGHS = b"".join(b'<!ENTITY l%d "%b">' % (n + 1, b"&l%d;" % n * 10) for n in range(1, 9))
PAGE = b"""<?xml version="1.0"?><!DOCTYPE html [<!ENTITY l1 "http://evil.test/">%b
<!ENTITY file SYSTEM "file:///etc/passwd"><!ENTITY far SYSTEM "http://127.9.9.9/far"><!ENTITY %% p SYSTEM "file:///etc/passwd">%%p;]>
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>&l9;&file;&far;</title></head>
<body><a href="/one">&l9;&file;</a><a href="&l9;">two</a></body></html>"""


def read(body, media):
    reader = LinkReader(["a", "img", "frame"], anchor_text=True)
    return reader.links(body, media, "http://site.test/")


@pytest.mark.parametrize("media", TYPES)
def test_entities_stay_what_they_are(media):
    """A page's own entities are text: no billion of laughs, nobody's file, and nothing is asked for."""
    before = reset_peak()

    found = read(PAGE % LAUGHS, media)

    assert peak() - before < 16 * 1024
    assert "root:" not in repr(found)
    assert len(repr(found)) < 2000


def test_as_html_they_are_text():
    """Read as HTML such a page has its links, and an entity of its own is the letters that spell it."""
    found = read(PAGE % LAUGHS, "text/html")

    assert [link[1] for link in found.links] == ["/one", "&l9;"]
    assert found.title == "&l9;&file;&far;"


@pytest.mark.parametrize("media", TYPES)
def test_collected_bombs(media):
    """The collected ones, under whatever type: read within bounds, and nothing of the machine's is in what is found."""
    folder = cases("malicious")
    before = reset_peak()

    for case in json.loads((folder / "xml-index.json").read_text()):
        found = read((folder / case["file"]).read_bytes(), media)
        assert "root:" not in repr(found), case

    assert peak() - before < 16 * 1024
