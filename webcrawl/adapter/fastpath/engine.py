"""A handle on Scrapy's engine and its slot, which exists from the scheduler's `open` on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any

from scrapy import Request, signals
from scrapy.core.engine import ExecutionEngine

from webcrawl.crawl import last_pages
from webcrawl.store.jobdir.stats_file import HURRIED_REASONS

STOP_LOOK_INTERVAL = 0.1  # seconds between two looks whether a crawl that is to stop is open
# After the last checkpoint Scrapy waits for the listeners to these
LAST_SIGNALS = {signals.spider_closed: "spider_closed", signals.engine_stopped: "engine_stopped"}


class LenientRequestSet(set[Request]):
    """A set whose `remove` accepts a missing member, because a page that was given up may come back."""

    remove = set.discard


class EngineHandle:
    """Wakes Scrapy's engine, reports when it begins to close, and makes it fail if the crawl did.

    `closing` is called when the spider begins to close, which waits for the awaitable that it
    returns. `failure` is called at the end, and the error that it returns is raised where the crawl
    was started. Scrapy's commands then end with exit status 1; the reason for which a spider was
    closed never has them do so.
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
        self.guests: Any = None  # the GuestRequests, which `install` sets
        self._loop = asyncio.get_running_loop()
        self.slot.close = partial(self._close_slot, self.slot.close, closing)  # type: ignore[method-assign]
        # Neither a signal nor an exception of a signal handler, or of the scheduler's `close`,
        # changes the exit status of Scrapy's commands
        self.engine.start_async = partial(self._start_and_raise, self.engine.start_async, failure)  # type: ignore[method-assign]
        self._closed_future: asyncio.Future[None] | None = None
        self._is_stopped = False
        self._has_opened_state = False  # then pipelines and listeners open
        # by command or signal, perhaps while the crawl was closing already
        self.was_told_to_stop = False
        close_spider = self.engine.close_spider_async
        stop = self.engine.stop_async

        async def close_once(*, reason: str = "cancelled") -> None:
            if reason in HURRIED_REASONS:
                self.was_told_to_stop = True
            if self._closed_future is not None:
                await close_spider(reason=reason)
                return
            self._closed_future = self._loop.create_future()
            try:
                await close_spider(reason=reason)
            finally:
                self._closed_future.set_result(None)

        async def stop_when_closed() -> None:
            """Stop the engine once, and not before the spider has closed."""
            # After a Ctrl-C while the crawl closes by itself, Scrapy would wait for the requests
            # only. It would leave out the rest of the closing, with the last checkpoint, and end
            # with exit status 0.
            if self._closed_future is not None and self.engine.spider is not None:
                self.was_told_to_stop = True
                await asyncio.shield(self._closed_future)
            if not self._is_stopped:
                self._is_stopped = True
                await stop()

        self.engine.close_spider_async = close_once  # type: ignore[method-assign]
        self.engine.stop_async = stop_when_closed  # type: ignore[method-assign]

    async def _start_and_raise(
        self,
        start: Callable[..., Awaitable[None]],
        failure: Callable[[], Exception | None],
        **options: Any,
    ) -> None:
        """Run the engine, and raise what made the crawl fail."""
        if self.engine.crawler.crawling:
            await start(**options)
        elif self.engine.spider is not None:  # a signal came while it was being opened
            await self.engine.close_spider_async(reason="shutdown")
        if (error := failure()) is not None:
            raise error

    async def _close_slot(
        self, close: Callable[[], Awaitable[None]], closing: Callable[[], Awaitable[None] | None]
    ) -> None:
        """Close the slot: wait for all requests, those of the crawl's own loop included."""
        # Before Scrapy waits, because its signals of closing come only when all requests are done
        own_requests = closing()
        await close()
        if own_requests is not None:
            await own_requests
        # After each request that a pipeline makes while it closes, Scrapy would report once more
        # that the slot is closed, and fail
        self.slot.remove_request = self.slot.inprogress.discard  # type: ignore[method-assign,assignment]

    def watch_opening(self) -> None:
        """Have a line say if pipelines or listeners to spider_opened do not open.

        If the crawl is told to stop meanwhile, it ends without them. What has opened is closed.
        """
        scraper: Any = self.engine.scraper
        manager: Any = self.engine.signals
        send = manager.send_catch_log_async
        opened_here = partial(last_pages.opened, is_over=lambda: self.engine.spider is None)
        open_pipelines = partial(
            opened_here, scraper.open_spider_async, what="open_spider of a pipeline"
        )

        async def open_closable_pipelines() -> None:
            # A signal came while the state was opened: the process ends, and would not close them
            if not self.engine.crawler.crawling:
                raise asyncio.CancelledError
            self._has_opened_state = True
            await open_pipelines()

        scraper.open_spider_async = open_closable_pipelines
        self._close_if_stopped()

        async def send_opened(signal: object, **kwargs: Any) -> list[Any]:
            if signal is not signals.spider_opened:
                results: list[Any] = await send(signal, **kwargs)
                return results
            # No page pays for this
            manager.send_catch_log_async = send
            listeners = partial(send, signal, **kwargs)
            return await opened_here(listeners, what="a listener to spider_opened") or []

        manager.send_catch_log_async = send_opened

    def _close_if_stopped(self) -> None:
        """Have a signal close the crawl once its state is open, though it does not run yet.

        Scrapy would end the process, and close nothing: not what pipelines have opened either.
        """
        engine, crawler = self.engine, self.engine.crawler
        stop = crawler.stop_async

        async def stop_when_open() -> None:
            opens = self._has_opened_state and not engine.running and engine.spider is not None
            if not opens or not crawler.crawling:
                await stop()
                return
            crawler.crawling = False
            seconds = 0.0
            while not engine.running and self._closed_future is None:
                if seconds >= last_pages.REPORTED_AFTER:
                    await engine.close_spider_async(reason="shutdown")
                    return
                await asyncio.sleep(STOP_LOOK_INTERVAL)
                seconds += STOP_LOOK_INTERVAL
            if self._closed_future is not None:  # it could not be opened
                await asyncio.shield(self._closed_future)
            else:
                await engine.stop_async()

        crawler.stop_async = stop_when_open  # type: ignore[method-assign]

    def close_code_by(self, close_by: Callable[..., Awaitable[None]]) -> None:
        """Have the pipelines and the listeners to LAST_SIGNALS closed by `close_by`.

        It is called with the function that closes them, and with words for the log if these are
        listeners.
        """
        pipelines: Any = self.engine.scraper.itemproc
        # An ITEM_PROCESSOR of another project may not have this method
        if hasattr(pipelines, "close_spider_async"):
            pipelines.close_spider_async = partial(close_by, pipelines.close_spider_async)
        manager: Any = self.engine.signals
        send = manager.send_catch_log_async

        async def send_last(signal: object, **kwargs: Any) -> list[Any]:
            name = LAST_SIGNALS.get(signal)
            if name is None:
                results: list[Any] = await send(signal, **kwargs)
                return results
            what = (
                f"a listener to {name} (of an extension, a feed, a download handler or the spider)"
            )
            await close_by(partial(send, signal, **kwargs), what)
            return []

        manager.send_catch_log_async = send_last

    def give_up_pages(self, requests: Iterable[Request] = ()) -> None:
        """Keep the scraper from waiting for pages in the spider or the pipelines.

        `requests` are those of pages that Scrapy's engine has taken there.
        """
        slot = self.engine.scraper.slot
        if slot is not None:
            slot.active = LenientRequestSet(slot.active.difference(requests))
            slot.itemproc_size = 0
            self.engine.scraper._check_if_closing()  # noqa: SLF001

    def wake(self) -> None:
        """Have the engine ask the scheduler now. Otherwise it asks when a request ends, or after 5 s.

        Before the scraper is open nothing happens, because Scrapy would fail. A batch of another
        drone or a merge may call this so early; the engine asks anyway when it begins.
        """
        # Never with a delay, until whose end Scrapy would ignore all further calls of `schedule`
        if self.slot.closing is None and self.engine.scraper.slot is not None:
            self.slot.nextcall.schedule()
