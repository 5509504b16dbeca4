"""The downloads under way, each with its task: those that may be cut for others, and all when the crawl ends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from webcrawl.crawl.trip import Trip


class Running:
    """By trip; an answer that is being read is among them."""

    def __init__(self) -> None:
        self._tasks: dict[Trip, asyncio.Task[Any]] = {}

    def begin(self, trip: Trip) -> asyncio.Task[Any]:
        """The current task, which is this trip's from now on."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a download needs a task of its own")
        self._tasks[trip] = task
        return task

    def end(self, trip: Trip) -> None:
        """It is over, however."""
        del self._tasks[trip]

    def __contains__(self, trip: Trip) -> bool:
        return trip in self._tasks

    def all(self) -> Iterable[Trip]:
        """Every one."""
        return self._tasks.keys()

    def waiting(self) -> list[Trip]:
        """Those of the scheduler's requests that wait for their hosts."""
        mine = (trip for trip in self._tasks if trip.link is not None and not trip.inline)
        return [trip for trip in mine if trip.fetched is None]

    def cut(self, trip: Trip) -> None:
        """Ends one, so that others get its slot."""
        trip.cut = True
        self._tasks[trip].cancel()

    def abandon(self) -> None:
        """Ends all; the URLs of the scheduler's own are fetched when the crawl is resumed."""
        for trip, task in self._tasks.items():
            trip.abandoned = True
            task.cancel()
