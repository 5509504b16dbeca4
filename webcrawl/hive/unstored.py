"""Whether a drone that ended with exit status 1 has crawled to its end, and only left files out of their store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

WELL = ("finished", "closespider_")  # how reasons begin with which a crawl ends as it should


class Unstored:
    """`figures` gives what a drone's last checkpoint says of it. What an earlier start wrote is not its own."""

    def __init__(self, figures: Callable[[int], Mapping[str, Any]]) -> None:
        self._figures = figures
        self._before: dict[int, Mapping[str, Any]] = {}

    def begins(self, drone: int) -> None:
        """It is about to be started."""
        self._before[drone] = self._figures(drone)

    def files(self, drone: int) -> int:
        """How many finished files wait for the store of a drone that has ended; 0 if it ended of anything else."""
        found = self._figures(drone)
        if found == self._before.get(drone) or not str(found.get("reason")).startswith(WELL):
            return 0
        return int(found.get("store/waiting") or 0)
