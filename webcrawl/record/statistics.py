"""The statistics of a crawl, as in section 4 of the Mercator paper (docs/watch.md).

They are made from the ends of its URLs. All of them could be computed from crawl.log as well, with
the same numbers: `read_line` does it.
"""

from __future__ import annotations

from calendar import timegm
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from heapq import nlargest
from typing import Any, NamedTuple

from webcrawl.base.model import FAILURES, Exchange, Link, Outcome, may_be_page
from webcrawl.base.page_values import walled
from webcrawl.base.url_text import host_of
from webcrawl.content.recognise import SHELL
from webcrawl.record.tally import GROUPS, HostTally, NameTally, group_of, kind_of
from webcrawl.store.jobdir.crawl_line import DUPLICATE, NOTHING, TRUNCATED
from webcrawl.store.jobdir.stats_file import MOST, Series

TYPES, DOMAINS, REASONS, SCRIPTED = 512, 2048, 64, 4096  # names counted by themselves
DEEPEST = 255  # depths from here on are counted together
BITS = 48  # sizes from 2^47 bytes on, too
KNOWN = 1024  # headers whose type is remembered
ADDRESS = "(address)"  # of a host that is an IP address, for the top-level domain


class Statistics:
    """Every URL that has ended is given to `ended` or, with its answer, to `answered`: 3 us.

    They hear each line of crawl.log and are part of its checkpoint, so that both agree after a kill.

    A document is an answer of status 2xx to anything but robots.txt, which is counted apart, unless
    a wall gave it. Probes are downloads only: no site has their URLs.
    """

    def __init__(self, key: bytes) -> None:
        self.since = 0  # bytes of crawl.log that were written before statistics were kept
        self.lines = 0
        self.outcomes: Counter[int] = Counter()
        self.robots: Counter[int] = Counter()  # the same of robots.txt
        self.documents = 0
        self.size = 0
        self.duplicates = 0
        self.duplicate_size = 0
        self.types = NameTally(TYPES)
        self.domains = NameTally(DOMAINS)  # documents by top-level domain
        self.truncated = NameTally(REASONS)
        # Documents by group, and by the number of bits of their size
        self.sizes = [[0] * BITS for _ in GROUPS]
        self.times = [0] * BITS  # downloads by the number of bits of their milliseconds
        self.depths = [0] * (DEEPEST + 1)  # documents by links followed since the seed
        # Pages that show next to nothing without their scripts, by host
        self.scripted = NameTally(SCRIPTED)
        self.hosts = HostTally(key)
        self.series = Series()
        self._kinds: dict[str, tuple[str, int]] = {}

    def hear(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        """Count the end of a URL (`crawl.crawl_log.Hearer`)."""
        if exchange is None:
            self.ended(outcome.status, link.url, link.path)
        else:
            milliseconds = max(0, round(outcome.seconds * 1000))
            at = round(outcome.at * 1000)
            size = exchange.size
            kind = exchange.content_type
            wall = bool(exchange.state.notes) and walled(exchange.state.notes)
            self.answered(
                outcome.status, link.url, link.path, at, milliseconds, size, kind, wall=wall
            )
            if exchange.state.duplicate:
                self.duplicate(size)
            if exchange.truncated:
                self.truncated.add(exchange.truncated, size)
            if exchange.state.notes and SHELL in exchange.state.notes:
                self.scripted.add(host_if_any(link.url), size)

    def ended(self, status: int, url: str, path: str) -> None:
        """Count a URL that has ended without an answer of its own."""
        self.lines += 1
        way = way_of(path)
        if way.is_robots:
            self.robots[status] += 1
            return
        if not way.is_probe:
            self.outcomes[status] += 1
        if status in FAILURES:
            self.hosts.row(host_if_any(url))[2] += 1

    def answered(
        self,
        status: int,
        url: str,
        path: str,
        at: int,
        milliseconds: int,
        size: int,
        kind: str,
        *,
        wall: bool = False,
    ) -> None:
        """Count a URL that has ended with an answer.

        `kind` is its Content-Type, and `at` the time when it came, in milliseconds.
        """
        self.lines += 1
        self.times[min(milliseconds.bit_length(), BITS - 1)] += 1
        way = way_of(path)
        if way.is_robots:
            self.robots[status] += 1
            self.series.add(at, 0, size)
            return
        if not way.is_probe:
            self.outcomes[status] += 1
        host = host_if_any(url)
        row = self.hosts.row(host)
        row[3] += milliseconds
        row[4] += 1
        is_document = 200 <= status < 300 and not wall and way.may_be_page
        if not is_document:
            self.series.add(at, 0, size)
            row[2] += status >= 500
            return
        self.series.add(at, 1, size)
        row[0] += 1
        row[1] += size
        self.documents += 1
        self.size += size
        known = self._kinds.get(kind) or self._learn(kind)
        self.types.add(known[0], size)
        self.sizes[known[1]][min(size.bit_length(), BITS - 1)] += 1
        self.domains.add(top_level(host), size)
        self.depths[way.depth] += 1

    def duplicate(self, size: int) -> None:
        """Count the body of the last answer as one that was seen before."""
        self.duplicates += 1
        self.duplicate_size += size

    def _learn(self, content_type: str) -> tuple[str, int]:
        if len(self._kinds) >= KNOWN:
            self._kinds.clear()
        kind = kind_of(content_type)
        known = self._kinds[content_type] = kind, group_of(kind)
        return known

    def join(self, part: Statistics) -> None:
        """Add what another crawl has counted, but for its series, which has slots of its own."""
        vars(self).update((name, _sum(getattr(self, name), getattr(part, name))) for name in PLAIN)
        for name in PARTS:
            if name != "series":
                getattr(self, name).join(getattr(part, name))

    # -- kept

    def save(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in PLAIN}
        return plain | {name: getattr(self, name).save() for name in PARTS}

    def restore(self, saved: dict[str, Any]) -> None:
        vars(self).update((name, saved[name]) for name in PLAIN)
        self.outcomes = Counter(self.outcomes)
        self.robots = Counter(self.robots)
        for name in PARTS:
            # A state of an earlier version has none
            if name != "scripted" or name in saved:
                getattr(self, name).restore(saved[name])


PLAIN = (
    *("since", "lines", "outcomes", "robots", "documents", "size", "duplicates", "duplicate_size"),
    *("sizes", "times", "depths"),
)
PARTS = ("types", "domains", "truncated", "scripted", "hosts", "series")


class LinkWay(NamedTuple):
    """What a discovery path says of its URL."""

    is_robots: bool
    is_probe: bool
    may_be_page: bool
    depth: int  # links followed since the seed, DEEPEST at most


@lru_cache(1024)  # as of all functions of a path, of which a crawl has few
def way_of(path: str) -> LinkWay:
    """Return what a discovery path says, in Heritrix's letters or as it is."""
    depth = len(path) - path.count("R") - path.count("r")
    return LinkWay(
        path[-1:] in ("P", "p"), path[-1:] == "S", may_be_page(path), min(depth, DEEPEST)
    )


def host_if_any(url: str) -> str:
    """Return the host of a URL, without port; empty for a URL that has none, as a spider's own may."""
    try:
        return host_of(url)
    except (IndexError, ValueError):
        return ""


@lru_cache(1024)
def top_level(host: str) -> str:
    """Return the last label of a host's name."""
    # Most names end in a letter, and are no addresses
    if host[-1:] not in "0123456789.]":
        return host.rpartition(".")[2]
    host = host.rstrip(".")
    last_label = host.rpartition(".")[2]
    if host.endswith("]") or last_label.isdecimal():
        return ADDRESS
    return last_label


def read_line(statistics: Statistics, fields: list[str]) -> None:
    """Add a line, given as its fields; ValueError or IndexError if it is none."""
    when, status, size, url, path, _, kind, _, fetched, _, _, notes = fields
    path = "" if path == NOTHING else path
    if size == NOTHING:
        statistics.ended(int(status), url, path)
        return
    milliseconds = int(fetched.partition("+")[2])
    at = _second(when[:19]) + int(when[20:23])
    annotations = notes.split(",")
    statistics.answered(
        int(status), url, path, at, milliseconds, int(size), kind, wall=walled(annotations)
    )
    for note in annotations:
        if note == DUPLICATE:
            statistics.duplicate(int(size))
        elif note.startswith(TRUNCATED):
            statistics.truncated.add(note.removeprefix(TRUNCATED), int(size))
        elif note == SHELL:
            statistics.scripted.add(host_if_any(url), int(size))


@lru_cache(64)
def _second(text: str) -> int:
    """Return the milliseconds since 1970 of a time to the second, as in 2011-06-23T17:12:08."""
    year = int(text[:4])
    month = int(text[5:7])
    day = int(text[8:10])
    return 1000 * timegm((year, month, day, int(text[11:13]), int(text[14:16]), int(text[17:19])))


def joined(parts: Sequence[Statistics], key: bytes) -> Statistics:
    """Return all of them in one, with the drones' common key; they stay as they are."""
    whole = Statistics(key)
    for part in parts:
        whole.join(part)
    whole.series = Series.joined(part.series for part in parts)
    return whole


def _sum(mine: Any, theirs: Any) -> Any:
    """Return the sum of numbers, of counters, or of lists of these, place by place."""
    if isinstance(mine, list):
        return [_sum(one, other) for one, other in zip(mine, theirs, strict=True)]
    return mine + theirs


def figures(statistics: Statistics) -> dict[str, Any]:
    """Return a few kilobytes, whatever the size of the crawl."""
    return {
        "urls": statistics.lines,
        "documents": statistics.documents,
        "document_bytes": statistics.size,
        "duplicates": statistics.duplicates,
        "duplicate_bytes": statistics.duplicate_size,
        "outcomes": {str(status): number for status, number in sorted(statistics.outcomes.items())},
        "robots_txt": {str(status): number for status, number in sorted(statistics.robots.items())},
        "truncated": _first(statistics.truncated),
        "content_types": _first(statistics.types),
        "sizes": {
            group: _powers(bins)
            for group, bins in zip(GROUPS, statistics.sizes, strict=True)
            if any(bins)
        },
        "milliseconds": _powers(statistics.times),
        "depths": {str(depth): number for depth, number in enumerate(statistics.depths) if number},
        "top_level_domains": _first(statistics.domains),
        "hosts": _hosts(statistics.hosts),
        "series": statistics.series.table(),
    }


def _powers(bins: list[int]) -> dict[str, int]:
    """Return counts by the smallest number of each bin: 0, 1, 2, 4, 8 and so on."""
    return {str(lowest(bits)): number for bits, number in enumerate(bins) if number}


def lowest(bits: int) -> int:
    """Return the smallest number of so many bits."""
    return 1 << bits - 1 if bits else 0


def _first(tally: NameTally) -> dict[str, list[int]]:
    """Return number and bytes of the most frequent names, and of all others together."""
    return {name: [number, size] for name, number, size in tally.first(MOST)}


def _hosts(hosts: HostTally) -> dict[str, Any]:
    """Return the number of hosts that gave documents, and those that gave most."""
    return {
        "with_documents": hosts.with_documents,
        "exact": not hosts.level,
        "may_lack": hosts.missed,
        "most_documents": _most(hosts, 0),
        "most_bytes": _most(hosts, 1),
        "most_failures": _most(hosts, 2),
    }


def _most(hosts: HostTally, measure: int) -> dict[str, list[int]]:
    """Return the rows of the top MOST hosts by this measure.

    The crawl waits for this at each checkpoint, so `nlargest` gets no key, which would take five
    times as long.
    """
    numbers = nlargest(MOST, [row[measure] for row in hosts.rows.values()])
    least = max(1, numbers[-1]) if numbers else 1
    most = [(name, row) for name, row in hosts.rows.items() if row[measure] >= least]
    most.sort(key=lambda one: one[1][measure], reverse=True)
    return {name: row[:3] for name, row in most[:MOST]}
