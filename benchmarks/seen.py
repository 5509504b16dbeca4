"""The seen store; docs/seen.md explains the lines.

Each workload runs in a separate process, which has its own peak memory.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.support.filled import fill_files
from benchmarks.support.report import report
from benchmarks.support.seen_baselines import PlainSet, Rocks
from benchmarks.support.seen_streams import Stream, Strided, pages, spread
from webcrawl.frontier.seen.bloom import BloomSeen
from webcrawl.frontier.seen.caches.clock import ClockCache
from webcrawl.frontier.seen.caches.protocol import UrlCache
from webcrawl.frontier.seen.caches.static import StaticCache
from webcrawl.frontier.seen.content import ContentSeen
from webcrawl.frontier.seen.disk import DiskSeen
from webcrawl.frontier.seen.layout import shares
from webcrawl.frontier.seen.protocol import SeenStore, SeenStoreFactory
from webcrawl.store.crawldb import CrawlDB

BATCH = 1 << 16  # fingerprints submitted at a time: RocksDB takes 1.6 times as long with 4096
MILLION = 1_000_000


class Crawl:
    """A seen store in a state folder, with its share of the memory and a checkpoint now and then."""

    def __init__(
        self, folder: Path, memory: int, cache: UrlCache, every: int, make: SeenStoreFactory = DiskSeen
    ) -> None:
        """`every`: submissions between two checkpoints."""
        self.db = CrawlDB(folder)
        self.store: SeenStore = make(self.db, memory=shares(memory << 20, 1 << 16)[0], cache=cache)
        self.submitted, self.every, self.worst = 0, every, 0.0

    def count(self, submitted: int) -> None:
        self.submitted += submitted
        if self.submitted >= self.every:
            self.submitted = 0
            for _ in self.db.prepare():
                pass
            started = time.perf_counter()
            self.db.checkpoint()
            self.worst = max(self.worst, time.perf_counter() - started)

    def finish(self) -> int:
        """Merges and takes what is left; returns how much that is."""
        taken = 0
        while self.store.pending:
            self.store.merge()
            taken += len(self.store.take(BATCH))
            if self.store.busy:
                time.sleep(0.01)
        return taken

    def close(self) -> None:
        self.store.close()
        self.db.close()


def windows(name: str, step: Callable[[int], int], n: int, window: int) -> None:
    """Calls `step` until n distinct keys have come, with one line per window."""
    distinct = 0
    for first, last in pairwise(range(0, n + 1, window)):
        cpu, seconds, submitted = time.process_time(), time.perf_counter(), 0
        while distinct < last:
            submitted += step(distinct)
            distinct += BATCH // 2
        cpu, seconds = time.process_time() - cpu, time.perf_counter() - seconds
        rates = {"thousand_a_cpu_second": submitted / cpu / 1e3, "thousand_a_second": submitted / seconds / 1e3}
        report(name, **{"from": first, "to": last}, us_cpu=cpu / submitted * 1e6, **rates)


def fingerprints(folder: Path, args: argparse.Namespace) -> None:
    """Fingerprints only, every second one a repeat of an earlier one; records are empty."""
    crawl, stream, nothing, taken = Crawl(folder, args.memory, StaticCache(0), 1 << 24), Stream(), [b""] * BATCH, 0

    def step(distinct: int) -> int:
        nonlocal taken
        crawl.store.submit(stream.batch(distinct, BATCH), nothing)
        taken += len(crawl.store.take(BATCH))
        crawl.count(BATCH)
        return BATCH

    windows("seen.disk", step, args.n, args.window)
    taken += crawl.finish()
    written = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    right = taken == -(-args.n // (BATCH // 2)) * (BATCH // 2)
    report(
        "seen.disk.end",
        taken=taken,
        all_new_ones_and_no_other=right,
        mib_on_disk=written >> 20,
        worst_checkpoint_ms=crawl.worst * 1e3,
        **crawl.store.stats(),
    )
    crawl.close()


def rocksdb(folder: Path, args: argparse.Namespace) -> None:
    """The baseline: the same batches through RocksDB."""
    rocks, stream = Rocks(folder), Stream()

    def step(distinct: int) -> int:
        rocks.submit(stream.batch(distinct, BATCH))
        return BATCH

    windows("seen.rocksdb", step, args.baseline_n, min(args.window, args.baseline_n))
    rocks.close()


def text(folder: Path, args: argparse.Namespace) -> None:
    """Pages of 40 links of 70 bytes, every second link a repeat: text in, new text out, with the cache in front."""
    crawl = Crawl(folder, args.memory, ClockCache(1 << 16), 1 << 19)
    worst = 0.0

    def submit(keys: list[int], urls: list[bytes]) -> int:
        nonlocal worst
        started = time.perf_counter()
        crawl.store.submit(keys, urls)
        worst = max(worst, time.perf_counter() - started)
        crawl.count(len(keys))
        return len(crawl.store.take(256))

    compare("seen.text", submit, crawl.finish, args.text_n)
    report("seen.text.end", worst_submit_ms=worst * 1e3, worst_checkpoint_ms=crawl.worst * 1e3, **crawl.store.stats())
    crawl.close()


def plain_set(_: Path, args: argparse.Namespace) -> None:
    """The baseline: the same pages through a Python set."""
    plain = PlainSet()
    compare("seen.text.set", plain.submit, int, args.text_n)


def bloom(folder: Path, args: argparse.Namespace) -> None:
    """The same pages through the Bloom filter."""
    crawl = Crawl(folder, args.memory, ClockCache(1 << 16), 1 << 19, BloomSeen)

    def submit(keys: list[int], urls: list[bytes]) -> int:
        crawl.store.submit(keys, urls)
        crawl.count(len(keys))
        return len(crawl.store.take(256))

    compare("seen.text.bloom", submit, crawl.finish, args.text_n // 4)
    report("seen.text.bloom.end", worst_checkpoint_ms=crawl.worst * 1e3, **crawl.store.stats())
    crawl.close()


def content(folder: Path, args: argparse.Namespace) -> None:
    """Bodies, every fourth one seen before."""
    db = CrawlDB(folder)
    store = ContentSeen(db, memory=shares(args.memory << 20, 1 << 16)[1])
    digests = [digest.tobytes() for digest in spread(np.arange(2 * args.text_n, dtype=np.uint64)).reshape(-1, 2)]
    worst, right, cpu = 0.0, True, time.process_time()
    for at, digest in enumerate(digests):
        started = time.perf_counter()
        right &= not store.seen(digest)
        worst = max(worst, time.perf_counter() - started)
        if at % 3 == 2:
            right &= store.seen(digests[at * 7919 % (at + 1)])
        if at % 60_000 == 0:
            db.checkpoint()
    cpu = time.process_time() - cpu
    figures = {"us_cpu": cpu / len(digests) / 4 * 3e6, "worst_ms": worst * 1e3, "all_answers_right": right}
    report("seen.content", **figures, **store.stats())
    store.close()
    db.close()


def compare(name: str, submit: Callable[[list[int], list[bytes]], int], finish: Callable[[], int], n: int) -> None:
    """CPU time per submission, without making the pages."""
    made, new, distinct = 0.0, 0, 0
    started = time.process_time()
    while distinct < n:
        making = time.thread_time()
        block = list(pages(distinct, 1000))
        made += time.thread_time() - making
        for keys, urls in block:
            new += submit(keys, urls)
        distinct += 20_000
    new += finish()
    cpu = time.process_time() - started - made
    report(
        name, submitted=2 * distinct, new=new, all_new_ones_and_no_other=new == distinct, us_cpu=cpu / distinct / 2e-6
    )


def billion(folder: Path, args: argparse.Namespace) -> None:
    """F with a billion keys, written directly as one sorted file; then submissions, half of them in F."""
    fill_files(folder, args.large_n)
    known = Strided(args.large_n)
    crawl = Crawl(folder, args.memory, StaticCache(0), 1 << 24)
    early(crawl, known)
    steps, nothing, taken = int(args.large_n * 0.22) // BATCH, [b""] * BATCH, 0
    cpu, seconds = time.process_time(), time.perf_counter()
    for step in range(steps):
        crawl.store.submit(known.batch(step, BATCH), nothing)
        taken += len(crawl.store.take(BATCH))
        crawl.count(BATCH)
    taken += crawl.finish()
    cpu, seconds, submitted = time.process_time() - cpu, time.perf_counter() - seconds, steps * BATCH
    figures = {"us_cpu": cpu / submitted * 1e6, "thousand_a_cpu_second": submitted / cpu / 1e3}
    right = taken == submitted // 2
    report("seen.billion", submitted=submitted, seconds=seconds, all_new_ones_and_no_other=right, **figures)
    report("seen.billion.end", worst_checkpoint_ms=crawl.worst * 1e3, **crawl.store.stats())
    crawl.close()


def early(crawl: Crawl, known: Strided) -> None:
    """How long a starving frontier waits for the verdicts on 50 pages' links."""
    waits = []
    for step in range(20):
        crawl.store.submit(known.batch(10**9 + step, 2000), [b""] * 2000)
        started = time.perf_counter()
        crawl.store.merge()
        while crawl.store.busy:
            time.sleep(0.0005)
        waits.append(time.perf_counter() - started)
        crawl.store.take(2000)
    report("seen.billion.early", records=2000, median_ms=sorted(waits)[10] * 1e3, worst_ms=max(waits) * 1e3)


WORKLOADS = {
    "fingerprints": fingerprints,
    "rocksdb": rocksdb,
    "text": text,
    "set": plain_set,
    "bloom": bloom,
    "content": content,
    "billion": billion,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.seen", description=__doc__)
    parser.add_argument("workloads", nargs="*", help=f"any of {', '.join(WORKLOADS)} (default: all but the last)")
    parser.add_argument("--n", type=int, default=10 * MILLION, help="distinct fingerprints (100000000 takes minutes)")
    parser.add_argument("--memory", type=int, default=256, help="MiB")
    parser.add_argument("--baseline-n", type=int, default=5 * MILLION, help="distinct fingerprints for RocksDB")
    parser.add_argument("--text-n", type=int, default=2 * MILLION, help="distinct URLs")
    parser.add_argument("--large-n", type=int, default=1000 * MILLION, help="keys of F in `billion`")
    parser.add_argument("--window", type=int, default=10 * MILLION, help="distinct fingerprints per line")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.window = min(args.window, args.n)
    if unknown := set(args.workloads) - WORKLOADS.keys():
        parser.error(f"no such workload: {', '.join(sorted(unknown))}")
    if args.inside:
        with tempfile.TemporaryDirectory(prefix="seen-") as folder:
            WORKLOADS[args.workloads[0]](Path(folder) / "state", args)
        return
    options = [word for word in sys.argv[1:] if word not in WORKLOADS]
    for name in args.workloads or list(WORKLOADS)[:-1]:
        subprocess.run([sys.executable, "-m", "benchmarks.seen", name, "--inside", *options], check=True)


if __name__ == "__main__":
    main()
