"""Large pages are read in a thread, before they are processed."""

import asyncio
import threading

import pytest

from tests.support.warc_crawl import exchange
from webcrawl.adapter.reading_ahead import LARGE, ReadingAhead
from webcrawl.adapter.trip import Trip
from webcrawl.model import Link


class Visitor:
    """Notes in which thread it was called."""

    def __init__(self, error=None):
        self.error, self.threads = error, []

    def read_ahead(self, link, exchange):
        self.threads.append(threading.current_thread())
        if self.error is not None:
            raise self.error
        exchange.found = "links"


def read(size, *, error=None, path="", begins=b""):
    """The visitor, and what was found in a page of this size."""
    visitor, answer = Visitor(error), exchange(body=begins.ljust(size, b"x"))
    asyncio.run(ReadingAhead(visitor)(Trip(Link("http://a.test/", path), exchange=answer)))
    return visitor, answer.found


def test_a_large_page_is_read_in_a_thread():
    """Its links are there before it is processed."""
    visitor, found = read(LARGE)

    assert found == "links"
    assert visitor.threads != [threading.current_thread()]


def test_so_is_a_packed_one():
    """However small it is: it may be a large sitemap."""
    assert read(100, begins=b"\x1f\x8b\x08")[1] == "links"


@pytest.mark.parametrize(("size", "path"), [(LARGE - 1, ""), (LARGE, "P")])
def test_others_are_read_when_they_are_processed(size, path):
    """A smaller page, or a robots.txt, needs no thread."""
    visitor, found = read(size, path=path)

    assert (visitor.threads, found) == ([], None)


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), MemoryError(), OSError("no more")])
def test_a_lack_of_ours_is_no_loss(error):
    """Without a thread or memory for it, the page is read when it is processed."""
    assert read(LARGE, error=error)[1] is None
