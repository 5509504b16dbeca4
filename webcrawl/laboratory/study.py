"""The study of Broder, Najork and Wiener: which share of look-ups each policy spares, by the size of its cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from webcrawl.laboratory import policies
from webcrawl.laboratory.compiled import vector
from webcrawl.laboratory.names import NAMES
from webcrawl.laboratory.tinylfu import wtinylfu
from webcrawl.laboratory.traces import Numbers, Trace

POLICIES: dict[str, Callable[[Any, int, int], int]] = {
    "MIN": policies.clairvoyant,
    "LRU": policies.lru,
    "CLOCK": policies.clock,
    "RANDOM": policies.random,
    "SIEVE": policies.sieve,
    "S3-FIFO": policies.s3fifo,
    "W-TinyLFU": wtinylfu,
}
LOW, HIGH = 0.1, 0.9  # of what there is to gain: between these lies the critical region


@dataclass(frozen=True)
class Row:
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
    trace: Trace, sizes: Iterable[int], names: Sequence[str] = NAMES, training: Numbers | None = None
) -> Iterator[Row]:
    """A row per policy and size. STATIC holds what is most popular in `training`, by default the trace itself."""
    lookups, urls, count = trace.lookups, trace.urls, len(trace.lookups)
    loop = vector(lookups)
    if "INFINITE" in names:
        yield Row("INFINITE", urls, count, count - urls)
    popular = policies.by_popularity(lookups if training is None else training, urls) if "STATIC" in names else None
    for size in sizes:
        for name in names:
            if name == "STATIC":
                yield Row(name, size, count, policies.static(lookups, urls, size, popular))
            elif name != "INFINITE":
                # a cache that holds all is as good as an infinite one, and its arrays need not be larger
                yield Row(name, size, count, POLICIES[name](loop, urls, size) if size < urls else count - urls)


def powers(urls: int) -> list[int]:
    """Sizes from 32 up to what holds all; Broder's largest is 2^25."""
    return [1 << bit for bit in range(5, min(max(urls - 1, 32).bit_length(), 25) + 1)]


def critical_region(rows: Iterable[Row], policy: str = "CLOCK") -> tuple[int, int] | None:
    """Sizes between which most of the gain lies: from a tenth to nine tenths of what the largest cache spares more
    than the smallest; None if no size gains anything.
    """
    known = sorted((row.size, row.hit_rate) for row in rows if row.policy == policy)
    if not known or known[-1][1] - known[0][1] <= 0.01:
        return None
    least, most = known[0][1], known[-1][1]
    return _first(known, least + LOW * (most - least)), _first(known, least + HIGH * (most - least))


def _first(known: list[tuple[int, float]], rate: float) -> int:
    return next(size for size, found in known if found >= rate - 1e-12)


def best_size(rows: Iterable[Row], policy: str = "CLOCK") -> int | None:
    """The smallest size that has all but a hundredth of what the largest spares."""
    known = sorted((row.size, row.hit_rate) for row in rows if row.policy == policy)
    return _first(known, 0.99 * known[-1][1]) if known and known[-1][1] > 0 else None


def statistics(trace: Trace) -> dict[str, float]:
    """What Broder's paper tells of its trace: links, distinct ones, links per page (mean and median), popularity."""
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
