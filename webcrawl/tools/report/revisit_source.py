"""Reads what a crawl left that fetches pages again: its figures, their past, and which hosts announce changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from heapq import nlargest
from pathlib import Path
from typing import NamedTuple

from webcrawl.crawl.revisit.signals import Announcer
from webcrawl.store import rowcrc
from webcrawl.store.disk import regular
from webcrawl.store.jobdir.history_line import LONGEST, PATH, Revisited, in_order, read
from webcrawl.store.jobdir.revisit_figures import META, RevisitFigures, together
from webcrawl.store.jobdir.snapshot import Snapshot

MOST = 50  # hosts in a table
GAP = 2 * LONGEST  # seconds between two moments of a crawl that runs, at most
SLOTS = 240  # moments of a plot
AT_ONCE = 64 << 20  # bytes of the history that are read at most, its last ones


class Moment(NamedTuple):
    """State of revisits at a time; all but the last two, and the records, only ever grow."""

    at: float
    records: float
    taken: float
    unchanged: float
    changed: float
    gone: float
    freshness: float
    age: float


class Announced(NamedTuple):
    """A host whose listings announce changes."""

    host: str
    tried: float  # announcements that were looked at, those of long ago counting less
    precision: float  # the share that was true


@dataclass
class Revisits:
    """`past` is of one crawl in each list."""

    figures: RevisitFigures
    hosts: list[Announced] = field(default_factory=list)  # those with most announcements
    past: list[list[Moment]] = field(default_factory=list)


def read_revisits(snapshot: Snapshot, history: Callable[[], Iterator[bytes]], odd: list[str]) -> Revisits | None:
    """None of a crawl that fetches nothing again; `history` gives its lines."""
    data = snapshot.get(META)
    if data is None:
        return None
    try:
        found = json.loads(data)
        figures = RevisitFigures.of({"records": found["records"], **found})
    except (ValueError, TypeError, KeyError):
        odd.append(f"{META} in state/crawl.db cannot be read")
        return None
    return Revisits(figures, nlargest(MOST, _hosts(snapshot), key=lambda one: one.tried), [_past(history())])


def of_hive(each: Iterable[Revisits | None]) -> Revisits | None:
    """All drones together."""
    found = [one for one in each if one is not None]
    if not found:
        return None
    hosts = nlargest(MOST, (host for one in found for host in one.hosts), key=lambda one: one.tried)
    return Revisits(together(one.figures for one in found), hosts, [past for one in found for past in one.past])


def history_of(jobdir: Path, length: int) -> Iterator[bytes]:
    """The last lines of its history, up to this length; nothing if it is not there."""
    with suppress(OSError), regular(jobdir / PATH) as file:
        file.seek(max(0, length - AT_ONCE))
        yield from file.read(min(length, AT_ONCE)).splitlines()


def _hosts(snapshot: Snapshot) -> Iterator[Announced]:
    """Rows that are damaged are left out: `scrapy verify` names them."""
    if not list(snapshot.rows("SELECT 1 FROM sqlite_master WHERE name = 'announcer'")):
        return
    for row in snapshot.rows("SELECT host, data, crc FROM announcer"):
        if rowcrc.agrees(rowcrc.of_host, row):
            announcer = Announcer.unpack(row[1])
            if announcer.tried:
                yield Announced(row[0], announcer.tried, announcer.precision)


def _past(found: Iterator[bytes]) -> list[Moment]:
    """Without the time before anything was known of pages that are fetched again."""
    moments = filter(None, map(read, found))
    known = [(one.at, one.revisits) for one in moments if one.revisits is not None and one.revisits.is_estimated]
    return in_order([Moment(at, *revisits) for at, revisits in known])


def slots(pasts: Sequence[Sequence[Moment]], most: int = SLOTS) -> list[Moment]:
    """States of all together at times of equal distance: sums, and means by the number of records.

    Where nothing was written, because the crawl did not run, it is as at the last moment before.
    """
    each = [past for past in pasts if past]
    if not each:
        return []
    first, last = min(past[0].at for past in each), max(past[-1].at for past in each)
    many = min(most, max(map(len, each)))
    step = (last - first) / max(many - 1, 1)
    times = [first + slot * step for slot in range(many)]
    return [_sum(at, now) for at, *now in zip(times, *(_at_times(past, times) for past in each), strict=True)]


def _at_times(moments: Sequence[Moment], times: Sequence[float]) -> Iterator[Moment | None]:
    """The state at each of these times: nothing before the first moment, and after a broken one that of the last."""
    place = 0
    for at in times:
        while place + 1 < len(moments) and moments[place + 1].at <= at:
            place += 1
        before, after = moments[place], moments[min(place + 1, len(moments) - 1)]
        if before.at > at:
            yield None
        elif after is before or _broken(before, after):
            yield before
        else:
            share = (at - before.at) / (after.at - before.at)
            yield Moment(*(one + (other - one) * share for one, other in zip(before, after, strict=True)))


def _broken(before: Moment, after: Moment) -> bool:
    """By a kill, or a pause."""
    return after.taken < before.taken or after.at - before.at > GAP


def _sum(at: float, moments: Iterable[Moment | None]) -> Moment:
    return Moment(at, *Revisited.together([Revisited(*one[1:]) for one in moments if one is not None]))
