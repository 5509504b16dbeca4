"""Which links a document has, by the kinds that are wanted."""

import gzip
import itertools

import pytest

from webcrawl.content.formats import document_reader, xml_stream
from webcrawl.content.formats.document_reader import DocumentReader, all_links
from webcrawl.content.formats.sniffing import form_of
from webcrawl.content.html import link_kinds
from webcrawl.content.html.link_kinds import ALL, ALL_LOGGED

SITEMAP = (
    b'<?xml version="1.0"?><!-- <rss> --><urlset><url><loc>http://a.test/1</loc></url></urlset>'
)
RSS = b"<rss version='2.0'><channel><item><link>http://a.test/1</link></item></channel></rss>"
ATOM = b"<feed xmlns='http://www.w3.org/2005/Atom'><link rel='hub' href='/hub'/><entry><link href='/1'/></entry></feed>"
JSON = b'{"version": "https:\\/\\/jsonfeed.org\\/version\\/1", "items": [{"url": "/1"}]}'
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><a href='/1'/><image href='i.png'/></svg>"
XHTML = b"<?xml version='1.0'?><!DOCTYPE html [<!ENTITY a 'b'>]><html xmlns='http://www.w3.org/1999/xhtml'/>"
LIST = b"http://a.test/1\n"
PDF = b"%PDF-1.4 <a href=x>"


@pytest.mark.parametrize(
    ("media", "body", "form"),
    [
        ("application/xml", SITEMAP, "sitemap"),
        ("text/html; charset=utf-8", SITEMAP, "sitemap"),
        ("text/plain", SITEMAP, "sitemap"),
        ("", SITEMAP, "sitemap"),
        ("application/rss+xml", RSS, "feed"),
        ("text/html", RSS, "feed"),
        ("application/xml", ATOM, "feed"),
        ("application/atom+xml", b"<x>", "feed"),
        ("application/json", JSON, "json"),
        ("application/feed+json", b"{}", "json"),
        ("application/json", b'{"items": []}', "html"),
        ("application/rdf+xml", b"<rdf:RDF>", "xlink"),
        ("application/rdf+xml", b"<rdf:RDF xmlns='http://purl.org/rss/1.0/'>", "feed"),
        ("image/svg+xml", SVG, "xlink"),
        ("text/xml", b"<doc/>", "xlink"),
        ("text/xml", XHTML, "html"),
        ("application/xhtml+xml", XHTML, "html"),
        ("text/html", XHTML, "html"),
        ("text/html", b"<html><rss>", "html"),
        ("text/plain", LIST, "text"),
        ("text/html", LIST, "html"),
        ("text/plain", b"Hello", "html"),
        ("application/pdf", b"no", "pdf"),
        ("application/octet-stream", PDF, "pdf"),
        ("text/html", PDF, "pdf"),
        ("image/png", SITEMAP, "html"),
        ("text/css", LIST, "html"),
        ("application/xml", SITEMAP.decode().encode("utf-16"), "sitemap"),
    ],
    ids=itertools.count(),
)
def test_forms(media, body, form):
    """The media type says it, or how the body begins, where servers are known to say something
    else.
    """
    assert form_of(media, body) == form


BODIES = [
    ("sitemap", "application/xml", SITEMAP),
    ("sitemap", "text/plain", LIST),
    ("sitemap", "application/gzip", gzip.compress(SITEMAP)),
    ("sitemap", "application/xml", gzip.compress(SITEMAP)),
    ("sitemap", "application/octet-stream", gzip.compress(LIST)),
    ("feed", "application/rss+xml", RSS),
    ("feed", "text/xml", ATOM),
    ("feed", "application/json", JSON),
    ("xlink", "image/svg+xml", SVG),
]


@pytest.mark.parametrize(("kind", "media", "body"), BODIES, ids=range(len(BODIES)))
class TestWanted:
    def test_a_format_is_read_if_its_kind_is_wanted(self, kind, media, body):
        """Then its links have this kind, and those that HTML has, too, only if these are wanted."""
        found = DocumentReader([kind]).links(body, media, "http://a.test/x")

        assert {link[0] for link in found.links} == {kind}

    def test_not_for_other_kinds(self, kind, media, body):
        """By default such a document has no links."""
        others = [one for one in ALL if one != kind]

        assert DocumentReader().links(body, media, "http://a.test/x").links == []
        assert DocumentReader(others).links(body, media, "http://a.test/x").links == []

    def test_all_links(self, kind, media, body):
        """Whoever asks for all links gets them."""
        found = all_links(body, media, "http://a.test/x")

        assert kind in {link[0] for link in found.links}
        assert found.whole


def test_what_a_sitemap_says_is_kept():
    """With its links, for whoever decides when to fetch them again."""
    body = SITEMAP.replace(b"</loc>", b"</loc><lastmod>2020-01-01</lastmod>")
    found = DocumentReader(["sitemap"]).links(body, "application/xml", "http://a.test/x")

    assert [(one.url, one.modified) for one in found.entries] == [("http://a.test/1", 1577836800.0)]


def test_pages_are_read_as_before():
    """A page has the same links, whatever else is wanted."""
    page = b"<base href='/b/'><a href=x>y</a>"

    assert DocumentReader(ALL_LOGGED).links(page, "text/html", "http://a.test/") == DocumentReader(
        link_kinds.KINDS
    ).links(page, "text/html", "http://a.test/")


@pytest.mark.parametrize("body", [b"<p><a href=/1>one</a>", RSS, SVG])
def test_what_is_read_for_a_link_log_is_not_read_again(body):
    """A page's links are whole if all kinds were looked for that a link log has: pipelines take
    them as they are.
    """
    assert (
        DocumentReader(ALL_LOGGED, anchor_text=True)
        .links(body, "text/html", "http://a.test/")
        .whole
    )
    assert (
        not DocumentReader(ALL_LOGGED - {"img"}, anchor_text=True)
        .links(body, "text/html", "http://a.test/")
        .whole
    )


def test_a_hub_is_never_wanted_by_a_setting():
    """It is where news are subscribed to, not a page: no setting can name it, and the link log has
    it.
    """
    assert "hub" not in ALL
    assert "hub" in {
        link[0] for link in all_links(ATOM, "application/atom+xml", "http://a.test/").links
    }


class TestHeaders:
    def found(self, wanted, header):
        reader = DocumentReader(wanted)
        found = reader.links(b"<base href='http://b.test/'>", "text/html", "http://a.test/d/")
        reader.add_headers(found, [(b"Link", header)], "http://a.test/d/")
        return found

    def test_they_are_relative_to_the_answer(self):
        """Not to the document's base."""
        assert self.found(["header"], b"<x>; rel=next").links == [
            ("header", "http://a.test/d/x", "", "next")
        ]

    def test_canonical(self):
        """It counts as the element does, which is followed by default; the element goes before it."""
        found = self.found(link_kinds.FOLLOWED, b"<c>; rel=canonical, <x>; rel=next")

        assert (found.links, found.canonical) == (
            [("canonical", "http://a.test/d/c", "", "canonical")],
            "http://a.test/d/c",
        )

    def test_not_if_nobody_wants_them(self):
        """A reader of other kinds leaves them alone."""
        assert self.found(["a"], b"<c>; rel=canonical, <x>; rel=next, <h>; rel=hub").links == []

    def test_invalid_addresses_are_left_out(self):
        """As anywhere."""
        assert self.found(["header"], b"<http://[>, <y>").links == [
            ("header", "http://a.test/d/y", "", "")
        ]


def test_a_format_that_is_not_wanted_is_read_as_before():
    """What a server calls HTML is HTML then, whatever other formats are wanted."""
    body = b"<?xml version='1.0'?><rss><a href='/1'></rss>"

    assert DocumentReader(["a", "sitemap"]).links(body, "text/html", "http://a.test/").links == [
        ("a", "/1", "", "")
    ]
    assert DocumentReader(["a", "feed"]).links(body, "text/html", "http://a.test/").links == []


def links(*values):
    return [
        (kind, address, rel)
        for kind, address, _, rel in document_reader.links([(b"LINK", one) for one in values])
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b'<http://a.test/2>; rel="next"', [("header", "http://a.test/2", "next")]),
        (b"</a>;rel=prev, </b> ; rel=next", [("header", "/a", "prev"), ("header", "/b", "next")]),
        (b'</a,b;c>; title="x, <no>; y\\"z"; rel="a b"', [("header", "/a,b;c", "a b")]),
        (b"<c>; rel=Canonical", [("canonical", "c", "Canonical")]),
        (b'<c>; rel=canonical; anchor="#x"', [("header", "c", "canonical")]),
        (b"<h>; rel=hub", [("hub", "h", "hub")]),
        (b"<a>; rel=one; rel=two", [("header", "a", "one")]),
        (b"<a>;;; rel=x;", [("header", "a", "x")]),
        (b", ,<a>", [("header", "a", "")]),
        (b"<a> rubbish, <b>; rel=x", [("header", "a", ""), ("header", "b", "x")]),
        (b'<a>; rel="unfinished, <b>', [("header", "a", "unfinished, <b>")]),
        (b"no", []),
        (b"<unfinished", []),
        (b"<\xc3\xa4>", [("header", "ä", "")]),
        (b"<\xe4>", [("header", "%E4", "")]),
    ],
)
def test_one_header(value, expected):
    """Quoted strings may hold anything; what is broken ends at the next comma."""
    assert links(value) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([b"0;url=/next"], ["/next"]),
        ([b"5; URL='http://b.test/'"], ["http://b.test/"]),
        ([b"0, next"], ["next"]),
        ([b"30"], []),
        ([b"soon; url=/next"], []),
        ([b"0; url=/first", b"0; url=/second"], ["/first"]),
    ],
)
def test_a_refresh(values, expected):
    """It leads where that of a document would, and the first one counts."""
    links_ = document_reader.links(
        [*((b"Refresh", value) for value in values), (b"expires", b"0; url=/no")]
    )

    assert [(kind, address) for kind, address, _, _ in links_] == [
        ("refresh", one) for one in expected
    ]


def test_a_refresh_beside_links():
    """Both are read."""
    found = document_reader.links([(b"link", b"<a>"), (b"refresh", b"0; url=b"), (b"link", b"<c>")])

    assert sorted(one[:2] for one in found) == [("header", "a"), ("header", "c"), ("refresh", "b")]


def test_several_headers():
    """They count as one, in their order; other headers do not count."""
    assert [one[1] for one in links(b"<a>", b"<b>, <c>")] == ["a", "b", "c"]
    assert document_reader.links([(b"links", b"<a>"), (b"x-link", b"<a>")]) == []


def test_bounds():
    """A thousand links, and so many characters."""
    assert len(links(b"<a>," * 5000)) == document_reader.MOST
    assert links(b";" * 1_000_000) == []
    assert len(links(b"<a>" + b";" * 1_000_000)) == 1


NAMES = 'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns="http://www.w3.org/2000/svg"'


def xlinks_of(xml):
    return [
        link[:2]
        for link in xml_stream.xlinks(xml.encode(), "image/svg+xml", "http://a.test/d/x.svg")
    ]


def test_svg():
    """SVG's own href goes before XLink's; images and scripts are called as in HTML; its own parts
    are no links.
    """
    assert xlinks_of(f"""<svg {NAMES}><a href="1" xlink:href="0"/><a xlink:href="2"/><image href="3"/><script href="4"/>
        <use href="#part"/><use href="other.svg#part"/><p href="5" xmlns="urn:x"/></svg>""") == [
        ("xlink", "1"),
        ("xlink", "2"),
        ("img", "3"),
        ("script", "4"),
        ("xlink", "other.svg#part"),
    ]


def test_any_xml():
    """XLink, XInclude and style sheets in any document; xml:base holds below its element."""
    assert xlinks_of("""<?xml version="1.0"?><?xml-stylesheet type="text/css" href="s.css?a&amp;b"?><?other href="no"?>
        <doc xmlns:l="http://www.w3.org/1999/xlink" xmlns:i="http://www.w3.org/2001/XInclude">
        <see l:href=" one "/><part xml:base="sub/"><see l:href="two"/><part xml:base="deep/"><i:include href="three"/>
        </part></part><see l:href="four"/></doc>""") == [
        ("link", "s.css?a&b"),
        ("xlink", "one"),
        ("xlink", "http://a.test/d/sub/two"),
        ("xlink", "http://a.test/d/sub/deep/three"),
        ("xlink", "four"),
    ]


def test_bases_within_bases():
    """They do not grow without an end."""
    nested = "".join(f'<a xml:base="{"x" * 500}/">' for _ in range(1000))
    found = xlinks_of(f'<doc xmlns:l="http://www.w3.org/1999/xlink">{nested}<b l:href="y"/></doc>')

    assert len(found) == 1
    assert len(found[0][1]) < 5000


def test_what_is_broken():
    """What comes before the damage is kept; undeclared entities and bytes that are no UTF-8 end
    nothing.
    """
    assert xlinks_of(f"<svg {NAMES}>&nbsp;<a href='1'/><b></c><a href='2'/>") == [
        ("xlink", "1"),
        ("xlink", "2"),
    ]
    found = xml_stream.xlinks(
        b"<svg " + NAMES.encode() + b">\xff\xfe<a href='1'/>", "image/svg+xml", "http://a.test/"
    )
    assert [link[1] for link in found] == ["1"]


def test_a_crowd_of_elements():
    """Behind a million of them reading ends."""
    assert xlinks_of("<svg>" + "<a/>" * 1_100_000 + f"<b {NAMES} xlink:href='1'/>") == []
