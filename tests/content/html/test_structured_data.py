"""Structured data of a page: the standards' own examples, and pages made to cost much."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.content.html.marked_elements import MOST, ROOM
from webcrawl.content.html.microdata import NESTED
from webcrawl.content.html.structured_data import structured, structured_of
from webcrawl.content.html.trees import shared_tree

URL = "http://a.test/p"
SCHEMA = "https://schema.org/"


def said(html, content_type="text/html"):
    text = structured(html.encode(errors="replace"), content_type, "UTF-8", URL, URL)
    return json.loads(text) if text else {}


def script(text, kind="application/ld+json"):
    return f'<script type="{kind}">{text}</script>'


def heavy(html):
    """The same page with so many tags that libxml2 reads it."""
    return html + "<br>" * 13_000


class TestJsonLd:
    def test_scripts_come_in_order(self):
        """Each script is a value; an array's members count as values (JSON-LD 1.1, 7.4)."""
        page = script('{"@type": "Product"}') + script('[{"a": 1}, {"b": 2}]')

        assert said(page) == {"jsonld": [{"@type": "Product"}, {"a": 1}, {"b": 2}]}

    @pytest.mark.parametrize(
        "kind", ["application/ld+json", " Application/LD+JSON ", "application/ld+json;profile=x"]
    )
    def test_the_type_may_have_parameters(self, kind):
        """A script is JSON-LD by its media type, whatever follows it."""
        assert said(script("{}", kind)) == {"jsonld": [{}]}

    def test_other_scripts_are_none(self):
        """JSON without the type, and what stands in a comment or a template, is not read."""
        page = script("{}", "application/json") + f"<!--{script('{}')}-->"

        assert said(page + f"<template>{script('{}')}</template>") == {}

    def test_references_are_text(self):
        """A script has no character references (HTML Standard, 13.2.5.4)."""
        assert said(script('{"name": "A &amp; B"}')) == {"jsonld": [{"name": "A &amp; B"}]}

    @pytest.mark.parametrize(
        "text",
        [
            '<!-- {"a": 1} -->',
            '<!--\n{"a": 1}\n//-->',
            '//<![CDATA[\n{"a": 1}\n//]]>',
            '/*<![CDATA[*/{"a": 1}/*]]>*/',
            '<![CDATA[{"a": 1}]]>',
        ],
    )
    def test_wrapped_scripts(self, text):
        """A comment or CDATA section around all of a script is taken off."""
        assert said(script(text)) == {"jsonld": [{"a": 1}]}

    def test_line_breaks_in_strings(self):
        """Line breaks within strings are accepted, as other readers do."""
        assert said(script('{"a": "b\n\tc"}')) == {"jsonld": [{"a": "b\n\tc"}]}

    def test_what_json_cannot_hold(self):
        """Infinities become null, and half of a surrogate pair a question mark."""
        page = script('{"a": NaN, "b": 1e999, "c": "\\ud83d", "d": "\\ud83d\\ude00"}')

        assert said(page) == {"jsonld": [{"a": None, "b": None, "c": "?", "d": "😀"}]}

    def test_broken_scripts_are_counted(self):
        """A script that is not JSON is left out and counted; the others are there."""
        page = script('{"a": 1,}') + script("1" * 5000) + script('{"b": 2}') + script("")

        assert said(page) == {"jsonld": [{"b": 2}], "dropped": {"broken": 2}}

    def test_deep_values_are_counted(self):
        """Values nested more than 64 deep are left out, however deep."""
        page = "".join(script("[" * depth + "]" * depth) for depth in (NESTED, 65, 100_000))

        assert said(page)["dropped"] == {"deep": 1, "broken": 1}

    def test_long_scripts_are_counted(self):
        """A page has room for 2^20 characters: what does not fit is left out, later values fit."""
        long = script(json.dumps("x" * (ROOM - 20)))

        assert said(long + long + script("{}")) == {
            "jsonld": ["x" * (ROOM - 20), {}],
            "dropped": {"long": 1},
        }


class TestMicrodata:
    def test_referred_properties(self):
        """The standard's example of `itemref` (5.2.2)."""
        page = """<div itemscope id="amanda" itemref="a b"></div>
            <p id="a">Name: <span itemprop="name">Amanda</span></p>
            <div id="b" itemprop="band" itemscope itemref="c"></div>
            <div id="c"><p>Band: <span itemprop="name">Jazz Band</span></p>
            <p>Size: <span itemprop="size">12</span> players</p></div>"""

        band = {"properties": {"name": ["Jazz Band"], "size": ["12"]}}
        assert said(page) == {"microdata": [{"properties": {"name": ["Amanda"], "band": [band]}}]}

    def test_several_names_and_values(self):
        """The standard's examples of a property twice, and of an element with two names (5.1.2)."""
        page = """<div itemscope><ul><li itemprop="flavor">Lemon sorbet<li itemprop="flavor">Apricot
            sorbet</ul><span itemprop="favorite-color favorite-fruit">orange</span></div>"""

        assert said(page)["microdata"][0]["properties"] == {
            "flavor": ["Lemon sorbet", "Apricot sorbet"],
            "favorite-color": ["orange"],
            "favorite-fruit": ["orange"],
        }

    def test_types_and_identifiers(self):
        """The standard's example of a book (5.1.5): an `itemid` counts with a type."""
        page = """<dl itemscope itemtype="https://vocab.example.net/book" itemid="urn:isbn:0-330-34032-8">
            <dt>Title<dd itemprop="title">The Reality Dysfunction</dl><p itemscope itemid="urn:x">"""

        assert said(page)["microdata"] == [
            {
                "type": ["https://vocab.example.net/book"],
                "id": "urn:isbn:0-330-34032-8",
                "properties": {"title": ["The Reality Dysfunction"]},
            },
            {"properties": {}},
        ]

    @pytest.mark.parametrize(
        ("element", "value"),
        [
            ("<meta itemprop=a content=' x '>", " x "),
            ("<a itemprop=a href=x>text</a>", "http://a.test/x"),
            ("<a itemprop=a>text</a>", ""),
            ("<link itemprop=a href='http://['>", ""),
            ("<img itemprop=a src=//b.test/i.png>", "http://b.test/i.png"),
            ("<object itemprop=a data=o></object>", "http://a.test/o"),
            ("<data itemprop=a value=7>seven</data>", "7"),
            ("<meter itemprop=a value=.5>half</meter>", ".5"),
            ("<time itemprop=a datetime=2026-01-02>today</time>", "2026-01-02"),
            ("<time itemprop=a>2026-01-02</time>", "2026-01-02"),
            ("<p itemprop=a> two\n <b>words</b></p>", "two words"),
        ],
    )
    @pytest.mark.parametrize("weight", [str, heavy], ids=["lexbor", "libxml2"])
    def test_values(self, element, value, weight):
        """The value by the element (5.2.4); texts have single spaces."""
        page = weight(f"<div itemscope>{element}</div>")

        assert said(page)["microdata"][0]["properties"] == {"a": [value]}

    def test_items_that_contain_themselves(self):
        """An item within itself is the text ERROR (5.5)."""
        page = """<div itemscope itemref=a></div><div id=a itemprop=x itemscope itemref=b></div>
            <div id=b itemprop=y itemscope itemref="a b"></div>"""

        inner = {"properties": {"x": ["ERROR"]}}
        assert said(page)["microdata"] == [{"properties": {"x": [{"properties": {"y": [inner]}}]}}]

    def test_xhtml(self):
        """XHTML served as XML is read as well."""
        page = f"""<html xmlns="http://www.w3.org/1999/xhtml"><head>{script("<![CDATA[{}]]>")}</head>
            <body><p itemscope=""><b itemprop="n">v</b></p></body></html>"""

        assert said(page, "application/xhtml+xml") == {
            "jsonld": [{}],
            "microdata": [{"properties": {"n": ["v"]}}],
        }


class TestRdfa:
    def test_the_primers_person(self):
        """RDFa Lite 1.1, 2.1 to 2.4: type, properties, addresses, another vocabulary's term."""
        page = """<p vocab="https://schema.org/" prefix="ov: http://open.vocab.org/terms/"
            resource="#manu" typeof="Person">My name is <span property="name">Manu Sporny</span>, and
            <span property="telephone">1-800-555-0199</span>. <img property="image" src="/m.png">
            My favorite animal is the <span property="ov:preferredAnimal">Liger</span>.</p>"""

        assert said(page)["rdfa"] == [
            {
                "type": [f"{SCHEMA}Person"],
                "id": f"{URL}#manu",
                "properties": {
                    "name": ["Manu Sporny"],
                    "telephone": ["1-800-555-0199"],
                    "image": ["http://a.test/m.png"],
                    "http://open.vocab.org/terms/preferredAnimal": ["Liger"],
                },
            }
        ]

    def test_items_are_values(self):
        """An element with property and typeof is a value, whose own properties are within."""
        page = """<ol vocab="https://schema.org/" typeof="BreadcrumbList"><li property="itemListElement"
            typeof="ListItem"><a property="item" typeof="WebPage" href="/books"><b property="name">Books
            </b></a><meta property="position" content="1"></ol>"""

        page_item = {
            "type": [f"{SCHEMA}WebPage"],
            "id": "http://a.test/books",
            "properties": {"name": ["Books"]},
        }
        listed = {
            "type": [f"{SCHEMA}ListItem"],
            "properties": {"item": [page_item], "position": ["1"]},
        }
        assert said(page)["rdfa"] == [
            {"type": [f"{SCHEMA}BreadcrumbList"], "properties": {"itemListElement": [listed]}}
        ]

    def test_properties_of_the_page(self):
        """Outside of items they are the page's; without a vocabulary or a known prefix they are none."""
        page = """<meta property="dc:creator" content="Ada"><meta property="twitter:card" content="x">
            <p property="name">none</p>"""

        assert said(page) == {
            "rdfa": [{"id": URL, "properties": {"http://purl.org/dc/terms/creator": ["Ada"]}}]
        }

    def test_an_address_around_properties_is_their_subject(self):
        """RDFa Core 1.1, 7.5, step 6: a resource, an href or a src begins another subject."""
        page = '<p vocab="https://schema.org/"><a href="/x"><b property="name">X</b></a>'

        assert said(page)["rdfa"] == [{"id": "http://a.test/x", "properties": {"name": ["X"]}}]


class TestOpenGraph:
    def test_contents_in_order(self):
        """ogp.me's arrays; `name` counts as `property` does; other prefixes are none of it."""
        page = """<meta property="og:image" content="1"><meta name="OG:Image" content=" 2 ">
            <meta property="article:tag" content="a"><meta property="og:title" content="">
            <meta name="description" content="no"><meta property="al:ios:url" content="no">"""

        assert said(page) == {"opengraph": {"og:image": ["1", "2"], "article:tag": ["a"]}}


class TestHostilePages:
    @pytest.mark.parametrize(
        ("page", "dropped"),
        [
            ("<div itemscope>" + "<div itemscope itemprop=a>" * 5000, {"deep"}),
            ("<div itemscope>" + "<div itemprop=a>x" * 5000, {"deep"}),
            ("<div vocab='http://v/' typeof=x property=y>" * 5000, {"deep"}),
            (
                "<p id=x>" + "<b></b>" * 5000 + "</p>" + "<i itemscope itemref=x></i>" * 5000,
                set(),
            ),
            (
                "<p itemscope itemref='i0 j0'>"
                + "".join(
                    f"<p id={one}{at} itemprop=a itemscope itemref='i{at + 1} j{at + 1}'>"
                    for at in range(70)
                    for one in "ij"
                ),
                {"long"},
            ),
            ("<p itemscope><b itemprop=a>x</b></p>" * (MOST // 2 + 1), {"many"}),
            (
                f"<p itemscope><b itemprop='{' '.join(map(str, range(99_999)))}'>{'x' * 99}",
                {"long"},
            ),
            (
                "".join(f"<p prefix='p{at}: http://v/' typeof='p{at}:x'>" for at in range(999)),
                set(),
            ),
        ],
        ids=["items", "texts", "types", "references", "doubling", "elements", "names", "prefixes"],
    )
    def test_bounds(self, page, dropped):
        """Depth, number and size are bounded, and what is left out is counted by its reason."""
        text = structured(page.encode(), "text/html", "UTF-8", URL, URL)

        assert len(text) < 4 * ROOM
        assert json.loads(text or "{}").get("dropped", {}).keys() >= dropped

    @given(
        st.lists(
            st.sampled_from(
                [
                    "<div itemscope>", "<p itemprop='a b' id=x>", "<b itemscope itemprop=c itemref='x y'>",
                    "</div>", "</p>", "</b>", "text", "<i id=y property='n og:x' typeof='T s:U'>",
                    "<span vocab='http://v/' prefix='s: http://s/ t:'>", "<a href='/x' resource='[s:y]'>",
                    "<meta property=og:title content=t>", script("[1, {}]"), script("{"), "<template>",
                    "<svg><script>", "\0\ud800", "<html itemscope>", "<time property=t datetime=1>",
                ]
            ),
            max_size=30,
        )
    )  # fmt: skip
    def test_any_page(self, parts):
        """Whatever the page, the answer is JSON or nothing, and the shared tree gives the same."""
        text = "".join(parts).encode(errors="replace")
        tree = shared_tree(text, "html")

        assert structured_of(text, "html", URL, URL, tree.root) == structured(
            text, "text/html", "UTF-8", URL, URL
        )

    def test_other_bodies(self):
        """What is no document has none."""
        assert said(script("{}"), "text/plain") == {}
