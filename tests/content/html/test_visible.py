"""The visible text of a document is what a browser would show of it."""

import gzip

import pytest

from tests.support.cases import cases
from tests.support.examples import in_campaign
from webcrawl.content.html import shown_text
from webcrawl.content.html.encoding_sniffing import encoding_of
from webcrawl.content.html.shown_text import visible_text
from webcrawl.content.html.trees import document

# HTML, and its text
TEXTS = {
    "words split by markup": ("<p>w<b>ord</b>s <i>and</i> more", "words and more"),
    "blocks": ("<h1>a</h1><p>b<p>c<ul><li>d<li>e</ul>f", "a\nb\nc\nd\ne\nf"),
    "line breaks": ("a<br>b<br><br>c", "a\nb\nc"),
    "cells": ("<table><tr><td>a<td>b<tr><td>c</table>", "a\nb\nc"),
    "white space": ("  a \t\n b&nbsp;c  ", "a b c"),
    "entities": ("a &amp; b &lt;c&gt; &#x41;", "a & b <c> A"),
    "scripts and styles": ("a<script>no</script><style>no</style><noscript>no</noscript>b", "ab"),
    "what is no text": ("a<template>no</template><textarea>no</textarea><select><option>no</select>b", "ab"),
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
        "html", [b"<b>" * 20_000 + b"x", b"<p hidden>" * 5000 + b"x", b"<svg>" * 3000, b" " * 200_000]
    )
    def test_pages_made_to_be_costly_are_read(self, html):
        """Pages made to be costly are read all the same."""
        assert len(visible_text(html, "html")) <= 1

    @pytest.mark.parametrize("folder", [*in_campaign("html-newspaper"), "html-readability"])
    def test_both_parsers_agree_on_real_pages(self, folder):
        """On real pages lexbor and libxml2 give nearly the same words."""
        differing = 0
        pages = sorted((cases(folder) / "pages").iterdir())
        for path in pages:
            body = gzip.decompress(path.read_bytes())
            text, kind = document(body, "text/html", encoding_of(body, "text/html", "http://a.test/"))
            ours = visible_text(text, kind).split()
            others = " ".join(shown_text._of_root(shown_text.plain_root(shown_text.defused(text)))).split()
            differing += abs(len(ours) - len(others)) > len(ours) // 20

        assert differing <= len(pages) // 20
