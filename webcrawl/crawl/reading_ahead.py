"""Reads links of large or packed pages in a thread, and PDFs in a process, ahead.

84,000 links take 0.1 to 0.3 s, in which nothing else would happen; a PDF may take seconds, and take
its reader down.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from importlib.util import find_spec
from typing import Protocol

from webcrawl.base.model import Exchange, Link
from webcrawl.base.outputs import OF_PDFS
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.content.formats.pdf import PdfProcess
from webcrawl.content.formats.sniffing import GZIP, is_pdf
from webcrawl.crawl.panics import tamed
from webcrawl.crawl.trip import Trip
from webcrawl.crawl.visitor import Visitor
from webcrawl.store.worker import SYSTEMS, Worker

# bytes of a body; below, a page that is not packed takes less time than a turn of the event loop
# may
LARGE = 1 << 18


class Ahead(Protocol):
    """What is done with an answer before it is processed."""

    async def begin(self) -> None:
        """Call it before the first answer. StoreError if it could not do its work."""

    def __call__(self, trip: Trip, /) -> Awaitable[None] | None:
        """Return the future to wait for before this answer is processed, if any."""

    def close(self) -> None:
        """Nobody waits any more."""


def pdf_process(values: CheckedSettings) -> PdfProcess | None:
    """Return a process that reads what the crawl wants of PDFs.

    Return None if it wants nothing, or if the library that reads text is missing.
    """
    links = "pdf" in values["LINK_SOURCES"]
    wants_text = not OF_PDFS.isdisjoint(values["OUTPUTS"])
    text = wants_text and find_spec("pypdfium2") is not None
    return PdfProcess(links=links, text=text) if links or text else None


class ReadingAhead:
    """Reads in one thread, page after page. A page that waits keeps its slot; checkpoints go on.

    What fails here, for lack of threads or memory or by a mistake, is tried again without a thread,
    and reported then. PDFs have a thread of their own, which waits for `pdfs`; their failures are
    raised: there is no other way to read them.
    """

    def __init__(self, visitor: Visitor, pdfs: PdfProcess | None = None) -> None:
        self._visitor = visitor
        self._pdfs = pdfs
        self._worker = Worker(stack=SYSTEMS)  # parsers may need much of it
        self._waiter = Worker() if pdfs is not None else None  # the thread that waits for `pdfs`

    async def begin(self) -> None:
        """Start a thread or a process with the first one that needs it."""

    def __call__(self, trip: Trip) -> Awaitable[None] | None:
        """Return the future of a large page or of a PDF; None for what is read by the visit."""
        link, exchange = trip.link, trip.exchange
        if link is None or exchange is None or link.is_prerequisite:
            return None
        if self._pdfs is not None and is_pdf(exchange.content_type, exchange.body):
            return self._pdf(exchange) if 200 <= exchange.status < 300 else None
        # A small packed body may be a large page.
        is_large = len(exchange.body) >= LARGE or exchange.body.startswith(GZIP)
        return self._page(link, exchange) if is_large else None

    async def _page(self, link: Link, exchange: Exchange) -> None:
        try:
            await asyncio.wrap_future(self._worker.submit(self._visitor.read_ahead, link, exchange))
        except BaseException as error:  # noqa: BLE001 - whatever it is, it comes again where the page is read
            tamed(error)

    async def _pdf(self, exchange: Exchange) -> None:
        if self._pdfs is not None and self._waiter is not None:
            reading = self._waiter.submit(self._pdfs.read, exchange.body, exchange.url)
            exchange.state.found = await asyncio.wrap_future(reading)

    def close(self) -> None:
        if self._pdfs is not None and self._waiter is not None:
            self._pdfs.kill()
            self._waiter.submit(self._pdfs.close)
            self._waiter.close()
