"""What a robots.txt says, or that there is none to be had, is booked before anything of its host is
fetched.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from webcrawl.base.model import Link, Status
from webcrawl.base.url_text import host_of
from webcrawl.content.page import Page
from webcrawl.crawl.crawl import NO_OUTCOMES
from webcrawl.crawl.trip import Trip
from webcrawl.crawl.visitor import Visitor
from webcrawl.store.errors import StoreError

logger = logging.getLogger(__name__)

NOWHERE = frozenset((Status.DNS_FAILED, Status.EXCLUDED))
STOPPED = (
    "%s: a downloader middleware stopped the request for this robots.txt; "
    "nothing is fetched from hosts whose rules are not known (this is said once)"
)


class Answer(Protocol):
    """An answer of which there is no exchange: somebody else's code has given it."""

    @property
    def status(self) -> int: ...
    @property
    def body(self) -> bytes: ...


class RobotsHearing:
    """Books the answers.

    If the crawl makes pages, a robots.txt goes to the processors as one too.
    """

    def __init__(self, visitor: Visitor, fail: Callable[[Exception], None], *, pages: bool) -> None:
        self._visitor = visitor
        self._fail = fail
        self._pages = pages
        self._warned = False

    def conditions(self, link: Link) -> list[tuple[bytes, bytes]]:
        """Headers by which a server may say that the rules at hand are right."""
        return self._visitor.robots_conditions(link)

    def pages_of(self, trip: Trip, response: Answer | None = None) -> list[Page]:
        """Books what came; if the spider's items are pages, it is one, too."""
        if trip.outcome is not None and trip.outcome.status in NO_OUTCOMES:  # it is asked for again
            trip.visited = True
            return []
        try:
            page = self.heard(trip, response)
        except (StoreError, OSError, MemoryError) as error:
            # a lack of ours: the answer is not booked
            self._fail(error)
            return []
        return [page] if self._pages and page is not None else []

    def heard(self, trip: Trip, response: Answer | None) -> Page | None:
        """Books what came of the request; returns the answer's page, if one of the crawl's own
        clients got it.

        What the server said counts, whatever middlewares make of it. A request that one of them
        stopped, so that no host was asked, is a robots.txt that cannot be reached: where it is not
        known, nothing is allowed.
        """
        trip.visited = True
        if trip.exchange is not None:
            page = self._visitor.visit(*trip.answer())
            if page.is_none and trip.is_prerequisite and trip.outcome is not None:
                trip.outcome.permanent = True  # its host has failed, as where none comes
            if self._pages:
                self._visitor.follow_robots(page)
            return page
        if trip.link is not None and trip.link.is_probe:
            return None
        # from a middleware, or somebody else's handler
        if trip.link is not None and response is not None:
            self._visitor.robots_said(trip.link, response.status, response.body)
        elif trip.link is not None:
            outcome = trip.outcome
            if outcome is None:
                self._warn(trip.link.url)
            if outcome is not None and outcome.by_proxy:
                self._visitor.robots_way_failed(trip.link)
                return None
            lost = outcome is not None and outcome.permanent and outcome.status in NOWHERE
            # what is awaited would ask again at once, and again
            if lost and _is_own(trip.link) and not trip.inline:
                return None  # the host's record says when to ask once more
            failed = outcome is not None and outcome.status < 0  # else its body is not known
            self._visitor.robots_said(
                trip.link, outcome.status if outcome and failed else Status.UNEXPECTED
            )
        return None

    def end(self, trip: Trip) -> None:
        """For an answer of which nobody has heard: a middleware kept it, or put another request in
        its place.

        One that the end of the crawl cut short says nothing of its host.
        """
        if trip.visited or trip.comes_again or trip.abandoned:
            return
        try:
            self.heard(trip, None)
        except (StoreError, OSError, MemoryError) as error:  # as above
            self._fail(error)

    def _warn(self, url: str) -> None:
        if not self._warned:
            self._warned = True
            logger.warning(STOPPED, url)


def _is_own(link: Link) -> bool:
    """Return whether this robots.txt is asked of the host that it is for: none redirected to
    another one.
    """
    return host_of(link.url) == host_of(f"{link.history}/")
