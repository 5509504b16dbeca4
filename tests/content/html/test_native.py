"""The native reader of links gives what Python's way gives, or leaves the page to it."""

import gzip
from html.entities import html5
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import cases
from tests.support.odd_pages import any_page
from tests.support.places import ROOT
from webcrawl.base.native import NATIVE
from webcrawl.content.html.link_kinds import DocumentLinks
from webcrawl.content.html.link_reader import LinkReader
from webcrawl.content.html.native_links import FoundRows, NativeDocument, rows_of
from webcrawl.content.html.tree_guard import heavy

if NATIVE is None:
    pytest.skip("the native reader was not built, or WEBCRAWL_NATIVE=0", allow_module_level=True)

from tests.fuzzing.native import MAX_LENGTH, differences

PAGE = b"<!DOCTYPE html><title>A  title</title><a href=/1>1</a><a href=/2 rel=nofollow>2</a>"
URL = "http://a.test/b"
SHARE = 0.95  # of the real pages that are given to lexbor otherwise


def read(page: bytes, media: str = "text/html; charset=utf-8") -> DocumentLinks:
    return LinkReader().links(page, media, URL)


@given(st.integers(0, 2**64))
def test_generated_pages_have_the_same_links(seed):
    """A page whose tags do not fit together is read as by Python's way, or left to it."""
    page = any_page(Random(seed)).encode()

    assert not differences(page, "text/html; charset=utf-8", URL)


@pytest.mark.parametrize("name", ["html-newspaper", "html-readability"])
def test_real_pages_have_the_same_links(name):
    """Nearly all real pages are read without doubt, and as by Python's way."""
    paths = sorted((cases(name) / "pages").glob("*.gz"))
    pages = [page for page in (gzip.decompress(path.read_bytes()) for path in paths) if not heavy(page)]
    found = [differences(page, "text/html", URL) for page in pages]

    assert not any(found)
    assert sum(one is not None for one in found) >= SHARE * len(found) - 1


def test_references_are_those_of_the_standard():
    """The table of the native reader has the names that Python has."""
    lines = (ROOT / "webcrawl/native/src/entities.txt").read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines)

    assert {name: "".join(chr(int(code, 16)) for code in codes.split(",")) for name, codes in rows} == html5


@pytest.mark.parametrize(
    "page",
    [
        b"<table><a href=1>x</a><tr><td></table>",
        b"<noframes><a href=1></noframes>",
        b"<frameset><frame src=1></frameset>",
        b"<svg><a href=1></a></svg>",
        b"<meta http-equiv=refresh content='0; url=/1'>",
        b"<a href=1>\0</a>",
        b"<a href='\xff'>x</a>",
    ],
)
def test_doubtful_pages_are_left_to_python(page):
    """Whatever may be moved, ignored or repeated is read from a tree."""
    assert differences(page, "text/html; charset=utf-8", URL) is None


def test_rows_are_made_when_they_are_asked_for():
    """The number of links is known before any of them is a row."""
    found = read(PAGE)
    rows = rows_of(found)

    assert isinstance(found, NativeDocument)
    assert isinstance(rows, FoundRows)
    assert (len(rows), rows.are_made) == (2, False)
    assert rows[1] == ("a", "/2", "", "nofollow")
    assert rows.are_made
    assert [*rows] == found.links == rows[:]
    assert rows_of(found) is found.links


def test_queries_are_written_in_the_encoding_of_the_page():
    """An address in another encoding is respelled as Python's way does it."""
    assert read(b"<a href='/?\xe4'>", "text/html; charset=windows-1252").links == [("a", "/?%E4", "", "")]


def test_a_document_equals_one_that_was_read_by_python():
    """What has read a document does not matter."""
    by_python = LinkReader()
    by_python.leave_native()

    assert read(PAGE) == by_python.links(PAGE, "text/html; charset=utf-8", URL)
    assert read(PAGE) != 1


def test_long_links_are_python_s():
    """A link that is too long is counted as by Python's way."""
    page = b"<a href='/%s'><a href='/b'>" % (b"a" * MAX_LENGTH)

    assert differences(page, "text/html; charset=utf-8", URL) == []
