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

NO_OUTCOME = Outcome(Status.OUT_OF_SCOPE)  # a middleware stopped the request: no host was requested
Archive = Callable[[Link, Exchange], None]


class CountRetry(Protocol):
    """Counts each download whose URL is retried, or was a retry."""

    def __call__(self, trip: Trip, /, *, again: bool) -> None: ...


class UnheardRobots(Protocol):
    """Books a robots.txt that reached no callback."""

    def end(self, trip: Trip) -> None: ...


class Archiving:
    """The archive of the crawl, if it has one: that of a pipeline, which opens after the crawl."""

    def __init__(self) -> None:
        self.archive: Archive | None = None  # of what the spider did not make a Page
        self.end: Callable[[], None] = _nothing

    def inline(self, link: Link, exchange: Exchange) -> None:
        """Archive an answer that a callback has awaited."""
        if self.archive is not None:
            self.archive(link, exchange)


class PageEnd:
    """Books each trip once: writes what its page has to write, archives, and ends its URL."""

    def __init__(
        self,
        crawl: Crawl,
        visitor: Visitor,
        *,
        robots: UnheardRobots,
        archiving: Archiving,
        barrier: Barrier,
        bandwidth: Bandwidth,
        has_cancelled_awaited: Callable[[], bool],
        fail: Callable[[Exception], None],
        count_retry: CountRetry | None = None,
    ) -> None:
        """Take the parts of the crawl that a finished page concerns.

        `robots`: books a robots.txt that reached no callback.
        `archiving`: writes what the spider did not make a Page.
        `barrier`: counts the trips under way, for which a checkpoint waits.
        `bandwidth`: gets the bytes that came, if it is limited.
        `has_cancelled_awaited`: whether the end of the crawl cancelled a download
            that a page awaited.
        `fail`: ends the crawl with this error.
        `count_retry`: counts a retry where Scrapy's users look for it.
        """
        self._count_retry = count_retry
        self._crawl = crawl
        self._visitor = visitor
        self._robots = robots
        self._archiving = archiving
        self._barrier = barrier
        self._has_cancelled_awaited = has_cancelled_awaited
        self._bandwidth = bandwidth
        self._fail = fail

    def finished(self, trip: Trip) -> None:
        """Book a trip that is over, its pipelines included.

        A trip that the end of the crawl cancelled is not booked: the next run has its URL again.
        Raise nothing but what has to end more than a page: an error of the booking ends the crawl.
        """
        trip.booked = True
        if self._bandwidth.rate and trip.link is not None:
            self._bandwidth.finished(_size(trip))
        if not (trip.abandoned or self._has_cancelled_awaited()):
            try:
                self._book(trip)
            except BaseException as error:  # noqa: BLE001 - whatever it is, what it was in the middle of is half done
                self._fail(tamed(error))
        elif trip.visited and trip.link is not None:
            # Its body counts as seen, and comes again in the next run: it is no duplicate then.
            self._crawl.parts.halfway.leave_out((trip.link.url,))
        if trip.exchange is not None:
            # A long body has a claim on room for which downloads wait. What somebody keeps of the
            # page is theirs: a pipeline that collects a thousand pages would stop the crawl once
            # these had all the room.
            trip.exchange.claim = None
        self._barrier.leave(trip)

    def hide(self, trip: Trip) -> None:
        """Note whether the URL is retried, so that the spider gets only its last answer.

        Scrapy's own retries do the same. Called when the download has ended.
        """
        link = trip.link
        outcome = trip.outcome
        if link is None or outcome is None:
            return
        exchange = trip.exchange
        # A block page may come with the status of an error, or with 202 and a challenge.
        if exchange is not None and (exchange.status >= 400 or exchange.status == ACCEPTED):
            self._visitor.looks(link, exchange, outcome)
        trip.comes_again = trip.abandoned or self._crawl.will_retry(link, outcome)

    def _book(self, trip: Trip) -> None:
        """Write what the page has to write, then book whatever has travelled.

        In one turn of the event loop, so that no checkpoint has one without the other.
        """
        is_retried = self._note_retry(trip)
        # A page whose URL comes again is not written: our network has turned out to be away since
        # the page was made.
        if trip.writes is not None and not is_retried:
            for write in trip.writes:
                write()
        if trip.link is not None:
            self._book_url(trip, trip.link)
        elif trip.hostless:
            self._book_hostless(trip.hostless, trip.outcome)
        elif trip.refusal is not None:
            self._crawl.parts.refusals.delivered(trip.refusal)

    def _note_retry(self, trip: Trip) -> bool:
        """Note in an answer whether its URL is retried, for the archive, and return that."""
        exchange = trip.exchange
        if exchange is None:
            return False
        if trip.link is not None and trip.outcome is not None:
            exchange.state.again = self._comes_again(trip.link, trip.outcome)
        return exchange.state.again

    def _comes_again(self, link: Link, outcome: Outcome) -> bool:
        """Return whether the frontier will retry a URL that ended so."""
        # Nearly all answers are plain: for these the frontier need not be asked.
        is_plain = outcome.status == HTTPStatus.OK and not outcome.short
        return not is_plain and self._crawl.will_retry(link, outcome)

    def _book_url(self, trip: Trip, link: Link) -> None:
        """Archive what no pipeline has archived, and book the URL with its outcome."""
        if not trip.visited:
            self._without_page(trip, link)
        exchange = trip.exchange
        archive = self._archiving.archive
        # A Page was archived by its pipeline, for only the page knows its title and whether its
        # body was seen. All else is archived here: there is one exchange per request, the barrier
        # was passed, and no checkpoint can fall between archive and log.
        if archive is not None and exchange is not None and not exchange.state.archived:
            archive(link, exchange)
        is_retried = self._crawl.finish(link, trip.outcome or NO_OUTCOME, exchange, trip.withheld)
        if self._count_retry is not None and (is_retried or link.tried):
            self._count_retry(trip, again=is_retried)

    def _book_hostless(self, number: int, outcome: Outcome | None) -> None:
        """Book a request that needs no host: it is done, or waits again if it was not made."""
        hostless = self._crawl.parts.hostless
        if outcome is None or outcome.status not in NO_OUTCOMES:
            hostless.done(number)
        else:
            hostless.put_back(number)

    def _without_page(self, trip: Trip, link: Link) -> None:
        """Process an answer of which no code has made a page."""
        if trip.is_prerequisite:
            self._robots.end(trip)
        elif trip.exchange is not None:
            self._visitor.withholds(link, trip.exchange)


def _size(trip: Trip) -> int | None:
    """Return the bytes of a page, from which later ones are estimated.

    None for a failure and a robots.txt, which say nothing about the size of pages.
    """
    if trip.exchange is None or trip.link is None or trip.link.is_prerequisite:
        return None
    return trip.exchange.received


def _nothing() -> None:
    """Do nothing, for a crawl without an archive."""
