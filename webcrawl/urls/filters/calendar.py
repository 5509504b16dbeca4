"""The trap of endless calendars: their pages in the far future."""

from __future__ import annotations

from time import gmtime
from typing import TYPE_CHECKING, Self

from webcrawl.urls.dates import DATE, years
from webcrawl.urls.filters.lines import Lines, leave_out

if TYPE_CHECKING:
    from webcrawl.urls.filters.protocol import Clock, Origin, Setup

AHEAD = 2
FAR = 100  # `/4711/5/` and `/2210/5` are two numbers, not dates; no calendar leaps a hundred years


class CalendarFilter:
    """Drops calendar pages more than two years ahead.

    FamiliesFilter bounds the number of the others: newspapers have pages for every past day.
    """

    name = "trap_calendar"
    suspects = DATE

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._dates = Lines(DATE)

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self | None:
        return cls(setup.clock) if setup.settings["TRAP_RULES"] else None

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        dated = self._dates.among(urls)
        if not dated:
            return urls
        latest = gmtime(self._clock()).tm_year + AHEAD
        far = {url for url in dated if any(0 < year - latest < FAR for year in years(url))}
        return leave_out(urls, far)
