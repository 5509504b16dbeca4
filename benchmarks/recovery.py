"""How long a killed crawl takes to resume.

A process fills frontier and seen store, makes a checkpoint, does a tenth as much again, and dies in the middle of it.
Then the state is opened, up to the first URL that may be fetched.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import time
from pathlib import Path
from random import Random

import numpy as np

from benchmarks.frontier import checkpoint, fill
from benchmarks.support.report import report, timed
from webcrawl.base.model import Outcome
from webcrawl.frontier.arguments import Rules, Shape
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.frontier import Frontier
from webcrawl.frontier.politeness.mercator import Mercator
from webcrawl.frontier.prioritizers.depth import ByDepth
from webcrawl.frontier.seen.caches.clock import ClockCache
from webcrawl.frontier.seen.disk import DiskSeen
from webcrawl.frontier.state import open_frontier
from webcrawl.store.crawldb import CrawlDB

BATCH = 1 << 16


def opened(folder: Path, now: float) -> tuple[CrawlDB, DiskSeen, Frontier]:
    db = CrawlDB(folder)
    seen = DiskSeen(db, memory=200 << 20, cache=ClockCache(1 << 16))
    limits = Limits(queues=3000, max_queues=30_000)
    rules = Rules(ByDepth(8), Mercator(10.0, 1.0, 300.0), limits)
    frontier = open_frontier(db, Shape(levels=8, bias=2.0, memory=128 << 20), rules, random=Random(1), now=now)
    return db, seen, frontier


def work(folder: Path, n: int, hosts: int) -> None:
    """Works until it kills itself."""
    db, seen, frontier = opened(folder, 0.0)
    chance = np.random.default_rng(1)
    for part, more in ((n, True), (n // 10, False)):
        fill(frontier, part, hosts, seed=part)
        for _ in range(0, part, BATCH):
            seen.submit(chance.integers(0, 2**63, BATCH).tolist(), [b"x"] * BATCH)
            while seen.take(BATCH):
                pass
        for turn in range(20):
            while (link := frontier.take(1e9 + turn * 1000)) is not None:
                frontier.done(link, Outcome(200, 0.1), 1e9 + turn * 1000)
        if more:
            while seen.pending:
                seen.merge()
                seen.take(BATCH)
            checkpoint(db)
    os._exit(9)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recovery", description=__doc__)
    parser.add_argument("--n", type=int, default=10_000_000)
    parser.add_argument("--hosts", type=int, default=100_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        process = multiprocessing.get_context("spawn").Process(target=work, args=(Path(folder), args.n, args.hosts))
        process.start()
        process.join()
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) >> 20
        begin = time.perf_counter()
        with timed() as clock:
            db, seen, frontier = opened(Path(folder), 2e9)
            link = frontier.take(3e9)
        seconds = time.perf_counter() - begin
        report(
            "recovery",
            queued=len(frontier),
            keys=seen.stats()["keys"],
            hosts=frontier.hosts,
            seconds=seconds,
            cpu_seconds=clock.cpu,
            found=link is not None,
            disk_mib=size,
        )
        seen.close()
        db.close()


if __name__ == "__main__":
    main()
