"""How long a checkpoint stops the crawl.

Ten million URLs are queued. Each round then pushes a million and pops 700,000, prepares a checkpoint while pushing and
popping a little, and makes it. `stop_ms` is the time from the last slice of prepare() to the end of checkpoint(),
including the saving of every queue that changed since; `slice_ms` is the longest slice of prepare(); `first_write_ms`
is the first change afterwards.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from benchmarks.support.report import report
from webcrawl.frontier.blocks import Blocks
from webcrawl.frontier.fifo import Pool
from webcrawl.store import rowcrc
from webcrawl.store.crawldb import CrawlDB

SLICE = 32  # rows
ROW = "INSERT OR REPLACE INTO host VALUES (?, 1, ?, ?)"


class Queues:
    """Queues as the frontier has them: one row per queue, written when the queue changed; a Part."""

    def __init__(self, db: CrawlDB, pool: Pool, count: int) -> None:
        self._db, self._random = db, random.Random(1)
        self._fifos = [pool.fifo() for _ in range(count)]
        self._dirty: set[int] = set()
        pool.on_spill = self._dirty.add
        for number, fifo in enumerate(self._fifos):
            fifo.owner = number
        db.join(self)

    def push(self, count: int) -> None:
        chance, queues = self._random, len(self._fifos)
        for _ in range(count):
            i = int(chance.random() * queues)
            page = chance.getrandbits(64)
            self._fifos[i].push(
                b"http://www.host%05d.example.org/section/%08x/%08x.html" % (i, page >> 32, page & 0xFFFFFF)
            )
            self._dirty.add(i)

    def pop(self, count: int) -> None:
        chance, queues = self._random, len(self._fifos)
        for _ in range(count):
            i = int(chance.random() * queues)
            self._fifos[i].pop()
            self._dirty.add(i)

    def prepare(self) -> Iterator[None]:
        before = 2 * len(self._dirty)
        while len(self._dirty) * 4 < before * 3:  # while another round leaves clearly less for `save`
            before = len(self._dirty)
            for _ in range(0, before, SLICE):
                self._write(SLICE)
                yield

    def save(self) -> None:
        self._write(len(self._dirty))

    def _write(self, most: int) -> None:
        rows = [self._dirty.pop() for _ in range(min(most, len(self._dirty)))]
        hosts = [(f"host{i}.example.org", self._fifos[i].save()) for i in rows]
        self._db.executemany(ROW, [(name, data, rowcrc.host(name, 1, data)) for name, data in hosts])


def _round(db: CrawlDB, queues: Queues) -> dict[str, float]:
    longest = 0.0
    slices = db.prepare()
    while True:
        begin = time.perf_counter()
        if next(slices, db) is db:
            break
        longest = max(longest, time.perf_counter() - begin)
        time.sleep(0.001)  # a turn of the event loop: the crawl continues
        queues.push(10)
        queues.pop(7)
    begin, cpu = time.perf_counter(), time.thread_time()
    db.checkpoint()
    end, cpu_end = time.perf_counter(), time.thread_time()
    queues.push(1)
    db.set("first", b"write")
    first = time.perf_counter() - end
    return {
        "stop_ms": 1000 * (end - begin),
        "stop_cpu_ms": 1000 * (cpu_end - cpu),
        "slice_ms": 1000 * longest,
        "first_write_ms": 1000 * first,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checkpoint", description=__doc__)
    parser.add_argument("--n", type=int, default=10_000_000)
    parser.add_argument("--queues", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--memory", type=int, default=64)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, closing(CrawlDB(Path(scratch))) as db:
        queues = Queues(db, Pool(Blocks(db), args.memory << 20), args.queues)
        queues.push(args.n)
        _round(db, queues)
        rounds = []
        for _ in range(args.rounds):
            queues.push(1_000_000)
            queues.pop(700_000)
            rounds.append(_round(db, queues))
        figures = {}
        for name in rounds[0]:
            values = [figure[name] for figure in rounds]
            figures |= {f"{name}_median": statistics.median(values), f"{name}_worst": max(values)}
        log = (Path(scratch) / "crawl.db-wal").stat().st_size
        report("checkpoint", queued=args.n, queues=args.queues, rounds=args.rounds, log_mib=log >> 20, **figures)


if __name__ == "__main__":
    main()
