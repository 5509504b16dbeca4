"""Books what a robots.txt says, or that there is none, before anything of its host is fetched."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from webcrawl.base.model import Link, Outcome, Status
from webcrawl.base.url_text import host_of
from webcrawl.content.page import Page
from webcrawl.crawl.crawl import NO_OUTCOMES
from webcrawl.crawl.trip import Trip
from webcrawl.crawl.visitor import Visitor
from webcrawl.store.errors import StoreError

logger = logging.getLogger(__name__)

# a name that does not exist, or leads to an address that must not be requested
NOWHERE = frozenset((Status.DNS_FAILED, Status.EXCLUDED))
STOPPED = (
    "%s: a downloader middleware stopped the request for this robots.txt; "
    "nothing is fetched from hosts whose rules are unknown (this is logged only once)"
)


class RobotsAnswer(Protocol):
    """An answer without an exchange: a middleware or another handler has given it."""

    @property
    def status(self) -> int: ...
    @property
    def body(self) -> bytes: ...


class RobotsHearing:
    """Books answers to requests for robots.txt.

    If the crawl makes pages, a robots.txt goes to the processors as one too.
    """

    def __init__(self, visitor: Visitor, fail: Callable[[Exception], None], *, pages: bool) -> None:
        self._visitor = visitor
        self._fail = fail
        self._pages = pages
        self._warned = False

    def conditions(self, link: Link) -> list[tuple[bytes, bytes]]:
        """Return headers by which a server may say that the rules at hand are still right."""
        return self._visitor.robots_conditions(link)

    def pages_of(self, trip: Trip, response: RobotsAnswer | None = None) -> list[Page]:
        """Book what came, and return its page if the crawl makes pages.

        A lack of the machine ends the crawl.
        """
        if trip.outcome is not None and trip.outcome.status in NO_OUTCOMES:  # it is requested again
            trip.visited = True
            return []
        try:
            page = self.record_response(trip, response)
        except (StoreError, OSError, MemoryError) as error:
            # a lack of ours: the answer is not booked
            self._fail(error)
            return []
        return [page] if self._pages and page is not None else []

    def record_response(self, trip: Trip, response: RobotsAnswer | None) -> Page | None:
        """Book what came of the request; return its page if one of the crawl's own clients got it.

        What the server said counts, whatever middlewares make of it.
        """
        trip.visited = True
        if trip.exchange is not None:
            return self._heard_exchange(trip)
        link = trip.link
        if link is None or link.is_probe:
            return None
        if response is not None:
            self._visitor.robots_said(link, response.status, response.body)
        elif trip.outcome is None:
            self._heard_nothing(link)
        else:
            self._heard_failure(link, trip.outcome)
        return None

    def _heard_exchange(self, trip: Trip) -> Page:
        """Book an answer of one of the crawl's own clients, and return its page."""
        page = self._visitor.visit(*trip.answer())
        if page.is_none and trip.is_prerequisite and trip.outcome is not None:
            # A block page in its place: as if the host had not answered.
            trip.outcome.permanent = True
        if self._pages:
            self._visitor.follow_robots(page)
        return page

    def _heard_nothing(self, link: Link) -> None:
        """Book a request that a middleware stopped, as a robots.txt that cannot be reached.

        No host was requested: where its rules are not known, nothing is allowed.
        """
        self._warn(link.url)
        self._visitor.robots_said(link, Status.UNEXPECTED)

    def _heard_failure(self, link: Link, outcome: Outcome) -> None:
        """Book a robots.txt that failed: for its proxy, or for its host, which waits."""
        if outcome.by_proxy:
            self._visitor.robots_way_failed(link)
            return
        # Of a host without an address the frontier's record says when to ask once more.
        if _is_nowhere(outcome) and _is_own(link):
            return
        # With a status of HTTP there was an answer, whose body is not known.
        status = outcome.status if outcome.status < 0 else Status.UNEXPECTED
        self._visitor.robots_said(link, status)

    def end(self, trip: Trip) -> None:
        """Book an answer that reached no callback: a middleware kept it, or replaced the request.

        An answer whose download the end of the crawl cancelled says nothing of its host.
        """
        if trip.visited or trip.comes_again or trip.abandoned:
            return
        try:
            self.record_response(trip, None)
        except (StoreError, OSError, MemoryError) as error:  # as above
            self._fail(error)

    def _warn(self, url: str) -> None:
        if not self._warned:
            self._warned = True
            logger.warning(STOPPED, url)


def _is_nowhere(outcome: Outcome) -> bool:
    """Return whether the host has no address, or none that may be requested."""
    return outcome.permanent and outcome.status in NOWHERE


def _is_own(link: Link) -> bool:
    """Return whether this robots.txt is requested from its own host: it was not redirected to
    another.
    """
    return host_of(link.url) == host_of(f"{link.history}/")
