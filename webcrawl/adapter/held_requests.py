"""Requests that a downloader middleware keeps: without a line, their hosts would wait unseen."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Any

from scrapy import Request

from webcrawl.adapter.request_trip import trip_of
from webcrawl.base.readable import count, readable
from webcrawl.crawl import barrier
from webcrawl.crawl.failures import suspended
from webcrawl.crawl.last_pages import of

logger = logging.getLogger(__name__)


class HeldRequests:
    """Logs which requests a middleware has kept for OVERDUE seconds before their download.

    The barrier (crawl/barrier.py) reports pages that are kept after it.
    """

    def __init__(self, tasks: Mapping[Request, asyncio.Task[Any]]) -> None:
        """`tasks`: those of the requests in the downloader, which change."""
        self._tasks = tasks
        self._seen_at: dict[Request, float] = {}  # when a look first found it not yet sent
        self._reported: set[Request] = set()

    def look(self) -> None:
        """Log the requests that have been held for OVERDUE seconds, once each."""
        now = time.monotonic()
        unsent = [request for request in self._tasks if _is_unsent(request)]
        self._seen_at = {request: self._seen_at.get(request, now) for request in unsent}
        self._reported &= self._seen_at.keys()
        late = [
            request
            for request, seen_at in self._seen_at.items()
            if now - seen_at >= barrier.OVERDUE and request not in self._reported
        ]
        coroutines = {request: self._tasks[request].get_coro() for request in late}
        # The others wait in code of ours, as for their turn among a host's inline downloads.
        held = [request for request, coroutine in coroutines.items() if suspended(coroutine)]
        if not held:
            return
        self._reported.update(held)
        logger.warning(
            "a downloader middleware has kept %s for %d s%s; until it returns, nothing else is "
            "fetched from the same host (the first is %s)",
            count(len(held), "request"),
            barrier.OVERDUE,
            of(coroutines[request] for request in held),
            readable(held[0].url),
        )


def _is_unsent(request: Request) -> bool:
    """Return whether a request of the scheduler's has not come to its download yet."""
    trip = trip_of(request)
    return trip is not None and not trip.inline and not trip.begun
