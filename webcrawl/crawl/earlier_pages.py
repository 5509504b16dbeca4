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


# connections to each server; a host's questions go through one of them, which has its captures
LANES = 4
REMEMBERED = 10_000  # payloads that were found: 5 MB
PATIENCE = 20.0  # seconds that a page waits for an answer


class CdxServers:
    """Asks one after the other until one has the payload. No failure of theirs is an error."""

    def __init__(
        self, addresses: Sequence[str], before: str, count: Callable[[Iterable[str]], None]
    ) -> None:
        self._lanes = [
            [(CdxServer(one, before), Worker()) for one in addresses] for _ in range(LANES)
        ]
        self._count = count
        self._found: dict[str, EarlierCapture] = {}  # by digests of answers
        self._told: set[str] = set()

    async def holder(self, exchange: Exchange) -> EarlierCapture | None:
        """Return a capture with the payload of this answer, or with its decoded body as payload."""
        if exchange.digest in self._found:
            return self._found[exchange.digest]
        is_asked = True
        # By the host: a lane keeps the captures of the hosts that it has asked for.
        lane = self._lanes[crc32(host_of(exchange.url).encode()) % LANES]
        for server, worker in lane:
            answer = asyncio.wrap_future(worker.submit(_find, server, exchange))
            try:
                found = await asyncio.wait_for(answer, PATIENCE)
            except TimeoutError:
                server.interrupt()
                self._lose(server, f"{server.address}: no answer within {PATIENCE:.0f} seconds")
                is_asked = False
            except CdxServerError as error:
                self._lose(server, str(error))
                is_asked = False
            else:
                if found is not None:
                    return self._remember(exchange.digest, found)
        if not is_asked:
            self._count(["since/unasked"])
        return None

    def _remember(self, digest: str, found: EarlierCapture) -> EarlierCapture:
        """Other URLs may have the same payload, of which the servers know only under this one."""
        self._found[digest] = found
        while len(self._found) > REMEMBERED:
            del self._found[next(iter(self._found))]
        return found

    def _lose(self, server: CdxServer, why: str) -> None:
        if server.address not in self._told:
            self._told.add(server.address)
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
EVERY = 10.0  # seconds between two lines on how far it is
THREADS = 4  # records read at once
# bytes of earlier pages at hand, while their URLs are asked for; beyond it, pages are fetched whole
BYTES_AT_HAND = 64 << 20
HOSTS_REMEMBERED = 10_000  # that are remembered
# URLs in a row that failed with a condition and are answered without: their host does not bear any
FAILURES_UNTIL_SURE = 3
# Of answers to conditions: bad request; precondition failed, which RFC 9110 13.1.2 keeps for other
# methods than GET; a range that nobody asked for
REFUSALS = frozenset((400, 412, 416))
# Of a request: it is a condition already, or its answer may be another than the earlier crawl had
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
    """The earlier crawl, which downloaders ask before a request and after an answer."""

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
        self._counted = 0
        self._workers = [Worker() for _ in range(THREADS)]
        self._turns = cycle(self._workers)
        self._held = 0
        # signs that a host bears no conditions: with FAILURES_UNTIL_SURE of them it gets none
        self._bare: dict[str, int] = {}

    async def latest(self, trip: Trip, url: str, headers: Headers) -> LatestCapture | None:
        """Return the earlier record of a page that is about to be requested by GET, or None.

        A URL that has failed is requested without a condition: that may be what its server does not
        bear.
        """
        if not _has_earlier_state(trip, url, headers):
            return None
        known = await self._asked(self._earlier.of_url, visible(url))
        trip.begun = time.monotonic()  # a slow disk does not make the host a slow one
        if known is None or known.page is None:
            return known
        bears_no_condition = self._bare.get(host_of(url), 0) >= FAILURES_UNTIL_SURE
        if bears_no_condition or _failed_before(trip):
            known.page = None
        else:
            self._hold(known, known.page)
        return known

    def answered(self, trip: Trip, known: LatestCapture, answer: Exchange) -> Exchange:
        """Return the answer, or the page that a 304 stands for.

        If a host cannot handle conditional GETs, the URL is tried again later, and the host gets no
        more of them. A host also gets no more of them once several of its URLs in a row
        failed with them and were answered without.
        """
        if known.conditions and answer.status in REFUSALS:
            self._note(answer.url, FAILURES_UNTIL_SURE)
            trip.cut = True  # nobody's fault, and no outcome: it comes again
            raise Cancelled("the host fails on conditional requests")
        if answer.status < HTTPStatus.BAD_REQUEST:
            if known.conditions:
                self._bare.pop(host_of(answer.url), None)
            elif _failed_before(trip):
                self._note(answer.url, 1)
        # A 304 becomes a page with the earlier body: behind it lie links that no server sends
        # again, and every pipeline works unchanged.
        return known.complete_answer(answer)

    def _note(self, url: str, signs: int) -> None:
        host = host_of(url)
        self._bare[host] = self._bare.get(host, 0) + signs
        while len(self._bare) > HOSTS_REMEMBERED:
            del self._bare[next(iter(self._bare))]

    def _hold(self, known: LatestCapture, page: Exchange) -> None:
        """Count the memory of an earlier page until its URL has been fetched and processed."""
        size = len(page.payload) + len(page.body)
        if self._held + size > BYTES_AT_HAND:
            known.page = None
            return
        self._held += size
        finalize(known, self._let_go, size)  # as soon as the answer is there

    def _let_go(self, size: int) -> None:
        self._held -= size

    async def compare(self, exchange: Exchange) -> None:
        """Note in an answer that the earlier crawl has its payload.

        A failure ends the crawl, and is raised.
        """
        if exchange.state.refers is not None or not is_comparable(exchange):
            return
        try:
            exchange.state.refers = await self._asked(self._earlier.of_answer, exchange)
            # A CDX server is asked after the answer: none finds a digest without its URL, and none
            # has bodies for a 304, so nothing would be gained before the request.
            if exchange.state.refers is None and self._servers is not None:
                exchange.state.refers = await self._servers.holder(exchange)
        except Exception as error:
            self._fail(error)
            raise

    async def _asked(self, look: Callable[[A], T], what: A) -> T:
        """Return the finding of a thread, and count what could not be read meanwhile."""
        found = await asyncio.wrap_future(next(self._turns).submit(look, what))
        lost, self._counted = self._earlier.lost - self._counted, self._earlier.lost
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
    told_at = time.monotonic()
    for _ in index.open():
        await asyncio.sleep(SLICE_PAUSE)
        if time.monotonic() - told_at >= EVERY:
            told_at = time.monotonic()
            logger.info(
                "since: %.1f of %.1f MB of the index files read",
                *(size / 1e6 for size in index.progress),
            )
    count = crawl.parts.counters.update
    servers = CdxServers(found.servers, index.begun, count) if found.servers else None
    return Since(EarlierCaptures(index, values["DOWNLOAD_TRUNCATE"]), count, fail, servers)
