"""Reads the links of large pages, and of packed ones, in a thread.

84,000 links take 0.1 to 0.3 s, in which nothing else would happen.
"""

from __future__ import annotations

import asyncio
import contextlib

from webcrawl.adapter.trip import Trip
from webcrawl.crawl.visitor import Visitor
from webcrawl.formats.packed import MAGIC
from webcrawl.store.worker import SYSTEMS, Worker

LARGE = 1 << 18  # bytes of a body; below, a page takes less time than a turn of the event loop may, unless it is packed


class ReadingAhead:
    """One thread, and one page after the other: pages that wait keep their download slots, and checkpoints do not wait.

    What fails here, for lack of threads or memory, is tried again without a thread, and reported then.
    """

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor
        self._worker = Worker(stack=SYSTEMS)  # parsers may need much of it

    def __repr__(self) -> str:
        return f"<ReadingAhead {self._visitor!r}>"

    async def __call__(self, trip: Trip) -> None:
        """Call it for each answer, before it is processed."""
        link, exchange = trip.link, trip.exchange
        if link is None or exchange is None or link.path.endswith("P"):
            return
        if len(exchange.body) < LARGE and not exchange.body.startswith(MAGIC):
            return
        with contextlib.suppress(RuntimeError, OSError, MemoryError):
            await asyncio.wrap_future(self._worker.submit(self._visitor.read_ahead, link, exchange))
