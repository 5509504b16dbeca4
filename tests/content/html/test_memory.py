"""A parser without memory: a page's links are never lost in silence."""

import subprocess
import sys

import pytest
from lxml import etree
from selectolax.lexbor import SelectolaxError

from tests.support.places import ROOT
from webcrawl.content.html import trees
from webcrawl.content.html.link_reader import LinkReader

PAGE, URL = b'<html xmlns="http://www.w3.org/1999/xhtml"><a href="/x"/></html>', "http://a.test/"


def test_lexbor_without_memory(monkeypatch):
    """What lexbor reports is a want of memory."""

    def fail(*_, **__):
        raise SelectolaxError("Can't parse HTML.")

    monkeypatch.setattr(trees, "LexborHTMLParser", fail)

    with pytest.raises(MemoryError, match="Can't parse HTML"):
        LinkReader().links(PAGE, "text/html", URL)


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
