"""Downloads that code awaits instead of yielding a request: media pipelines, `download_async`.

They wait for their host's turn like all others, with robots.txt, log and archive; and whatever
awaits them gets an answer (docs/spiders.md).

They cannot wait in the frontier's queues. A host's queue gives its next URL when the page before is
booked, which is after its pipelines: a page that awaits a URL of its own host would wait for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from scrapy import Request
from scrapy.exceptions import DownloadCancelledError, IgnoreRequest
from scrapy.http import Response

from webcrawl.adapter.request_links import PRIVATE, referer, variant
from webcrawl.adapter.request_trip import KEY, attach_trip
from webcrawl.adapter.robots_request import RobotsRequests
from webcrawl.base.model import Exchange, Link, Outcome, Status
from webcrawl.base.url_text import host_of
from webcrawl.crawl.barrier import Barrier
from webcrawl.crawl.inline import InlineDownloads, link_of
from webcrawl.crawl.inline_turns import Turns
from webcrawl.crawl.lost_requests import reason_of
from webcrawl.crawl.trip import Trip, page_under_way
from webcrawl.urls.canonical import SCHEMES, InvalidUrl

# seconds: which connections are kept, and for how much longer than until the next turn
NEAR, SLACK = 10.0, 5.0
HELD = 0.5  # seconds between two looks whether the crawl goes on
Attempt = Callable[[Request, Trip], Awaitable[Response]]
Through = Callable[
    [Callable[[Request], Coroutine[Any, Any, Response]], Request],
    Coroutine[Any, Any, Response | Request],
]


class NotSent(Exception):  # noqa: N818 - reads as what it is
    """Nothing was sent: after the turn was given, the crawl was paused, or the URL excluded."""


@dataclass(frozen=True, slots=True)
class OpenCrawl:
    """An open crawl, as inline downloads need it."""

    books: InlineDownloads
    turns: Turns
    robots: RobotsRequests
    archive: Callable[[Link, Exchange], None]
    fail: Callable[[Exception], None]


class AwaitedDownloads:
    """The downloader's way for requests that no scheduler has handed out."""

    def __init__(
        self,
        attempt: Attempt,
        through: Through,
        barrier: Barrier,
        active: set[Request | Trip],
        slots: int,
    ) -> None:
        """`attempt` downloads, `through` passes a request through the middlewares.

        `slots`: so many at once; 0: any.
        """
        self._attempt = attempt
        self._through = through
        self._barrier = barrier
        self._active = active
        # Slots of their own, as many as there are others, which pages that wait for these downloads
        # may hold.
        self._slots: AbstractAsyncContextManager[None] = (
            asyncio.Semaphore(slots) if slots else nullcontext()
        )
        self.crawl: OpenCrawl | None = None
        self.waiting = 0  # downloads that are awaited now
        self.closed = False  # no more are taken
        # an awaited download was cut off by the end of the crawl: no page is booked after that
        self.cut_short = False

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """Wrap a whole download. Until it ends, the page that awaits it counts as away."""
        self._check_open()
        page = page_under_way()
        self.waiting += 1
        if page is not None:
            self._barrier.away(page)
        try:
            yield
        finally:
            self.waiting -= 1
            if page is not None:
                self._barrier.back(page)

    @property
    def turns(self) -> Turns | None:
        """Return the turns of hosts, while the crawl is open."""
        return self.crawl.turns if self.crawl is not None else None

    def close(self) -> None:
        """End all waits, present and later ones, with DownloadCancelledError."""
        self.closed = True
        if self.waiting:
            self.cut_short = True
            if self.crawl is not None:
                self.crawl.turns.end(_ended())

    def _check_open(self) -> None:
        if self.closed:
            self.cut_short = True
            raise _ended()

    # -- a download

    async def download(self, request: Request) -> Response:
        """Download in the host's turn, after the middlewares; again if the answer asks for it."""
        crawl = self.crawl
        # data:, file:, s3: have no host
        if crawl is None or request.url.partition(":")[0].lower() not in SCHEMES:
            return await self._attempt(request, Trip(inline=True))
        page = page_under_way()
        via = page.link if page is not None else None
        kind = variant(request)
        try:
            link = link_of(request.url, via, referer(request))
        except InvalidUrl as error:
            raise IgnoreRequest(f"invalid URL: {error.reason}") from error
        before: Response | Exception | None = None
        while True:
            last = await self._turn_or(before, crawl, link, via, kind)
            if last is not None:
                return last
            private = PRIVATE in request.meta
            trip = Trip(
                link, keep=_keep(crawl, link), inline=True, awaited=link.url, private=private
            )
            try:
                response = await self._asked(crawl, request, trip)
            except NotSent:
                # Another turn is awaited, and the rules are asked again
                continue
            except Exception as error:
                later = self._ended(crawl, trip, via, kind)
                if later is None:
                    raise
                before = error
            else:
                later = self._ended(crawl, trip, via, kind)
                if later is None:
                    return response
                before = response
            link = later

    async def _turn_or(
        self,
        before: Response | Exception | None,
        crawl: OpenCrawl,
        link: Link,
        via: Link | None,
        kind: str,
    ) -> Response | None:
        """Wait for the turn as `_turn` does.

        If its own answer was one too many for the host, that is what it gets.
        """
        try:
            await self._turn(crawl, link, via, kind)
        except IgnoreRequest as refused:
            if isinstance(before, Response):
                return before
            raise before or refused from None
        return None

    async def _turn(self, crawl: OpenCrawl, link: Link, via: Link | None, kind: str) -> None:
        """Wait until the link may be asked for, by its robots.txt too. Raise IgnoreRequest."""
        while decision := await crawl.turns.take(link):
            if isinstance(decision, Link):
                await self._ask_robots(crawl, decision, link.url)
                self._check_open()
            else:
                try:
                    crawl.books.refused(link, via, kind, int(decision))
                except Exception as error:  # noqa: BLE001 - whatever it is, it is not kept
                    crawl.fail(error)
                raise IgnoreRequest(reason_of(int(decision)))

    async def _asked(self, crawl: OpenCrawl, request: Request, trip: Trip) -> Response:
        """Download in the host's turn, and end the turn.

        The trip is the request's only meanwhile.
        """
        before = request.meta.get(KEY)
        try:
            return await self._in_slot(attach_trip(request, trip), trip)
        finally:
            if before is None:
                del request.meta[KEY]
            else:
                request.meta[KEY] = before
            _give_back(crawl, trip)

    async def _in_slot(self, request: Request, trip: Trip) -> Response:
        # Until the request goes out: a turn that is given up before has not used the host
        trip.outcome = Outcome(Status.UNTRIED)
        async with self._slots:
            was_held = await self.released()
            self._check_open()
            # The turn was given before the wait for this slot
            if was_held or self.excludes(trip.awaited):
                raise NotSent
            trip.outcome = None
            self._active.add(request)
            try:
                return await self._attempt(request, trip)
            except Exception:
                if _is_untried(trip) and self.excludes(trip.awaited):
                    raise NotSent from None
                raise
            finally:
                self._active.discard(request)

    def excludes(self, url: str) -> bool:
        """Return whether a rule of the open crawl refuses this URL by now."""
        return self.crawl is not None and url != "" and self.crawl.books.excludes(url)

    async def may_repeat(self, trip: Trip) -> bool:
        """Wait until what failed for a lack of ours may be tried again.

        False if it is excluded by now.
        """
        while self.crawl is not None and not self.closed and not self.excludes(trip.awaited):
            if self.crawl.books.may_repeat():
                return True
            await asyncio.sleep(HELD)
        return self.crawl is None

    async def released(self) -> bool:
        """Wait as long as nothing may go out, and return whether that was so.

        A turn, or a slot, may be from before the pause.
        """
        crawl = self.crawl
        was_held = False
        # The pause has no event to wait for
        while crawl is not None and crawl.books.rests() and not self.closed:
            was_held = True
            await asyncio.sleep(HELD)
        return was_held

    def _ended(self, crawl: OpenCrawl, trip: Trip, via: Link | None, kind: str) -> Link | None:
        """Log and archive an attempt in the same turn of the event loop in which it ended.

        Return the link for the next attempt, if there is one.
        """
        link = trip.link
        outcome = trip.outcome
        exchange = trip.exchange
        if link is None or outcome is None:
            return None
        is_left_to_next_run = trip.abandoned or crawl.turns.closed
        if is_left_to_next_run or outcome.status == Status.UNTRIED:
            return None
        later = None if self.closed else crawl.books.again(link, outcome)
        try:
            kept = crawl.books.answered(link, via, kind, outcome, exchange, last=later is None)
            if kept and exchange is not None and not trip.private:
                exchange.state.again = later is not None
                crawl.archive(link, exchange)
        except Exception as error:  # noqa: BLE001 - whatever it is, the answer is not kept
            crawl.fail(error)
        return later

    # -- robots.txt

    async def _ask_robots(self, crawl: OpenCrawl, link: Link, awaited: str) -> None:
        """Ask for robots.txt in the turn that was the awaited URL's."""
        trip = Trip(link, inline=True, awaited=awaited)
        request = crawl.robots.request(link.url, trip)
        try:
            response = None
            try:
                response = await self._through(partial(self._in_slot, trip=trip), request)
            except NotSent:
                return
            except Exception:
                if self.closed:
                    raise
            # before the turn ends: there may be a Crawl-delay in it
            self._heard(crawl, trip, response)
        finally:
            _give_back(crawl, trip)

    def _heard(self, crawl: OpenCrawl, trip: Trip, response: Response | Request | None) -> None:
        link = trip.link
        outcome = trip.outcome
        if link is None or crawl.turns.closed:
            return
        # A middleware may have given a request
        answer = response if isinstance(response, Response) else None
        try:
            crawl.robots.heard(trip, answer)
            if outcome is not None:
                crawl.books.answered(link, None, "", outcome, trip.exchange, last=True)
            if trip.exchange is not None:
                crawl.archive(link, trip.exchange)
        except Exception as error:  # noqa: BLE001 - as above
            crawl.fail(error)


def _keep(crawl: OpenCrawl, link: Link) -> float:
    """Return the seconds that the connection is worth keeping: others wait for the same host."""
    if not crawl.turns.others_wait(link):
        return 0.0
    wait = crawl.books.wait(host_of(link.url))
    return wait + SLACK if wait < NEAR else 0.0


def _give_back(crawl: OpenCrawl, trip: Trip) -> None:
    if trip.link is not None:
        crawl.turns.leave(trip.link, None if trip.abandoned else trip.outcome)


def _is_untried(trip: Trip) -> bool:
    return trip.outcome is not None and trip.outcome.status == Status.UNTRIED


def _ended() -> DownloadCancelledError:
    return DownloadCancelledError("the crawl is ending")
