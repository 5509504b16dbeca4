"""Sitemaps and feeds in XML, as lists, and as JSON."""

import gzip
import json

import pytest

from tests.support.cases import cases
from tests.support.hostile import peak, reset_peak
from webcrawl.content.formats import listings, sniffing
from webcrawl.content.formats.document_reader import DocumentReader
from webcrawl.content.formats.listings import read_date
from webcrawl.content.formats.sniffing import form_of, is_packed
from webcrawl.content.html.link_kinds import ALL_LOGGED

URLSET = b"""<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
 xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"
 xmlns:video="http://www.google.com/schemas/sitemap-video/1.1">
<url><loc> http://a.test/1?a=1&amp;b=2 </loc><lastmod>2024-05-06</lastmod>
<changefreq>Daily</changefreq><priority>0.8</priority>
<image:image><image:loc>http://a.test/i.jpg</image:loc></image:image>
<video:video><video:title>t</video:title><video:content_loc>http://a.test/v.mp4</video:content_loc></video:video></url>
<url><loc>/2</loc><lastmod>yesterday</lastmod><priority>7</priority></url></urlset>"""


class TestSitemaps:
    def test_what_is_said_of_a_page(self):
        """The date is kept with its address; what cannot be read is left out."""
        one, image, video, two = listings.read(URLSET).entries

        assert (one.url, one.modified) == ("http://a.test/1?a=1&b=2", 1714953600.0)
        assert (image.kind, video.kind, image.modified) == ("img", "media", None)
        assert (two.url, two.modified) == ("/2", None)

    def test_an_index(self):
        """It leads to sitemaps."""
        found = listings.read(
            b"<sitemapindex><sitemap><loc>/a.xml.gz</loc><lastmod>2024-01-01T00:00:00Z</lastmod></sitemap>"
        )

        assert [(one.url, one.role, one.kind, one.modified) for one in found.entries] == [
            ("/a.xml.gz", "sitemap", "sitemap", 1704067200.0)
        ]

    @pytest.mark.parametrize("length", range(60, len(URLSET), 37))
    def test_what_comes_before_the_damage_is_kept(self, length):
        """A sitemap that is truncated has the addresses that are whole in it."""
        found = listings.read(URLSET[:length]).urls("item")

        assert found == ["http://a.test/1?a=1&b=2", "/2"][: len(found)]
        assert len(found) >= URLSET[:length].count(b"</loc>")

    def test_no_more_than_the_protocol_allows(self):
        """Behind 50,000 pages reading ends."""
        body = b"<urlset>" + b"<url><loc>http://a.test/</loc></url>" * 60_000

        assert 50_000 <= len(listings.read(body).entries) < 55_000

    def test_no_endless_text(self):
        """Of one text only its beginning is kept."""
        body = (
            b"<urlset><url><loc>"
            + b"x" * 1_000_000
            + b"</loc></url><url><loc>/2</loc></url></urlset>"
        )

        assert [len(url) for url in listings.read(body).urls("item")] == [listings.LONGEST, 2]

    def test_lists(self):
        """A text has an address a line; other lines are skipped."""
        body = b"\xef\xbb\xbf\r\nhttp://a.test/1\r\nhttp://a.test/2 \nsee http://a.test/3\nhttp://a.test/4 or 5\n"

        assert listings.is_list(body)
        assert listings.read_list(body).urls("item") == ["http://a.test/1", "http://a.test/2"]
        assert not listings.is_list(b"see http://a.test/")

    def test_a_list_in_another_encoding(self):
        """Bytes that are not UTF-8 are asked for as they came."""
        assert listings.read_list(b"http://a.test/\xe9\n").urls("item") == ["http://a.test/%E9"]

    def test_packed(self):
        """A gzip file is unpacked as far as it is whole, and no further than a sitemap may be
        large.
        """
        body = gzip.compress(URLSET)

        assert sniffing.unpacked(body) == URLSET
        assert (
            sniffing.unpacked(body[:-100]) == URLSET[: len(sniffing.unpacked(body[:-100]))] != b""
        )
        assert len(sniffing.unpacked(gzip.compress(bytes(sniffing.MOST + 1000)))) == sniffing.MOST
        assert sniffing.unpacked(b"\x1f\x8b\x08 nothing") == b""

    def test_a_gzip_file_of_several_members(self):
        """All of them are read, up to damage or a bound; what follows the last one and is none does
        not count.
        """
        pieces = [URLSET[at : at + 50] for at in range(0, len(URLSET), 50)]
        body = b"".join(map(gzip.compress, pieces))
        last = len(gzip.compress(pieces[-1]))

        assert sniffing.unpacked(body) == sniffing.unpacked(body + bytes(99)) == URLSET
        assert sniffing.unpacked(body[:-last] + b"\x1f\x8b\x08 nothing") == b"".join(pieces[:-1])
        assert (
            len(sniffing.unpacked(2 * gzip.compress(bytes(sniffing.MOST - 1000)))) == sniffing.MOST
        )
        assert (
            sniffing.unpacked(sniffing.MEMBERS * gzip.compress(b"") + 2 * gzip.compress(b"x"))
            == b"x"
        )


class TestFeeds:
    def test_rss(self):
        """Items with their dates, guids that are addresses, enclosures; the feed's own page; its
        image's is none.
        """
        found = listings.read(b"""<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel>
            <title> A &amp; B </title><link>http://a.test/</link><item><title>One</title><link>http://a.test/1</link>
            <guid isPermaLink="false">x</guid><pubDate>Sat, 07 Sep 2002 00:00:01 GMT</pubDate>
            <enclosure url="http://a.test/1.mp3" length="1" type="audio/mpeg"/><media:thumbnail url="t.png"/></item>
            <item><guid>http://a.test/2</guid></item></channel></rss>""")

        assert found.title == "A & B"
        assert [(one.role, one.kind, one.url) for one in found.entries] == [
            ("home", "feed", "http://a.test/"),
            ("item", "feed", "http://a.test/1"),
            ("enclosure", "media", "http://a.test/1.mp3"),
            ("image", "img", "t.png"),
            ("guid", "feed", "http://a.test/2"),
        ]
        assert (found.entries[1].title, found.entries[1].modified) == ("One", 1031356801.0)

    def test_an_item_with_an_image(self):
        """What an item says of itself counts, whatever stands before the address of its image or
        behind it.
        """
        found = listings.read(b"""<rss><channel><item><title>One</title><link>/1</link>
            <pubDate>Sat, 07 Sep 2002 00:00:01 GMT</pubDate><image><url>/1.png</url></image><guid>http://a.test/1</guid>
            </item></channel></rss>""")

        assert [(one.url, one.title, one.modified) for one in found.entries] == [
            ("/1", "One", 1031356801.0),
            ("http://a.test/1", "One", 1031356801.0),
        ]

    def test_rss_1_0(self):
        """Items beside the channel, in RDF."""
        found = listings.read(b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
            xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
            <channel><link>/</link></channel><item><link>/1</link><dc:date>2020-01-01T00:00Z</dc:date></item></rdf:RDF>""")

        assert (found.form, found.urls("item"), found.entries[1].modified) == (
            "RDF",
            ["/1"],
            1577836800.0,
        )

    def test_atom(self):
        """The pages of entries, further pages of the feed, its hub; not where entries are edited;
        xml:base counts.
        """
        found = listings.read(
            b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/blog/"><link rel="hub" href="http://hub.test/"/>
            <link rel="next" href="?p=2"/><link rel="self" href="f"/><link href="."/><entry xml:base="2020/">
            <link rel="alternate" href="one"/><link rel="edit" href="e"/><updated>2020-01-01T00:00:00+01:00</updated>
            <content type="html">&lt;a href="x"&gt;</content></entry></feed>""",
            url="http://a.test/f",
        )

        assert [(one.role, one.url) for one in found.entries] == [
            ("hub", "http://hub.test/"),
            ("page", "http://a.test/blog/?p=2"),
            ("self", "http://a.test/blog/f"),
            ("home", "http://a.test/blog/"),
            ("item", "http://a.test/blog/2020/one"),
        ]
        assert found.entries[-1].modified == 1577833200.0

    def test_a_json_feed_has_items_attachments_and_hubs(self):
        """Items, attachments and hubs of a JSON Feed."""
        feed = {
            "version": "https://jsonfeed.org/version/1.1", "title": "T", "home_page_url": "/", "next_url": "?2",
            "hubs": [{"type": "WebSub", "url": "http://hub.test/"}, 5],
            "items": [{"url": "/1", "external_url": 7, "date_published": "2020-01-01T00:00:00Z",
                       "attachments": [{"url": "/1.mp3"}]}, None, {"id": "\ud800", "url": "/\ud800"}],
        }  # fmt: skip
        body = json.dumps(feed).encode()
        found = listings.read_feed(body)

        assert listings.is_feed(body)
        assert [(one.role, one.kind, one.url) for one in found.entries] == [
            ("home", "feed", "/"),
            ("page", "feed", "?2"),
            ("hub", "hub", "http://hub.test/"),
            ("item", "feed", "/1"),
            ("enclosure", "media", "/1.mp3"),
            ("item", "feed", "/?"),
        ]
        assert found.entries[3].modified == 1577836800.0

    @pytest.mark.parametrize(
        "body", [b"", b"[]", b"{", b"[" * 100_000, b'{"items": 5, "hubs": {}}', b"9" * 9999]
    )
    def test_what_is_no_json_feed(self, body):
        """It has no entries."""
        assert listings.read_feed(body).entries == []


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("2004", 1072915200.0),
        ("2004-10", 1096588800.0),
        ("2004-10-01", 1096588800.0),
        ("2004-10-01T18:23:17+00:00", 1096654997.0),
        ("2004-10-01T18:23:17.5Z", 1096654997.5),
        ("2004-10-01T18:23+02:00", 1096647780.0),
        ("Fri, 01 Oct 2004 18:23:17 GMT", 1096654997.0),
        ("01 Oct 2004 18:23:17 -0500", 1096672997.0),
        ("", None),
        ("soon", None),
        ("2004-13-45", None),
        ("0000", None),
        ("Fri, 99 Oct 2004", None),
        ("9999-12-31T23:59:59-23:59", 253402387139.0),
    ],
)
def test_dates(written, found):
    """Dates of all the forms in use; without a zone they are UTC."""
    assert read_date(written) == found


READER = DocumentReader(ALL_LOGGED, anchor_text=True)
TYPES = [
    "application/xml",
    "application/rss+xml",
    "image/svg+xml",
    "text/xml",
    "text/plain",
    "text/html",
    "",
]


def each(name):
    """Body and reference of each case."""
    folder = cases(name)
    for case in json.loads((folder / "index.json").read_text()):
        body = (folder / case["file"]).read_bytes()
        yield (
            case["file"],
            sniffing.unpacked(body) if is_packed("", body) else body,
            case["reference"],
        )


def test_every_sitemap_has_its_locations():
    """All locations, and those of pages in other languages, in document order."""
    count = 0
    for name, body, reference in each("sitemaps"):
        if "locs" in reference:
            found = listings.read_list(body) if reference["kind"] == "text" else listings.read(body)
            assert found.form == reference["kind"], name
            assert found.urls("item") == reference["locs"], name
            assert found.urls("alternate") == reference.get("hreflang_links", []), name
            assert sum(one.modified is not None for one in found.entries) == reference.get(
                "lastmods", 0
            ), name
            count += 1
    assert count == 17


def test_an_index_whose_addresses_have_no_loc():
    """The text of its sitemap elements is taken."""
    body = (cases("sitemaps") / "files" / "sitemaps__sitemap.index.xml").read_bytes()
    found = listings.read(body).urls("sitemap")

    assert len(found) == 15
    assert found[0] == "https://example.com/sitemap.jss?portalCode=10260&lang=en"


@pytest.mark.parametrize("name", ["feeds", "sitemaps"])
def test_every_feed_has_its_links(name):
    """Those of the items, of the feed itself and of its hubs, well-formed or not."""
    count = 0
    for file, body, reference in each(name):
        if "item_links" in reference:
            found = listings.read(body)
            got = found.urls("item"), found.urls("self"), found.urls("hub")
            assert got == (reference["item_links"], reference["self"], reference["hub"]), file
            count += 1
    assert count == {"feeds": 32, "sitemaps": 3}[name]


def test_every_case_is_recognised():
    """Whatever the server calls it: a sitemap is one, and so is a feed, but for two fragments and a
    feed in a page.
    """
    unknown = []
    for name in ("feeds", "sitemaps"):
        for file, body, _ in each(name):
            unknown += [file for _ in [0] if form_of("", body) not in ("sitemap", "text", "feed")]
            assert (
                form_of("text/html", body) in ("html", form_of("", body))
                or form_of("", body) == "text"
            )
    assert {name.partition("__")[2] for name in unknown} == {
        "DuplicateContentAtomFeed.xml",
        "HREFConsideredHarmfulFirstEntry.xml",
        "TechCrunchFirstEntry.xml",
    }


@pytest.mark.parametrize("media", TYPES)
def test_bombs(media):
    """The collected XML bombs are read within bounds, and nothing found in them is from this
    machine or expanded.
    """
    folder = cases("malicious")
    before = reset_peak()

    for case in json.loads((folder / "xml-index.json").read_text()):
        body = (folder / case["file"]).read_bytes()
        for kind in (
            body,
            body.replace(b"<bomb>", b"<rss><item><link>").replace(
                b"</bomb>", b"</link></item></rss>"
            ),
        ):
            found = repr(READER.links(kind, media, "http://site.test/"))
            assert "root:" not in found, case
            assert len(found) < 4000, case

    assert peak() - before < 16 * 1024


def test_compression_bombs():
    """A gzip file is unpacked up to the size that a sitemap may have."""
    body = (cases("malicious") / "compressed" / "bomb-gzip.bin").read_bytes()

    assert len(sniffing.unpacked(body)) <= sniffing.MOST
    assert READER.links(body, "application/gzip", "http://site.test/").links == []
