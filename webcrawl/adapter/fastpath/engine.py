"""The slot of Scrapy's engine, which exists from the scheduler's `open` on, under private names."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any

from scrapy import Request
from scrapy.core.engine import ExecutionEngine


class LenientSet(set[Request]):
    """A set whose `remove` accepts a missing member, because a page may come back after all."""

    remove = set.discard


class EngineHandle:
    """Wakes the engine, reports that it begins to close, and fails when the crawl did.

    `failure` is asked at the end, and what it returns is raised where the crawl was started.
    Scrapy's commands then end with exit status 1, which they do for no reason why a spider was
    closed.
    """

    def __init__(
        self,
        engine: ExecutionEngine | None,
        closing: Callable[[], Awaitable[None] | None],
        failure: Callable[[], Exception | None],
    ) -> None:
        if engine is None or engine._slot is None:  # noqa: SLF001 - here and below: the slot has no public name
            raise RuntimeError("the engine has no slot until the scheduler is open")

        self.engine = engine
        self.slot = engine._slot  # noqa: SLF001
        self.guests: Any = None  # requests on their way through it
        self._loop = asyncio.get_running_loop()
        self.slot.close = partial(self._close_slot, self.slot.close, closing)  # type: ignore[method-assign]
        start = self.engine.start_async

        async def start_and_judge(**options: Any) -> None:
            await start(**options)
            if (error := failure()) is not None:
                raise error

        # No signal, and no exception of a signal handler or of a scheduler's `close`, changes the
        # exit status of Scrapy's commands.
        self.engine.start_async = start_and_judge  # type: ignore[method-assign]
        self._closing: asyncio.Future[None] | None = None
        self._stopped = False
        self.told_to_stop = False  # while the crawl closes
        close_spider = self.engine.close_spider_async
        stop = self.engine.stop_async

        async def close_and_say(*, reason: str = "cancelled") -> None:
            if self._closing is not None:
                await close_spider(reason=reason)
                return
            self._closing = self._loop.create_future()
            try:
                await close_spider(reason=reason)
            finally:
                self._closing.set_result(None)

        async def stop_when_closed() -> None:
            # Ctrl-C while the crawl closes by itself: Scrapy would wait for the requests only, and
            # then leave the rest of the closing undone, the last checkpoint among it, with exit
            # status 0.
            if self._closing is not None and self.engine.spider is not None:
                self.told_to_stop = True
                await asyncio.shield(self._closing)
            if not self._stopped:
                self._stopped = True
                await stop()

        self.engine.close_spider_async = close_and_say  # type: ignore[method-assign]
        self.engine.stop_async = stop_when_closed  # type: ignore[method-assign]

    async def _close_slot(
        self, close: Callable[[], Awaitable[None]], closing: Callable[[], Awaitable[None] | None]
    ) -> None:
        # Before Scrapy waits: its signals of closing come when all requests are done
        own = closing()
        await close()
        # The requests of the crawl's own loop are awaited, too
        if own is not None:
            await own
        # Scrapy says again that it is closed after each request that a pipeline makes while it
        # closes, and fails
        self.slot.remove_request = self.slot.inprogress.discard  # type: ignore[method-assign,assignment]

    def close_pipelines_by(
        self, way: Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]
    ) -> None:
        """Have this called with what closes the pipelines."""
        pipelines: Any = self.engine.scraper.itemproc
        # not all of other people's ITEM_PROCESSORs have it
        if hasattr(pipelines, "close_spider_async"):
            pipelines.close_spider_async = partial(way, pipelines.close_spider_async)

    def give_up_pages(self, requests: Iterable[Request] = ()) -> None:
        """Keep the scraper from waiting for pages in the spider or the pipelines."""
        slot = self.engine.scraper.slot
        if slot is not None:
            slot.active = LenientSet(slot.active.difference(requests))
            slot.itemproc_size = 0
            self.engine.scraper._check_if_closing()  # noqa: SLF001

    def wake(self) -> None:
        """Make the engine ask the scheduler now: else it asks when a request ends, or after 5 s.

        Before the scraper is open, when a letter or a merge may wake it already, Scrapy would fail;
        it asks when it begins.
        """
        # Never with a delay: until that is over, Scrapy ignores all further calls of `schedule`
        if self.slot.closing is None and self.engine.scraper.slot is not None:
            self.slot.nextcall.schedule()
