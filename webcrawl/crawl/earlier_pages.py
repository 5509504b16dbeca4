"""Conditional requests and known payloads after an earlier crawl (docs/reprocess-and-since.md).

The archive of the earlier crawl is read in threads: the disk on which it lies may be slow.

CDX servers are asked in threads too, a few questions at once. What they do not answer in good
time costs no page: it is stored whole, and counted.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from itertools import cycle
from pathlib import Path
from typing import TypeVar
from weakref import finalize
from zlib import crc32

from webcrawl.base.model import EarlierCapture, Exchange
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.base.url_text import host_of, visible
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.trip import Trip
from webcrawl.net.errors import Cancelled
from webcrawl.net.http_request import Headers
from webcrawl.record.since.cdx_server import CdxServer, CdxServerError, is_comparable
from webcrawl.record.since.earlier import EarlierCaptures, LatestCapture
from webcrawl.record.since.index import EarlierIndex
from webcrawl.record.since.sources import sources
from webcrawl.store.worker import Worker

logger = logging.getLogger(__name__)


# A lane is one connection to each server, with a thread. A host's questions all go through the same
# lane, whose connections keep the host's captures.
LANES = 4
REMEMBERED = 10_000  # payloads that were found: 5 MB
PATIENCE = 20.0  # seconds that a page waits for an answer


class CdxServers:
    """Asks CDX servers one after the other until one has the payload.

    No failure of a server is an error: the page is stored whole.
    """

    def __init__(
        self, addresses: Sequence[str], before: str, count: Callable[[Iterable[str]], None]
    ) -> None:
        """`before` is a time in 14 digits: captures from then on are not of the earlier crawl.

        `count` raises counters by their names.
        """
        self._lanes = [
            [(CdxServer(one, before), Worker()) for one in addresses] for _ in range(LANES)
        ]
        self._count = count
        self._found: dict[str, EarlierCapture] = {}  # by digests of answers, the oldest first
        self._warned_of: set[str] = set()  # addresses of servers whose failure was logged

    async def holder(self, exchange: Exchange) -> EarlierCapture | None:
        """Return a capture with the payload of this answer, or with its decoded body as payload.

        Return None if no server that answers in good time has one; count the page if any did not.
        """
        if exchange.digest in self._found:
            return self._found[exchange.digest]
        all_have_answered = True
        # By the host: a lane keeps the captures of the hosts that it has looked up.
        lane = self._lanes[crc32(host_of(exchange.url).encode()) % LANES]
        for server, worker in lane:
            answer = asyncio.wrap_future(worker.submit(_find, server, exchange))
            try:
                found = await asyncio.wait_for(answer, PATIENCE)
            except TimeoutError:
                server.interrupt()  # or its thread would go on waiting
                self._warn_once(
                    server, f"{server.address}: no answer within {PATIENCE:.0f} seconds"
                )
                all_have_answered = False
            except CdxServerError as error:
                self._warn_once(server, str(error))
                all_have_answered = False
            else:
                if found is not None:
                    return self._remember(exchange.digest, found)
        if not all_have_answered:
            self._count(["since/unasked"])
        return None

    def _remember(self, digest: str, found: EarlierCapture) -> EarlierCapture:
        """Keep a capture for other URLs with this payload, which the servers know only by this URL."""
        self._found[digest] = found
        while len(self._found) > REMEMBERED:
            del self._found[next(iter(self._found))]
        return found

    def _warn_once(self, server: CdxServer, why: str) -> None:
        """Log the first failure of each server: in all lanes it has the same address."""
        if server.address not in self._warned_of:
            self._warned_of.add(server.address)
            logger.warning(
                "since: %s; until it answers, pages that only this server knows are stored in full",
                why,
            )

    def close(self) -> None:
        """End all requests to the servers, and close them: no download waits for one any more."""
        for lane in self._lanes:
            for server, worker in lane:
                server.interrupt()
                worker.close()
                server.close()


def _find(server: CdxServer, exchange: Exchange) -> EarlierCapture | None:
    return server.find(visible(exchange.url), exchange)


A = TypeVar("A")
T = TypeVar("T")

SLICE_PAUSE = 0.001  # seconds between two slices of the work ahead
PROGRESS_INTERVAL = 10.0  # seconds between two log lines on how far it is
THREADS = 4  # records read at once
# bytes of earlier pages at hand, while their URLs are requested; beyond it, pages are fetched whole
BYTES_AT_HAND = 64 << 20
HOSTS_REMEMBERED = 10_000  # for which signs against conditions are kept
# URLs in a row that failed with a condition and are answered without: their host does not bear any
FAILURES_UNTIL_SURE = 3
# Of answers to conditions: bad request; precondition failed, which RFC 9110 13.1.2 keeps for other
# methods than GET; a range that nobody asked for
REFUSALS = frozenset((400, 412, 416))
# Headers of a request that is a condition already, or whose answer may be another than the earlier
# crawl had
PARTICULAR = frozenset(
    (
        b"If-None-Match",
        b"If-Modified-Since",
        b"If-Match",
        b"If-Unmodified-Since",
        b"If-Range",
        b"Range",
        b"Cookie",
    )
) | {b"Authorization"}


def _has_earlier_state(trip: Trip, url: str, headers: Headers) -> bool:
    """Return whether the latest state known of what a request brings may be the earlier crawl's."""
    is_page = not (trip.inline or trip.is_prerequisite)
    if not is_page or not url.startswith(("http://", "https://")):
        return False
    if trip.link is not None and trip.link.is_revisit:  # this crawl knows later states
        return False
    return all(name not in PARTICULAR for name, _ in headers)


def _failed_before(trip: Trip) -> bool:
    return trip.link is not None and trip.link.tried > 0


class Since:
    """The earlier crawl, which downloaders ask before a request and after an answer.

    A *condition* is the If-None-Match or If-Modified-Since of a request, made of the earlier capture:
    by a 304 the server says that the page is still the same.
    """

    def __init__(
        self,
        earlier: EarlierCaptures,
        count: Callable[[Iterable[str]], None],
        fail: Callable[[Exception], object],
        servers: CdxServers | None = None,
    ) -> None:
        """`fail` ends the crawl: a page that was not compared would be stored as new."""
        self._earlier = earlier
        self._count = count
        self._fail = fail
        self._servers = servers
        self._lost_counted = 0  # of `earlier.lost`: the losses that are in the counter already
        self._workers = [Worker() for _ in range(THREADS)]
        self._next_workers = cycle(self._workers)
        self._bytes_at_hand = 0  # of earlier pages whose URLs are being fetched
        # By host: the signs that it bears no conditions. With FAILURES_UNTIL_SURE it gets none.
        self._signs_against: dict[str, int] = {}

    async def latest(self, trip: Trip, url: str, headers: Headers) -> LatestCapture | None:
        """Return the earlier record of a page that is about to be requested by GET, or None.

        A URL that has failed is requested without a condition: that may be what its server does not
        bear.
        """
        if not _has_earlier_state(trip, url, headers):
            return None
        known = await self._look_up(self._earlier.of_url, visible(url))
        trip.begun = time.monotonic()  # a slow disk does not make the host a slow one
        if known is None or known.page is None:
            return known
        bears_no_condition = self._signs_against.get(host_of(url), 0) >= FAILURES_UNTIL_SURE
        if bears_no_condition or _failed_before(trip):
            known.page = None  # without a page `known` has no conditions
        else:
            self._reserve_memory(known, known.page)
        return known

    def resolve_answer(self, trip: Trip, known: LatestCapture, answer: Exchange) -> Exchange:
        """Return the answer, or the page that a 304 stands for.

        Raise Cancelled if the host refuses the condition: the URL is tried again later, and the host
        gets no more conditions. A host also gets no more of them once several of its URLs in a row
        failed with them and were answered without.
        """
        if known.conditions and answer.status in REFUSALS:
            self._note_signs(answer.url, FAILURES_UNTIL_SURE)
            trip.cancelled = True  # nobody's fault, and no outcome: it comes again
            raise Cancelled("the host fails on conditional requests")
        if answer.status < HTTPStatus.BAD_REQUEST:
            if known.conditions:
                self._signs_against.pop(host_of(answer.url), None)
            elif _failed_before(trip):
                self._note_signs(answer.url, 1)
        # A 304 becomes a page with the earlier body: behind it lie links that no server sends
        # again, and every pipeline works unchanged.
        return known.complete_answer(answer)

    def _note_signs(self, url: str, signs: int) -> None:
        """Note signs that the URL's host bears no conditions; forget the host that was first."""
        host = host_of(url)
        self._signs_against[host] = self._signs_against.get(host, 0) + signs
        while len(self._signs_against) > HOSTS_REMEMBERED:
            del self._signs_against[next(iter(self._signs_against))]

    def _reserve_memory(self, known: LatestCapture, page: Exchange) -> None:
        """Count the memory of an earlier page, or let go of the page if there is no room.

        Without the page, its URL is requested without a condition.
        """
        size = len(page.payload) + len(page.body)
        if self._bytes_at_hand + size > BYTES_AT_HAND:
            known.page = None
            return
        self._bytes_at_hand += size
        # when `known` is freed: nothing else tells when the download has ended, in whatever way
        finalize(known, self._release_memory, size)

    def _release_memory(self, size: int) -> None:
        self._bytes_at_hand -= size

    async def compare(self, exchange: Exchange) -> None:
        """Note in an answer that the earlier crawl has its payload.

        A failure ends the crawl, and is raised.
        """
        if exchange.state.refers is not None or not is_comparable(exchange):
            return
        try:
            exchange.state.refers = await self._look_up(self._earlier.of_answer, exchange)
            # A CDX server is asked after the answer: none finds a digest without its URL, and none
            # has bodies for a 304, so nothing would be gained before the request.
            if exchange.state.refers is None and self._servers is not None:
                exchange.state.refers = await self._servers.holder(exchange)
        except Exception as error:
            self._fail(error)
            raise

    async def _look_up(self, look: Callable[[A], T], what: A) -> T:
        """Return the finding of a thread, and count what could not be read meanwhile."""
        found = await asyncio.wrap_future(next(self._next_workers).submit(look, what))
        lost = self._earlier.lost - self._lost_counted
        self._lost_counted += lost
        if lost:
            self._count(["since/unreadable"] * lost)
        return found

    def close(self) -> None:
        """Close the earlier crawl: no download waits for it any more."""
        if self._servers is not None:
            self._servers.close()
        for worker in self._workers:
            worker.close()
        self._earlier.close()


async def since_of(
    argument: str, values: CheckedSettings, crawl: Crawl, fail: Callable[[Exception], object]
) -> Since:
    """Return the crawl that the argument `since` names, read as far as needed.

    Raise StoreError if nothing of it can be read.
    """
    jobdir = Path(values["JOBDIR"])
    found = sources(argument, jobdir)
    for line in found.left_out:
        logger.warning("since: %s", line)
    index = EarlierIndex(crawl.parts.db.disk, crawl.parts.db.folder, found.files, found.servers)
    logged_at = time.monotonic()
    for _ in index.open():
        await asyncio.sleep(SLICE_PAUSE)
        if time.monotonic() - logged_at >= PROGRESS_INTERVAL:
            logged_at = time.monotonic()
            logger.info(
                "since: %.1f of %.1f MB of the index files read",
                *(size / 1e6 for size in index.progress),
            )
    count = crawl.parts.counters.update
    servers = CdxServers(found.servers, index.begun, count) if found.servers else None
    return Since(EarlierCaptures(index, values["DOWNLOAD_TRUNCATE"]), count, fail, servers)
