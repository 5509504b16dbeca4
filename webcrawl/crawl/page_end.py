"""The end of a trip: what its page writes is written, its URL is booked, and it leaves the barrier."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Protocol

from webcrawl.base.model import Exchange, Link, Outcome, Status
from webcrawl.crawl.barrier import Barrier
from webcrawl.crawl.crawl import NO_OUTCOMES, Crawl
from webcrawl.crawl.panics import tamed
from webcrawl.crawl.trip import Trip
from webcrawl.crawl.visitor import Visitor
from webcrawl.frontier.outcomes import ACCEPTED
from webcrawl.net.reading_limits import Bandwidth

NO_OUTCOME = Outcome(Status.OUT_OF_SCOPE)  # a middleware stopped the request: no host was asked
Archive = Callable[[Link, Exchange], None]


class CountRetry(Protocol):
    """Hears of each download whose URL is retried, or was a retry."""

    def __call__(self, trip: Trip, /, *, again: bool) -> None: ...


class Robots(Protocol):
    """What becomes of a robots.txt that nobody has heard."""

    def end(self, trip: Trip) -> None: ...


class Archiving:
    """The archive of the crawl, if it has one: a pipeline's, which opens later than the crawl."""

    def __init__(self) -> None:
        self.archive: Archive | None = None  # of what the spider did not make a Page
        self.end: Callable[[], None] = _nothing

    def inline(self, link: Link, exchange: Exchange) -> None:
        """An answer that somebody has awaited."""
        if self.archive is not None:
            self.archive(link, exchange)


class PageEnd:
    """Books each trip once."""

    def __init__(
        self,
        crawl: Crawl,
        visitor: Visitor,
        robots: Robots,
        archiving: Archiving,
        barrier: Barrier,
        is_cut_short: Callable[[], bool],
        bandwidth: Bandwidth,
        fail: Callable[[Exception], None],
        count_retry: CountRetry | None = None,
    ) -> None:
        """`is_cut_short`: whether the end of the crawl has cut short a download that a page
        awaited.
        """
        self._count_retry = count_retry
        self._crawl = crawl
        self._visitor = visitor
        self._robots = robots
        self._archiving = archiving
        self._barrier = barrier
        self._is_cut_short = is_cut_short
        self._bandwidth = bandwidth
        self._fail = fail

    def finished(self, trip: Trip) -> None:
        """Its way is over, pipelines included."""
        trip.booked = True
        if self._bandwidth.rate and trip.link is not None:
            self._bandwidth.finished(_size(trip))
        if not (trip.abandoned or self._is_cut_short()):
            try:
                self._book(trip)
            except BaseException as error:  # noqa: BLE001 - whatever it is, what it was in the middle of is half done
                self._fail(tamed(error))
        elif trip.visited and trip.link is not None:
            # its body is seen, and it comes again
            self._crawl.parts.halfway.leave_out((trip.link.url,))
        if trip.exchange is not None:
            # What somebody keeps of the page is theirs: downloads do not wait for it. A pipeline
            # that collects a thousand pages, or a list of all pages, would stop the crawl once it
            # has room's worth of long bodies.
            trip.exchange.claim = None
        self._barrier.leave(trip)

    def hide(self, trip: Trip) -> None:
        """As with Scrapy's own retries, the spider gets only the last answer to a request."""
        if trip.link is not None and trip.outcome is not None:
            if trip.exchange is not None and (
                trip.exchange.status >= 400 or trip.exchange.status == ACCEPTED
            ):
                self._visitor.looks(trip.link, trip.exchange, trip.outcome)
            trip.comes_again = trip.abandoned or self._crawl.will_retry(trip.link, trip.outcome)

    def _book(self, trip: Trip) -> None:
        link, outcome, exchange, archive = (
            trip.link,
            trip.outcome,
            trip.exchange,
            self._archiving.archive,
        )
        if link is not None and outcome is not None and exchange is not None:
            is_plain = outcome.status == HTTPStatus.OK and not outcome.short
            exchange.state.again = not is_plain and self._crawl.will_retry(link, outcome)
        if (
            exchange is None or not exchange.state.again
        ):  # else our network has turned out to be away since its page was made
            for write in trip.writes or ():
                write()
        if link is not None:
            if not trip.visited:  # nobody has made its page
                self._without_page(trip, link)
            if (
                archive is not None
                and trip.exchange is not None
                and not trip.exchange.state.archived
            ):
                archive(link, trip.exchange)
            again = self._crawl.finish(
                link, trip.outcome or NO_OUTCOME, trip.exchange, trip.withheld
            )
            if self._count_retry is not None and (again or link.tried):
                self._count_retry(trip, again=again)
        elif trip.hostless:
            is_done = trip.outcome is None or trip.outcome.status not in NO_OUTCOMES
            hostless = self._crawl.parts.hostless
            (hostless.done if is_done else hostless.put_back)(trip.hostless)
        elif trip.refusal is not None:
            self._crawl.parts.refusals.delivered(trip.refusal)

    def _without_page(self, trip: Trip, link: Link) -> None:
        if trip.is_prerequisite:
            self._robots.end(trip)
        elif trip.exchange is not None:
            self._visitor.withholds(link, trip.exchange)


def _size(trip: Trip) -> int | None:
    """Bytes of an answer to go by for later ones: a robots.txt says nothing of pages, nor does a
    failure.
    """
    if trip.exchange is None or trip.link is None or trip.link.is_prerequisite:
        return None
    return trip.exchange.received


def _nothing() -> None:
    """For a crawl without an archive."""
