"""The frontier at size: URLs on hosts of Zipf-distributed size, added, taken politely in simulated time, and done.

The cost of measuring is subtracted: the same loop and checks, run with a frontier that does nothing.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from random import Random
from typing import Protocol

import numpy as np

from benchmarks.support.report import report, timed
from webcrawl.base.model import Link, Outcome
from webcrawl.frontier.arguments import Rules, Shape
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.frontier import Frontier
from webcrawl.frontier.politeness.mercator import Mercator
from webcrawl.frontier.prioritizers.depth import ByDepth
from webcrawl.frontier.state import open_frontier
from webcrawl.store.crawldb import CrawlDB

BATCH = 2000
MIN_DELAY, FACTOR = 1.0, 10.0


class Taker(Protocol):
    def take(self, now: float) -> Link | None: ...
    def done(self, link: Link, outcome: Outcome, now: float) -> bool: ...
    def next_ready(self) -> float | None: ...


class Null:
    """Hands out links in order at no cost, and nothing on every second call, like a real one with nothing due."""

    def __init__(self, n: int, hosts: int, fetchers: int) -> None:
        self.left, self.hosts, self.calls, self.fetchers = n, hosts, 0, fetchers

    def add(self, records: Iterable[bytes]) -> None:
        for _ in records:
            pass

    def take(self, now: float) -> Link | None:
        del now
        self.calls += 1
        if self.calls > self.fetchers and self.calls % 2:
            return None
        self.left -= 1
        return Link(f"http://www.h{self.left % self.hosts}.test/{self.left}") if self.left >= 0 else None

    def done(self, link: Link, outcome: Outcome, now: float) -> bool:
        return True

    def next_ready(self) -> float | None:
        return None


class Judge:
    """Counts violations: hosts asked too early or twice at once, URLs lost or handed out twice."""

    def __init__(self, n: int, hosts: int) -> None:
        self.taken = bytearray(n)
        self.polite_at = np.zeros(hosts)
        self.busy = bytearray(hosts)
        self.faults = 0

    def take(self, number: int, host: int, now: float) -> None:
        self.faults += self.taken[number] or self.busy[host] or now < self.polite_at[host]
        self.taken[number] = self.busy[host] = 1

    def done(self, host: int, seconds: float, now: float) -> None:
        self.busy[host] = 0
        self.polite_at[host] = now + max(FACTOR * seconds, MIN_DELAY)


def fill(frontier: Frontier | Null, n: int, hosts: int, seed: int) -> None:
    """Adds links of about 50 bytes that do not compress too well; host h has a share of 1/(h+1)."""
    share = 1.0 / np.arange(1, hosts + 1)
    bounds = np.cumsum(share / share.sum())
    chance = np.random.default_rng(seed)
    for at in range(0, n, BATCH):
        size = min(BATCH, n - at)
        owners = np.minimum(np.searchsorted(bounds, chance.random(size)), hosts - 1).tolist()
        depths = chance.integers(1, 8, size).tolist()
        via = f"http://www.h{owners[0]}.test/directory/page-{at}.html"
        frontier.add(
            Link(
                f"http://www.h{host}.test/{(at + i) * 2654435761 % 2**32:08x}/articles/page-{at + i}.html",
                "L" * depth,
                via,
            ).pack()
            for i, (host, depth) in enumerate(zip(owners, depths, strict=True))
        )


def crawl(frontier: Taker, judge: Judge, fetchers: int, seed: int, db: CrawlDB | None, every: int) -> tuple[int, list]:
    """Simulates fetchers that take 20 to 300 ms per page; a checkpoint follows every so many pages."""
    chance, now, finished, serial = Random(seed), 1e9, 0, count()
    flying: list[tuple[float, int, Link, int, float]] = []
    stalls: list[float] = []
    while True:
        while len(flying) < fetchers and (link := frontier.take(now)) is not None:
            host = int(link.url[12 : link.url.index(".", 12)])
            judge.take(int(link.url[link.url.rindex("-") + 1 : -5]) if "-" in link.url else finished, host, now)
            seconds = 0.02 + 0.28 * chance.random()
            heappush(flying, (now + seconds, next(serial), link, host, seconds))
        ready = frontier.next_ready() if len(flying) < fetchers else None
        if not flying and ready is None:
            return finished, stalls
        if ready is not None and (not flying or ready < flying[0][0]):
            now = max(now, ready)
            if ready:
                continue
            if not flying:
                continue
        now, _, link, host, seconds = heappop(flying)
        judge.done(host, seconds, now)
        frontier.done(link, Outcome(200, seconds), now)
        finished += 1
        if db is not None and finished % every == 0:
            stalls.append(checkpoint(db))


def checkpoint(db: CrawlDB) -> float:
    """Seconds that a checkpoint stops the caller, after everything that can be done in advance."""
    for _ in db.prepare():
        time.sleep(0)
    begin = time.perf_counter()
    db.checkpoint()
    return time.perf_counter() - begin


def run(n: int, hosts: int, memory: int, fetchers: int, every: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        db = CrawlDB(Path(folder))
        limits = Limits(queues=3 * fetchers, max_queues=30_000)
        frontier = open_frontier(
            db,
            Shape(levels=8, bias=2.0, memory=memory << 20),
            Rules(ByDepth(8), Mercator(FACTOR, MIN_DELAY, 300), limits),
            random=Random(1),
        )
        with timed() as adding:
            fill(frontier, n, hosts, seed=1)
            checkpoint(db)
        report("frontier/add", n=n, us_a_url=adding.cpu / n * 1e6, disk_mib=_size(folder))
        judge = Judge(n, hosts)
        with timed() as taking:
            finished, stalls = crawl(frontier, judge, fetchers, 2, db, every)
        nothing = Null(min(n, 1_000_000), hosts, fetchers)
        with timed() as null:
            fill(nothing, min(n, 1_000_000), hosts, seed=1)
            crawl(nothing, Judge(n, hosts), fetchers, 2, None, every)
        simulation = null.cpu / min(n, 1_000_000) * 1e6
        report(
            "frontier",
            n=n,
            hosts=hosts,
            us_a_url=(adding.cpu + taking.cpu) / n * 1e6 - simulation,
            simulation_us_a_url=simulation,
            finished=finished,
            lost=n - sum(judge.taken),
            faults=int(judge.faults),
            n_queues=frontier.width,
            stall_ms_median=1e3 * float(np.median(stalls or [0])),
            stall_ms_worst=1e3 * max(stalls, default=0),
            disk_mib=_size(folder),
        )
        db.close()


def _size(folder: str) -> int:
    return sum(path.stat().st_size for path in Path(folder).iterdir()) >> 20


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frontier", description=__doc__)
    parser.add_argument("--n", type=int, default=1_000_000, help="number of URLs")
    parser.add_argument(
        "--hosts", type=int, default=0, help="number of hosts (default: a hundredth of the URLs, up to 200,000)"
    )
    parser.add_argument("--memory", type=int, default=128, help="FRONTIER_MEMORY, MiB")
    parser.add_argument("--fetchers", type=int, default=1000)
    parser.add_argument("--checkpoint", type=int, default=500_000, help="pages between checkpoints")
    args = parser.parse_args()
    run(args.n, args.hosts or min(args.n // 100, 200_000), args.memory, args.fetchers, args.checkpoint)


if __name__ == "__main__":
    main()
