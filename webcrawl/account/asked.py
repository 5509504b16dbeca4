"""The requests to one site, from requests.log and crawl.log (docs/account.md)."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from webcrawl.store.regular import regular
from webcrawl.text.dates import read_digits, read_iso

LONGEST = 1 << 20  # bytes of a line; a damaged file may have no line ends at all
BATCH = 1 << 22  # bytes read at once
ROUNDED = 0.002  # seconds by which two times in milliseconds may differ that are the same
IsOurs = Callable[[str], bool]  # whether a URL is the site's


@dataclass(frozen=True, slots=True)
class End:
    """A line of crawl.log: how a URL ended."""

    at: float  # seconds since 1970
    status: int
    size: int | None  # bytes of the body; None: there was no answer
    url: str
    path: str
    via: str
    kind: str
    started: float | None  # when its last request began
    seconds: float  # that this one took
    digest: str
    seed: str
    notes: str


@dataclass(slots=True)
class Asked:
    """A line of requests.log, and what came of it as far as that is known."""

    at: float
    method: str
    url: str
    path: str
    tries: int
    waited: float | None = None  # seconds since the host's last answer
    needed: float | None = None  # seconds, by the rule; None: an earlier version wrote this line
    rule: str = ""
    end: End | None = None
    drone: str = ""  # which of a hive's asked; empty of a single crawl


def ends_of(path: Path, length: int, is_ours: IsOurs, wanted: bytes) -> Iterator[End]:
    """The site's lines among the first `length` bytes of crawl.log; `wanted` is in every one of them."""
    for line in lines_with(path, wanted, length):
        fields = line.decode("ascii", "replace").split()
        if len(fields) == 12 and (end := _end(fields)) is not None and is_ours(end.url):
            yield end


def asked_of(path: Path, is_ours: IsOurs, wanted: bytes, drone: str = "") -> Iterator[Asked]:
    """The site's lines of requests.log, all of it: no checkpoint knows where it ends."""
    for line in lines_with(path, wanted):
        fields = line.decode("ascii", "replace").split("\t")
        if (asked := _asked(fields)) is not None and is_ours(asked.url):
            asked.drone = drone
            yield asked


def lines_with(path: Path, wanted: bytes, length: int | None = None) -> Iterator[bytes]:
    """The lines that have these bytes; nothing if there is no such file."""
    left = length if length is not None else 1 << 62
    try:
        file = regular(path)
    except FileNotFoundError:
        return
    with file:
        rest = b""
        while left > 0 and (data := file.read(min(BATCH, left))):
            left -= len(data)
            data = rest + data
            whole = data.rfind(b"\n") + 1
            rest = data[whole:] if len(data) - whole <= LONGEST else b""
            if wanted in data:
                yield from (line for line in data[:whole].split(b"\n") if wanted in line)


def joined(asked: list[Asked], ends: list[End]) -> list[End]:
    """Gives each request what came of it; returns the ends that have no request.

    An end belongs to the last request for its URL that was sent before it. Others for it were tried again, or repeated
    after a kill.
    """
    by_url: dict[str, list[Asked]] = defaultdict(list)
    for one in asked:
        by_url[one.url].append(one)
    alone: list[End] = []
    for end in ends:
        if end.started is None:
            continue  # no request
        there = by_url.get(end.url, [])
        place = bisect_right(there, end.started + end.seconds + ROUNDED, key=lambda one: one.at) - 1
        if place >= 0 and there[place].end is None:
            there[place].end = end
        else:
            alone.append(end)
    return alone


def _end(fields: list[str]) -> End | None:
    when, status, size, url, path, via, kind, _, fetched, digest, seed, notes = [_text(field) for field in fields]
    try:
        begun, _, took = fetched.partition("+")
        return End(
            read_iso(when),
            int(status),
            int(size) if size else None,
            url,
            path,
            via,
            kind,
            read_digits(begun) if begun else None,
            int(took or 0) / 1000,
            digest,
            seed,
            notes,
        )
    except (ValueError, IndexError):
        return None


def _text(field: str) -> str:
    return "" if field == "-" else field


def _asked(fields: list[str]) -> Asked | None:
    try:
        when, method, url, path, tries, *more = fields
        asked = Asked(read_iso(when), method, url, _text(path), int(tries))
        if more:
            waited, needed, rule = more
            asked.waited = None if waited == "-" else float(waited)
            asked.needed, asked.rule = float(needed), _text(rule)
    except ValueError:
        return None
    return asked
