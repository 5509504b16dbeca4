"""Links of XML that is neither a page nor a feed."""

from webcrawl.content.formats import xlink

NAMES = 'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns="http://www.w3.org/2000/svg"'


def links(xml):
    return [link[:2] for link in xlink.read(xml.encode(), "image/svg+xml", "http://a.test/d/x.svg")]


def test_svg():
    """SVG's own href goes before XLink's; images and scripts are called as in HTML; its own parts are no links."""
    assert links(f"""<svg {NAMES}><a href="1" xlink:href="0"/><a xlink:href="2"/><image href="3"/><script href="4"/>
        <use href="#part"/><use href="other.svg#part"/><p href="5" xmlns="urn:x"/></svg>""") == [
        ("xlink", "1"),
        ("xlink", "2"),
        ("img", "3"),
        ("script", "4"),
        ("xlink", "other.svg#part"),
    ]


def test_any_xml():
    """XLink, XInclude and style sheets in any document; xml:base holds below its element."""
    assert links("""<?xml version="1.0"?><?xml-stylesheet type="text/css" href="s.css?a&amp;b"?><?other href="no"?>
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
    found = links(f'<doc xmlns:l="http://www.w3.org/1999/xlink">{nested}<b l:href="y"/></doc>')

    assert len(found) == 1
    assert len(found[0][1]) < 5000


def test_what_is_broken():
    """What comes before the damage is kept; undeclared entities and bytes that are no UTF-8 end nothing."""
    assert links(f"<svg {NAMES}>&nbsp;<a href='1'/><b></c><a href='2'/>") == [("xlink", "1"), ("xlink", "2")]
    found = xlink.read(b"<svg " + NAMES.encode() + b">\xff\xfe<a href='1'/>", "image/svg+xml", "http://a.test/")
    assert [link[1] for link in found] == ["1"]


def test_a_crowd_of_elements():
    """Behind a million of them reading ends."""
    assert links("<svg>" + "<a/>" * 1_100_000 + f"<b {NAMES} xlink:href='1'/>") == []
