"""Scrapy's scheduler: the crawl's frontier behind three methods."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Self

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import build_from_crawler, load_object
from twisted.internet.defer import Deferred

from webcrawl.adapter.close import close_spider
from webcrawl.adapter.downloader import downloader_of
from webcrawl.adapter.requests import has_errback, to_link, to_request, variant
from webcrawl.adapter.robots_request import RobotsRequests
from webcrawl.adapter.trip import Trip
from webcrawl.adapter.values import values_of
from webcrawl.crawl.assembly import assemble
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.visitor import Visitor
from webcrawl.fastpath import install
from webcrawl.fastpath.engine import Engine
from webcrawl.model import Outcome, Status, unpack
from webcrawl.seeds.reader import Seeds
from webcrawl.store.errors import StoreError
from webcrawl.urls.canonical import InvalidUrl

logger = logging.getLogger(__name__)

# A host's next turn within so many seconds is worth keeping its connection open; many a turn comes late, when others
# wait for the same processor. Five seconds are what servers keep theirs (Apache).
NEAR, SLACK = 10.0, 5.0
PAUSE = 0.001  # seconds between two slices of the work ahead of a checkpoint, most of which only wait for the disk
GRACE = 5.0  # seconds that downloads under way have left when the crawl is stopped
NO_OUTCOME = Outcome(Status.OUT_OF_SCOPE)  # a middleware let the request go no further: nobody was asked


class FrontierScheduler:
    """Requests go in as links and come out when their hosts may be asked; nothing here ever waits."""

    crawl: Crawl
    visitor: Visitor
    spider: Spider

    def __init__(self, crawler: Crawler, dupefilter: BaseDupeFilter) -> None:
        self.crawler, self.dupefilter = crawler, dupefilter
        self._engine: Engine | None = None
        self._timer: Any = None
        self._timer_at = float("inf")
        self._saving = asyncio.Lock()
        self._closed = True  # until it is opened
        self.on_checkpoint: Callable[[], None] | None = None
        self.failed: StoreError | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler, build_from_crawler(load_object(crawler.settings["DUPEFILTER_CLASS"]), crawler))

    # -- Scrapy's side

    def open(self, spider: Spider) -> Deferred[None]:
        return deferred_from_coro(self._open(spider))

    async def _open(self, spider: Spider) -> None:
        loop = asyncio.get_running_loop()
        self.spider = spider
        values = values_of(self.crawler)
        lists, limit = getattr(spider, "seed_lists", None), getattr(spider, "seed_limit", None)
        self.crawl, self.visitor = assemble(
            values,
            seeds=Seeds(lists, limit, values["URL_MAX_LENGTH"]) if lists else None,
            on_ready=partial(_from_thread, loop, self.wake),
            wants_refusal=has_errback,
        )
        downloader, makes_pages = downloader_of(self.crawler), getattr(spider, "makes_pages", False)
        self._barrier = downloader.barrier
        self._closed = False
        self.crawl.begin()
        self._robots = RobotsRequests(self.visitor, pages=makes_pages)
        self._engine = install(self.crawler.engine, finished=self._finished, closing=self._closing)
        if not makes_pages:
            downloader.on_outcome = self._hide

    def close(self, reason: str) -> Deferred[None]:
        del reason
        return deferred_from_coro(self._close())

    async def _close(self) -> None:
        """No request is under way any more: what is left is queued, and in this last checkpoint."""
        if self._closed:  # it could not be opened
            return
        if self._timer is not None:
            self._timer.cancel()
        try:
            await self.checkpoint(last=True)
        except StoreError as error:
            self.fail(error)
        finally:
            self._closed = True
            self.crawl.close()

    def has_pending_requests(self) -> bool:
        return self.crawl.pending

    def enqueue_request(self, request: Request) -> bool:
        """Any request of a spider or a middleware; what fails must not raise here, or Scrapy would hang."""
        try:
            # What a spider starts from passes the seen test whatever Scrapy's default says: a crawl is resumed.
            free = request.dont_filter and not request.meta.get("is_start_request")
            if free or not self.dupefilter.request_seen(request):
                self.crawl.insert(to_link(request, self.spider), variant(request))
        except IgnoreRequest:
            return False
        except InvalidUrl as error:
            self.crawl.count_filtered(error.reason)
            return False
        except StoreError as error:
            self.fail(error)
            return False
        except Exception:  # a callback that is no method of the spider, an argument that is no plain data
            logger.exception("%s cannot be kept on disk", request)
            return False
        self.wake()
        return True

    def next_request(self) -> Request | None:
        now = self.crawl.now()
        refusal = self.crawl.take_refusal()  # before more can be dropped
        if refusal is not None:
            return to_request(unpack(refusal.record), self.spider, Trip(refusal=refusal))
        try:
            link = self.crawl.take(now)
        except Exception as error:  # noqa: BLE001 - whatever it is, what it was in the middle of is half done
            self.fail(error)
            return None
        if link is None:
            self._wake_at(self.crawl.next_ready(), now)
            return None
        turn = self.crawl.next_turn(link)
        trip = Trip(link, keep=turn + SLACK if turn < NEAR else 0.0)
        return self._robots.request(link.url, trip) if link.path.endswith("P") else to_request(link, self.spider, trip)

    def wake(self) -> None:
        """Makes the engine ask again, at once: by itself it asks when a request ends, or every 5 seconds."""
        if self._engine is not None:
            self._engine.wake()

    # -- the crawl's side

    async def checkpoint(self, *, last: bool = False) -> None:
        """All ahead of it in slices, then between two pages, in one turn of the event loop."""
        barrier = self._barrier
        async with self._saving:
            if self._closed:  # while this one waited for its turn the last one was made
                return
            await by_turns(self.crawl.prepare())
            try:
                await barrier.shut()
                if self.failed is not None:  # something of a page is not on disk: it must not be booked either
                    raise self.failed
                self.crawl.checkpoint(last=last)
                if self.on_checkpoint is not None:
                    self.on_checkpoint()
            finally:
                barrier.open()

    def fail(self, error: Exception) -> None:
        """The state on disk is the last checkpoint's, and nothing can be added to it: the crawl ends.

        What is no StoreError is a mistake of ours, in the middle of a change: that must not be committed either.
        """
        if self.failed is None:
            known = isinstance(error, StoreError)
            self.failed = error if isinstance(error, StoreError) else StoreError(f"half a change: {error!r}")
            logger.critical("%s", self.failed, exc_info=None if known else error)
            close_spider(self.crawler, "store_failed")

    def _closing(self) -> None:
        call_later(GRACE, downloader_of(self.crawler).abandon)

    def _hide(self, trip: Trip) -> None:
        """As with Scrapy's own retries, the spider gets only the last answer to a request."""
        if trip.link is not None and trip.outcome is not None:
            trip.comes_again = trip.abandoned or self.crawl.tries_again(trip.link, trip.outcome)

    def _finished(self, request: Request, trip: Trip) -> None:
        if trip.link is not None and not trip.abandoned:
            try:
                self.crawl.finish(trip.link, trip.outcome or NO_OUTCOME, trip.exchange)
            except Exception as error:  # noqa: BLE001 - as above
                self.fail(error)
        elif trip.refusal is not None:
            self.crawl.refusal_delivered(trip.refusal)
        self._barrier.leave(request)

    def _wake_at(self, ready: float | None, now: float) -> None:
        """One timer, for the earliest time that anybody waits for: the engine itself looks every 5 seconds only."""
        if ready is None or (self._timer is not None and now < self._timer_at <= ready):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = ready
        self._timer = call_later(max(ready - now, 0.0), self._wake)

    def _wake(self) -> None:
        self._timer = None
        self.wake()


async def by_turns(slices: Iterator[None]) -> None:
    """Work in slices, with turns of the event loop between them; to go on at once would be a core lost to waiting."""
    for _ in slices:
        await asyncio.sleep(PAUSE)


def _from_thread(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """A merge may end when the loop is closed already: then there is nothing to wake."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(call)


def scheduler_of(crawler: Crawler) -> FrontierScheduler:
    """The crawler's scheduler, which has to be this one."""
    scheduler = crawler.engine.scheduler if crawler.engine else None
    if not isinstance(scheduler, FrontierScheduler):
        raise NotConfigured(f"SCHEDULER: {FrontierScheduler.__name__} is needed, not {scheduler}")
    return scheduler
