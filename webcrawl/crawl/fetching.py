"""Downloads links by the crawl's own clients, and does what comes first with an answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from webcrawl.base.errors import lack
from webcrawl.base.model import Exchange, Link, Timings, is_sitemap
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.base.url_text import host_of
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.crawl_log import flaws_of
from webcrawl.crawl.download_outcomes import WHOLE, Outcomes
from webcrawl.crawl.inline_turns import Turns
from webcrawl.crawl.panics import tamed
from webcrawl.crawl.parts import Parts
from webcrawl.crawl.periodic import DueTimer
from webcrawl.crawl.reading_ahead import Ahead, ReadingAhead, pdf_process
from webcrawl.crawl.redirect_chain import cookie_header
from webcrawl.crawl.run import OfRequests
from webcrawl.crawl.running_downloads import Running
from webcrawl.crawl.trip import Trip
from webcrawl.crawl.visitor import Visitor
from webcrawl.net.environment_proxies import EnvironmentProxies
from webcrawl.net.errors import BodyTimedOut, BodyTruncated, Cancelled, FetchError
from webcrawl.net.http_request import Headers
from webcrawl.net.network import Network
from webcrawl.net.protocols import PLAIN, AnswerSource, Options, ProtocolModule
from webcrawl.net.reading_limits import Bandwidth

if TYPE_CHECKING:
    from webcrawl.crawl.earlier_pages import Since
    from webcrawl.record.since.earlier import LatestCapture

ROBOTS_OPTIONS = Options(truncates=True)  # its beginning is enough
SITEMAP_OPTIONS = Options(long=True)  # it may be longer than a page: its protocol allows 50 MiB
# by the reason why a body is not whole: the error for a crawl that takes only whole ones
LOST: dict[str, type[FetchError]] = {
    "disconnect": BodyTruncated,
    "unspecified": BodyTruncated,
    "time": BodyTimedOut,
}
# the meta of the crawl's own requests; of a robots.txt, the rules that came are better than none
OF_ROBOTS = {"dont_retry": True, WHOLE: False}


class RequestFacts(NamedTuple):
    """A request, as far as the outcome depends on it."""

    url: str
    meta: Mapping[str, Any]

    def __str__(self) -> str:
        return f"<GET {self.url}>"


class Sending:
    """A Watch in place of a trip, made only where a part of the crawl hears of sent requests.

    It passes on to the trip what a client sets, and tells that part of each request.
    """

    __slots__ = ("_source", "_tell", "_trip")

    def __init__(self, trip: Trip | None, tell: Callable[[], object]) -> None:
        """`tell` is called right before a request is sent."""
        self._trip = trip
        self._tell = tell
        self._source: AnswerSource | None = None

    @property
    def spare(self) -> bool:
        return self._trip is not None and self._trip.spare

    @property
    def source(self) -> AnswerSource | None:
        return self._source

    @source.setter
    def source(self, source: AnswerSource | None) -> None:
        # A client sets it right before it sends a request. A further source belongs to the same
        # request (FTP's data connection), unless the client has set None in between.
        if self._source is None:
            self._tell()
        self._source = source
        if self._trip is not None:
            self._trip.source = source

    @property
    def timings(self) -> Timings | None:
        return self._trip.timings if self._trip is not None else None

    @timings.setter
    def timings(self, timings: Timings | None) -> None:
        if self._trip is not None:
            self._trip.timings = timings


class Fetching:
    """Fetches links that need no more than their URL."""

    def __init__(
        self,
        clients: Mapping[str, ProtocolModule],
        outcomes: Outcomes,
        running: Running,
        *,
        headers: Sequence[Callable[[Link], Headers]],
        headers_of_robots: Callable[[Link], Headers],
        readers_ahead: Sequence[Callable[[Trip], Awaitable[None] | None]],
        hooks: OfRequests,
        count: Callable[[Iterable[str]], object],
        on_lack: Callable[[Exception], object],
        turns: Turns | None = None,
        since: Since | None = None,
        proxies: EnvironmentProxies | None = None,
        whole: bool = False,
    ) -> None:
        """Take the parts of a fetch.

        `clients`: download, by scheme.
        `outcomes`: judge and note how each download ended.
        `running`: knows the downloads under way, and ends them with the crawl.
        `headers`: what parts of the crawl send with the request of a page.
        `headers_of_robots`: what is sent with the request of a robots.txt.
        `readers_ahead`: read an answer before its page is made.
        `hooks`: who is told of requests that are sent, and of those that have ended.
        `count`: counts each of these names.
        `on_lack`: ends the crawl if our machine lacks something.
        `turns`: of downloads that somebody awaits, which may have borrowed the host.
        `since`: the earlier crawl from which this one begins.
        `proxies`: what links go through.
        `whole`: an incomplete body is a failure.
        """
        self._clients = clients
        self._outcomes = outcomes
        self._running = running
        self._headers = headers
        self._headers_of_robots = headers_of_robots
        self._readers_ahead = readers_ahead
        self._turns = turns
        self._hooks = hooks
        self._since = since
        self._proxies = proxies
        self._count = count
        self._on_lack = on_lack
        self._whole = whole

    async def fetch(self, trip: Trip, link: Link) -> bool:
        """Fetch a link, and note the outcome in its trip; return whether there is an answer.

        If inline downloads stand in line for a host, the link waits for its host's turn there.
        """
        if self._turns is not None and self._turns.lines:
            await self._turns.own(link)
        try:
            return await self._attempt(trip, link)
        finally:
            # A line that has come during the download waits for its end, too.
            if self._turns is not None and self._turns.lines:
                self._turns.own_left(host_of(link.url))

    async def _attempt(self, trip: Trip, link: Link) -> bool:
        """Download a trip's URL once, note the outcome, and return whether there is an answer.

        A failure is an outcome, and raises nothing. At the end all hooks of `left` are called,
        whatever became of it.
        """
        request = RequestFacts(link.url, OF_ROBOTS if link.is_own else {})
        trip.begun = time.monotonic()
        try:
            exchange = await self._download(trip, link)
        except Exception as error:  # noqa: BLE001 - the outcome says what it means
            self._outcomes.note_failure(
                request, trip, self._outcomes.judged(request, error, trip.begun)
            )
            return False
        else:
            self._outcomes.note_answer(request, trip, exchange.status)
            if self._since is not None:
                await self._since.compare(exchange)
            return await self._read_ahead(trip)
        finally:
            for on_left in self._hooks.left:
                on_left(trip, trip.outcome)

    async def _read_ahead(self, trip: Trip) -> bool:
        """Read the answer before its page is made; return False if the crawl ended meanwhile."""
        for read_ahead in self._readers_ahead:
            reading = read_ahead(trip)
            if reading is not None and not await read(trip, reading, self._running, self._on_lack):
                return False
        return True

    async def _download(self, trip: Trip, link: Link) -> Exchange:
        """Download the answer, set it as the trip's exchange, and count its flaws.

        Raise the error of LOST if the crawl takes only whole pages, and a part of this one is
        missing. The trip has the exchange all the same.
        """
        exchange, known = await self._request(trip, link)
        if self._since is not None and known is not None:
            exchange = self._since.resolve_answer(trip, known, exchange)
        trip.exchange = exchange
        if exchange.truncated or exchange.flaws:
            self._count(flaws_of(exchange))
        must_be_whole = self._whole and not link.is_prerequisite
        if must_be_whole and exchange.truncated in LOST:
            self._refuse(exchange)
        return exchange

    async def _request(self, trip: Trip, link: Link) -> tuple[Exchange, LatestCapture | None]:
        """Return the answer of the server, and what the earlier crawl has of the page.

        Raise Cancelled if the crawl has ended the download: with the trip `cancelled` for others,
        or `abandoned` at its end. Whatever else is raised is the download's failure, or a bug's.
        """
        scheme = link.url[: link.url.index(":")]
        client = self._clients[scheme]
        headers, options = self._headers_of(link), self._options_of(link)
        watch: Trip | Sending = trip
        if self._hooks.sent:
            watch = Sending(trip, partial(self._hooks.tell_sent, trip, "GET", link.url, link))
        known: LatestCapture | None = None
        task = self._running.begin(trip)
        try:
            # The earlier page is read before the request is made: only for one that can be read the
            # request has a condition, so that a damaged archive costs a download, and no page.
            if self._since is not None:
                known = await self._since.latest(trip, link.url, headers)
                headers += known.conditions if known is not None else []
            return await client.fetch(
                link.url, headers, keep=trip.keep, watch=watch, options=options
            ), known
        except asyncio.CancelledError as error:
            # Other code has cancelled the task: that is an error like others.
            if not (trip.abandoned or trip.cancelled):
                raise tamed(error) from None
            # `Running` has cancelled it, to end the request only: the task goes on to book that.
            task.uncancel()
            reason = "its slot is needed for other downloads"
            if trip.abandoned:
                reason = "the crawl is ending"
            raise Cancelled(reason) from None
        except FetchError as error:
            self._count([f"outcome/{error.name}"])
            raise
        except Exception as error:
            if lack(error):
                self._on_lack(error)
            raise
        except BaseException as error:  # noqa: BLE001 - it is raised
            raise tamed(error) from None
        finally:
            self._running.end(trip)
            trip.source = None

    def _refuse(self, exchange: Exchange) -> NoReturn:
        """Raise the error that fits an incomplete answer."""
        kind = LOST[exchange.truncated]
        self._count([f"outcome/{kind.name}"])
        raise kind(f"only {len(exchange.body)} bytes arrived")

    def _headers_of(self, link: Link) -> list[tuple[bytes, bytes]]:
        cookies = cookie_header(link.chain, link.url) if link.chain else b""
        headers = [(b"Cookie", cookies)] if cookies else []
        sources = [self._headers_of_robots] if link.is_own else self._headers
        for headers_of_source in sources:
            headers += headers_of_source(link)
        return headers

    def _options_of(self, link: Link) -> Options:
        options = PLAIN
        if link.is_prerequisite:
            options = ROBOTS_OPTIONS
        elif not link.is_own and is_sitemap(link.path):
            options = SITEMAP_OPTIONS
        if self._proxies is None:
            return options
        return replace(options, proxy=self._proxies.of(link.url))


# A connection is kept open if its host's next turn is due within so many seconds,
KEEP_IF_DUE_WITHIN = 10.0
# and then for so many more, because turns come late when the processor is busy. Servers keep idle
# connections for about five seconds (Apache's default).
KEEP_LONGER = 5.0


def next_trip(crawl: Crawl, bandwidth: Bandwidth, timer: DueTimer) -> Trip | None:
    """Return the trip of a link whose turn it is, or None; the timer rings when there may be one."""
    now = crawl.parts.clock()
    link = crawl.next_link(now)
    if link is None:
        timer.at(crawl.next_ready(), now)
        return None
    if bandwidth.rate:
        bandwidth.reserve_answer()
    seconds_to_turn = crawl.parts.frontier.look.next_turn(link)
    # No URL of the host waits, but links of this page may be of its host.
    if seconds_to_turn is None:
        return Trip(link, keep=KEEP_LONGER, spare=True)
    is_soon = seconds_to_turn < KEEP_IF_DUE_WITHIN
    return Trip(link, keep=seconds_to_turn + KEEP_LONGER if is_soon else 0.0)


def link_of(trip: Trip) -> Link:
    """Return the link of a trip, which every trip of the crawl's own loop has."""
    if trip.link is None:
        raise ValueError("every request of the crawl's own loop must have a link")
    return trip.link


def connect(network: Network, parts: Parts, wake: Callable[[], None]) -> None:
    """Have the network tell the crawl what it finds out, and learn what former runs have found out.

    `wake` has the crawl look for URLs: something that was short is to be had again.
    """
    resolver, uplink = network.resolver, parts.uplink
    network.shortage.on_end = network.bandwidth.on_end = wake
    resolver.silence.on_begin = uplink.names_lost
    resolver.silence.on_end = uplink.names_found
    uplink.on_return = resolver.forget_failures
    resolver.remember(uplink.reached())
    network.http.http2.recorded = parts.frontier.notes.http2


def reading_ahead(visitor: Visitor, values: CheckedSettings) -> Ahead:
    """Return what a crawl with these settings does with an answer before its page is made."""
    ahead = ReadingAhead(visitor, pdf_process(values))
    if not (values["SCORER"] or values["FOCUS_LANGUAGES"]):
        return ahead
    from webcrawl.crawl.scoring_ahead import scoring  # noqa: PLC0415 - most crawls score nothing

    return scoring(values, ahead)


async def read(
    trip: Trip, reading: Awaitable[None], running: Running, on_lack: Callable[[Exception], object]
) -> bool:
    """Wait until an answer is read; return whether its page can be made.

    If the crawl ended meanwhile, or reading failed, the page is fetched again by the next run: an
    error ends the crawl (`on_lack`).
    """
    trip.fetched = trip.outcome  # its host may be requested again
    task = running.begin(trip)
    trip.readers += 1
    try:
        await reading
    except asyncio.CancelledError:
        if not trip.abandoned:
            raise
        task.uncancel()
        return False
    except BaseException as error:  # noqa: BLE001 - the crawl ends because of it
        on_lack(tamed(error))
        return False
    finally:
        trip.readers -= 1
        running.end(trip)
    return True
