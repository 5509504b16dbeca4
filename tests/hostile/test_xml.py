"""XML designed to cost memory or to read files: nothing in it is expanded or fetched."""

import json

import pytest

from tests.support.cases import cases
from tests.support.hostile import peak, reset_peak
from webcrawl.content.html.link_reader import LinkReader

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
    """A page's own entities stay text: no billion laughs, no file, and no request."""
    before = reset_peak()

    found = read(PAGE % LAUGHS, media)

    assert peak() - before < 16 * 1024
    assert "root:" not in repr(found)
    assert len(repr(found)) < 2000


def test_as_html_they_are_text():
    """Read as HTML such a page has its links, and its entities are the letters that spell them."""
    found = read(PAGE % LAUGHS, "text/html")

    assert [link[1] for link in found.links] == ["/one", "&l9;"]
    assert found.title == "&l9;&file;&far;"


@pytest.mark.parametrize("media", TYPES)
def test_collected_bombs(media):
    """The collected bombs, under any type, are read within bounds, and nothing found in them is
    from this machine.
    """
    folder = cases("malicious")
    before = reset_peak()

    for case in json.loads((folder / "xml-index.json").read_text()):
        found = read((folder / case["file"]).read_bytes(), media)
        assert "root:" not in repr(found), case

    assert peak() - before < 16 * 1024


HEAD = b'<html xmlns="http://www.w3.org/1999/xhtml"><body>'
TAIL = b'<a href="/two">2</a></body></html>'
MANY = b" ".join(b"a%d='1'" % number for number in range(100_000))


@pytest.mark.parametrize("tag", ["p", "a", "_", ":a", "svg:a", "\u00e9"])
@pytest.mark.parametrize("media", TYPES)
def test_a_hundred_thousand_attributes(tag, media):
    """A tag with so many is turned into text, whatever name XML allows: libxml2 would compare each
    with all others.
    """
    name = tag.encode()
    page = HEAD + b"<" + name + b" href='/one' " + MANY + b">1</" + name + b">" + TAIL

    assert [link[1] for link in read(page, media).links] == ["/two"]


@pytest.mark.parametrize("media", TYPES)
def test_namespaces(media):
    """Many namespaces in one tag count as attributes; a few in every tag are read."""
    crowd = b" ".join(b"xmlns:a%d='u%d'" % (number, number) for number in range(80_000))
    crowded = read(
        HEAD + b"<p " + crowd + b">" + b"<a href='/one'/>" * 1000 + b"</p>" + TAIL, media
    )
    few = read(
        HEAD + b"<p xmlns:a='b' xmlns:c='d'>" * 200 + b"<a href='/one'>" + b"</p>" * 200 + TAIL,
        media,
    )

    assert {link[1] for link in crowded.links} == {"/one", "/two"}
    assert {link[1] for link in few.links} == {"/one", "/two"}


DTDS = {
    "far": b'SYSTEM "http://127.9.9.9/far.dtd"',
    "file": b'SYSTEM "file:///etc/passwd"',
    "public": b'PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://127.9.9.9/xhtml1-strict.dtd"',
    "large entity": b'[<!ENTITY a "' + b"x" * 100_000 + b'">]',
    "many entities": b"["
    + b"".join(b"<!ENTITY e%d 'b'>" % number for number in range(40_000))
    + b"]",
}


@pytest.mark.parametrize("name", DTDS)
@pytest.mark.parametrize("media", TYPES)
def test_document_types(name, media):
    """External identifiers are not read and declarations are not expanded: the page's links are its
    own.
    """
    page = b"<!DOCTYPE html " + DTDS[name] + b">" + HEAD + b"<p>&a;&e1;</p>" * 20_000 + TAIL
    before = reset_peak()

    found = read(page, media)

    assert peak() - before < 96 * 1024
    assert [link[1] for link in found.links] == ["/two"]
    assert "root:" not in repr(found)


@pytest.mark.parametrize("media", TYPES)
def test_forty_thousand_default_attributes(media):
    """A document type that gives every paragraph many attributes costs no more than its own size."""
    declared = b" ".join(b'a%d CDATA "y"' % number for number in range(40_000))
    before = reset_peak()

    found = read(
        b"<!DOCTYPE html [<!ATTLIST p " + declared + b">]>" + HEAD + b"<p/>" * 20_000 + TAIL, media
    )

    assert peak() - before < 96 * 1024
    assert {link[1] for link in found.links} <= {"/two"}


@pytest.mark.parametrize(
    "body",
    [
        b"<rss><channel><item><link>/one</link>",
        b"<feed><link href='/one'/>",
        b"<urlset><url><loc>/one",
    ],
)
def test_feeds_and_site_maps_have_no_links(body):
    """XML other than XHTML is not read for links, whatever it declares."""
    for media in ("application/rss+xml", "application/atom+xml", "application/xml", "text/xml"):
        assert (
            read(
                b"<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>"
                + body,
                media,
            ).links
            == []
        )
