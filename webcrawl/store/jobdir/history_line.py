"""Keeps a crawl's history in a small file, as figures for moments that lie farther and farther
apart (docs/on-disk.md).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, Protocol, TypeVar

from webcrawl.base.model import FAILURES
from webcrawl.store.jobdir.figures import HostTurns
from webcrawl.store.jobdir.revisit_figures import figures_of

PATH = "logs/history.jsonl"
SHAPE = re.compile(rb'\{"at":-?\d+\.\d,[!-~]+\}\n')
SHARPNESS = 720  # lines within a time as long as the crawl is old
SHORTEST, LONGEST = 5.0, 300.0  # seconds between two lines
LARGEST = 1e18  # of numbers
# what became of URLs
KINDS = ("ok", "redirected", "not_found", "server_error", "unreachable", "refused")
PLAIN = {  # in a line: in `Crawl.glance`
    "pages": "pages",
    "bytes": "bytes",
    "failures": "failures",
    "queued": "queued",
    "seen": "seen/keys",
    # active hosts, under the name that files of crawls have: less the requests beyond the first one
    # of each host
    "asked": "in_flight",
    "ready": "ready",
    "hosts": "hosts",
    "aside": "hosts_deferred",  # hosts set aside, as lines of earlier versions call them
}

# of revisits, if there are any
REVISITS = ("records", "taken", "unchanged", "changed", "gone", "freshness", "age")


def interval(age: float) -> float:
    """Return the seconds from one line to the next, by the age of the crawl in seconds.

    The number of lines grows with the logarithm of the age, and from two and a half days on by 288
    a day: a month has 12,000 of them, a year 110,000.
    """
    return min(max(age / SHARPNESS, SHORTEST), LONGEST)


def mix(outcomes: Mapping[int, int]) -> dict[str, int]:
    """Return the number of URLs by their kind of end."""
    found = dict.fromkeys(KINDS, 0)
    for status, number in outcomes.items():
        found[_kind(status)] += number
    return found


def _kind(status: int) -> str:
    if status in FAILURES:
        return "unreachable"
    return {2: "ok", 3: "redirected", 4: "not_found", 5: "server_error"}.get(
        status // 100, "refused"
    )


def moment(figures: Mapping[str, Any], at: float) -> dict[str, Any]:
    """Return the values for a line, of the figures that `Crawl.glance` gives at this time.

    They only grow, except for those of the queue and the hosts.
    """
    row: dict[str, Any] = {"at": round(at, 1)}
    row |= {name: figures.get(theirs, 0) for name, theirs in PLAIN.items()}
    row["asked"] = HostTurns.of(figures).active
    revisits = figures_of(figures)
    if revisits is not None:
        row["revisits"] = [round(getattr(revisits, name), 4) for name in REVISITS]
    row["mix"] = [figures.get("mix", {}).get(kind, 0) for kind in KINDS]
    # downloads by the number of bits of their duration
    durations = list(figures.get("milliseconds", ()))
    while durations and not durations[-1]:
        durations.pop()
    row["milliseconds"] = durations
    return row


def line(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row, separators=(",", ":")).encode() + b"\n"


class RevisitMoment(NamedTuple):
    """The figures of pages that are fetched again.

    The last two are estimates, means by `records` of who has any.
    """

    records: float
    taken: float
    unchanged: float
    changed: float
    gone: float
    freshness: float
    age: float

    @property
    def is_estimated(self) -> bool:
        """Return whether there is an estimate of how fresh the copies are.

        If none was fresh, they would have an age.
        """
        return bool(self.freshness or self.age)

    @classmethod
    def together(cls, parts: Sequence[RevisitMoment]) -> RevisitMoment:
        """Return the figures of crawls that share the web between them, as those of one."""
        sums = cls(*map(sum, zip(*parts, strict=True)))
        # A drone that has just joined has 0 for both: it would pull the means down
        estimated = [part for part in parts if part.is_estimated]
        records = 0.0
        freshness = 0.0
        age = 0.0
        for part in estimated:
            records += part.records
            freshness += part.records * part.freshness
            age += part.records * part.age
        # Only the last two are no sums
        counts = sums[:-2]
        if not records:
            return cls(*counts, 0.0, 0.0)
        return cls(*counts, freshness / records, age / records)


class Moment(NamedTuple):
    """Figures of a crawl at a time, by the names that they have in `Crawl.glance`."""

    at: float
    figures: Mapping[str, float]
    mix: Mapping[str, float]
    revisits: RevisitMoment | None = None  # if pages are fetched again


def moment_of(row: Mapping[str, Any]) -> Moment:
    """Return the moment of a row that `moment` gave.

    Raise ValueError, TypeError or KeyError for anything else.
    """
    at = _number(row["at"], -LARGEST)  # a clock may stand before 1970
    figures = {theirs: _number(row[name]) for name, theirs in PLAIN.items()}
    mix = dict(zip(KINDS, map(_number, row["mix"]), strict=True))
    return Moment(at, figures, mix, _revisited(row))


def read(data: bytes) -> Moment | None:
    """Return the fields of a line; None if it is no line of this file."""
    try:
        return moment_of(json.loads(data))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


class HasTime(Protocol):
    """A state at a time."""

    @property
    def at(self) -> float: ...


T = TypeVar("T", bound=HasTime)


def in_order(moments: Sequence[T]) -> list[T]:
    """Return the moments without those at which the machine's clock was wrong, so that times only
    grow.

    If the clock was set back, either the moments before or those after that are wrong: the fewer
    ones.
    """
    times = [moment.at for moment in moments]
    # If the clock was behind for a while, the moments before the latest one so far are wrong
    latest = [*accumulate(times, max)]
    # If it was ahead, those after the earliest one that is still to come
    earliest = [*accumulate(reversed(times), min)][::-1]
    if_behind = [moment for moment, at in zip(moments, latest, strict=True) if moment.at == at]
    if_ahead = [moment for moment, at in zip(moments, earliest, strict=True) if moment.at == at]
    # The clock counts as wrong for the shorter time
    return if_ahead if len(if_ahead) > len(if_behind) else if_behind


def _revisited(row: Mapping[str, Any]) -> RevisitMoment | None:
    """Return the figures of revisits in a line; None if it has none, or as many as no such line."""
    values = row.get("revisits", ())
    if len(values) != len(REVISITS):
        return None
    return RevisitMoment(*map(_number, values))


def _number(value: Any, least: float = 0.0) -> float:
    """Return a number of a line. Raise ValueError if it is none, below `least`, or too large."""
    if type(value) not in (int, float) or not least <= value < LARGEST:
        raise ValueError(f"{value!r:.20} is not a valid number")
    return float(value)
