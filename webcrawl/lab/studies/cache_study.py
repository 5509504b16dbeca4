"""The study of Broder, Najork and Wiener: which share of look-ups each policy spares, by the size
of its cache.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np

from webcrawl.crawl.hive.partition import BY_DOMAIN, Partition, SlotMap
from webcrawl.frontier.seen.protocol import CACHE_SIZE
from webcrawl.lab.studies import NAMES, cache_policies
from webcrawl.lab.studies.cache_policies import vector
from webcrawl.lab.studies.traces import Numbers, Trace
from webcrawl.tools.report.charts import COLOURS, PlotLine, plot_file
from webcrawl.urls.host_names import RegisteredDomains

POLICIES: dict[str, Callable[[Any, int, int], int]] = {
    "MIN": cache_policies.clairvoyant,
    "LRU": cache_policies.lru,
    "CLOCK": cache_policies.clock,
    "RANDOM": cache_policies.random,
}
SEEN_POLICY = "CLOCK"  # of the cache before the seen store, by which sizes are judged
WIDTH = 11  # characters of a column
LOW, HIGH = 0.1, 0.9  # of what there is to gain: between these lies the critical region


@dataclass(frozen=True)
class CacheRow:
    """One simulation. INFINITE has no size."""

    policy: str
    size: int
    lookups: int
    hits: int

    @property
    def hit_rate(self) -> float:
        return self.hits / self.lookups if self.lookups else 0.0

    def as_json(self) -> dict[str, Any]:
        return {
            "policy": self.policy,
            "size": self.size,
            "lookups": self.lookups,
            "hits": self.hits,
            "hit_rate": round(self.hit_rate, 6),
        }


def simulate(
    trace: Trace,
    sizes: Iterable[int],
    names: Sequence[str] = NAMES,
    training: Numbers | None = None,
) -> Iterator[CacheRow]:
    """Yield a row per policy and size.

    STATIC holds what is most popular in `training`, by default the trace itself.
    """
    lookups, urls, count = trace.lookups, trace.urls, len(trace.lookups)
    loop = vector(lookups)
    if "INFINITE" in names:
        yield CacheRow("INFINITE", urls, count, count - urls)
    popular = None
    if "STATIC" in names:
        asked = lookups if training is None else training
        popular = cache_policies.by_popularity(asked, urls)
    for size in sizes:
        for name in names:
            if name == "STATIC":
                yield CacheRow(
                    name, size, count, cache_policies.static(lookups, urls, size, popular)
                )
            elif name != "INFINITE":
                # a cache that holds all is as good as an infinite one, and its arrays need not be
                # larger
                yield CacheRow(
                    name,
                    size,
                    count,
                    POLICIES[name](loop, urls, size) if size < urls else count - urls,
                )


def powers(urls: int) -> list[int]:
    """Return the sizes from 32 up to what holds all; Broder's largest is 2^25."""
    return [1 << bit for bit in range(5, min(max(urls - 1, 32).bit_length(), 25) + 1)]


def critical_region(rows: Iterable[CacheRow]) -> tuple[int, int] | None:
    """Sizes between which most of the gain lies: from a tenth to nine tenths of what the largest
    cache spares more than the smallest; None if no size gains anything.
    """
    known = sorted((row.size, row.hit_rate) for row in rows if row.policy == SEEN_POLICY)
    if not known or known[-1][1] - known[0][1] <= 0.01:
        return None
    least, most = known[0][1], known[-1][1]
    return _first(known, least + LOW * (most - least)), _first(known, least + HIGH * (most - least))


def _first(known: list[tuple[int, float]], rate: float) -> int:
    return next(size for size, found in known if found >= rate - 1e-12)


def best_size(rows: Iterable[CacheRow]) -> int | None:
    """Return the smallest size that has all but a hundredth of what the largest spares."""
    known = sorted((row.size, row.hit_rate) for row in rows if row.policy == SEEN_POLICY)
    return _first(known, 0.99 * known[-1][1]) if known and known[-1][1] > 0 else None


def statistics(trace: Trace) -> dict[str, float]:
    """Return the figures of Broder's paper: links, distinct ones, links per page, popularity."""
    count = len(trace.lookups)
    found: dict[str, float] = {"lookups": count, "urls": trace.urls, "pages": len(trace.pages)}
    if len(trace.pages) and count:
        links = np.diff(np.append(trace.pages, count))
        found |= {"links_mean": float(links.mean()), "links_median": float(np.median(links))}
    if count:
        asked = np.sort(np.bincount(trace.lookups))[::-1]
        found |= {
            "once": float(np.count_nonzero(asked == 1) / len(asked)),
            "top_1_percent": float(asked[: max(len(asked) // 100, 1)].sum() / count),
        }
    return found


def owner_among(drones: int) -> Callable[[str], int]:
    """Return the function that names the owner of each host in a new hive of so many drones."""
    partition = Partition(BY_DOMAIN, RegisteredDomains())
    owners = SlotMap.fair(range(drones), partition.groups).owners
    return lambda host: owners[partition.slot(host)]


def as_json(trace: Trace, rows: Sequence[CacheRow]) -> str:
    """Return the results as one object on one line."""
    value = {
        "rows": [row.as_json() for row in rows],
        "trace": statistics(trace),
        "critical_region": critical_region(rows),
        "best_size": best_size(rows),
    }
    return f"{json.dumps(value)}\n"


def as_text(trace: Trace, rows: Sequence[CacheRow]) -> str:
    """Return a description of the trace, a table with a column per policy, and its meaning."""
    return "\n".join([_about(trace), "", *_table(rows), *_advice(rows), ""])


def _table(rows: Sequence[CacheRow]) -> list[str]:
    """Return the lines of a table: a row per size, a column per policy."""
    rates_by_size: dict[int, dict[str, float]] = {}
    last_lines = []
    for row in rows:
        if row.policy == "INFINITE":  # it has no size of its own, so it stands below the others
            last_lines.append(_line("infinite", [row.hit_rate]))
        else:
            rates_by_size.setdefault(row.size, {})[row.policy] = row.hit_rate
    simulated = set().union(*rates_by_size.values())
    names = [name for name in NAMES if name in simulated]
    lines = ["hit rate in percent", "".join(name.rjust(WIDTH) for name in ("entries", *names))]
    for size, rates in sorted(rates_by_size.items()):
        lines.append(_line(f"{size:,}", [rates[name] for name in names]))
    return lines + last_lines


def _line(head: str, rates: Iterable[float]) -> str:
    return head.rjust(WIDTH) + "".join(map(_percent, rates))


def _percent(rate: float) -> str:
    return f"{100 * rate:>{WIDTH}.2f}"


def _about(trace: Trace) -> str:
    found = statistics(trace)
    words = [f"{trace.urls:,} URLs in {len(trace.lookups):,} look-ups"]
    if "links_mean" in found:
        words.append(
            f"on {found['pages']:,} pages ({found['links_mean']:.1f} each, median {found['links_median']:.0f})"
        )
    words.append(f"{100 * found['once']:.0f} % of the URLs come once, the most popular 1 % are")
    return (
        f"{' '.join(words[:-1])}; {words[-1]} {100 * found['top_1_percent']:.0f} % of the look-ups"
    )


def _advice(rows: Sequence[CacheRow]) -> list[str]:
    region, best = critical_region(rows), best_size(rows)
    if best is None:
        return []
    what = f"{best:,} entries are enough, and a crawl has {CACHE_SIZE:,}"
    if region is None:
        return ["", f"the size makes no difference here: {what}"]
    return ["", f"most is gained between {region[0]:,} and {region[1]:,} entries: {what}"]


def plot_caches(rows: Sequence[CacheRow]) -> str:
    """Return an SVG document that plots hit rate against cache size, with size on a logarithmic
    scale.
    """
    sizes = _plotted_sizes(rows)
    low = log2(sizes[0])
    high = max(log2(sizes[-1]), low + 1)

    def x(size: int) -> float:
        return (log2(size) - low) / (high - low)

    lines = []
    for name, colour in zip(NAMES, COLOURS, strict=False):
        rates = sorted((row.size, row.hit_rate) for row in rows if row.policy == name)
        if not rates:
            continue
        if name == "INFINITE":  # it has one rate, whatever the size of others: a level line
            _, rate = rates[0]
            rates = [(sizes[0], rate), (sizes[-1], rate)]
        points = [(x(size), rate) for size, rate in rates]
        lines.append(PlotLine(name, points, colour, dashed=name in NAMES[:2]))
    every = max((len(sizes) + 9) // 10, 1)  # ten labels at most, or they overlap
    labels = [(x(size), f"{size:,}") for size in sizes[::every]]
    return plot_file("Hit rates of URL caches by size", lines, labels, "entries of the cache")


def _plotted_sizes(rows: Sequence[CacheRow]) -> list[int]:
    """Return the sizes of the bounded caches; without any, 1 and that of the infinite one."""
    bounded = {row.size for row in rows if row.policy != "INFINITE"}
    return sorted(bounded or {1, *(row.size for row in rows)})
