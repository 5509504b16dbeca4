"""Links from one drone of a hive to another: the whole way, and a drone that never reads.

Each case runs in a separate process, which has its own peak memory. `exchange` has two drones in one process, with
checkpoints on disk and no server between them: links are put, letters closed, written, sent, received and acknowledged.
`entries` is the baseline: each link is pickled by itself and not compressed, as scrapy-redis does it with its requests,
and nothing is kept. `dead` collects links for a drone that does not read; then it comes, and gets all of them.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import pickle
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from benchmarks.support.report import report, timed
from webcrawl.base.model import Link, Packed, pack_found
from webcrawl.crawl.hive.inbox import Inbox
from webcrawl.crawl.hive.message import Kind, Message, pack, unpack
from webcrawl.crawl.hive.outbox import Outbox
from webcrawl.store.crawldb import CrawlDB

HIVE = b"sixteen bytes 16"
PAGE = 20  # links of a page for one other drone
PAGES = 10_000  # different ones
EVERY = 100_000  # links between two checkpoints
CASES = {"exchange": 2_000_000, "entries": 500_000, "dead": 10_000_000}


def _pages() -> list[list[Packed]]:
    """The foreign links of pages, packed: 120 bytes each."""
    chance = random.Random(1)
    words = [f"{chance.getrandbits(40):08x}"[: chance.randint(3, 8)] for _ in range(3000)]

    def url() -> str:
        host = f"www.{chance.choice(words)}{chance.choice(words)}.example"
        return f"https://{host}/{chance.choice(words)}/{chance.choice(words)}-{chance.randrange(10**5)}.html"

    pages = []
    for _ in range(PAGES):
        page = Link(url(), "LLL", url(), f"https://{chance.choice(words)}.example/")
        pages.append(pack_found(page, [(url(), "l") for _ in range(PAGE)]))
    return pages


class Stages(Counter[str]):
    """CPU seconds by stage."""

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        start = time.process_time()
        yield
        self[name] += time.process_time() - start


class Ends:
    """A sender, a receiver, and places as a server would give them."""

    def __init__(self, folder: Path) -> None:
        self.dbs = [CrawlDB(folder / name) for name in ("sender", "receiver")]
        self.outbox = Outbox(self.dbs[0], 0, HIVE)
        self.inbox = Inbox(self.dbs[1], HIVE, self._handle)
        self.handled = self.bytes = self.letters = 0
        self.stages = Stages()
        self.slowest = 0.0  # milliseconds of a checkpoint, without what is done ahead of it

    def _handle(self, message: Message) -> None:
        self.handled += len(message.items)

    def exchange(self) -> None:
        """Everything that is due, to the receiver."""
        while True:
            with self.stages.of("due"):
                letters = self.outbox.due(1, 64)
            if not letters:
                return
            for letter in letters:
                self.letters += 1
                self.bytes += len(letter.data)
                place = f"{self.letters}-0"
                with self.stages.of("sent"):
                    self.outbox.sent(1, letter, place)
                with self.stages.of("received"):
                    self.inbox.received(place, letter.data)

    def checkpoint(self) -> None:
        with self.stages.of("checkpoints"):
            for db in self.dbs:
                for _ in db.prepare():
                    pass
                start = time.process_time()
                db.checkpoint()
                self.slowest = max(self.slowest, (time.process_time() - start) * 1e3)
            self.outbox.committed()
            self.inbox.committed()

    def acknowledge(self) -> None:
        with self.stages.of("acknowledged"):
            self.outbox.acknowledged(1, self.inbox.committed_place)

    def close(self) -> None:
        for db in self.dbs:
            db.close()


def _exchange(count: int, folder: Path) -> None:
    pages = _pages()
    with closing(Ends(folder)) as ends, timed() as clock:
        put, stages = ends.outbox.put, ends.stages
        for number, page in enumerate(itertools.islice(itertools.cycle(pages), count // PAGE), 1):
            put(1, Kind.LINKS, page)
            if number % 256:
                continue
            ends.exchange()
            if number * PAGE % EVERY < 256 * PAGE:
                ends.checkpoint()
                ends.acknowledge()
        ends.outbox.close(0.0, all=True)
        ends.exchange()
        ends.checkpoint()
        ends.acknowledge()
    if ends.handled != count or ends.outbox.unacknowledged:
        raise AssertionError(f"{ends.handled} links arrived")
    stages["put"] = clock.cpu - stages.total()
    report(
        "hive: exchange",
        links=count,
        links_a_cpu_second=round(count / clock.cpu),
        us_a_link={name: round(seconds / count * 1e6, 3) for name, seconds in stages.most_common()},
        wire_bytes_a_link=ends.bytes / count,
        codec_us_a_link=_codec(pages),
    )


def _codec(pages: list[list[Packed]]) -> float:
    """CPU time of `pack` and `unpack` alone."""
    letters = [list(itertools.chain(*pages[at : at + 13]))[:256] for at in range(0, len(pages) - 13, 13)]
    with timed() as clock:
        for letter in letters:
            unpack(pack(Message(Kind.LINKS, 0, 1, 0, letter), HIVE), HIVE)
    return clock.cpu / (256 * len(letters)) * 1e6


def _entries(count: int, folder: Path) -> None:  # noqa: ARG001 - nothing is kept
    pages = [[_request(link) for link in page] for page in _pages()]
    size = handled = 0
    with timed() as clock:
        for page in itertools.islice(itertools.cycle(pages), count // PAGE):
            for request in page:
                data = pickle.dumps(request, protocol=-1)
                size += len(data)
                handled += bool(pickle.loads(data))  # noqa: S301 - our own bytes
    report(
        "hive: entries (baseline)",
        links=handled,
        links_a_cpu_second=round(handled / clock.cpu),
        wire_bytes_a_link=size / handled,
    )


def _request(record: Packed) -> dict[str, object]:
    """What Scrapy's Request.to_dict says of this link."""
    url, path, via, seed, *_ = record.decode().split(" ")
    meta = {"depth": len(path), "via": via, "seed": seed}
    return {
        "url": url,
        "callback": None,
        "errback": None,
        "method": "GET",
        "headers": {b"Referer": [via.encode()]},
        "body": b"",
        "cookies": {},
        "meta": meta,
        "encoding": "utf-8",
        "priority": 0,
        "dont_filter": False,
        "flags": [],
        "cb_kwargs": {},
    }


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


def _dead(count: int, folder: Path) -> None:
    pages = _pages()
    with closing(Ends(folder)) as ends:
        gc.collect()
        before = _resident()
        with timed() as putting:
            for number, page in enumerate(itertools.islice(itertools.cycle(pages), count // PAGE), 1):
                ends.outbox.put(1, Kind.LINKS, page)
                if number * PAGE % EVERY == 0:
                    ends.checkpoint()
            ends.checkpoint()
        grown, slowest = _resident() - before, ends.slowest
        disk = sum(path.stat().st_size for path in (folder / "sender").iterdir())
        with timed() as reopening:
            _reopen(ends)
        with timed() as reading:
            _drain(ends)
    if ends.handled != count or ends.outbox.unacknowledged:
        raise AssertionError(f"{ends.handled} links arrived")
    report(
        "hive: a dead drone",
        links=count,
        disk_bytes_a_link=disk / count,
        rss_growth_mib=grown / 2**20,
        put_us_a_link=putting.cpu / count * 1e6,
        slowest_save_cpu_ms=slowest,
        reopened_ms=reopening.seconds * 1e3,
        read_us_a_link=reading.cpu / count * 1e6,
        rss_growth_mib_after=(_resident() - before) / 2**20,
    )


def _reopen(ends: Ends) -> None:
    """The sender starts again, from its last checkpoint."""
    ends.dbs[0].close()
    ends.dbs[0] = CrawlDB(ends.dbs[0].folder)
    ends.outbox = Outbox(ends.dbs[0], 0, HIVE)


def _drain(ends: Ends) -> None:
    while letters := ends.outbox.due(1, 64):
        for letter in letters:
            ends.letters += 1
            ends.outbox.sent(1, letter, f"{ends.letters}-0")
            ends.inbox.received(f"{ends.letters}-0", letter.data)
        if ends.letters % 1024 < 64:
            ends.checkpoint()
            ends.acknowledge()
    ends.checkpoint()
    ends.acknowledge()


RUN: dict[str, Callable[[int, Path], None]] = {"exchange": _exchange, "entries": _entries, "dead": _dead}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hive_exchange", description=__doc__)
    parser.add_argument("--n", type=int, default=0, help="links, instead of each case's number")
    parser.add_argument("--case", choices=CASES, help="run only this case, in this process")
    args = parser.parse_args()
    if not args.case:
        for case in CASES:
            command = [sys.executable, "-m", "benchmarks.hive_exchange", "--case", case]
            subprocess.run([*command, "--n", str(args.n)], check=True)
        return
    count = args.n or CASES[args.case]
    with tempfile.TemporaryDirectory() as scratch:
        RUN[args.case](count - count % PAGE, Path(scratch))


if __name__ == "__main__":
    main()
