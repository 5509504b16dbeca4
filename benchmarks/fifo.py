"""Disk FIFOs compared with queuelib's.

Each case runs in a separate process, which has its own peak memory. URLs are pushed to all queues in turn, then popped
in turn and compared; a checkpoint follows each half. Rates are per second of CPU. queuelib, which syncs nothing and
loses everything in a kill, gets the same number of queues with fewer URLs each.
"""

from __future__ import annotations

import argparse
import itertools
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Protocol

from queuelib import FifoDiskQueue

from benchmarks.support.report import report, timed
from webcrawl.frontier.blocks import Blocks
from webcrawl.frontier.fifo import Pool
from webcrawl.store.crawldb import CrawlDB

CASES = {  # queues, URLs in each
    "one queue": (1, 10_000_000),
    "a thousand queues": (1000, 10_000),
    "queuelib, a thousand queues": (1000, 2000),
    "a hundred thousand queues": (100_000, 100),
}
URL_BYTES = 70


class Queue(Protocol):
    def push(self, record: bytes) -> None: ...

    def pop(self) -> bytes | None: ...


def _urls(count: int) -> list[bytes]:
    """URLs of 70 bytes, about as similar as those of one site."""
    chance = random.Random(1)
    words = [f"{chance.getrandbits(40):08x}"[: chance.randint(3, 8)] for _ in range(500)]
    urls = []
    for i in range(count):
        path = "/".join(chance.choice(words) for _ in range(3))
        urls.append(f"http://www.{chance.choice(words)}.example.org/{path}/{i:07d}".encode().ljust(URL_BYTES, b"x"))
    return urls


def _measure(name: str, queues: list[Queue], each: int, settle: Callable[[], None], folder: Path) -> None:
    urls, total = _urls(99_991), len(queues) * each  # a prime, so that every queue gets every URL

    def turns() -> Iterator[tuple[Queue, bytes]]:
        return zip(itertools.cycle(queues), itertools.islice(itertools.cycle(urls), total), strict=False)

    with timed() as pushing:
        for queue, url in turns():
            queue.push(url)
        settle()
    disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    with timed() as popping:
        for queue, url in turns():
            if queue.pop() != url:
                raise AssertionError("a queue gave another record than it was given")
        settle()
    report(
        name,
        queues=len(queues),
        urls_each=each,
        pairs_per_cpu_second=round(total / (pushing.cpu + popping.cpu)),
        push_us=pushing.cpu / total * 1e6,
        pop_us=popping.cpu / total * 1e6,
        pair_seconds_us=(pushing.seconds + popping.seconds) / total * 1e6,
        disk_bytes_per_url=disk / total,
    )


def _ours(name: str, queues: int, each: int, memory: int) -> None:
    with tempfile.TemporaryDirectory() as scratch, closing(CrawlDB(Path(scratch))) as db:
        pool = Pool(Blocks(db), memory << 20)

        def settle() -> None:
            for _ in db.prepare():
                pass
            db.checkpoint()

        _measure(name, [pool.fifo() for _ in range(queues)], each, settle, Path(scratch))


def _queuelib(name: str, queues: int, each: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as scratch:
        files = [FifoDiskQueue(f"{scratch}/{i}") for i in range(queues)]
        _measure(name, files, each, lambda: None, Path(scratch))
        for file in files:
            file.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fifo", description=__doc__)
    parser.add_argument("--n", type=int, default=0, help="URLs per queue, instead of each case's number")
    parser.add_argument("--memory", type=int, default=128, help="MiB for the heads and tails of all queues")
    parser.add_argument("--case", choices=CASES, help="run only this case, in this process")
    args = parser.parse_args()
    if not args.case:
        for case in CASES:
            command = [sys.executable, "-m", "benchmarks.fifo", "--case", case]
            subprocess.run([*command, "--n", str(args.n), "--memory", str(args.memory)], check=True)
        return
    queues, each = CASES[args.case]
    if args.case.startswith("queuelib"):
        _queuelib(f"fifo: {args.case}", queues, args.n or each)
    else:
        _ours(f"fifo: {args.case}", queues, args.n or each, args.memory)


if __name__ == "__main__":
    main()
