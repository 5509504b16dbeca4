"""Requests on their way out of the crawl: a link whose host may be asked becomes a request, with its trip."""

from __future__ import annotations

import logging
from itertools import islice

from scrapy import Request, Spider

from webcrawl.adapter.request_links import CannotBeMade, to_refused, to_request
from webcrawl.adapter.robots_request import RobotsRequests
from webcrawl.adapter.trip import Trip
from webcrawl.adapter.waking import Waking
from webcrawl.base.model import Status, unpack
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.lost_requests import Refusal
from webcrawl.net.bandwidth import Bandwidth

logger = logging.getLogger(__name__)

# A connection is kept open if its host's next turn is due within NEAR seconds. SLACK is added because turns come late
# when the processor is busy; servers keep idle connections for about five seconds (Apache's default).
NEAR, SLACK = 10.0, 5.0
MADE_IN_VAIN = 100  # requests that end in one turn of the event loop, because the spider lacks their methods: 2 ms


class Giving:
    """Makes the next request, or has the engine ask again when there may be one."""

    def __init__(
        self,
        crawl: Crawl,
        spider: Spider,
        robots: RobotsRequests,
        waking: Waking,
        bandwidth: Bandwidth,
        *,
        classes: bool,
    ) -> None:
        """`classes`: as in Intake."""
        self._crawl, self._spider, self._robots, self._waking = crawl, spider, robots, waking
        self._bandwidth, self._classes = bandwidth, classes
        self._headers = crawl.parts.moments.request
        self._told: set[str] = set()

    def next(self) -> Request | None:
        """The next one; None if nothing is due."""
        for _ in range(MADE_IN_VAIN):
            try:
                return self._next(self._crawl.parts.clock())
            except CannotBeMade as error:
                self._tell_unmade(error, f"such requests end with status {Status.NO_METHOD:d}")
                self._crawl.refuse(error.link, Status.NO_METHOD)
        self._waking.now()
        return None

    def _next(self, now: float) -> Request | None:
        crawl = self._crawl
        refusals = crawl.parts.refusals
        if refusals.waiting:  # before more can be dropped
            for refusal in islice(iter(refusals.take, None), MADE_IN_VAIN):
                if (request := self._refused(refusal)) is not None:
                    return request
        link = crawl.take(now)
        if link is None:
            self._waking.at(crawl.next_ready(), now)
            return None
        if self._bandwidth.rate:
            self._bandwidth.take()
        turn = crawl.parts.frontier.look.next_turn(link)
        if turn is None:  # links of the page may be of its host
            trip = Trip(link, keep=SLACK, spare=True)
        else:
            trip = Trip(link, keep=turn + SLACK if turn < NEAR else 0.0)
        if link.is_own:
            return self._robots.request(link.url, trip)
        request = to_request(link, self._spider, trip, classes=self._classes)
        for headers in self._headers:
            request.headers.update(headers(link))
        return request

    def _refused(self, refusal: Refusal) -> Request | None:
        """The request for an errback; None if the spider no longer has that one."""
        try:
            return to_refused(unpack(refusal.record), self._spider, Trip(refusal=refusal), classes=self._classes)
        except CannotBeMade as error:
            self._tell_unmade(error, "nobody hears that such requests failed; crawl.log says why they did")
            self._crawl.parts.refusals.delivered(refusal)
            return None

    def _tell_unmade(self, error: CannotBeMade, what: str) -> None:
        if error.kind not in self._told:
            self._told.add(error.kind)
            logger.error("%s (%s): %s", error, error.link.url, what)
