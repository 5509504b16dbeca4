"""Targets: sitemaps, feeds, other XML, Link headers and JSON-LD."""

import gzip
import json
from collections import Counter

from tests.fuzzing.target import Target, chance, folder
from webcrawl.content.formats import document_reader, listings, xml_stream
from webcrawl.content.formats.document_reader import DocumentReader
from webcrawl.content.formats.sniffing import is_packed, unpacked
from webcrawl.content.html import embedded_addresses
from webcrawl.content.html.link_kinds import ALL as KINDS
from webcrawl.content.html.link_kinds import HUB
from webcrawl.urls.canonical import canonical_links

WANTED = frozenset((*KINDS, HUB)) - {"pdf"}
ALL = DocumentReader(WANTED, anchor_text=True)
TYPES = [
    "", "text/html", "text/plain", "application/xml", "text/xml; charset=utf-16", "application/rss+xml",
    "image/svg+xml",
    "application/atom+xml; charset=gb18030", "application/json", "application/feed+json", "application/gzip",
    "application/rdf+xml", "application/xhtml+xml",
]  # fmt: skip
URL = "http://a.test/b/c?d"
SEEDS = [
    b"<?xml version='1.0'?><urlset><url><loc>/1</loc><lastmod>2020-01</lastmod><priority>0.5</priority></url></urlset>",
    b"<sitemapindex><sitemap><loc>/a.xml</loc></sitemap></sitemapindex>",
    b"<rss><link>/</link><item><title>t</title><link>/1</link><pubDate>Sat, 07 Sep 2002 00:00:01 GMT</pubDate></item>",
    b"<rss><channel><item><guid>http://a.test/1</guid><enclosure url='/1.mp3'/></item></channel></rss>",
    b"<feed xml:base='/b/'><link rel='hub' href='h'/><entry><link href='1'/></entry>",
    b"<?xml-stylesheet href='s.css'?><svg xmlns='http://www.w3.org/2000/svg'><a href='1' xml:base='d/'/>",
    b"<doc xmlns:x='http://www.w3.org/1999/xlink'><a x:href='1'/></doc>",
    b'{"version": "https://jsonfeed.org/version/1.1", "items": [{"url": "/1", "date_published": "2020-01-01"}]}',
    b"http://a.test/1\nhttp://a.test/2\n",
    gzip.compress(b"<urlset><url><loc>/1</loc></url></urlset>", mtime=0),
    b'</a>; rel="next"; title="b, c", <d>; rel=canonical',
    b'<script type="application/ld+json">{"url": "/a", "image": ["/b"]}</script><p data-src=/c data-srcset="/d 2x">',
]
TOKENS = [
    b"<loc>", b"</loc>", b"<url>", b"<item>", b"<entry>", b"<link>", b"<link href='", b"xml:base='", b"<![CDATA[",
    b"]]>",
    b"&amp;", b"&#1;", b"&x;", b"<!DOCTYPE a [<!ENTITY x 'y'>]>", b"<?", b"?>", b"<!--", b"-->", b"xmlns='",
    b"rel=", b'"',
    b"{", b"[", b"\\ud800", b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b\x08", b"%PDF-", b"http://", b"<a:b ", b"</",
]  # fmt: skip


def formats(data: bytes) -> None:
    """Links are text that can be written and followed, in all not much more than there was room
    for.
    """
    found = ALL.links(data, chance(data).choice(TYPES), URL)
    body = unpacked(data) if is_packed("", data) else data
    links = [
        *found.links,
        *(entry.link for entry in listings.read(body, url=URL).entries),
        *(entry.link for entry in listings.read_list(body).entries),
        *(entry.link for entry in listings.read_feed(body).entries),
        *xml_stream.xlinks(body, "", URL),
        *document_reader.links([(b"Link", data)]),
        *(
            ("jsonld", url, "", "")
            for url in embedded_addresses.jsonld_urls(data.decode("utf-8", "replace"))
        ),
    ]
    for kind, address, text, rel in links:
        assert kind in WANTED
        (address + text + rel).encode()
    assert len(links) <= 7 * (len(data) + len(body) + 1)
    canonical_links(URL, [address for _, address, _, _ in links], Counter())


def _collected():
    for name in ("sitemaps", "feeds"):
        root = folder(name)
        if root is not None:
            for case in json.loads((root / "index.json").read_text()):
                yield (root / case["file"]).read_bytes()


TARGETS = [Target("formats", formats, SEEDS, TOKENS, _collected)]
