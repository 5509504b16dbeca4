"""The past of a crawl: logs/history.jsonl, and what was seen since the dashboard looks."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from webcrawl.store.jobdir.history_line import PATH, Moment, Revisited, at_times, moment, moment_of, read
from webcrawl.store.jobdir.history_line import PLAIN as COUNTED
from webcrawl.store.regular import regular

ROOM = 8000  # moments of the file; of more, every other one of the older half is left out
LIVE = 1800  # moments that were seen here: an hour, at one in two seconds
SLOTS = 300  # of a hive
SAME = 10.0  # seconds in which drones are looked at
AT_ONCE = 32 << 20  # bytes of a file that are read at most


PLAIN = ("at", *COUNTED)


def live(figures: Mapping[str, Any], at: float) -> Moment | None:
    """The moment that a crawl has just told, if it tells enough."""
    try:
        return moment_of(moment(figures, at))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


class Past:
    """Of one crawl. `read` may run in a thread, one at a time."""

    def __init__(self, jobdir: Path) -> None:
        self._path = jobdir / PATH
        self._place = 0
        self._file: list[Moment] = []
        self._live: deque[Moment] = deque(maxlen=LIVE)

    def read(self) -> None:
        """Reads what was appended since the last time; all again if the file was cut back."""
        try:
            with regular(self._path) as file:
                size = file.seek(0, 2)
                if size < self._place:
                    self._place, self._file = 0, []
                self._place = max(self._place, size - AT_ONCE)
                file.seek(self._place)
                data = file.read(AT_ONCE)
        except OSError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._place += len(whole)
        found = [*self._file, *filter(None, map(read, whole.splitlines()))]
        while len(found) > ROOM:
            found[: ROOM // 2] = found[: ROOM // 2 : 2]
        self._file = found

    def add(self, figures: Mapping[str, Any], at: float) -> None:
        """Adds what the crawl has just said."""
        seen = live(figures, at)
        if seen is not None:
            self._live.append(seen)

    def moments(self) -> list[Moment]:
        """All, by time: those of the file, and between and after them those seen here."""
        return sorted((*self._file, *self._live), key=lambda one: one.at)


def of_hive(pasts: Sequence[Past], slots: int = SLOTS) -> list[Moment]:
    """The sums of several, at times of equal distance: each drone writes at times of its own."""
    each = [moments for past in pasts if (moments := past.moments())]
    if not each:
        return []
    first, last = min(one[0].at for one in each), max(one[-1].at for one in each)
    last = min(one[-1].at for one in each if one[-1].at > last - SAME)  # up to where all that run are known
    step = max((last - first) / slots, 1.0)
    times = [first + slot * step for slot in range(int((last - first) / step) + 1)]
    drones = (at_times(moments, times, _between, _broken) for moments in each)
    return [_sum(at, [one for one in now if one is not None]) for at, *now in zip(times, *drones, strict=True)]


def _between(before: Moment, after: Moment, share: float) -> Moment:
    def mixed(one: float, other: float) -> float:
        return one + (other - one) * share

    plain = {name: mixed(getattr(before, name), getattr(after, name)) for name in PLAIN}
    bins = zip_longest(before.milliseconds, after.milliseconds, fillvalue=0.0)
    revisits = before.revisits
    if revisits is not None and after.revisits is not None:
        revisits = Revisited(*map(mixed, revisits, after.revisits))
    return Moment(
        **plain,
        mix=tuple(map(mixed, before.mix, after.mix)),
        milliseconds=tuple(mixed(*one) for one in bins),
        revisits=revisits,
    )


def _broken(before: Moment, after: Moment) -> bool:
    """By a kill."""
    return after.pages < before.pages


def _sum(at: float, moments: Sequence[Moment]) -> Moment:
    plain = {name: sum(getattr(one, name) for one in moments) for name in PLAIN} | {"at": at}
    bins = tuple(map(sum, zip_longest(*(one.milliseconds for one in moments), fillvalue=0.0)))
    mix = tuple(map(sum, zip(*(one.mix for one in moments), strict=True)))
    each = [one.revisits for one in moments if one.revisits is not None]
    return Moment(**plain, mix=mix, milliseconds=bins, revisits=Revisited.together(each) if each else None)
