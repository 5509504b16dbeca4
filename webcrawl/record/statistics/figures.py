"""Statistics as names and numbers, for stats.json."""

from __future__ import annotations

from collections.abc import Callable
from heapq import nlargest
from operator import attrgetter
from typing import Any

from webcrawl.record.statistics.hosts import HostRow, Hosts
from webcrawl.record.statistics.statistics import Statistics
from webcrawl.record.statistics.tally import GROUPS, Tally
from webcrawl.store.jobdir.sums import MOST, OTHERS


def figures(statistics: Statistics) -> dict[str, Any]:
    """A few kilobytes, whatever the size of the crawl."""
    series = statistics.series
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
        "sizes": {group: _powers(bins) for group, bins in zip(GROUPS, statistics.sizes, strict=True) if any(bins)},
        "milliseconds": _powers(statistics.times),
        "depths": {str(depth): number for depth, number in enumerate(statistics.depths) if number},
        "top_level_domains": _first(statistics.domains),
        "hosts": _hosts(statistics.hosts),
        "series": {
            "start": series.start // 1000,
            "seconds": series.width // 1000,
            "downloads": series.downloads,
            "documents": series.documents,
            "bytes": series.sizes,
        },
    }


def _powers(bins: list[int]) -> dict[str, int]:
    """By the smallest number of each bin: 0, 1, 2, 4, 8 and so on."""
    return {str(lowest(bits)): number for bits, number in enumerate(bins) if number}


def lowest(bits: int) -> int:
    """The smallest number of so many bits."""
    return 1 << bits - 1 if bits else 0


def _first(tally: Tally) -> dict[str, list[int]]:
    """Number and bytes of the most frequent names, and of all others together."""
    rows = tally.rows()
    first = {name: [number, size] for name, number, size in rows[:MOST]}
    rest = rows[MOST:]
    others = [tally.others[0] + sum(row[1] for row in rest), tally.others[1] + sum(row[2] for row in rest)]
    return first | ({OTHERS: others} if others[0] else {})


def _hosts(hosts: Hosts) -> dict[str, Any]:
    """The number of hosts that gave documents, and those that gave most."""
    rows = [*hosts]
    return {
        "with_documents": sum(weight for row, weight in hosts.weighed(0) if row.documents),
        "exact": not hosts.level,
        "may_lack": hosts.missed,
        "most_documents": _most(rows, attrgetter("documents")),
        "most_bytes": _most(rows, attrgetter("size")),
        "most_failures": _most(rows, attrgetter("failures")),
    }


def _most(rows: list[HostRow], by: Callable[[HostRow], int]) -> dict[str, list[int]]:
    return {row.name: [row.documents, row.size, row.failures] for row in nlargest(MOST, filter(by, rows), by)}
