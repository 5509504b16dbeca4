"""Pages designed to exhaust a parser."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from selectolax.lexbor import SelectolaxError

from tests.support.places import ROOT
from webcrawl.content.html import tree_guard, trees
from webcrawl.content.html.link_reader import LinkReader

SIZE = 60_000


def _many(piece, size=SIZE):
    return piece * (size // len(piece))


def _numbered(pattern, count):
    return b"".join(pattern % number for number in range(count))


ATTACKS = {
    "formatting left open": b"<p>" + _numbered(b"<b a=%d>", 3000) + _many(b"<p>x"),
    "font left open, upper case": b"<p>" + _numbered(b"<FONT\n%d>", 3000) + _many(b"<P>x"),
    "few, but with many attributes": b"<p>" + (b"<i " + _numbered(b"a%d ", 300) + b">") * 3 + _many(b"<p>x"),
    "one anchor with many attributes": b"<a " + _numbered(b"a%d ", 6000) + b">" + _many(b"<p>x"),
    "the same behind a quoted bracket": b"<a x='>' y=\"<\"" + _numbered(b"a%d ", 6000) + b">" + _many(b"<p>x"),
    "the same behind a quote in a name": b"<a q' x='>' " + _numbered(b"a%d ", 6000) + b">" + _many(b"<p>x"),
    "the same begun within a comment": b"<!-- <a ' --><a x='>' " + _numbered(b"a%d ", 6000) + b">" + _many(b"<p>x"),
    "a long value": b"<a x=" + b"y" * 100_000 + b">" + _many(b"<p>x"),
    "ends that do not end": _numbered(b"<b a=%d><object></b></object>", 1500) + _many(b"<p>x</p>"),
    "one without end": b"<b x=' " + _many(b"<p>x") * 2,
}


class TestHeavy:
    @pytest.mark.parametrize("name", ATTACKS)
    def test_pages_that_grow_are_known(self, name):
        """Markup that would be reopened in every paragraph is detected, wherever a tag seems to begin or to end."""
        assert tree_guard.heavy(ATTACKS[name])

    @pytest.mark.parametrize("piece", [b"<div>", b"<ul><li>", b"<dl><dd>", b"<a href=x>", b"<p>"])
    def test_too_many_tags_are_known(self, piece):
        """Beyond a number of tags nesting could cost seconds."""
        assert tree_guard.heavy(piece * (tree_guard.MANY_TAGS + 1))

    def test_an_ordinary_page_is_not_heavy(self):
        """A page of 500 tags with closed formatting elements is not heavy."""
        row = b"<p class=x>text <b class=y>bold</b> <i>i</i> <a href='/x?y=z' title='t > u'>link</a></p>"
        assert not tree_guard.heavy(b"<!DOCTYPE html><html><head><title>t</title></head><body>" + row * 60)

    def test_an_empty_page_is_not_heavy(self):
        """An empty page is not heavy."""
        assert not tree_guard.heavy(b"")


class TestDefused:
    def test_a_tag_with_too_many_attributes_becomes_text(self):
        """Only its bracket is replaced."""
        crowded = b"<div " + _numbered(b"a%d ", 600) + b">"
        assert tree_guard.defused(b"<p>" + crowded + b"<a href=x>") == b"<p> " + crowded[1:] + b"<a href=x>"

    def test_ordinary_pages_are_left_alone(self):
        """A long value, many tags, quoted brackets: nothing changes."""
        body = b"<img src='" + b"x" * 200_000 + b"'>" + b"<a b='>' c=\"<\" d=e f>" * 500
        assert tree_guard.defused(body) is body

    @given(
        st.lists(st.sampled_from([b"<a", b" ", b"b=", b"'", b'"', b">", b"<", b"/", b"c"]), max_size=60).map(b"".join)
    )
    def test_little_is_never_too_much(self, body):
        """A body with fewer attributes in all than one tag may have is returned unchanged."""
        assert tree_guard.defused(body) is body


HOSTILE = """
import resource
from tests.support.hostile import peak
from tests.content.html.test_guard import ATTACKS
from webcrawl.content.html import link_kinds
from webcrawl.content.html.link_reader import LinkReader
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
reader = LinkReader(link_kinds.KINDS, anchor_text=True)
big = [b"<div>", b"<a href=x><object>", b"<b><p>", b"<ul><li>", b"<a x='", b"<a b=<a/x", b"&#x", b"<!--"]
pages = [*ATTACKS.values(), *(piece * (2_000_000 // len(piece)) for piece in big)]
pages.append(b"<div " + b"".join(b"a%d " % n for n in range(250_000)) + b">")
for page in pages:
    reader.links(page, "text/html; charset=utf-8", "http://x.test/")
print(peak() // 1024)  # getrusage would count the parent too
"""


@pytest.mark.campaign
def test_memory_stays_bounded():
    """All attacks, and 2 MiB of each kind of nesting, are read within 400 MiB."""
    run = subprocess.run([sys.executable, "-c", HOSTILE], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 400


PAGE, URL = b'<html xmlns="http://www.w3.org/1999/xhtml"><a href="/x"/></html>', "http://a.test/"


def test_lexbor_without_memory(monkeypatch):
    """What lexbor reports is a want of memory."""

    def fail(*_, **__):
        raise SelectolaxError("Can't parse HTML.")

    monkeypatch.setattr(trees, "LexborHTMLParser", fail)

    reader = LinkReader()
    reader.leave_native()

    with pytest.raises(MemoryError, match="Can't parse HTML"):
        reader.links(PAGE, "text/html", URL)


@pytest.mark.parametrize("code", [etree.ErrorTypes.ERR_NO_MEMORY, etree.ErrorTypes.ERR_DOCUMENT_EMPTY])
def test_libxml2_without_memory(monkeypatch, code):
    """Of libxml2's errors only that one is; with the others the page is merely unreadable."""

    def fail(*_):
        raise etree.XMLSyntaxError("it fails", code, 1, 1)

    monkeypatch.setattr(trees.etree, "fromstring", fail)

    if code == etree.ErrorTypes.ERR_NO_MEMORY:
        with pytest.raises(MemoryError, match="it fails"):
            LinkReader().links(PAGE, "application/xhtml+xml", URL)
    else:
        assert LinkReader().links(PAGE, "application/xhtml+xml", URL).links == []


SHORT = """
import resource, signal
from webcrawl.content.html import tree_guard

signal.alarm(20)
body = b"<a x=1 y=2>" * 30_000
with open("/proc/self/statm") as file:
    most = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (most, most))
hoard, size = [], 1 << 20
while size >= 1024:
    try:
        while True:
            hoard.append(bytearray(size))
    except MemoryError:
        size //= 2
for automaton in (tree_guard.LARGE_TAG, tree_guard.SUSPECT, tree_guard.CROWDED_TAG) * 2:
    try:
        automaton.search(body)
    except MemoryError:
        pass
"""


def test_a_search_without_memory_ends():
    """RE2 without memory finds what it can, or raises; it never waits."""
    run = subprocess.run([sys.executable, "-c", SHORT], cwd=ROOT, capture_output=True, text=True, check=False)

    assert (run.returncode, run.stderr) == (0, "")
