"""Scrapy's downloader without slots and delays: the frontier has waited for the host's turn."""

from __future__ import annotations

import asyncio
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
from webcrawl.adapter.foreign_handlers import CrawlDownloadHandlers
from webcrawl.adapter.inline_downloads import AwaitedDownloads
from webcrawl.adapter.listeners import has_listener
from webcrawl.adapter.request_meta import environment_proxy_set
from webcrawl.adapter.request_trip import trip_of
from webcrawl.adapter.values import values_of
from webcrawl.base.errors import lack
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.base.own_code import made
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.base.url_text import host_of
from webcrawl.crawl.barrier import Barrier
from webcrawl.crawl.download_outcomes import is_untried, wait_of
from webcrawl.crawl.fetching import read
from webcrawl.crawl.panics import tamed
from webcrawl.crawl.rules import limits_of
from webcrawl.crawl.run import OfRequests
from webcrawl.crawl.running_downloads import STOP_GRACE, Capacity, Running
from webcrawl.crawl.trip import PAGE, Trip
from webcrawl.net.dns_answers import Lookup
from webcrawl.net.errors import FetchError
from webcrawl.net.network import Network

if TYPE_CHECKING:
    from webcrawl.crawl.earlier_pages import Since


UNTRIED = Outcome(Status.UNTRIED)


class DownloadHooks:
    """The functions to call at each step of a download, filled when the crawl opens.

    A part of the crawl that is switched off adds nothing, and so costs nothing. `on_unfinished`,
    `readers_ahead` and `on_ended` are called for the scheduler's requests only.
    """

    def __init__(self) -> None:
        # Replaced by the hooks of the run once the crawl is open
        self.requests = OfRequests([], [])
        # A download by one of the crawl's own clients has failed
        self.on_failed: list[Callable[[Link, FetchError], object]] = []
        # The download may be tried again: an error, a truncated body, a 202
        self.on_unfinished: list[Callable[[Trip], object]] = []
        # Read an answer before its page is made, such as the text of a PDF; None: nothing to read
        self.readers_ahead: list[Callable[[Trip], Awaitable[None] | None]] = []
        # Return what the code beyond the crawl may have of an answer
        self.answer_filters: list[Callable[[Trip, Response], Response]] = []
        # The outcome is known, and the spider is called next
        self.on_ended: list[Callable[[Trip], object]] = []
        # As `answer_filters`, for a response that a middleware gives in place of the answer
        self.substitute_filters: list[Callable[[Request, Response], Response]] = []


class FrontierDownloader:
    """Scrapy's DOWNLOADER: downloads at once, and notes the outcome in the request's trip.

    The scheduler's own requests wait at the barrier on their way back while a checkpoint is taken.
    """

    # Scrapy's engine was told so when it last asked. More may be due than it has asked for.
    had_no_slot = False

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        # Trips are of the crawl's own loop, which makes no requests
        self.active: set[Request | Trip] = set()
        # By request of Scrapy's engine: on its way through middlewares, handler and barrier
        self.tasks: dict[Request, asyncio.Task[Any]] = {}
        values = values_of(crawler)
        self.capacity = Capacity()
        fits = self.capacity.fit(values)
        self.total_concurrency = fits.fetches
        lookup = partial(made, "DNS_LOOKUP", values["DNS_LOOKUP"], Lookup)
        self.network = Network(values, lookup=lookup, keep_at_most=fits.kept)
        self.hooks = DownloadHooks()
        self.outcomes = ScrapyOutcomes(
            self.hooks.on_failed,
            self.hooks.on_unfinished,
            self.network.clock,
            whole=values["DOWNLOAD_FAIL_ON_DATALOSS"],
            ours=environment_proxy_set(crawler.settings),
            retry_times=limits_of(values).attempts - 1,
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
        # Has the scheduler asked again for requests; `int` does nothing until the crawl is open
        self.wake: Callable[[], object] = int
        # Called with the error when memory, threads or files are missing
        self.on_lack: Callable[[Exception], None] = _ignore
        # Adds one to each of these counters of the crawl (docs/errors.md)
        self.count: Callable[[Iterable[str]], object] = _ignore
        self.since: Since | None = None  # set in a crawl that begins from an earlier one
        self.running = Running()
        crawler.signals.connect(self.network.close, signals.engine_stopped)

    def resize(self, values: CheckedSettings) -> None:
        """Apply a new CONCURRENT_REQUESTS, as far as file descriptors allow.

        Downloads that are under way continue.
        """
        fits = self.capacity.fit(values)
        self.total_concurrency = fits.fetches
        self.network.http.set_idle_limit(fits.kept)

    # -- Scrapy's side

    @property
    def slots(self) -> dict[str, Any]:
        """Return an empty dictionary, for AutoThrottle: this downloader has no slots by host."""
        return {}

    def fetch(self, request: Request) -> Deferred[Response | Request]:
        """Return the answer that has passed the middlewares, or the request that one of them returned.

        Scrapy's engine calls this for each request.
        """
        return deferred_from_coro(self._fetch_in_task(request))

    async def _fetch_in_task(self, request: Request) -> Response | Request:
        """Fetch a request in the current task, which the end of the crawl may cancel."""
        task = asyncio.current_task()
        if task is not None:
            self.tasks[request] = task
        try:
            return await self._fetch(request)
        except asyncio.CancelledError:
            trip = trip_of(request)
            if trip is None or not trip.abandoned:
                raise
            # The crawl ends, and a middleware has not returned: the next run fetches it again
            trip.comes_again = True
            return request
        finally:
            self.tasks.pop(request, None)

    async def _fetch(self, request: Request) -> Response | Request:
        trip = trip_of(request)
        if trip is not None and not trip.begun:
            return await self._fetch_scheduled(request, trip)
        with self.inline.count_awaited():
            return await self.download_with_middlewares(request)

    async def _fetch_scheduled(self, request: Request, trip: Trip) -> Response | Request:
        """Fetch a request that the scheduler has handed to Scrapy's engine.

        Return the request itself if it is to be fetched again, as Scrapy's retry middleware does:
        the scheduler recognises it, and the spider gets only the last answer.
        """
        PAGE.set(trip)
        self.active.add(request)
        result: Response | Request | None = None
        # Raised at the end, unless the frontier retries the URL
        failure: Exception | None = None
        try:
            if trip.refusal is not None:
                await self.raise_refusal(trip)
            result = await self.download_with_middlewares(request)
        except BaseException as error:  # noqa: BLE001 - the errback decides what it means
            failure = tamed(error)
        finally:
            self.active.discard(request)
            # Otherwise the engine has already asked for everything that is due
            if self.had_no_slot:
                self.wake()
        if trip.outcome is None and trip.refusal is None:
            await self.note_unsent(trip, result)
        if trip.comes_again:
            return request
        if failure is not None:
            raise failure
        return result if result is not None else request

    async def download_with_middlewares(self, request: Request) -> Response | Request:
        """Download a request, and pass it and its answer through the downloader middlewares.

        A response that a middleware gives in place of the answer is decoded, and filtered if the
        crawl has a PURPOSE.
        """
        answer: Response | None = None

        async def download_and_note(request: Request) -> Response:
            nonlocal answer
            # `_attempt` has filtered it before any middleware gets it
            answer = await self.download(request)
            return answer

        result = await self.middleware.download_async(download_and_note, request)
        if result is answer or not isinstance(result, Response):
            return result
        result = decoded(result, values_of(self.crawler)["DOWNLOAD_TRUNCATE"])
        for substitute_filter in self.hooks.substitute_filters:
            result = substitute_filter(request, result)
        return result

    @property
    def is_full(self) -> bool:
        """Return whether no slot is free."""
        # As in Scrapy, 0 is no limit
        return 0 < self.total_concurrency <= len(self.active)

    def needs_backout(self) -> bool:
        """Return whether Scrapy's engine must not begin another download now."""
        self.had_no_slot = (
            self.is_full or self.network.shortage.is_pausing or self.network.bandwidth.held
        )
        return self.had_no_slot

    def close(self) -> None:
        """Close the downloader once all requests are done. Scrapy closes the pipelines after it.

        Downloads that pipelines await while they close are ended after STOP_GRACE seconds.
        """
        self.inline.closed = False
        call_later(STOP_GRACE, self.abandon)

    # -- between the middlewares and the handler

    async def download(self, request: Request) -> Response:
        """Download a request after the middlewares have seen it.

        A request of the scheduler's passes the barrier once it is done. Any other request is an
        inline download.
        """
        trip = trip_of(request)
        if trip is None:
            return await self.inline.download(request)
        # Inline downloads take turns at the same hosts. Most crawls have none, so `lines` is read
        # before each call, once before the download and again after it, when some may have come.
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
        """Wait at the barrier, then call the hooks for the end of a download."""
        await self.barrier.enter(trip)
        for hook in self.hooks.on_ended:
            hook(trip)

    async def _attempt(self, request: Request, trip: Trip) -> Response:
        """Download once, note the outcome in the trip, and send Scrapy's three signals of it.

        Raise the error as errbacks know it if there is no answer.
        """
        trip.begun = time.monotonic()
        self._send(signals.request_reached_downloader, request)
        try:
            response = await self._call_handler(request, trip)
        except Exception as failure:
            judged = failure
            if not trip.inline:
                judged = self.outcomes.judged(request, failure, trip.begun)
            error = as_scrapys(judged)
            self.outcomes.note_failure(request, trip, error)
            if error is failure:
                raise
            raise error from error.__cause__
        else:
            self.outcomes.note_answer(request, trip, response.status)
            # Responses to `data:` and its like have no exchange, because no client of ours made
            # them
            if trip.exchange is not None:
                if self.since is not None:
                    await self.since.compare(trip.exchange)
                if not trip.inline:
                    await self.read_ahead(trip)
                for answer_filter in self.hooks.answer_filters:
                    response = answer_filter(trip, response)
            self._send(signals.response_downloaded, request, response=response)
            return response
        finally:
            for hook in self.hooks.requests.left:
                hook(request, trip.outcome)
            self._send(signals.request_left_downloader, request)

    async def read_ahead(self, trip: Trip) -> None:
        """Read what a page needs before it is made, such as the text of a PDF."""
        for reader in self.hooks.readers_ahead:
            reading = reader(trip)
            if reading is not None:
                await self.wait_for_reading(trip, reading)

    async def wait_for_reading(self, trip: Trip, reading: Awaitable[None]) -> None:
        """Wait until an answer has been read ahead, as the text of a PDF is.

        Raise DownloadCancelledError if the crawl ends before that: the next run fetches the page
        again.
        """
        if not await read(trip, reading, self.running, self._fail):
            raise DownloadCancelledError("the crawl is ending")

    def _fail(self, error: Exception) -> None:
        # `on_lack` may be replaced while an answer is read
        self.on_lack(error)

    def outcome_in_flight(self, url: str) -> Outcome | None:
        """Return the outcome of the scheduler's request for this URL, or None while it downloads.

        The status is UNTRIED if there is no such request, or if it has not been sent yet.
        """
        trip = self._scheduled_trip(url)
        if trip is None:
            return UNTRIED
        if trip in self.running:
            return trip.fetched
        return trip.outcome or UNTRIED

    def _scheduled_trip(self, url: str) -> Trip | None:
        """Return the trip of the scheduler's request for this URL, under way or at the barrier."""
        for request in self.active:
            trip = request if isinstance(request, Trip) else trip_of(request)
            if trip is not None and _is_scheduled_for(trip, url):
                return trip
        return next((trip for trip in self.barrier.inside if _is_scheduled_for(trip, url)), None)

    async def raise_refusal(self, trip: Trip) -> NoReturn:
        """Raise IgnoreRequest for a request that was refused, after it has passed the barrier.

        The spider's errback then gets the reason.
        """
        await self.barrier.enter(trip)
        raise IgnoreRequest(trip.refusal.reason if trip.refusal is not None else "")

    async def note_unsent(self, trip: Trip, result: Response | Request | None) -> None:
        """Note the outcome of a request that a middleware has answered or stopped: it was not sent.

        It passes the barrier like any other.
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

    async def _call_handler(self, request: Request, trip: Trip) -> Response:
        """Return the response of the handler for the URL's scheme.

        Raise DownloadCancelledError if the crawl is ending or the slot is needed. What is no
        Exception, such as a panic of a Rust library, is raised as one.
        """
        task = self.running.begin(trip)
        try:
            if not trip.inline:
                return await self.handlers.download_request_async(request)
            return await self._download_when_possible(request, trip)
        except asyncio.CancelledError as error:
            if trip.abandoned or trip.cancelled:
                # An asyncio.timeout around the request counts cancellations
                task.uncancel()
                reason = "its slot is needed for other downloads"
                if trip.abandoned:
                    reason = "the crawl is ending"
                raise DownloadCancelledError(reason) from None
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

    async def _download_when_possible(self, request: Request, trip: Trip) -> Response:
        """Return the response of an inline download, and retry it while our machine is the cause.

        The frontier does not know such a request, so nothing else would retry it. Raise the error
        if the request may not be repeated.
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
        """Cancel all downloads under way, inline downloads included.

        A resumed crawl fetches the scheduler's URLs again, and the pages that await a download.
        """
        self.inline.close()
        self.running.abandon()


def _is_scheduled_for(trip: Trip, url: str) -> bool:
    """Return whether a trip is that of the scheduler's own request for this URL."""
    return not trip.inline and trip.link is not None and trip.link.url == url


def _ignore(_: object) -> None:
    """Do nothing: the place of a hook until the crawl is open."""


def downloader_of(crawler: Crawler) -> FrontierDownloader:
    """Return the crawler's downloader. Raise NotConfigured if it is not a FrontierDownloader."""
    downloader: object = crawler.engine.downloader
    if not isinstance(downloader, FrontierDownloader):
        raise NotConfigured(f"DOWNLOADER: must be {FrontierDownloader.__name__}, not {downloader}")
    return downloader
