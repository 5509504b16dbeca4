"""The study of Broder, Najork and Wiener: which share of look-ups each policy spares, by the size
of its cache.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, log2
from typing import Any

import numpy as np

from webcrawl.crawl.hive.partition import BY_DOMAIN, Partition, SlotMap
from webcrawl.frontier.seen.protocol import CACHE_SIZE
from webcrawl.lab.studies import POLICY_NAMES, cache_policies
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
COLUMN_CHARS = 11  # characters of a column
REGION_BEGIN, REGION_END = 0.1, 0.9  # parts of the gain between which the critical region lies
MIN_GAIN = 0.01  # in hit rate, below which the size makes no difference


@dataclass(frozen=True)
class CacheRow:
    """The result of one simulation. The size of INFINITE is the number of URLs."""

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
    names: Sequence[str] = POLICY_NAMES,
    training: Numbers | None = None,
) -> Iterator[CacheRow]:
    """Yield a row per policy and size, and one for INFINITE.

    STATIC holds what is most popular in `training`, by default the trace itself.
    """
    lookups, urls = trace.lookups, trace.urls
    count = len(lookups)
    most_hits = count - urls  # each URL misses once
    loop_lookups = vector(lookups)
    if "INFINITE" in names:
        yield CacheRow("INFINITE", urls, count, most_hits)
    popular = None
    if "STATIC" in names:
        known = lookups if training is None else training
        popular = cache_policies.by_popularity(known, urls)
    for size in sizes:
        for name in names:
            if name == "INFINITE":
                continue
            if name == "STATIC":
                hits = cache_policies.static(lookups, urls, size, popular)
            elif size < urls:
                hits = POLICIES[name](loop_lookups, urls, size)
            else:  # it holds all URLs, so it is as good as an infinite one
                hits = most_hits
            yield CacheRow(name, size, count, hits)


def cache_sizes(urls: int) -> list[int]:
    """Return the powers of two from 32 up to the first that holds all URLs, or to 2^25 at most.

    2^25 is the largest size of Broder, Najork and Wiener.
    """
    last_bit = min(max(urls - 1, 32).bit_length(), 25)
    return [1 << bit for bit in range(5, last_bit + 1)]


def critical_region(rows: Iterable[CacheRow]) -> tuple[int, int] | None:
    """Return two sizes between which most of the gain lies, or None if no size gains anything.

    The gain is what the largest cache spares more than the smallest. The sizes are those that reach
    a tenth and nine tenths of it.
    """
    rates = _rates_by_size(rows, SEEN_POLICY)
    if not rates:
        return None
    _, least = rates[0]
    _, most = rates[-1]
    gain = most - least
    if gain <= MIN_GAIN:
        return None
    return (
        _first_size_reaching(rates, least + REGION_BEGIN * gain),
        _first_size_reaching(rates, least + REGION_END * gain),
    )


def _rates_by_size(rows: Iterable[CacheRow], policy: str) -> list[tuple[int, float]]:
    """Return the sizes and hit rates of a policy, smallest first."""
    return sorted((row.size, row.hit_rate) for row in rows if row.policy == policy)


def _first_size_reaching(rates: list[tuple[int, float]], wanted: float) -> int:
    return next(size for size, rate in rates if rate >= wanted - 1e-12)  # which rounding may miss


def best_size(rows: Iterable[CacheRow]) -> int | None:
    """Return the smallest size that spares 99 % of what the largest spares.

    Return None if no size spares anything.
    """
    rates = _rates_by_size(rows, SEEN_POLICY)
    if not rates:
        return None
    _, most = rates[-1]
    return _first_size_reaching(rates, 0.99 * most) if most > 0 else None


def statistics(trace: Trace) -> dict[str, float]:
    """Return the figures of Broder's paper: links, distinct ones, links per page, popularity.

    Those that the trace does not allow are missing.
    """
    count = len(trace.lookups)
    figures: dict[str, float] = {"lookups": count, "urls": trace.urls, "pages": len(trace.pages)}
    if len(trace.pages) and count:
        links = np.diff(np.append(trace.pages, count))
        figures |= {"links_mean": float(links.mean()), "links_median": float(np.median(links))}
    if count:
        lookups_by_url = np.sort(np.bincount(trace.lookups))[::-1]
        figures |= {
            "once": float(np.count_nonzero(lookups_by_url == 1) / len(lookups_by_url)),
            "top_1_percent": float(
                lookups_by_url[: max(len(lookups_by_url) // 100, 1)].sum() / count
            ),
        }
    return figures


def owner_among(drones: int) -> Callable[[str], int]:
    """Return the function that returns the number of a host's drone in a new hive of this size."""
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
    return "\n".join([_trace_in_words(trace), "", *_table(rows), *_advice(rows), ""])


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
    names = [name for name in POLICY_NAMES if name in simulated]
    lines = [
        "hit rate in percent",
        "".join(name.rjust(COLUMN_CHARS) for name in ("entries", *names)),
    ]
    for size, rates in sorted(rates_by_size.items()):
        lines.append(_line(f"{size:,}", [rates[name] for name in names]))
    return lines + last_lines


def _line(head: str, rates: Iterable[float]) -> str:
    return head.rjust(COLUMN_CHARS) + "".join(map(_percent, rates))


def _percent(rate: float) -> str:
    return f"{100 * rate:>{COLUMN_CHARS}.2f}"


def _trace_in_words(trace: Trace) -> str:
    """Return a line that describes a trace."""
    figures = statistics(trace)
    words = [f"{trace.urls:,} URLs in {len(trace.lookups):,} look-ups"]
    if "links_mean" in figures:
        words.append(
            f"on {figures['pages']:,} pages ({figures['links_mean']:.1f} each, median {figures['links_median']:.0f})"
        )
    words.append(f"{100 * figures['once']:.0f} % of the URLs come once, the most popular 1 % are")
    return f"{' '.join(words[:-1])}; {words[-1]} {100 * figures['top_1_percent']:.0f} % of the look-ups"


def _advice(rows: Sequence[CacheRow]) -> list[str]:
    region, best = critical_region(rows), best_size(rows)
    if best is None:
        return []
    what = f"{best:,} entries are enough, and a crawl has {CACHE_SIZE:,}"
    if region is None:
        return ["", f"the size makes no difference here: {what}"]
    return ["", f"most is gained between {region[0]:,} and {region[1]:,} entries: {what}"]


def plot_caches(rows: Sequence[CacheRow]) -> str:
    """Return an SVG document that plots hit rates by cache size.

    The sizes are on a logarithmic scale.
    """
    sizes = _plotted_sizes(rows)
    low = log2(sizes[0])
    high = max(log2(sizes[-1]), low + 1)

    def x(size: int) -> float:
        return (log2(size) - low) / (high - low)

    lines = []
    for name, colour in zip(POLICY_NAMES, COLOURS, strict=False):
        rates = _rates_by_size(rows, name)
        if not rates:
            continue
        if name == "INFINITE":  # it has one rate, whatever the size of others: a level line
            _, rate = rates[0]
            rates = [(sizes[0], rate), (sizes[-1], rate)]
        points = [(x(size), rate) for size, rate in rates]
        lines.append(PlotLine(name, points, colour, dashed=name in POLICY_NAMES[:2]))
    every = max(ceil(len(sizes) / 10), 1)  # ten labels at most, or they overlap
    labels = [(x(size), f"{size:,}") for size in sizes[::every]]
    return plot_file("Hit rates of URL caches by size", lines, labels, "entries of the cache")


def _plotted_sizes(rows: Sequence[CacheRow]) -> list[int]:
    """Return the sizes of the bounded caches; without any, 1 and that of the infinite one."""
    bounded = {row.size for row in rows if row.policy != "INFINITE"}
    return sorted(bounded or {1, *(row.size for row in rows)})
