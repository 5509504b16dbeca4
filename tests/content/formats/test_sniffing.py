"""The media type of a body by its own bytes."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.content.formats import document_reader, listings, sniffing, xml_stream
from webcrawl.content.formats.document_reader import DocumentReader
from webcrawl.content.formats.sniffing import identified_type
from webcrawl.content.html import embedded_addresses
from webcrawl.content.html.link_kinds import ALL_LOGGED
from webcrawl.urls.canonical import canonical_links

XHTML = b"""<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"><p>page</p></html>"""
WIDE = '<?xml version="1.0" encoding="utf-16"?><html xmlns="http://www.w3.org/1999/xhtml"/>'.encode(
    "utf-16"
)
FEED = b'<?xml version="1.0"?><!-- made --><rss version="2.0"/>'


class TestIdentifiedType:
    @pytest.mark.parametrize(
        ("content_type", "body", "expected"),
        [
            ("text/html; charset=utf-8", b"\n<!doctype html>\n<p>page", "text/html"),
            ("text/html", b"words without a tag", "text/html"),
            ("", b"<html><p>page", "text/html"),
            ("text/html", XHTML, "application/xhtml+xml"),
            ("application/xhtml+xml", XHTML, "application/xhtml+xml"),
            ("application/xhtml+xml", XHTML.partition(b"\n")[2], "application/xhtml+xml"),
            ("text/html", WIDE, "application/xhtml+xml"),
            ("text/html", FEED, "application/rss+xml"),
            ("application/xml", b"<urlset/>", "text/xml"),
            ("text/plain", b"User-agent: *\n", "text/plain"),
            ("text/plain", "Wörter".encode("utf-16"), "text/plain"),
            ("text/html", b"%PDF-1.7", "application/pdf"),
            ("text/html", b"\x89PNG\r\n\x1a\n\0", "image/png"),
            ("application/octet-stream", b"\0\0\0\x1cftypmp42", "video/mp4"),
        ],
    )
    def test_the_bytes_decide(self, content_type, body, expected):
        """Marks in the body name its type; the header only tells HTML without a mark from plain
        text.
        """
        assert identified_type(content_type, body) == expected

    @pytest.mark.parametrize("content_type", ["image/jpeg", "text/javascript", "application/pdf"])
    def test_an_error_page_in_the_place_of_another_type(self, content_type):
        """A document under another type's name is HTML."""
        assert identified_type(content_type, b"<!DOCTYPE html><title>404</title>") == "text/html"

    @pytest.mark.parametrize(
        ("content_type", "body"),
        [
            ("text/html", b""),
            ("text/html", b"\0\1\2 no text"),
            ("image/jpeg", b"no image"),
            ("text/css", b"<!-- a {} -->"),
            ("application/xhtml+xml", b"no element"),
        ],
    )
    def test_nothing_is_copied_from_the_header(self, content_type, body):
        """A body that does not show its type has none, whatever its header says."""
        assert identified_type(content_type, body) == ""


PARTS = [
    b"<?xml version='1.0'?>", b"<urlset>", b"<sitemapindex>", b"<sitemap>", b"<url>", b"</url>", b"<loc>", b"</loc>",
    b"<rss>", b"<item>", b"</item>", b"<link>", b"</link>", b"<link href='", b"'/>", b"<feed ", b"<entry>", b"</entry>",
    b"xml:base='", b"<![CDATA[", b"]]>", b"&lt;", b"&#0;", b"&x;", b"<!DOCTYPE a [<!ENTITY x 'y'>]>", b"<svg ",
    b"xmlns='http://www.w3.org/2000/svg'>", b"xlink:href='", b"<?xml-stylesheet href='", b"?>", b"<lastmod>",
    b"</lastmod>", b"2020", b"http://a.test/", b"/x", b"\n", b"\x1f\x8b\x08", b"%PDF-", b"{", b"}", b'"url":',
    b'"items":[',
    b"]", b'"', b'"https://jsonfeed.org/version/1"', b"\xff\xfe", b"\xef\xbb\xbf", b"\x00", b"<", b">", b";",
    b"rel=", b",",
]  # fmt: skip
BODIES = st.lists(st.sampled_from(PARTS) | st.binary(max_size=8), max_size=60).map(b"".join)
TYPES = st.sampled_from(
    ["", "text/html", "application/xml", "image/svg+xml", "application/rss+xml", "text/plain", "application/gzip",
     "application/json", "application/feed+json", "application/rdf+xml", "text/xml; charset=utf-16", "x"]
)  # fmt: skip
READER = DocumentReader(ALL_LOGGED, anchor_text=True)
READERS = {
    "listing": lambda body: [one.link for one in listings.read(body, url="http://a.test/").entries],
    "text": lambda body: [one.link for one in listings.read_list(body).entries],
    "json": lambda body: [one.link for one in listings.read_feed(body).entries],
    "xlink": lambda body: xml_stream.xlinks(body, "", "http://a.test/"),
    "header": lambda body: document_reader.links([(b"link", body)]),
    "jsonld": lambda body: [
        ("jsonld", url, "", "")
        for url in embedded_addresses.jsonld_urls(body.decode("utf-8", "replace"))
    ],
}


@pytest.mark.parametrize("name", READERS)
@given(body=BODIES)
def test_each_reader(name, body):
    """Links are text that can be written and followed."""
    links = READERS[name](body)

    assert len(links) <= len(body)
    for kind, address, text, rel in links:
        assert kind in ALL_LOGGED
        (address + text + rel).encode()
    canonical_links("http://a.test/", [address for _, address, _, _ in links], Counter())


@given(body=BODIES, media=TYPES)
def test_documents(body, media):
    """Whatever the server calls it."""
    found = READER.links(body, media, "http://a.test/")

    assert all(link[0] in ALL_LOGGED for link in found.links)


@given(body=st.binary(max_size=300))
def test_gzip(body):
    """What is no gzip file is nothing."""
    assert len(sniffing.unpacked(b"\x1f\x8b\x08" + body)) <= 2000 * len(body)
