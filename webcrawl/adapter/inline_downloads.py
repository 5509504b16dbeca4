"""Downloads that code awaits instead of yielding a request: media pipelines, `download_async`.

They wait for their host's turn, obey robots.txt, and are logged and archived like all others. The
code that awaits one always gets an answer or an error (docs/spiders.md).

They cannot wait in the frontier's queues. The queue of a host hands out its next URL when the page
before is booked, which is after the pipelines: a page that awaits a URL of its own host would wait
for ever. So the frontier lends them the host (docs/decisions/adapter-scrapy.md).
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

from webcrawl.adapter.request_links import IMPATIENT, PRIVATE, referer, variant
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

# A connection is kept if its host's next turn is nearer than this, in seconds, and some seconds
# longer
KEEP_IF_DUE_WITHIN = 10.0
KEEP_LONGER = 5.0
PAUSE_CHECK_INTERVAL = 0.5  # seconds between two checks whether a paused crawl has resumed
Attempt = Callable[[Request, Trip], Awaitable[Response]]
WithMiddlewares = Callable[
    [Callable[[Request], Coroutine[Any, Any, Response]], Request],
    Coroutine[Any, Any, Response | Request],
]


class NotSent(Exception):  # noqa: N818 - reads as what it is
    """Nothing was sent, because the crawl was paused or the URL excluded since the turn was given."""


@dataclass(frozen=True, slots=True)
class OpenCrawl:
    """The parts of an open crawl that inline downloads use."""

    books: InlineDownloads
    turns: Turns
    robots: RobotsRequests
    archive: Callable[[Link, Exchange], None]
    fail: Callable[[Exception], None]


class AwaitedDownloads:
    """Downloads the requests that code awaits, which the scheduler has not handed out."""

    def __init__(
        self,
        attempt: Attempt,
        with_middlewares: WithMiddlewares,
        barrier: Barrier,
        active: set[Request | Trip],
        slots: int,
    ) -> None:
        """`attempt` downloads once; `with_middlewares` downloads through the downloader middlewares.

        `slots` is the number of downloads at once, 0 for no limit.
        """
        self._attempt = attempt
        self._with_middlewares = with_middlewares
        self._barrier = barrier
        self._active = active
        # Not the slots of other downloads: all of those may be held by pages that await these
        self._slots: AbstractAsyncContextManager[None] = (
            asyncio.Semaphore(slots) if slots else nullcontext()
        )
        self.crawl: OpenCrawl | None = None
        self.waiting = 0  # downloads that are awaited now
        self.closed = False  # no more are accepted
        # The end of the crawl has ended an awaited download. No page is booked after that.
        self.has_cancelled_awaited = False

    @contextmanager
    def count_awaited(self) -> Iterator[None]:
        """Count a download as awaited while the context is open.

        Checkpoints do not wait for the page that awaits it. Raise DownloadCancelledError if the
        crawl is ending.
        """
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
        """Return the turns of inline downloads at their hosts, or None if no crawl is open."""
        return self.crawl.turns if self.crawl is not None else None

    def close(self) -> None:
        """Accept no more downloads, and end all waits for a turn with DownloadCancelledError."""
        self.closed = True
        if self.waiting:
            self.has_cancelled_awaited = True
            if self.crawl is not None:
                self.crawl.turns.end(_ending_error())

    def _check_open(self) -> None:
        if self.closed:
            self.has_cancelled_awaited = True
            raise _ending_error()

    # -- a download

    async def download(self, request: Request) -> Response:
        """Download in the host's turn, and retry as the frontier would. Return the last answer.

        The middlewares have seen the request. Raise IgnoreRequest if the URL may not be fetched, or
        the last attempt's error.
        """
        crawl = self.crawl
        # Such as data:, file: and s3:, which have no host
        if crawl is None or request.url.partition(":")[0].lower() not in SCHEMES:
            return await self._attempt(request, Trip(inline=True))
        page = page_under_way()
        page_link = page.link if page is not None else None
        kind = variant(request)
        try:
            link = link_of(request.url, page_link, referer(request))
        except InvalidUrl as error:
            raise IgnoreRequest(f"invalid URL: {error.reason}") from error
        last_result: Response | Exception | None = None
        while True:
            final_answer = await self._wait_for_turn_or_result(
                last_result, crawl, link, page_link, kind, impatient=IMPATIENT in request.meta
            )
            if final_answer is not None:
                return final_answer
            trip = Trip(
                link,
                keep=_seconds_to_keep(crawl, link),
                inline=True,
                awaited=link.url,
                private=PRIVATE in request.meta,
            )
            try:
                response = await self._download_in_turn(crawl, request, trip)
            except NotSent:
                # Waits for another turn, and asks the rules again
                continue
            except Exception as error:
                retry = self._book(crawl, trip, page_link, kind)
                if retry is None:
                    raise
                last_result = error
            else:
                retry = self._book(crawl, trip, page_link, kind)
                if retry is None:
                    return response
                last_result = response
            link = retry

    async def _wait_for_turn_or_result(
        self,
        last_result: Response | Exception | None,
        crawl: OpenCrawl,
        link: Link,
        page_link: Link | None,
        kind: str,
        *,
        impatient: bool,
    ) -> Response | None:
        """Wait for a turn, and return None; if a retry is refused, return the last attempt's answer.

        Raise the last attempt's error instead if it had no answer, or IgnoreRequest if there was no
        attempt.
        """
        try:
            await self._wait_for_turn(crawl, link, page_link, kind, impatient=impatient)
        except IgnoreRequest as refusal:
            if isinstance(last_result, Response):
                return last_result
            raise last_result or refusal from None
        return None

    async def _wait_for_turn(
        self,
        crawl: OpenCrawl,
        link: Link,
        page_link: Link | None,
        kind: str,
        *,
        impatient: bool,
    ) -> None:
        """Wait until the link may be fetched, and fetch its robots.txt if that is needed first.

        Raise IgnoreRequest, counted and logged, if it may not be fetched.
        """
        # No decision: the turn is the link's own. A link: its robots.txt comes first, in this turn. A
        # status: the link may not be fetched.
        while decision := await crawl.turns.wait_for_turn(link, impatient=impatient):
            if isinstance(decision, Link):
                await self._fetch_robots(crawl, decision, link.url)
                self._check_open()
            else:
                try:
                    crawl.books.refused(link, page_link, kind, int(decision))
                except Exception as error:  # noqa: BLE001 - whatever it is, the refusal is not kept
                    crawl.fail(error)
                raise IgnoreRequest(reason_of(int(decision)))

    async def _download_in_turn(self, crawl: OpenCrawl, request: Request, trip: Trip) -> Response:
        """Download in the host's turn, and end the turn.

        The trip is attached to the request only meanwhile. Raise NotSent if nothing was sent.
        """
        other_trip = request.meta.get(KEY)
        try:
            return await self._in_slot(attach_trip(request, trip), trip)
        finally:
            if other_trip is None:
                del request.meta[KEY]
            else:
                request.meta[KEY] = other_trip
            _end_turn(crawl, trip)

    async def _in_slot(self, request: Request, trip: Trip) -> Response:
        """Wait for a slot, and download once.

        Raise NotSent if the request may not be sent any more.
        """
        # A turn that ends before the request is sent has not used the host
        trip.outcome = Outcome(Status.UNTRIED)
        async with self._slots:
            was_paused = await self.wait_while_paused()
            self._check_open()
            # The turn was given before the wait for this slot
            if was_paused or self.is_excluded(trip.awaited):
                raise NotSent
            trip.outcome = None
            self._active.add(request)
            try:
                return await self._attempt(request, trip)
            except Exception:
                if _is_untried(trip) and self.is_excluded(trip.awaited):
                    raise NotSent from None
                raise
            finally:
                self._active.discard(request)

    def is_excluded(self, url: str) -> bool:
        """Return whether a rule of the open crawl now refuses this URL."""
        return self.crawl is not None and url != "" and self.crawl.books.excludes(url)

    async def may_repeat(self, trip: Trip) -> bool:
        """Wait until a download that our machine has failed to make may be tried again.

        Return False if the crawl ends or the URL is excluded meanwhile.
        """
        while self.crawl is not None and not self.closed and not self.is_excluded(trip.awaited):
            if self.crawl.books.may_repeat():
                return True
            await asyncio.sleep(PAUSE_CHECK_INTERVAL)
        return self.crawl is None

    async def wait_while_paused(self) -> bool:
        """Wait while the crawl is paused, and return whether it was.

        After a pause the caller's turn or slot may be out of date.
        """
        crawl = self.crawl
        was_paused = False
        # The pause has no event to wait for
        while crawl is not None and crawl.books.rests() and not self.closed:
            was_paused = True
            await asyncio.sleep(PAUSE_CHECK_INTERVAL)
        return was_paused

    def _book(self, crawl: OpenCrawl, trip: Trip, page_link: Link | None, kind: str) -> Link | None:
        """Log and archive an attempt. Return the link of the next attempt, or None if it was the last.

        To be called in the turn of the event loop in which the attempt has ended. An attempt that
        the next run repeats is neither logged nor archived.
        """
        link = trip.link
        outcome = trip.outcome
        exchange = trip.exchange
        if link is None or outcome is None:
            return None
        is_left_to_next_run = trip.abandoned or crawl.turns.closed
        if is_left_to_next_run or outcome.status == Status.UNTRIED:
            return None
        retry = None if self.closed else crawl.books.again(link, outcome)
        is_last = retry is None
        try:
            # False: a former run has archived it before it was killed
            is_new = crawl.books.record_attempt(
                link, page_link, kind, outcome, exchange, last=is_last
            )
            if is_new and exchange is not None and not trip.private:
                exchange.state.again = not is_last
                crawl.archive(link, exchange)
        except Exception as error:  # noqa: BLE001 - whatever it is, the answer is not kept
            crawl.fail(error)
        return retry

    # -- robots.txt

    async def _fetch_robots(self, crawl: OpenCrawl, link: Link, awaited: str) -> None:
        """Fetch the robots.txt that the awaited URL needs, in the turn that was given for it."""
        trip = Trip(link, inline=True, awaited=awaited)
        request = crawl.robots.request(link.url, trip)
        try:
            response = None
            try:
                response = await self._with_middlewares(partial(self._in_slot, trip=trip), request)
            except NotSent:
                return
            except Exception:
                if self.closed:
                    raise
            # Before the turn ends, because a Crawl-delay in it makes the turn longer
            self._note_robots(crawl, trip, response)
        finally:
            _end_turn(crawl, trip)

    def _note_robots(
        self, crawl: OpenCrawl, trip: Trip, response: Response | Request | None
    ) -> None:
        """Note what a robots.txt says, and count, log and archive its download.

        `response` is None if there is no answer.
        """
        link = trip.link
        outcome = trip.outcome
        if link is None or crawl.turns.closed:
            return
        # A middleware may have returned a request
        answer = response if isinstance(response, Response) else None
        try:
            crawl.robots.record_response(trip, answer)
            if outcome is not None:
                crawl.books.record_attempt(link, None, "", outcome, trip.exchange, last=True)
            if trip.exchange is not None:
                crawl.archive(link, trip.exchange)
        except Exception as error:  # noqa: BLE001 - as above
            crawl.fail(error)


def _seconds_to_keep(crawl: OpenCrawl, link: Link) -> float:
    """Return for how many seconds to keep the connection: until the next turn, if others wait for it."""
    if not crawl.turns.others_wait(link):
        return 0.0
    wait = crawl.books.wait(host_of(link.url))
    return wait + KEEP_LONGER if wait < KEEP_IF_DUE_WITHIN else 0.0


def _end_turn(crawl: OpenCrawl, trip: Trip) -> None:
    """End the turn of a trip at its host."""
    if trip.link is not None:
        crawl.turns.leave(trip.link, None if trip.abandoned else trip.outcome)


def _is_untried(trip: Trip) -> bool:
    return trip.outcome is not None and trip.outcome.status == Status.UNTRIED


def _ending_error() -> DownloadCancelledError:
    return DownloadCancelledError("the crawl is ending")
