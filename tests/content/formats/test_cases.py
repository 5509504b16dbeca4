"""The collected sitemaps, feeds and XML bombs."""

import json

import pytest

from tests.support.cases import cases
from tests.support.hostile import peak, reset_peak
from webcrawl.content.formats import plain_listings, sniffing, xml_listings
from webcrawl.content.formats.document_kinds import LOGGED
from webcrawl.content.formats.document_reader import DocumentReader
from webcrawl.content.formats.sniffing import form_of, is_packed

READER = DocumentReader(LOGGED, anchor_text=True)
TYPES = ["application/xml", "application/rss+xml", "image/svg+xml", "text/xml", "text/plain", "text/html", ""]


def each(name):
    """Body and reference of each case."""
    folder = cases(name)
    for case in json.loads((folder / "index.json").read_text()):
        body = (folder / case["file"]).read_bytes()
        yield case["file"], sniffing.unpacked(body) if is_packed("", body) else body, case["reference"]


def test_every_sitemap_has_its_locations():
    """All locations, and those of pages in other languages, in document order."""
    count = 0
    for name, body, reference in each("sitemaps"):
        if "locs" in reference:
            found = plain_listings.read_list(body) if reference["kind"] == "text" else xml_listings.read(body)
            assert found.form == reference["kind"], name
            assert found.urls("item") == reference["locs"], name
            assert found.urls("alternate") == reference.get("hreflang_links", []), name
            assert sum(one.modified is not None for one in found.entries) == reference.get("lastmods", 0), name
            count += 1
    assert count == 17


def test_an_index_whose_addresses_have_no_loc():
    """The text of its sitemap elements is taken."""
    body = (cases("sitemaps") / "files" / "sitemaps__sitemap.index.xml").read_bytes()
    found = xml_listings.read(body).urls("sitemap")

    assert len(found) == 15
    assert found[0] == "https://example.com/sitemap.jss?portalCode=10260&lang=en"


@pytest.mark.parametrize("name", ["feeds", "sitemaps"])
def test_every_feed_has_its_links(name):
    """Those of the items, of the feed itself and of its hubs, well-formed or not."""
    count = 0
    for file, body, reference in each(name):
        if "item_links" in reference:
            found = xml_listings.read(body)
            got = found.urls("item"), found.urls("self"), found.urls("hub")
            assert got == (reference["item_links"], reference["self"], reference["hub"]), file
            count += 1
    assert count == {"feeds": 32, "sitemaps": 3}[name]


def test_every_case_is_recognised():
    """Whatever the server calls it: a sitemap is one, and so is a feed, but for two fragments and a feed in a page."""
    unknown = []
    for name in ("feeds", "sitemaps"):
        for file, body, _ in each(name):
            unknown += [file for _ in [0] if form_of("", body) not in ("sitemap", "text", "feed")]
            assert form_of("text/html", body) in ("html", form_of("", body)) or form_of("", body) == "text"
    assert {name.partition("__")[2] for name in unknown} == {
        "DuplicateContentAtomFeed.xml",
        "HREFConsideredHarmfulFirstEntry.xml",
        "TechCrunchFirstEntry.xml",
    }


@pytest.mark.parametrize("media", TYPES)
def test_bombs(media):
    """The collected XML bombs are read within bounds, and nothing found in them is from this machine or expanded."""
    folder = cases("malicious")
    before = reset_peak()

    for case in json.loads((folder / "xml-index.json").read_text()):
        body = (folder / case["file"]).read_bytes()
        for kind in (body, body.replace(b"<bomb>", b"<rss><item><link>").replace(b"</bomb>", b"</link></item></rss>")):
            found = repr(READER.links(kind, media, "http://site.test/"))
            assert "root:" not in found, case
            assert len(found) < 4000, case

    assert peak() - before < 16 * 1024


def test_compression_bombs():
    """A gzip file is unpacked up to the size that a sitemap may have."""
    body = (cases("malicious") / "compressed" / "bomb-gzip.bin").read_bytes()

    assert len(sniffing.unpacked(body)) <= sniffing.MOST
    assert READER.links(body, "application/gzip", "http://site.test/").links == []
