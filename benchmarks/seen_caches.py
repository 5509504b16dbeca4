"""Broder's simulation on real graphs: hit rates of URL caches by policy and size, and the cost of a request.

The graphs are those of the folder WEBCRAWL_CASES; without it only the cost is measured.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from benchmarks.support.report import report
from benchmarks.support.seen_graphs import STREAMS
from webcrawl.frontier.seen.caches.chance import RandomCache
from webcrawl.frontier.seen.caches.clock import ClockCache
from webcrawl.frontier.seen.caches.lru import LruCache
from webcrawl.frontier.seen.caches.protocol import UrlCache
from webcrawl.frontier.seen.caches.static import StaticCache
from webcrawl.lab.studies.cache_policies import clairvoyant, vector

SIZES = [1 << bits for bits in range(5, 14)]
POLICIES: dict[str, Callable[[int], UrlCache]] = {"clock": ClockCache, "lru": LruCache, "random": RandomCache}


def rates(requests: list[int], size: int) -> Iterator[tuple[str, float]]:
    """Policy and hit rate; STATIC knows the most popular keys in advance, as in the paper. MIN is the laboratory's."""
    popular = [key for key, _ in Counter(requests).most_common(size)]
    caches = {name: make(size) for name, make in POLICIES.items()} | {"static": StaticCache(size, popular)}
    for name, cache in caches.items():
        yield name, 1 - len(cache.misses(requests)) / len(requests)
    trace = vector(np.array(requests, np.int64))
    yield "min", clairvoyant(trace, max(requests) + 1, size) / len(requests)


def main() -> None:
    argparse.ArgumentParser(prog="python -m benchmarks.seen_caches", description=__doc__).parse_args()
    cases = os.environ.get("WEBCRAWL_CASES")
    for name, read in STREAMS.items() if cases else ():
        numbers: dict[str, int] = {}
        requests = [numbers.setdefault(url, len(numbers)) for url in chain.from_iterable(read(Path(cases)))]
        infinite = 1 - len(numbers) / len(requests)
        for size in SIZES:
            report(
                "caches",
                stream=name,
                requests=len(requests),
                size=size,
                infinite=infinite,
                **dict(rates(requests, size)),
            )
    # Zipf's law with exponent 1 over ten million URLs: a hit rate of 60 %, near the paper's
    popularity = np.random.default_rng(1).random(2_000_000)
    keys = (10_000_000**popularity).astype(np.uint64).tolist()
    for name, make in POLICIES.items():
        cache, started, missed = make(1 << 16), time.process_time(), 0
        for at in range(0, len(keys), 40):
            missed += len(cache.misses(keys[at : at + 40]))
        cpu = time.process_time() - started
        report("caches.cost", policy=name, ns_cpu=cpu / len(keys) * 1e9, hit_rate=1 - missed / len(keys))


if __name__ == "__main__":
    main()
