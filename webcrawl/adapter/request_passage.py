"""A spider's requests become links, and links become requests when it is their turn."""

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
    to_refused,
    to_request,
    variant,
)
from webcrawl.adapter.request_meta import UnheardMeta
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
    """Passes requests by the seen test, and keeps them as links."""

    def __init__(
        self,
        parts: Parts,
        spider: Spider,
        dupefilter: BaseDupeFilter,
        unheard: UnheardMeta,
        fail: Callable[[Exception], None],
        *,
        classes: bool,
        counts: RequestCounts | None = None,
    ) -> None:
        """`classes`: links may name classes, which would be loaded: not so in hives' letters."""
        self._counts = counts or RequestCounts()
        self._hands_over = bool(getattr(dupefilter, "hands_over", False))
        self._counts.is_ours = self._hands_over
        # No page can be made of an answer without an exchange
        makes_pages = getattr(spider, "makes_pages", False)
        self._keeps_hostless = not makes_pages or getattr(spider, "has_callbacks", False)
        self._parts = parts
        self._spider = spider
        self._dupefilter = dupefilter
        self._unheard = unheard
        self._fail = fail
        self._classes = classes
        self._told: set[str] = set()
        self.held = HeldValues(parts.moments.on_ended)

    def link_of(self, request: Request) -> Link:
        """Return the link that is kept for a request.

        Raise IgnoreRequest if a middleware has made it of the request for a robots.txt.
        """
        if isinstance(getattr(request.callback, "__self__", None), RobotsRequests):
            raise IgnoreRequest("the crawl itself retries if necessary")
        return to_link(request, self._spider, classes=self._classes, held=self._held_for(request))

    def _held_for(self, request: Request) -> HeldValues | None:
        """Return what keeps values in memory, or None if another drone fetches the URL."""
        post = self._parts.drone_parts
        if post is None or needs_no_host(request.url):
            return self.held
        return self.held if post.drone.is_ours(canonical(request.url)) else None

    def take(self, request: Request) -> bool:
        """Accept any request of a spider or middleware.

        Nothing may raise here: Scrapy would hang.
        """
        try:
            self._unheard.check(request)
            # Start requests pass the seen test although Scrapy marks them dont_filter: a crawl may
            # be resumed.
            free = request.dont_filter and not is_start(request)
            if self._keeps_hostless and needs_no_host(request.url):
                self._take_hostless(request, free=free)
            elif free:
                self._insert(request)
            else:
                self._test(request)
        except IgnoreRequest as error:
            self._leave_out(request, error)
            return False
        except InvalidUrl as error:
            # Scrapy has handlers for some of these, data: and file:
            self._tell_once(error.reason, request, error)
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

    def _leave_out(self, request: Request, error: IgnoreRequest) -> None:
        if not isinstance(error, DuplicateRequest):
            self._tell_once(str(error), request, error)
            return
        try:
            self._dupefilter.log(request, self._spider)
        except Exception:
            # A dupefilter of the user's own may raise anything
            logger.exception("DUPEFILTER_CLASS: its method log failed for %s", request)

    def _test(self, request: Request) -> None:
        """Have the dupefilter look at a request.

        Raise DuplicateRequest, or any IgnoreRequest, if it is left out.
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
        self._parts.discovery.insert(self.link_of(request), variant(request))
        self._counts.inserted += 1

    def _take_hostless(self, request: Request, *, free: bool) -> None:
        link = self.link_of(request)
        hostless = self._parts.hostless
        kind = start_variant(link, request) if is_start(request) else variant(request)
        is_known = (
            hostless.is_known(link, kind)
            if self._hands_over
            else self._dupefilter.request_seen(request)
        )
        if is_known and not free:
            self._counts.known += 1
            raise DuplicateRequest
        hostless.add(link)
        self._counts.inserted += 1

    def _tell_once(self, kind: str, request: Request, error: Exception) -> None:
        if kind not in self._told:
            self._told.add(kind)
            logger.warning(
                "%s cannot be crawled: %s; further ones are counted, but not logged", request, error
            )


# requests that end in one turn of the event loop, because the spider lacks their methods: 2 ms
MADE_IN_VAIN = 100


class LoopTurn:
    """How long this turn of the event loop has given out requests.

    The engine would continue as long as there are any; sockets and timers have to come in between.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._begun = 0.0

    def is_long(self) -> bool:
        """Return whether the next request is left to the next turn. To be asked before each."""
        if not self._begun:
            self._begun = self._clock()
            asyncio.get_running_loop().call_soon(self._over)
        return self._clock() - self._begun > STARTING_TIME

    def _over(self) -> None:
        self._begun = 0.0


class RequestSource:
    """Makes the next request, or has the engine ask again when there may be one.

    Where the crawl's own loop runs (`driven`), it takes the trips, and Scrapy's engine gets only
    what a spider has made requests of: links that have one, refusals, and what needs no host.
    """

    def __init__(
        self,
        crawl: Crawl,
        spider: Spider,
        robots: RobotsRequests,
        waker: FrontierWaker,
        bandwidth: Bandwidth,
        *,
        classes: bool,
        held: HeldValues,
        counts: RequestCounts | None = None,
    ) -> None:
        """`classes` and `held`: as in Intake."""
        self._held = held
        self._counts = counts or RequestCounts()
        self._crawl = crawl
        self._spider = spider
        self._robots = robots
        self._waker = waker
        self._bandwidth = bandwidth
        self._classes = classes
        self.headers = crawl.parts.moments.next_headers  # what parts of the crawl have to send
        self._told: set[str] = set()
        self.driven = False
        self._made: Request | None = None  # of a link that the crawl's own loop has taken
        self._turn = LoopTurn()

    def next(self) -> Request | None:
        """Return the next request for Scrapy's engine; None if none is due, or the turn is long."""
        if self._turn.is_long():
            self._waker.wake_engine()
            return None
        for _ in range(MADE_IN_VAIN):
            try:
                return self._next()
            except CannotBeMade as error:
                # The next link may have a request that can be made
                self._unmade(error)
        self._waker.wake()
        return None

    def trip(self) -> Trip | None:
        """Return the next trip of the crawl's own loop, or None if nothing is due.

        A link that has a request is made one, and left to Scrapy's engine.
        """
        # Until the engine has the last one: it limits how many requests are under way
        if self._made is not None:
            return None
        parts = self._crawl.parts
        # Errbacks, and what needs no host, go through Scrapy's engine
        if parts.refusals.waiting or parts.hostless.waiting:
            self._waker.wake_engine()
        trip = next_trip(self._crawl, self._bandwidth, self._waker.timer)
        if trip is None or trip.link is None:
            return None
        if not trip.link.request:
            if not trip.link.is_own:
                self._counts.given += 1
            return trip
        try:
            self._made = self._request_for(trip)
            self._waker.wake_engine()
        except CannotBeMade as error:
            self._unmade(error)
            self._waker.wake()
        return None

    def _next(self) -> Request | None:
        parts = self._crawl.parts
        # First, before more can be dropped
        if parts.refusals.waiting:
            for refusal in islice(iter(parts.refusals.take, None), MADE_IN_VAIN):
                request = self._refused(refusal)
                if request is not None:
                    return request
        if parts.hostless.waiting:
            return self._hostless()
        if self.driven:
            made = self._made
            self._made = None
            if made is not None:
                self._waker.wake()
            return made
        trip = next_trip(self._crawl, self._bandwidth, self._waker.timer)
        return self._request_for(trip) if trip is not None else None

    def _request_for(self, trip: Trip) -> Request:
        """Return the request of a trip. Raise CannotBeMade if the spider lacks what it names."""
        link = trip.link
        if link is None:
            raise ValueError("a trip without a link must have a request already")
        if link.is_own:
            return self._robots.request(link.url, trip)
        self._counts.given += 1
        request = self.request(link, trip)
        for headers in self.headers:
            request.headers.update(headers(link))
        return request

    def request(self, link: Link, trip: Trip) -> Request:
        """Return a link's request, as a spider knows it."""
        if link.is_own:
            return self._robots.request(link.url, trip)
        return to_request(link, self._spider, trip, classes=self._classes, held=self._held)

    def _unmade(self, error: CannotBeMade) -> None:
        self._tell_unmade(error, f"such requests end with status {Status.NO_METHOD:d}")
        self._crawl.refuse(error.link, Status.NO_METHOD)

    def _hostless(self) -> Request | None:
        """Return the next request without a host; None if the spider lacks its methods."""
        number, record = self._crawl.parts.hostless.take()
        try:
            request = to_request(
                unpack(record), self._spider, Trip(hostless=number), classes=self._classes
            )
        except CannotBeMade as error:
            self._tell_unmade(error, "it is lost, and so are others of this kind")
            self._crawl.parts.unkept.add(error.kind, str(error))
            self._crawl.parts.hostless.done(number)
            self._waker.wake()
            return None
        self._counts.given += 1
        return request

    def _refused(self, refusal: Refusal) -> Request | None:
        """Return the request for an errback, or None if the spider no longer has that one."""
        try:
            link = unpack(refusal.record)
            trip = Trip(refusal=refusal)
            return to_refused(link, self._spider, trip, classes=self._classes, held=self._held)
        except CannotBeMade as error:
            self._tell_unmade(
                error, "no errback is called for such requests; crawl.log shows why they failed"
            )
            self._crawl.parts.refusals.delivered(refusal)
            return None

    def _tell_unmade(self, error: CannotBeMade, what: str) -> None:
        if error.kind not in self._told:
            self._told.add(error.kind)
            logger.error("%s (%s): %s", error, error.link.url, what)
