"""Large pages are read in a thread, before they are processed."""

import asyncio
import threading

import pytest
from scrapy.exceptions import DownloadCancelledError

from tests.support.warc_crawl import exchange
from webcrawl.adapter.downloader import FrontierDownloader
from webcrawl.base.model import Link, Outcome
from webcrawl.crawl.reading_ahead import LARGE, ReadingAhead
from webcrawl.crawl.running_downloads import Running
from webcrawl.crawl.trip import Trip


class Visitor:
    """Notes in which thread it was called."""

    def __init__(self, error=None):
        self.error, self.threads = error, []

    def read_ahead(self, link, exchange):
        self.threads.append(threading.current_thread())
        if self.error is not None:
            raise self.error
        exchange.state.found = "links"


async def _awaited(waits):
    await waits


def read(size, *, error=None, path="", begins=b""):
    """The visitor, and what was found in a page of this size."""
    visitor, answer = Visitor(error), exchange(body=begins.ljust(size, b"x"))
    waits = ReadingAhead(visitor)(Trip(Link("http://a.test/", path), exchange=answer))
    if waits is not None:
        asyncio.run(_awaited(waits))
    return visitor, answer.state.found


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


class Panic(BaseException):
    """As a library in Rust raises it."""


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("can't start new thread"),
        MemoryError(),
        OSError("no more"),
        ValueError("x"),
        Panic("x"),
    ],
)
def test_what_fails_is_no_loss(error):
    """Without a thread or memory for it, or after any mistake, the page is read again when it is
    processed.
    """
    assert read(LARGE, error=error)[1] is None


class Pdfs:
    """Reads PDFs, or cannot."""

    def __init__(self, error=None):
        self.error, self.ended, self.threads = error, [], []

    def read(self, body, url):
        self.threads.append(threading.current_thread())
        if self.error is not None:
            raise self.error
        return f"links of {url}"

    def kill(self):
        self.ended.append("killed")

    def close(self):
        self.ended.append("closed")


def read_pdf(pdfs, **answer):
    answer = exchange(body=b"%PDF-1.4", **answer)

    async def all_of_it():
        ahead = ReadingAhead(Visitor(), pdfs)
        waits = ahead(Trip(Link("http://a.test/"), exchange=answer))
        try:
            if waits is not None:
                await waits
        finally:
            ahead.close()

    asyncio.run(all_of_it())
    return answer.state.found


def test_pdfs_have_a_thread_of_their_own():
    """However small they are; at the end their reader is killed and closed."""
    pdfs = Pdfs()

    assert read_pdf(pdfs) == "links of http://a.test/"
    assert pdfs.threads != [threading.current_thread()]
    assert pdfs.ended == ["killed", "closed"]


def test_pdfs_that_are_not_to_be_read():
    """Without a reader, or with another status, there is nothing to wait for."""
    assert read_pdf(None) is None
    assert read_pdf(Pdfs(), status=404) is None


def test_a_pdf_that_cannot_be_read_for_a_lack_of_ours():
    """It is told: nobody else would read it."""
    with pytest.raises(OSError, match="no process"):
        read_pdf(Pdfs(OSError("no process")))


class TestWaiting:
    """The downloader waits for it."""

    def downloader(self):
        found = FrontierDownloader.__new__(FrontierDownloader)
        found.running, found.lacks = Running(), []
        found.on_lack = found.lacks.append
        return found

    def wait(self, reading, meanwhile=None):
        downloader, trip = self.downloader(), Trip(Link("http://a.test/"), outcome=Outcome(200))

        async def both():
            task = asyncio.create_task(downloader.wait_for_reading(trip, reading()))
            await asyncio.sleep(0)
            if meanwhile is not None:
                meanwhile(downloader, trip, task)
            await task

        asyncio.run(both())
        return downloader, trip

    async def forever(self):
        await asyncio.sleep(60)

    def test_the_host_is_free(self):
        """Meanwhile the download is over, and nobody cancels it for its slot."""
        said = []

        async def short():
            await asyncio.sleep(0)

        self.wait(
            short,
            lambda one, trip, _: said.append(
                (trip in one.running, one.running.waiting(), trip.fetched)
            ),
        )

        assert said == [(True, [], Outcome(200))]

    def test_the_end_of_the_crawl(self):
        """It does not wait; the page is left for the next run."""

        def end(downloader, trip, task):
            trip.abandoned = True
            task.cancel()

        with pytest.raises(DownloadCancelledError, match="the crawl is ending"):
            self.wait(self.forever, end)

    def test_a_lack(self):
        """The crawl is told."""
        told = []

        async def fails():
            await asyncio.sleep(0)
            raise OSError("no process")

        def listen(downloader, trip, task):
            downloader.on_lack = told.append

        with pytest.raises(DownloadCancelledError):
            self.wait(fails, listen)
        assert [str(one) for one in told] == ["no process"]
