"""The CDX servers that a crawl compares with (docs/since.md), asked in threads, a few questions at once.

What they do not answer in good time costs no page: it is stored whole, and counted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from zlib import crc32

from webcrawl.base.model import Exchange, Referred
from webcrawl.base.url_text import host_of, visible
from webcrawl.record.since.cdx_server import CdxServer, NoAnswer
from webcrawl.store.worker import Worker

logger = logging.getLogger(__name__)

LANES = 4  # connections to each server; a host's questions go through one of them, which has its captures
REMEMBERED = 10_000  # payloads that were found: 5 MB
PATIENCE = 20.0  # seconds that a page waits for an answer


class CdxServers:
    """Asks one after the other until one has the payload. No failure of theirs is an error."""

    def __init__(self, addresses: Sequence[str], before: str, count: Callable[[Iterable[str]], None]) -> None:
        self._lanes = [[(CdxServer(one, before), Worker()) for one in addresses] for _ in range(LANES)]
        self._count = count
        self._found: dict[str, Referred] = {}  # by digests of answers
        self._told: set[str] = set()

    async def holder(self, exchange: Exchange) -> Referred | None:
        """A capture with the payload of this answer, or with its decoded body as a payload."""
        if exchange.digest in self._found:
            return self._found[exchange.digest]
        is_asked = True
        for server, worker in self._lanes[crc32(host_of(exchange.url).encode()) % LANES]:
            try:
                found = await asyncio.wait_for(asyncio.wrap_future(worker.submit(_find, server, exchange)), PATIENCE)
            except TimeoutError:
                server.cut()
                self._lose(server, f"{server.address}: no answer within {PATIENCE:.0f} seconds")
                is_asked = False
            except NoAnswer as error:
                self._lose(server, str(error))
                is_asked = False
            else:
                if found is not None:
                    return self._remember(exchange.digest, found)
        if not is_asked:
            self._count(["since/unasked"])
        return None

    def _remember(self, digest: str, found: Referred) -> Referred:
        """Other URLs may have the same payload, of which the servers know only under this one."""
        self._found[digest] = found
        while len(self._found) > REMEMBERED:
            del self._found[next(iter(self._found))]
        return found

    def _lose(self, server: CdxServer, why: str) -> None:
        if server.address not in self._told:
            self._told.add(server.address)
            logger.warning("since: %s; pages are stored whole while it does not answer", why)

    def close(self) -> None:
        """Nobody waits any more."""
        for lane in self._lanes:
            for server, worker in lane:
                server.cut()
                worker.close()
                server.close()


def _find(server: CdxServer, exchange: Exchange) -> Referred | None:
    return server.find(visible(exchange.url), exchange)
