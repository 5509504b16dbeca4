"""The servers from which a crawl gets URLs, its hive's and that of its seeds: which of them do not answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

DAY = 86_400.0


class Absence(NamedTuple):
    """A server that does not answer."""

    server: str  # what it is to the crawl
    since: float  # seconds since 1970


class AwayServers:
    """Asks whoever talks to such a server whether that answers."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._asked: list[Callable[[], Absence | None]] = []

    def watch(self, absence: Callable[[], Absence | None]) -> None:
        """Ask this from now on; None is the answer while the server is there."""
        self._asked.append(absence)

    @property
    def names(self) -> str:
        """The servers that do not answer; empty if all do."""
        return " and ".join(absence.server for absence in self._absences())

    def __str__(self) -> str:
        """For which servers the crawl waits, and since when, in words; empty if all answer."""
        said = [f"{absence.server}, away since {self._moment(absence.since)}" for absence in self._absences()]
        return f"waits for {' and '.join(said)}" if said else ""

    def _absences(self) -> list[Absence]:
        return [absence for ask in self._asked if (absence := ask()) is not None]

    def _moment(self, at: float) -> str:
        form = "%H:%M:%S" if self._clock() - at < DAY else "%Y-%m-%d %H:%M:%S"
        return time.strftime(form, time.localtime(at))
