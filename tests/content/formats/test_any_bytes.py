"""Whatever the bytes, no reader raises, and what it finds is bounded by their number."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.content.formats import link_header, plain_listings, sniffing, xlink, xml_listings
from webcrawl.content.formats.document_kinds import LOGGED
from webcrawl.content.formats.document_reader import DocumentReader
from webcrawl.content.html import embedded_addresses
from webcrawl.urls.canonical import canonical_links

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
READER = DocumentReader(LOGGED, anchor_text=True)
READERS = {
    "listing": lambda body: [one.link for one in xml_listings.read(body, url="http://a.test/").entries],
    "text": lambda body: [one.link for one in plain_listings.read_list(body).entries],
    "json": lambda body: [one.link for one in plain_listings.read_feed(body).entries],
    "xlink": lambda body: xlink.read(body, "", "http://a.test/"),
    "header": lambda body: link_header.links([(b"link", body)]),
    "jsonld": lambda body: [
        ("jsonld", url, "", "") for url in embedded_addresses.jsonld_urls(body.decode("utf-8", "replace"))
    ],
}


@pytest.mark.parametrize("name", READERS)
@given(body=BODIES)
def test_each_reader(name, body):
    """Links are text that can be written and followed."""
    links = READERS[name](body)

    assert len(links) <= len(body)
    for kind, address, text, rel in links:
        assert kind in LOGGED
        (address + text + rel).encode()
    canonical_links("http://a.test/", [address for _, address, _, _ in links], Counter())


@given(body=BODIES, media=TYPES)
def test_documents(body, media):
    """Whatever the server calls it."""
    found = READER.links(body, media, "http://a.test/")

    assert all(link[0] in LOGGED for link in found.links)


@given(body=st.binary(max_size=300))
def test_gzip(body):
    """What is no gzip file is nothing."""
    assert len(sniffing.unpacked(b"\x1f\x8b\x08" + body)) <= 2000 * len(body)
