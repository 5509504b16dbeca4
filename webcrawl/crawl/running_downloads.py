"""Downloads under way, with their tasks: some are cancelled for others, and all at the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Any

from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.crawl.trip import Trip
from webcrawl.net.shortage import ConnectionRoom, in_use, raise_limit, room, worth_keeping

logger = logging.getLogger(__name__)

STOP_GRACE = 5.0  # seconds that downloads under way get when the crawl is stopped


class Capacity:
    """The connections that fit into the limit of open files.

    They are one per slot, and those that are kept open for hosts that wait.
    """

    def __init__(self) -> None:
        self._used = in_use()  # descriptors at the start
        self.wanted = 0  # CONCURRENT_REQUESTS

    def fit(self, values: CheckedSettings) -> ConnectionRoom:
        """Return as many connections as these settings want, and as fit; log if some do not."""
        limit = raise_limit()
        wanted = values["CONCURRENT_REQUESTS"]
        self.wanted = wanted
        kept = worth_keeping(values["FRONTIER_QUEUES"], wanted, values["POLITENESS_FACTOR"])
        fits = room(limit, self._used, wanted, kept)
        if wanted and fits.fetches < wanted:
            line = (
                "CONCURRENT_REQUESTS = %d: only %d are possible with the limit of %d open files: "
                "raise it (ulimit -n)"
            )
            logger.warning(line, wanted, fits.fetches, limit)
        return fits


class Running:
    """The downloads under way, by trip; an answer that is being read is among them."""

    def __init__(self) -> None:
        self._tasks: dict[Trip, asyncio.Task[Any]] = {}

    def begin(self, trip: Trip) -> asyncio.Task[Any]:
        """Return the current task, which is this trip's from now on."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a download needs a task of its own")
        self._tasks[trip] = task
        return task

    def end(self, trip: Trip) -> None:
        """Forget a download that is over, however it ended."""
        del self._tasks[trip]

    def __contains__(self, trip: Trip) -> bool:
        return trip in self._tasks

    def all(self) -> Iterable[Trip]:
        return self._tasks.keys()

    def waiting(self) -> list[Trip]:
        """Return those of the scheduler's requests that wait for their hosts."""
        waiting = []
        for trip in self._tasks:
            is_schedulers = trip.link is not None and not trip.inline
            # `fetched` is set when the host has answered: then only the answer is being read.
            if is_schedulers and trip.fetched is None:
                waiting.append(trip)
        return waiting

    def cancel(self, trip: Trip) -> None:
        """End a download, so that others get its slot."""
        trip.cancelled = True
        self._tasks[trip].cancel()

    def abandon(self) -> None:
        """Cancel all downloads; the next run fetches the URLs of those that are the scheduler's."""
        for trip, task in self._tasks.items():
            trip.abandoned = True
            task.cancel()
