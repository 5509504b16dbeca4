"""The figures of several crawls that share the web between them, as those of one (figures.py gives each).

Sums are exact. Of the tables that have only the most frequent names, a name that a crawl does not list lacks what that
crawl counts under its others; a host is crawled by one of them, so the rows of hosts are whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from heapq import nlargest
from typing import Any

from webcrawl.statistics.figures import MOST, OTHERS
from webcrawl.statistics.series import Series

Counts = dict[str, int]
Rows = dict[str, list[int]]
RANKS = {"most_documents": 0, "most_bytes": 1, "most_failures": 2}  # by which column


def merged(figures: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """All of these together."""
    each = [*figures]
    found = {name: merge([one[name] for one in each if name in one]) for name, merge in MERGES.items()}
    revisits = [one["revisits"] for one in each if "revisits" in one]
    return found | {"revisits": _bins(revisits)} if revisits else found


def _counts(each: list[Counts]) -> Counts:
    total: Counts = {}
    for one in each:
        for name, number in one.items():
            total[name] = total.get(name, 0) + number
    return dict(sorted(total.items(), key=lambda item: int(item[0])))


def _sizes(each: list[dict[str, Counts]]) -> dict[str, Counts]:
    groups = dict.fromkeys(group for one in each for group in one)
    return {group: _counts([one[group] for one in each if group in one]) for group in groups}


def _summed(each: list[Rows]) -> Rows:
    total: Rows = {}
    for one in each:
        for name, row in one.items():
            total[name] = [a + b for a, b in zip(total.get(name, [0] * len(row)), row, strict=True)]
    return total


def _first(each: list[Rows]) -> Rows:
    """The most frequent names; of all others together the same figures."""
    total = _summed(each)
    others = total.pop(OTHERS, [0, 0])
    ranked = sorted(total, key=lambda name: (-total[name][0], name))
    for name in ranked[MOST:]:
        others = [others[0] + total[name][0], others[1] + total[name][1]]
    return {name: total[name] for name in ranked[:MOST]} | ({OTHERS: others} if others[0] else {})


def _hosts(each: list[dict[str, Any]]) -> dict[str, Any]:
    tables = {name: _most([one[name] for one in each], column) for name, column in RANKS.items()}
    return {
        "with_documents": sum(one["with_documents"] for one in each),
        "exact": all(one["exact"] for one in each),
        "may_lack": [max((one["may_lack"][at] for one in each), default=0) for at in range(2)],
        **tables,
    }


def _bins(each: list[dict[str, list[int]]]) -> dict[str, list[int]]:
    """Histograms with the same bins."""
    return {name: [sum(bins) for bins in zip(*(one[name] for one in each), strict=True)] for name in each[0]}


def _most(each: list[Rows], column: int) -> Rows:
    """A host that has moved from one crawl to another has a row in both."""
    total = _summed(each)
    return {name: total[name] for name in nlargest(MOST, total, lambda name: total[name][column])}


def _series(each: list[dict[str, Any]]) -> dict[str, Any]:
    total = Series()
    starts = [one["start"] for one in each if one["downloads"]]
    if starts:
        total.start = 1000 * min(starts)
        total.width = 1000 * max(one["seconds"] for one in each if one["downloads"])
    for one in each:
        rows = zip(one["downloads"], one["documents"], one["bytes"], strict=True)
        for slot, (downloads, documents, size) in enumerate(rows):
            total.add(1000 * (one["start"] + slot * one["seconds"]), documents, size, downloads)
    return {
        "start": total.start // 1000,
        "seconds": total.width // 1000,
        "downloads": total.downloads,
        "documents": total.documents,
        "bytes": total.sizes,
    }


MERGES: dict[str, Callable[[list[Any]], Any]] = {  # in the order of figures.py
    **dict.fromkeys(("urls", "documents", "document_bytes", "duplicates", "duplicate_bytes"), sum),
    **dict.fromkeys(("outcomes", "robots_txt"), _counts),
    **dict.fromkeys(("truncated", "content_types"), _first),
    "sizes": _sizes,
    **dict.fromkeys(("milliseconds", "depths"), _counts),
    "top_level_domains": _first,
    "hosts": _hosts,
    "series": _series,
}
