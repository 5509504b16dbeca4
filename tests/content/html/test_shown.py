"""What a document says of itself and what it shows, of one tree."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import cases
from tests.support.examples import in_campaign
from webcrawl.content.html import shown_text
from webcrawl.content.html.encodings import encoding_of
from webcrawl.content.html.shown_text import (
    AboutReader,
    PageDescription,
    ShownReader,
    shows_more,
    visible_text,
)
from webcrawl.content.html.trees import document, lexbor_tree

READER = ShownReader()


@pytest.mark.parametrize("kind", ["html", "xml"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html lang=de><title>t</title><h1>A <b>head</b></h1><p hidden>no</p><p>yes<script>no</script>",
        "<h1 hidden>heading</h1><p>text",
        "<template><h1>no</h1></template><select><option>no</select>yes",
        "<b>" * 13_000 + "deep",
        "\0<p>\xff",
    ],
)
def test_it_is_what_two_readings_find(text, kind):
    """Headings that are not displayed are read before they are taken out; heavy pages have both,
    too.
    """
    data = text.encode()

    assert READER.shown(data, kind) == (AboutReader().about(data, kind), visible_text(data, kind))


@pytest.mark.parametrize("name", ["html-readability", "html-newspaper"])
def test_real_pages(name):
    """It is the same of real pages."""
    for path in sorted((cases(name) / "pages").glob("*.gz"))[::5]:
        body = gzip.decompress(path.read_bytes())
        data, kind = document(body, "text/html", encoding_of(body, "text/html", "http://a.test/"))

        assert READER.shown(data, kind) == (
            AboutReader().about(data, kind),
            visible_text(data, kind),
        ), path


# HTML, and its text
TEXTS = {
    "words split by markup": ("<p>w<b>ord</b>s <i>and</i> more", "words and more"),
    "blocks": ("<h1>a</h1><p>b<p>c<ul><li>d<li>e</ul>f", "a\nb\nc\nd\ne\nf"),
    "line breaks": ("a<br>b<br><br>c", "a\nb\nc"),
    "cells": ("<table><tr><td>a<td>b<tr><td>c</table>", "a\nb\nc"),
    "white space": ("  a \t\n b&nbsp;c  ", "a b c"),
    "entities": ("a &amp; b &lt;c&gt; &#x41;", "a & b <c> A"),
    "scripts and styles": ("a<script>no</script><style>no</style><noscript>no</noscript>b", "ab"),
    "what is no text": (
        "a<template>no</template><textarea>no</textarea><select><option>no</select>b",
        "ab",
    ),
    "the head": ("<title>no</title><body>yes", "yes"),
    "hidden elements": ("a<p hidden>no</p><p style='color:red;display: none'>no</p>b", "ab"),
    "hidden within hidden": ("a<div hidden>no<p hidden>no<script>no</script></p></div>b", "ab"),
    "comments": ("a<!-- no -->b<?no?>c", "abc"),
    "nothing": ("", ""),
    "no markup": ("just text", "just text"),
}


class TestVisibleText:
    @pytest.mark.parametrize("name", TEXTS)
    def test_it_is_what_a_browser_shows(self, name):
        """Elements that are not displayed have no text; blocks have lines of their own."""
        html, text = TEXTS[name]
        assert visible_text(html.encode(), "html") == text

    @pytest.mark.parametrize("name", TEXTS)
    def test_it_is_the_same_by_libxml2(self, name, monkeypatch):
        """A page that is too heavy for lexbor has the same text."""
        html, text = TEXTS[name]
        monkeypatch.setattr(shown_text.tree_guard, "heavy", lambda _: True)
        assert visible_text(html.encode(), "html") == text

    def test_xhtml(self):
        """An XML document's elements mean the same."""
        text = b'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>no</title></head><body><p>a</p>b</body></html>'
        assert visible_text(text, "xml") == "a\nb"

    @pytest.mark.parametrize(
        "html",
        [b"<b>" * 20_000 + b"x", b"<p hidden>" * 5000 + b"x", b"<svg>" * 3000, b" " * 200_000],
    )
    def test_pages_made_to_be_costly_are_read(self, html):
        """Pages made to be costly are read all the same."""
        assert len(visible_text(html, "html")) <= 1

    @pytest.mark.parametrize("folder", [*in_campaign("html-newspaper"), "html-readability"])
    def test_both_parsers_agree_on_real_pages(self, folder, monkeypatch):
        """On real pages lexbor and libxml2 give nearly the same words."""
        differing = 0
        pages = sorted((cases(folder) / "pages").iterdir())
        for path in pages:
            body = gzip.decompress(path.read_bytes())
            text, kind = document(
                body, "text/html", encoding_of(body, "text/html", "http://a.test/")
            )
            ours = visible_text(text, kind).split()
            with monkeypatch.context() as patched:
                patched.setattr(shown_text.tree_guard, "heavy", lambda _text: True)
                others = visible_text(text, kind).split()
            differing += abs(len(ours) - len(others)) > len(ours) // 20

        assert differing <= len(pages) // 20


PAGE = """<!DOCTYPE html><html lang=" de-AT "><head><title>t</title>
<meta name=Description content=" What  it
is "><meta name=description content=second>
<link rel="alternate canonical" href=" /here "><link rel=canonical href=/there>
<meta property=og:title content="A title"><meta property=OG:image content=1.png><meta property=og:image content=2.png>
<meta name=og:type content=article><meta property=article:tag content=no>
</head><body><h2>Two <b>words</b></h2><h1></h1><h6>six</h6></body></html>"""


def read(html, kind="html"):
    return AboutReader().about(html.encode(), kind)


class TestAbout:
    def test_it_is_in_the_head_and_the_headings(self):
        """The first language, canonical URL and description count; headings and properties keep
        their order.
        """
        assert read(PAGE) == PageDescription(
            language="de-AT",
            canonical="/here",
            description="What it is",
            headings=[(2, "Two words"), (6, "six")],
            open_graph=[
                ("og:title", "A title"),
                ("og:image", "1.png"),
                ("og:image", "2.png"),
                ("og:type", "article"),
            ],
        )

    @pytest.mark.parametrize(
        ("html", "language"),
        [
            ("<html lang=en>", "en"),
            ("<html xml:lang=fr>", "fr"),
            ("<meta http-equiv=Content-Language content=it>", "it"),
            ("<html lang=''><meta http-equiv=content-language content=it>", "it"),
            ("<body lang=nl>", ""),
        ],
    )
    def test_the_language(self, html, language):
        """It is that of the root element, else that of a meta element."""
        assert read(html).language == language

    def test_xhtml(self):
        """An XML document names its language with a prefix."""
        html = '<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="sv"><body><h3>a</h3></body></html>'
        assert read(html, "xml") == PageDescription(language="sv", headings=[(3, "a")])

    def test_a_page_of_headings_fills_no_memory(self, monkeypatch):
        """A page that consists of headings and properties fills no memory."""
        monkeypatch.setattr(shown_text, "MOST", 3)
        monkeypatch.setattr(shown_text, "LONGEST", 5)
        found = read("<meta property=og:a content=123456789>" * 9 + "<h1>123456789</h1>" * 9)
        assert found.open_graph == [("og:a", "12345")] * 3
        assert found.headings == [(1, "12345")] * 3

    def test_nothing(self):
        """A document may say nothing."""
        assert read("") == PageDescription()


PIECES = (
    "a ", "b", "<p>", "</p>", "<div hidden>", "<div>", "</div>", "<p style='display: none'>", "<script>x</script>",
    "<table>", "<td>", "</table>", "<b>", "</b>", "<template>", "</template>", "<svg>", "</svg>", "<noscript>",
    "</noscript>", "<!-- c -->", "<br>", "<li>", "<select>", "<option>", "</select>", "<frameset>", "<title>",
    "</title>", "<body hidden>",
)  # fmt: skip


@pytest.mark.parametrize("html", [html for html, _ in TEXTS.values()])
def test_a_text_has_more_characters_than_any_smaller_number(html):
    """The count is that of the visible text without white space, and leaves the tree as it is."""
    tree = lexbor_tree(html.encode())
    before, characters = tree.html, len("".join(visible_text(html.encode(), "html").split()))

    assert shows_more(tree.body, characters - 1) == (characters > 0)
    assert not shows_more(tree.body, characters)
    assert tree.html == before


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_no_document_shows_more_than_its_visible_text(html):
    """However it is nested."""
    tree = lexbor_tree(html.encode())
    characters = len("".join(visible_text(html.encode(), "html").split()))

    assert not shows_more(tree.body, characters)
    assert shows_more(tree.body, characters - 1) == (characters > 0)
