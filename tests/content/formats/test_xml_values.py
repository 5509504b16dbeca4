"""Values of XML, against two other parsers: their references are resolved once, wherever they
stand.
"""

from itertools import pairwise

import feedparser
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from webcrawl.content.formats import listings, xml_stream
from webcrawl.content.formats.document_reader import DocumentReader
from webcrawl.content.html.trees import with_sound_references

SPELLINGS = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}
NAMES = 'xmlns:l="http://www.w3.org/1999/xlink"'
# Texts that look like references once they are resolved are the ones that a second resolving would
# spoil.
PIECES = st.sampled_from(
    [
        "&",
        "<",
        ">",
        '"',
        "'",
        "&amp;",
        "&lt;",
        "#38;",
        "amp;",
        "a",
        "=",
        "?",
        "#",
        "é",
        "\U0001f30d",
    ]
)
VALUES = st.lists(
    PIECES | st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=1, max_size=12
)


def _spelled(piece):
    """One way to write a text, in attributes and elsewhere."""
    return st.tuples(*(
        st.sampled_from([SPELLINGS.get(char, char), f"&#{ord(char)};", f"&#x{ord(char):X};", f"&#00{ord(char)};"])
        for char in piece
    )).map("".join)  # fmt: skip


WRITTEN = VALUES.flatmap(lambda pieces: st.tuples(*map(_spelled, pieces))).map("".join)


def in_atom(address, text="x"):
    return (
        f'<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><entry><title>{text}</title>'
        f'<link href="{address}"/></entry></feed>'
    ).encode()


@given(written=WRITTEN)
def test_attributes_as_a_tree_has_them(written):
    """An attribute in a stream has the value that lxml's tree gives it, in feeds and in other XML."""
    address = f"/{written}"
    value = etree.fromstring(f'<a h="{address}"/>'.encode(), etree.XMLParser(recover=True)).get("h")

    assert [one.url for one in listings.read(in_atom(address)).entries] == [value.strip()]
    assert [
        link[1] for link in xml_stream.xlinks(f'<a {NAMES} l:href="{address}"/>'.encode(), "", "")
    ] == [value.strip()]


@given(
    written=st.lists(
        WRITTEN | VALUES.map("".join).map(lambda text: f"<![CDATA[{text.replace(']]>', '')}]]>"),
        max_size=4,
    )
)
def test_texts_as_a_tree_has_them(written):
    """An element's text is what lxml's tree says, CDATA sections as they stand."""
    body = f"<urlset><url><loc>/{''.join(written)}</loc></url><url>".encode()
    value = etree.fromstring(body, etree.XMLParser(recover=True)).findtext(".//loc")

    assert listings.read(body).urls("item") == [value.strip()]


@given(
    names=st.lists(st.sampled_from(["a", "b2", "id", "lt", "utm_source"]), min_size=1, max_size=5)
)
def test_bare_ampersands_as_feedparser_reads_them(names):
    """An address whose `&` are not escaped keeps its parameters' names, in attributes and in texts."""
    address = "http://a.test/?" + "&".join(f"{name}=1" for name in names)
    rss = f"<rss><channel><item><link>{address}</link></item></channel></rss>".encode()

    for body in (in_atom(address), rss):
        assert (
            listings.read(body).urls("item")
            == [feedparser.parse(body).entries[0].link]
            == [address]
        )


@pytest.mark.parametrize("name", ["eacute", "uuml", "copy", "Aring", "yen"])
def test_names_of_html_as_feedparser_reads_them(name):
    """HTML's names for characters are understood without a document type."""
    body = f"<rss><channel><item><link>http://a.test/caf&{name};</link></item></channel></rss>".encode()

    assert listings.read(body).urls("item") == [feedparser.parse(body).entries[0].link]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("&#38;amp;", "&amp;"),
        ("&amp;amp;", "&amp;"),
        ("&nosuch;x", "&nosuch;x"),
        ("&copy=1", "&copy=1"),
        ("&#0;x", "\ufffdx"),
        ("&#xD800;x", "\ufffdx"),
        ("&#9999999999;", "&#9999999999;"),
        ("&", "&"),
        ("&AMP;", "&"),
        ("&LT;b", "<b"),
        ("&host;/p", "&host;/p"),
    ],
)
def test_odd_references(written, read):
    """What names nothing is text as it stands; a number that is no character is U+FFFD, as in HTML."""
    assert listings.read(in_atom(f"/{written}")).urls("item") == [f"/{read}"]


def test_declared_entities():
    """An address may be written with entities that the document declares itself, and so may a
    namespace.
    """
    body = (
        b'<!DOCTYPE svg [<!ENTITY host "http://a.test/?a&#38;amp;b"><!ENTITY ns "http://www.w3.org/1999/xlink">'
        b'<!ENTITY file SYSTEM "file:///etc/passwd">]>'
        b'<x xmlns:l="&ns;" l:href="&host;=1&c=2"><y l:href="/&file;1"/></x>'
    )

    assert [link[1] for link in xml_stream.xlinks(body, "", "http://b.test/")] == [
        "http://a.test/?a&b=1&c=2",
        "/1",
    ]


@pytest.mark.parametrize(
    ("declared", "written", "read"),
    [
        (
            "<!ENTITY a 'http://a.test/'><!ENTITY b '&a;p?'><!ENTITY c '&b;q&#38;amp;r'>",
            "&c;",
            "http://a.test/p?q&r",
        ),
        (f"<!ENTITY a 'http://a.test/{'y' * 300}'>", "&a;z", f"http://a.test/{'y' * 300}z"),
        ("<!ENTITY a '/1'><!ENTITY a '/2'>", "&a;", "/1"),
        ("<!ENTITY amp 'x'>", "/&amp;&b", "/&&b"),
        ("<!ENTITY a '/&quot;&#34;'>", "&a;", '/""'),
        ("<!ENTITY a '/x&a;'>", "&a;y", "/xy"),
    ],
    ids=["nested", "long", "twice", "predefined", "quotes", "of itself"],
)
def test_declared_entities_within_others(declared, written, read):
    """An entity may be long, and have others in it; the first declaration counts, and none within
    itself.
    """
    doctype = f"<!DOCTYPE x [{declared}]>".encode()
    text = f"<urlset><url><loc>{written}</loc></url></urlset>".encode()

    assert listings.read(doctype + in_atom(written)).urls("item") == [read]
    assert listings.read(doctype + text).urls("item") == [read]


def test_entities_that_grow():
    """What entities stand for is bounded, each and in all; the document's own links are read."""
    names = "abcdefghij"
    nested = "".join(f"<!ENTITY {one} '{f'&{other};' * 10}'>" for other, one in pairwise(names))
    body = f"<!DOCTYPE x [<!ENTITY a 'lol'>{nested}]><rss><item><title>&j;</title><link>/1</link></item></rss>".encode()

    many = b"<!DOCTYPE x [<!ENTITY a '%s'>]><x>%s</x>" % (b"x" * 2000, b"&a;" * 50_000)

    assert len(with_sound_references(body)) < 2 * len(body)
    assert len(with_sound_references(many)) < (1 << 20) + 4 * len(many)
    assert listings.read(body).urls("item") == ["/1"]


@pytest.mark.parametrize("char", ["\x00", "\x02", "\x0b", "\x1f"])
def test_characters_that_xml_forbids(char):
    """A control character is left out, and the reference after it is read."""
    text = f"<urlset><url><loc>/1{char}&amp;a=2</loc></url></urlset>".encode()

    assert listings.read(text).urls("item") == ["/1&a=2"]
    assert listings.read(in_atom(f"/1{char}&amp;a=2")).urls("item") == ["/1&a=2"]


@pytest.mark.parametrize(
    "before", [b"\xef\xbb\xbf", b"\xef\xbb\xbf\xef\xbb\xbf", b"\xef\xbb\xbf\n\xef\xbb\xbf "]
)
def test_byte_order_marks(before):
    """Several marks and blanks before a document, as scripts put together from files leave them,
    are no text.
    """
    found = DocumentReader(["sitemap"]).links(
        before + b"<?xml version='1.0'?><urlset><url><loc>/1</loc></url></urlset>",
        "text/xml",
        "http://a.test/",
    )

    assert [link[1] for link in found.links] == ["/1"]


def test_elements_within_a_value():
    """An element's text goes on after an element in it, as in Atom's titles in XHTML."""
    body = b"<rss><item><title>a <b>c</b> d</title><link>/1<br/></link></item></rss>"

    assert [(one.url, one.title) for one in listings.read(body).entries] == [("/1", "a c d")]


def test_cdata_and_comments_stay():
    """An ampersand that is none of the markup's is left alone."""
    for text in (b"<a><![CDATA[&b=&amp;&#0;]]></a>", b"<!--&b=1-->", b"<a><![CDATA[&b", b"<!--&b"):
        assert with_sound_references(text) == text


class TestPlaces:
    def urls(self, body, *headers):
        reader = DocumentReader(["feed", "sitemap"])
        found = reader.links(body, "application/xml", "http://a.test/d/x", headers=headers)
        return found.base, [link[1] for link in found.links]

    def test_languages_of_a_page(self):
        """A sitemap's alternates have their whole query."""
        body = b'<urlset xmlns:x="x"><url><loc>/1?a&amp;b=2</loc><x:link rel="alternate" href="/de?a&amp;b=2"/></url>'

        assert self.urls(body)[1] == ["/1?a&b=2", "/de?a&b=2"]

    def test_relations_by_their_registered_names(self):
        """A relation may be written as the address that its name is short for."""
        link = '<link rel="http://www.iana.org/assignments/relation/alternate" href="/x"/>'
        body = f'<feed xmlns="http://www.w3.org/2005/Atom"><entry>{link}</entry></feed>'.encode()

        assert listings.read(body).urls("item") == ["/x"]

    def test_an_identifier_is_a_link_if_there_is_no_other(self):
        """Atom's id of an entry without a link, if it is an address; not beside one, and not a
        feed's.
        """
        feed = b"<feed><id>http://a.test/feed</id><entry><id>%s</id>%s</entry></feed>"

        assert self.urls(feed % (b"http://a.test/1", b""))[1] == ["http://a.test/1"]
        assert self.urls(feed % (b"http://a.test/1", b"<link href='/2'/>"))[1] == ["/2"]
        assert self.urls(feed % (b"urn:uuid:5", b"<link rel='edit' href='/2'/>"))[1] == []

    @pytest.mark.parametrize("case", [str.upper, str.lower, str.title])
    def test_channel_definitions(self, case):
        """CDF has its addresses in HREF and its base in BASE, in any case; dates are in LASTMOD."""
        channel, base, item, href, date = map(case, ("channel", "base", "item", "href", "lastmod"))
        body = f'<{channel} {base}="/b/"><{item} {href}="1?a&amp;b" {date}="2004-04-06T23:05:43-05:00"></{item}>'
        found = listings.read(body.encode(), url="http://a.test/")

        assert [(one.url, one.modified) for one in found.entries] == [
            ("http://a.test/b/1?a&b", 1081310743.0)
        ]

    def test_addresses_of_channel_definitions_in_elements(self):
        """An `A` has the address of the channel or the item around it."""
        body = b'<CHANNEL><A HREF="/home"/><ITEM LASTMOD="2004-04-06"><A HREF="/1?a&amp;b"/></ITEM></CHANNEL>'
        found = listings.read(body)

        assert (found.urls("home"), found.urls("item")) == (["/home"], ["/1?a&b"])

    def test_content_location(self):
        """A feed's relative addresses are relative to its Content-Location; a page's are not."""
        feed = b"<rss><channel><item><link>1</link></item></channel></rss>"
        header = (b"Content-Location", b"/other/feed")

        assert self.urls(feed, header) == ("http://a.test/other/feed", ["1"])
        assert self.urls(b"<p>", header)[0] == "http://a.test/d/x"

    def test_bases_within_content_location(self):
        """A relative xml:base is relative to it, too."""
        feed = b"<feed xml:base='b/'><entry><link href='1'/></entry></feed>"

        assert self.urls(feed, (b"Content-Location", b"http://c.test/d/"))[1] == [
            "http://c.test/d/b/1"
        ]


def test_pages_served_as_xml():
    """A bare ampersand in XHTML does not swallow the name that follows it."""
    page = b'<html xmlns="http://www.w3.org/1999/xhtml"><body><a href="?a=1&b=2&copy;">x</a></body></html>'
    found = DocumentReader(["a"]).links(page, "application/xhtml+xml", "http://a.test/")

    assert [link[1] for link in found.links] == ["?a=1&b=2©"]
