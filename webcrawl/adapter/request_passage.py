"""Turns a spider's requests into links, and links into requests when their turn comes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from itertools import islice

from scrapy import Request, Spider
from scrapy.dupefilters import BaseDupeFilter
from scrapy.exceptions import IgnoreRequest

from webcrawl.adapter.frontier_waker import FrontierWaker
from webcrawl.adapter.held_values import HeldValues
from webcrawl.adapter.request_counts import DuplicateRequest, RequestCounts
from webcrawl.adapter.request_links import (
    CannotBeKept,
    CannotBeMade,
    is_start,
    start_variant,
    to_link,
    to_refused_request,
    to_request,
    variant,
)
from webcrawl.adapter.request_meta import MetaWarnings
from webcrawl.adapter.robots_request import RobotsRequests
from webcrawl.base.model import Link, Status, unpack
from webcrawl.base.own_code import OwnCodeError
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.driver import STARTING_TIME
from webcrawl.crawl.fetching import next_trip
from webcrawl.crawl.hostless import needs_no_host
from webcrawl.crawl.lost_requests import Refusal
from webcrawl.crawl.parts import Parts
from webcrawl.crawl.trip import Trip
from webcrawl.net.reading_limits import Bandwidth
from webcrawl.store.errors import StoreError
from webcrawl.urls.canonical import InvalidUrl, canonical

logger = logging.getLogger(__name__)


class RequestIntake:
    """Accepts requests: those that pass the seen test are kept as links."""

    def __init__(
        self,
        parts: Parts,
        spider: Spider,
        dupefilter: BaseDupeFilter,
        meta_warnings: MetaWarnings,
        fail: Callable[[Exception], None],
        *,
        allow_classes: bool,
        counts: RequestCounts | None = None,
    ) -> None:
        """`allow_classes`: links may name classes. Links of other drones must not."""
        self._counts = counts or RequestCounts()
        self._hands_over = bool(getattr(dupefilter, "hands_over", False))
        self._counts.is_own_filter = self._hands_over
        # A crawl that only makes pages drops these: a page needs the exchange with a host
        makes_pages = getattr(spider, "makes_pages", False)
        self._accepts_hostless = not makes_pages or getattr(spider, "has_callbacks", False)
        self._parts = parts
        self._spider = spider
        self._dupefilter = dupefilter
        self._meta_warnings = meta_warnings
        self._fail = fail
        self._allow_classes = allow_classes
        self._warned: set[str] = set()
        self.held_values = HeldValues(parts.moments.on_ended)

    def link_of(self, request: Request) -> Link:
        """Return the link that is kept for a request.

        Raise IgnoreRequest if a middleware has derived it from the crawl's request for a
        robots.txt, and InvalidUrl or CannotBeKept as `to_link` does.
        """
        if isinstance(getattr(request.callback, "__self__", None), RobotsRequests):
            raise IgnoreRequest("the crawl itself retries if necessary")
        return to_link(
            request,
            self._spider,
            allow_classes=self._allow_classes,
            held_values=self._held_values_for(request),
        )

    def _held_values_for(self, request: Request) -> HeldValues | None:
        """Return the memory for a request's values, or None if another drone will fetch the URL."""
        drone_parts = self._parts.drone_parts
        if drone_parts is None or needs_no_host(request.url):
            return self.held_values
        return self.held_values if drone_parts.drone.is_ours(canonical(request.url)) else None

    def accept_request(self, request: Request) -> bool:
        """Accept a request of a spider or middleware. Return False if it is dropped.

        No error may leave this method, because Scrapy would hang. A request that cannot be kept is
        counted and logged. An error of our machine or state ends the crawl.
        """
        try:
            self._meta_warnings.check(request)
            # Start requests are tested although Scrapy marks them `dont_filter`, because a resumed
            # crawl yields them again
            skips_seen_test = request.dont_filter and not is_start(request)
            if self._accepts_hostless and needs_no_host(request.url):
                self._take_hostless(request, skips_seen_test=skips_seen_test)
            elif skips_seen_test:
                self._insert(request)
            else:
                self._submit(request)
        except IgnoreRequest as error:
            self._log_dropped(request, error)
            return False
        except InvalidUrl as error:
            # Such as data: and file:, for which Scrapy has handlers
            self._warn_once(error.reason, request, error)
            self._parts.pipeline.filtered[error.reason] += 1
            return False
        except (StoreError, OwnCodeError, OSError, MemoryError) as error:
            self._fail(error)
            return False
        except CannotBeKept as error:
            self._counts.unkept += 1
            self._parts.unkept.add(error.kind, f"{request} cannot be kept on disk: {error}")
            return False
        except Exception as error:
            # A dupefilter of the user's own may raise anything
            self._counts.unkept += 1
            logger.exception("%s cannot be kept on disk", request)
            self._parts.unkept.add(type(error).__name__, f"{request} cannot be kept on disk")
            return False
        return True

    def _log_dropped(self, request: Request, error: IgnoreRequest) -> None:
        """Log that a request is dropped; the dupefilter itself logs a duplicate."""
        if not isinstance(error, DuplicateRequest):
            self._warn_once(str(error), request, error)
            return
        try:
            self._dupefilter.log(request, self._spider)
        except Exception:
            # A dupefilter of the user's own may raise anything
            logger.exception("DUPEFILTER_CLASS: its method log failed for %s", request)

    def _submit(self, request: Request) -> None:
        """Submit a request to the seen test, and keep it if it passes.

        Raise DuplicateRequest, or another IgnoreRequest, if it is dropped.
        """
        if self._hands_over:
            self._counts.submitted += 1
            try:
                self._dupefilter.request_seen(request)
            except DuplicateRequest:
                raise
            except Exception:
                self._counts.submitted -= 1
                raise
        elif self._dupefilter.request_seen(request):
            raise DuplicateRequest
        else:
            self._insert(request)

    def _insert(self, request: Request) -> None:
        """Keep a request's link without a seen test."""
        self._parts.discovery.insert(self.link_of(request), variant(request))
        self._counts.inserted += 1

    def _take_hostless(self, request: Request, *, skips_seen_test: bool) -> None:
        """Keep a request that needs no host, such as data:.

        Raise DuplicateRequest if it is known.
        """
        link = self.link_of(request)
        hostless = self._parts.hostless
        kind = start_variant(link, request) if is_start(request) else variant(request)
        is_known = (
            hostless.is_known(link, kind)
            if self._hands_over
            else self._dupefilter.request_seen(request)
        )
        if is_known and not skips_seen_test:
            self._counts.known += 1
            raise DuplicateRequest
        hostless.add(link)
        self._counts.inserted += 1

    def _warn_once(self, kind: str, request: Request, error: Exception) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            logger.warning(
                "%s cannot be crawled: %s; further ones are counted, but not logged", request, error
            )


# Requests that cannot be made, because the spider lacks their methods, are tried up to this number
# in one turn of the event loop: 2 ms
MAX_FAILED_REQUESTS = 100


class LoopTurn:
    """Measures for how long the current turn of the event loop has handed out requests.

    Scrapy's engine would continue as long as there are any, but sockets and timers need their turns
    in between.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._turn_start = 0.0

    def is_long(self) -> bool:
        """Return whether the next request must wait for the next turn. Ask before each request."""
        if not self._turn_start:
            self._turn_start = self._clock()
            asyncio.get_running_loop().call_soon(self._end_turn)
        return self._clock() - self._turn_start > STARTING_TIME

    def _end_turn(self) -> None:
        self._turn_start = 0.0


class RequestSource:
    """Hands out the next request, or has the frontier asked again when one may be due.

    If the crawl's own loop runs (`is_driven`), that loop takes the trips. Scrapy's engine then gets
    only links with a request of the spider's, refused requests for their errbacks, and requests
    that need no host.
    """

    def __init__(
        self,
        crawl: Crawl,
        spider: Spider,
        *,
        robots: RobotsRequests,
        waker: FrontierWaker,
        bandwidth: Bandwidth,
        allow_classes: bool,
        held_values: HeldValues,
        counts: RequestCounts | None = None,
    ) -> None:
        """Take the parts from which requests come.

        `robots`: makes the crawl's own requests.
        `waker`: has Scrapy's engine or the crawl's own loop ask for a request again.
        `bandwidth`: the limit of BANDWIDTH_MAX, of which each request reserves a part.
        `allow_classes`, `held_values`: those of the RequestIntake.
        `counts`: of requests handed out.
        """
        self._held_values = held_values
        self._counts = counts or RequestCounts()
        self._crawl = crawl
        self._spider = spider
        self._robots = robots
        self._waker = waker
        self._bandwidth = bandwidth
        self._allow_classes = allow_classes
        self.headers = crawl.parts.moments.next_headers  # of each link, from parts of the crawl
        self._warned: set[str] = set()
        self.is_driven = False
        # Of a link that the crawl's own loop has taken, and that has a request of the spider's
        self._request_for_engine: Request | None = None
        self._turn = LoopTurn()

    def next(self) -> Request | None:
        """Return the next request for Scrapy's engine, or None.

        None means that none is due, or that the rest is left to the next turn of the event loop.
        """
        if self._turn.is_long():
            self._waker.wake_engine()
            return None
        for _ in range(MAX_FAILED_REQUESTS):
            try:
                return self._next()
            except CannotBeMade as error:
                self._end_unmade(error)
        # Further links are left to the next turn
        self._waker.wake()
        return None

    def trip(self) -> Trip | None:
        """Return the next trip for the crawl's own loop, or None if nothing is due for it.

        A link with a request of the spider's is left to Scrapy's engine.
        """
        # The engine limits how many requests are under way, so it has to take the last one first
        if self._request_for_engine is not None:
            return None
        parts = self._crawl.parts
        # Both go through Scrapy's engine
        if parts.refusals.waiting or parts.hostless.waiting:
            self._waker.wake_engine()
        trip = next_trip(self._crawl, self._bandwidth, self._waker.timer)
        if trip is None or trip.link is None:
            return None
        if not trip.link.request:
            if not trip.link.is_own:
                self._counts.handed_out += 1
            return trip
        try:
            self._request_for_engine = self._request_for(trip)
            self._waker.wake_engine()
        except CannotBeMade as error:
            self._end_unmade(error)
            self._waker.wake()
        return None

    def _next(self) -> Request | None:
        """Return the next request: of a refusal, then without a host, then of the frontier.

        Raise CannotBeMade if the spider lacks what the request of a link names.
        """
        parts = self._crawl.parts
        # Refusals go first, before further links are refused
        if parts.refusals.waiting:
            for refusal in islice(iter(parts.refusals.next_refusal, None), MAX_FAILED_REQUESTS):
                request = self._request_for_errback(refusal)
                if request is not None:
                    return request
        if parts.hostless.waiting:
            return self._next_hostless()
        if self.is_driven:
            request = self._request_for_engine
            self._request_for_engine = None
            if request is not None:
                # The own loop has waited until the engine takes this one
                self._waker.wake()
            return request
        trip = next_trip(self._crawl, self._bandwidth, self._waker.timer)
        return self._request_for(trip) if trip is not None else None

    def _request_for(self, trip: Trip) -> Request:
        """Return the request of a trip, with the headers of the crawl's parts.

        Raise CannotBeMade.
        """
        link = trip.link
        if link is None:
            raise ValueError("a trip without a link must have a request already")
        if link.is_own:
            return self._robots.request(link.url, trip)
        self._counts.handed_out += 1
        request = self.request(link, trip)
        for headers in self.headers:
            request.headers.update(headers(link))
        return request

    def request(self, link: Link, trip: Trip) -> Request:
        """Return a link's request as the spider has made it. Raise CannotBeMade."""
        if link.is_own:
            return self._robots.request(link.url, trip)
        return to_request(
            link,
            self._spider,
            trip,
            allow_classes=self._allow_classes,
            held_values=self._held_values,
        )

    def _end_unmade(self, error: CannotBeMade) -> None:
        """End a link whose request cannot be made, with the status NO_METHOD."""
        self._report_unmade(error, f"such requests end with status {Status.NO_METHOD:d}")
        self._crawl.refuse(error.link, Status.NO_METHOD)

    def _next_hostless(self) -> Request | None:
        """Return the next request that needs no host, or None if it cannot be made and is lost."""
        number, record = self._crawl.parts.hostless.next_request()
        try:
            request = to_request(
                unpack(record),
                self._spider,
                Trip(hostless=number),
                allow_classes=self._allow_classes,
            )
        except CannotBeMade as error:
            self._report_unmade(error, "it is lost, and so are others of this kind")
            self._crawl.parts.unkept.add(error.kind, str(error))
            self._crawl.parts.hostless.done(number)
            self._waker.wake()
            return None
        self._counts.handed_out += 1
        return request

    def _request_for_errback(self, refusal: Refusal) -> Request | None:
        """Return the request of a refusal for its errback, or None if it cannot be made."""
        try:
            link = unpack(refusal.record)
            trip = Trip(refusal=refusal)
            return to_refused_request(
                link,
                self._spider,
                trip,
                allow_classes=self._allow_classes,
                held_values=self._held_values,
            )
        except CannotBeMade as error:
            self._report_unmade(
                error, "no errback is called for such requests; crawl.log shows why they failed"
            )
            self._crawl.parts.refusals.delivered(refusal)
            return None

    def _report_unmade(self, error: CannotBeMade, consequence: str) -> None:
        if error.kind not in self._warned:
            self._warned.add(error.kind)
            logger.error("%s (%s): %s", error, error.link.url, consequence)
