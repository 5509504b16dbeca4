"""Scrapy's downloader without slots and delays: the frontier has waited for the host's turn."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from scrapy import Request, signals
from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
from scrapy.crawler import Crawler
from scrapy.exceptions import (
    DownloadCancelledError,
    IgnoreRequest,
    NotConfigured,
)
from scrapy.http import Response
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import build_from_crawler
from twisted.internet.defer import Deferred

from webcrawl.adapter.cached_responses import decoded
from webcrawl.adapter.download_errors import ScrapyOutcomes, as_scrapys
from webcrawl.adapter.download_moments import DownloadMoments
from webcrawl.adapter.foreign_handlers import CrawlDownloadHandlers
from webcrawl.adapter.inline_downloads import AwaitedDownloads
from webcrawl.adapter.listeners import has_listener
from webcrawl.adapter.request_meta import our_proxies
from webcrawl.adapter.request_trip import trip_of
from webcrawl.adapter.values import values_of
from webcrawl.base.errors import lack
from webcrawl.base.model import Outcome, Status
from webcrawl.base.own_code import made
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.base.url_text import host_of
from webcrawl.crawl.barrier import Barrier
from webcrawl.crawl.download_outcomes import is_untried, wait_of
from webcrawl.crawl.fetching import read
from webcrawl.crawl.panics import tamed
from webcrawl.crawl.rules import limits_of
from webcrawl.crawl.running_downloads import STOP_GRACE, Capacity, Running
from webcrawl.crawl.trip import PAGE, Trip
from webcrawl.net.dns_answers import Lookup
from webcrawl.net.network import Network

if TYPE_CHECKING:
    from webcrawl.crawl.earlier_pages import Since

logger = logging.getLogger(__name__)

NOT_ASKED = Outcome(Status.UNTRIED)


class FrontierDownloader:
    """Scrapy's DOWNLOADER: downloads at once, and notes the outcome in the request's trip.

    The scheduler's own requests wait at the barrier on their way back while a checkpoint is taken.
    """

    # whether the engine was when it asked last: more may be due than it has asked for
    turned_away = False

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        # trips: of the crawl's own loop, which makes no request of them
        self.active: set[Request | Trip] = set()
        values = values_of(crawler)
        self.capacity = Capacity()
        fits = self.capacity.fit(values)
        self.total_concurrency = fits.fetches
        lookup = partial(made, "DNS_LOOKUP", values["DNS_LOOKUP"], Lookup)
        self.network = Network(values, lookup=lookup, keep_at_most=fits.kept)
        self.moments = DownloadMoments()
        whole = values["DOWNLOAD_FAIL_ON_DATALOSS"]
        ours = our_proxies(crawler.settings)
        times = limits_of(values).attempts - 1
        heard = self.moments.failed, self.moments.unfinished
        self.outcomes = ScrapyOutcomes(
            *heard, self.network.clock, whole=whole, ours=ours, retry_times=times
        )
        self.handlers = CrawlDownloadHandlers(
            crawler, values, self.network.shortage, self.network.clock
        )
        self.middleware = build_from_crawler(DownloaderMiddlewareManager, crawler)
        self.barrier = Barrier()
        self.inline = AwaitedDownloads(
            self._attempt,
            self.middleware.download_async,
            self.barrier,
            self.active,
            self.total_concurrency,
        )
        # has what takes requests from the scheduler look again
        self.wake: Callable[[], object] = int
        # called when memory or threads are missing
        self.on_lack: Callable[[Exception], None] = _nothing
        # counts in the crawl's own counters (docs/errors.md)
        self.count: Callable[[Iterable[str]], object] = _nothing
        self.since: Since | None = None  # of a crawl that begins from an earlier one
        self.running = Running()
        crawler.signals.connect(self.network.close, signals.engine_stopped)

    def resize(self, values: CheckedSettings) -> None:
        """Have so many slots from now on, as descriptors allow; what is under way goes on."""
        fits = self.capacity.fit(values)
        self.total_concurrency = fits.fetches
        self.network.http.keep(fits.kept)

    # -- Scrapy's side

    @property
    def slots(self) -> dict[str, Any]:
        """Return an empty dictionary: AutoThrottle looks for slots, and there are none."""
        return {}

    def fetch(self, request: Request) -> Deferred[Response | Request]:
        """Return the answer, through the middlewares; it may be a request of theirs."""
        return deferred_from_coro(self._fetch(request))

    async def _fetch(self, request: Request) -> Response | Request:
        trip = trip_of(request)
        if trip is not None and not trip.begun:
            return await self._of_scheduler(request, trip)
        with self.inline.awaited():
            return await self.through(request)

    async def _of_scheduler(self, request: Request, trip: Trip) -> Response | Request:
        """Fetch a request that the scheduler has given to Scrapy's engine.

        One that is to be asked again comes back as what the engine should schedule, as with
        Scrapy's own retries; the scheduler knows it, and the spider gets only the last answer.
        """
        PAGE.set(trip)
        self.active.add(request)
        result: Response | Request | None = None
        # Raised at the end, unless the frontier tries again
        wrong: Exception | None = None
        try:
            if trip.refusal is not None:
                await self.refuse(trip)
            result = await self.through(request)
        except BaseException as error:  # noqa: BLE001 - the errback decides what it means
            wrong = tamed(error)
        finally:
            self.active.discard(request)
            # else the engine has asked for all that is due, and this host is not yet
            if self.turned_away:
                self.wake()
        if trip.outcome is None and trip.refusal is None:
            await self.unasked(trip, result)
        if trip.comes_again:
            return request
        if wrong is not None:
            raise wrong
        return result if result is not None else request

    async def through(self, request: Request) -> Response | Request:
        """Download through the middlewares.

        An answer that one of them gives is decoded and, with a purpose, judged.
        """
        answer: Response | None = None

        async def download(request: Request) -> Response:
            nonlocal answer
            # It is judged before any middleware sees it
            answer = await self.download(request)
            return answer

        result = await self.middleware.download_async(download, request)
        if result is answer or not isinstance(result, Response):
            return result
        result = decoded(result, values_of(self.crawler)["DOWNLOAD_TRUNCATE"])
        for judge in self.moments.given:
            result = judge(request, result)
        return result

    @property
    def full(self) -> bool:
        """Return whether no slot is free."""
        # As in Scrapy, 0 is no limit
        return 0 < self.total_concurrency <= len(self.active)

    def needs_backout(self) -> bool:
        self.turned_away = (
            self.full or self.network.shortage.is_pausing or self.network.bandwidth.held
        )
        return self.turned_away

    def close(self) -> None:
        """Close: all requests are done. What pipelines still await has a time of its own."""
        # Pipelines may still download while they close
        self.inline.closed = False
        call_later(STOP_GRACE, self.abandon)

    # -- between the middlewares and the handler

    async def download(self, request: Request) -> Response:
        """Download, and take a request of the scheduler's back through the barrier."""
        trip = trip_of(request)
        if trip is None:
            return await self.inline.download(request)
        # Downloads that pages await need hosts, too. There are hardly ever any, so the lines are
        # looked at here, before and after: others may have come meanwhile.
        turns = self.inline.turns
        link = trip.link
        if turns is not None and turns.lines and link is not None:
            await turns.own(link)
        try:
            return await self._attempt(request, trip)
        finally:
            if turns is not None and turns.lines and link is not None:
                turns.own_left(host_of(link.url))
            is_of_scheduler = link is not None or trip.hostless
            if is_of_scheduler:
                await self._pass_barrier(trip)

    async def _pass_barrier(self, trip: Trip) -> None:
        """Wait at the barrier, then tell of the download's end."""
        await self.barrier.enter(trip)
        for hear in self.moments.ended:
            hear(trip)

    async def _attempt(self, request: Request, trip: Trip) -> Response:
        """Download, book the outcome, and send Scrapy's three signals of it."""
        trip.begun = time.monotonic()
        self._send(signals.request_reached_downloader, request)
        try:
            response = await self._handled(request, trip)
        except Exception as failure:
            judged = failure if trip.inline else self.outcomes.judged(request, failure, trip.begun)
            error = as_scrapys(judged)
            self.outcomes.note_failure(request, trip, error)
            if error is failure:
                raise
            raise error from error.__cause__
        else:
            self.outcomes.note_answer(request, trip, response.status)
            # One of the crawl's own handlers has fetched it
            if trip.exchange is not None:
                if self.since is not None:
                    await self.since.compare(trip.exchange)
                for ahead in self.moments.ahead:
                    if not trip.inline and (reading := ahead(trip)) is not None:
                        await self.read(trip, reading)
                for judge in self.moments.judge:
                    response = judge(trip, response)
            self._send(signals.response_downloaded, request, response=response)
            return response
        finally:
            for hear in self.moments.requests.left:
                hear(request, trip.outcome)
            self._send(signals.request_left_downloader, request)

    async def read(self, trip: Trip, reading: Awaitable[None]) -> None:
        """Wait while an answer is read.

        The end of the crawl does not wait for that: the page is then fetched again.
        """
        if not await read(trip, reading, self.running, self._fail):
            raise DownloadCancelledError("the crawl is ending")

    def _fail(self, error: Exception) -> None:
        self.on_lack(error)

    def in_flight(self, url: str) -> Outcome | None:
        """Return how the scheduler's request for this URL used its host; None while it downloads.

        Status.UNTRIED: there is no such request, or it has not asked the host yet.
        """
        trip = self._scheduled_trip(url)
        if trip is None:
            return NOT_ASKED
        if trip in self.running:
            return trip.fetched
        return trip.outcome or NOT_ASKED

    def _scheduled_trip(self, url: str) -> Trip | None:
        """Return the trip of the scheduler's request for this URL, under way or at the barrier."""
        under_way: list[Trip] = []
        for one in self.active:
            trip = one if isinstance(one, Trip) else trip_of(one)
            if trip is not None:
                under_way.append(trip)
        for trip in (*under_way, *self.barrier.inside):
            if trip.inline or trip.link is None:
                continue
            if trip.link.url == url:
                return trip
        return None

    async def refuse(self, trip: Trip) -> NoReturn:
        """Let a refusal wait at the barrier as well before the spider's errback gets it."""
        await self.barrier.enter(trip)
        raise IgnoreRequest(trip.refusal.reason if trip.refusal is not None else "")

    async def unasked(self, trip: Trip, result: Response | Request | None) -> None:
        """Note that a middleware has answered or stopped the request: no host was asked.

        It passes the barrier all the same.
        """
        await self.barrier.enter(trip)
        if isinstance(result, Response):
            trip.outcome = Outcome(result.status)
        elif trip.withheld is not None:
            trip.outcome = Outcome(trip.withheld.status)

    def _send(self, signal: object, request: Request, **more: Any) -> None:
        if has_listener(signal, self.crawler.signals.sender):
            self.crawler.signals.send_catch_log(
                signal=signal, request=request, spider=self.crawler.spider, **more
            )

    async def _handled(self, request: Request, trip: Trip) -> Response:
        task = self.running.begin(trip)
        try:
            if not trip.inline:
                return await self.handlers.download_request_async(request)
            return await self._patiently(request, trip)
        except asyncio.CancelledError as error:
            if trip.abandoned or trip.cut:
                # An asyncio.timeout around the request counts cancellations
                task.uncancel()
                why = "its slot is needed for other downloads"
                if trip.abandoned:
                    why = "the crawl is ending"
                raise DownloadCancelledError(why) from None
            if trip.inline:
                raise
            # A handler has cancelled its own task. A page that was cancelled was never booked: its
            # host waited for ever.
            raise tamed(error) from None
        except Exception as error:
            if lack(error):
                self.on_lack(error)
            raise
        # A Rust library's panic, or gevent's time-out: Scrapy would wait for ever
        except BaseException as error:  # noqa: BLE001 - it is raised
            raise tamed(error) from None
        finally:
            self.running.end(trip)
            trip.source = None

    async def _patiently(self, request: Request, trip: Trip) -> Response:
        """Download for a request that went round the scheduler.

        After a lack of ours, only this tries it again.
        """
        while True:
            begun = time.monotonic()
            try:
                return await self.handlers.download_request_async(request)
            except Exception as error:
                judged = as_scrapys(self.outcomes.judged(request, error, begun))
                if not is_untried(judged):
                    raise
                wait = wait_of(judged)
            await asyncio.sleep(wait)
            await self.network.shortage.end()
            if not await self.inline.may_repeat(trip):
                raise judged

    def abandon(self) -> None:
        """End all downloads under way: a resumed crawl fetches the scheduler's URLs again.

        So it does with pages that await a download.
        """
        self.inline.close()
        self.running.abandon()


def _nothing(_: object) -> None:
    """Ignore what is told, until a crawl listens."""


def downloader_of(crawler: Crawler) -> FrontierDownloader:
    """Return the crawler's downloader, which has to be this one."""
    downloader: object = crawler.engine.downloader if crawler.engine else None
    if not isinstance(downloader, FrontierDownloader):
        raise NotConfigured(f"DOWNLOADER: must be {FrontierDownloader.__name__}, not {downloader}")
    return downloader
