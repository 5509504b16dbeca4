"""The crawl of a drone, as the loops see it that keep it among the others (running.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from webcrawl.hive.report import State


class Crawling(Protocol):
    """What the loops want of the crawl."""

    def wake(self) -> None:
        """There may be something to fetch."""

    async def checkpoint(self) -> None:
        """Takes a checkpoint now."""

    def idle(self) -> bool:
        """Whether nothing is left to do, unless others send something."""

    def rests(self) -> bool:
        """Whether nothing is left to do but to try hosts that are set aside, for long enough."""

    def let_rest(self, *, all_rest: bool) -> None:
        """Whether this is so with all drones: then none of these hosts is tried any more."""

    def activity(self) -> int:
        """A number that grows with whatever is done."""

    def figures(self) -> Mapping[str, int | float]:
        """The crawl's counters."""

    def state(self) -> State:
        """What it does."""

    def trouble(self) -> str:
        """What is wrong, in a few words; empty if nothing is."""

    def out(self) -> bool:
        """Whether our own network is out."""

    def obey(self, name: str, arguments: Sequence[Any], *, late: bool) -> str:
        """Carries out a command that all drones got; `late`: it was given before this drone was there.

        Returns why it could not be done, or nothing.
        """

    def over(self) -> None:
        """No drone has anything left to do."""

    def fail(self, error: Exception) -> None:
        """Ends the crawl: this cannot be mended."""
