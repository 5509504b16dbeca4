"""Records of pages by due time: CPU per page, bytes per page on disk, memory.

Real URLs (if WEBCRAWL_CASES names the cases) with ETags of 20 to 34 bytes and a date. First all pages are kept, as in
a crawl that finds them, then some are taken and kept again, at 50 per second of a clock that is only counted. Every
minute of that clock has its checkpoint. The baseline is a table with an index of the due time, one row per page.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Protocol

from benchmarks.support.report import report, timed
from webcrawl.crawl.revisit.record import PageRecord, pack, unpack
from webcrawl.crawl.revisit.revisits import Revisits
from webcrawl.store.crawldb import CrawlDB

CASES = {"hundred thousand": 100_000, "two million": 2_000_000, "baseline, hundred thousand": 100_000}
NOW = 1.8e9
FOUND, AGAIN = 400, 50  # pages per second: of a crawl, and of the budget
STAMP = 6  # bytes in front of a record: its time, and what that means
PAGE = 8192  # bytes, of the database
ROUND = 23 * 86_400.0  # seconds in which all pages are fetched again, on average
DATE = b"Sat, %02d Nov 2025 %02d:%02d:%02d GMT"


class Spread:
    """A policy that costs nothing: pages are due at random, counted from where the queue is."""

    early = True

    def __init__(self) -> None:
        self._random, self._front = Random(2), 0.0

    def observe(self, record: PageRecord, seconds: float, changed: bool) -> None: ...  # noqa: FBT001

    def due(self, record: PageRecord, now: float, missed: float = 1.0) -> float:
        return max(now, self._front) + self._random.random() * 2 * ROUND

    def took(self, record: PageRecord, now: float, due: float) -> None:
        self._front = due

    def spared(self, part: float) -> None: ...

    def state(self) -> bytes:
        return b""

    def restore(self, data: bytes) -> None: ...


class Store(Protocol):
    def keep(self, record: PageRecord, now: float) -> None: ...

    def take(self, now: float, most: int) -> list[PageRecord]: ...


class Rows:
    """The baseline."""

    def __init__(self, db: CrawlDB, policy: Spread) -> None:
        self._db, self._policy = db, policy
        db.need("revisit")  # and leaves it empty
        db.execute("CREATE TABLE page (due REAL NOT NULL, data BLOB NOT NULL)")
        db.execute("CREATE INDEX page_due ON page (due)")

    def keep(self, record: PageRecord, now: float) -> None:
        self._db.execute("INSERT INTO page VALUES (?, ?)", (self._policy.due(record, now), pack(record)))

    def take(self, now: float, most: int) -> list[PageRecord]:
        rows = self._db.query("SELECT rowid, data FROM page ORDER BY due LIMIT ?", (most,))
        self._db.executemany("DELETE FROM page WHERE rowid = ?", [(row[0],) for row in rows])
        return [unpack(data) for _, data in rows]


def _urls() -> list[str]:
    if os.environ.get("WEBCRAWL_CASES"):
        from tests.support.real_urls import real_urls  # noqa: PLC0415 - it reads all cases

        urls = list(real_urls())
        Random(3).shuffle(urls)
        return urls
    return [
        f"https://www.site{number % 997}.example.org/section/{number % 31}/page{number}" for number in range(99_991)
    ]


def _records(count: int, urls: list[str]) -> Iterator[PageRecord]:
    chance = Random(1)
    for number in range(count):
        url, round_ = urls[number % len(urls)], number // len(urls)
        yield PageRecord(
            f"{url}{'&' if '?' in url else '?'}p={round_}" if round_ else url,
            "LLL"[: 1 + number % 3],
            NOW,
            b'"%s"' % chance.randbytes(16).hex()[: chance.randint(18, 32)].encode(),
            DATE % (1 + chance.randrange(30), chance.randrange(24), chance.randrange(60), chance.randrange(60)),
            chance.getrandbits(64),
            chance.getrandbits(64),
            chance.random(),
            chance.random() * 1e6,
            chance.random(),
            number % 20,
            number % 7,
        )


def _size(db: CrawlDB) -> int:
    """Bytes of the database that are in use."""
    return (
        int(db.query("SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count")[0][0]) * PAGE
    )


def _rss() -> float:
    """MiB of this process now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def _measure(name: str, db: CrawlDB, store: Store, count: int, again: int, *, trace: bool) -> None:
    def checkpoint() -> None:
        for _ in db.prepare():
            pass
        with timed() as stopped:
            db.checkpoint()
        stops.append(stopped.seconds)

    stops: list[float] = []
    saving = 0.0
    urls = _urls()
    if trace:
        tracemalloc.start()
    length = sum(map(len, urls)) / len(urls)
    records, keeping, before, now = _records(count, urls), 0.0, _rss(), NOW
    while batch := [record for record, _ in zip(records, range(FOUND * 60), strict=False)]:
        now += 60.0
        with timed() as clock:
            for record in batch:
                record.fetched = now
                store.keep(record, now)
            checkpoint()
        keeping += clock.cpu
    size = _size(db)
    blocks = db.query("SELECT count(*) FROM revisit")[0][0]
    kept, taking, done = _rss() - before, 0.0, 0
    if trace:
        tracemalloc.reset_peak()
    now += 120.0
    while done < again:
        with timed() as clock:
            for _ in range(60):
                now += 1.0
                for record in store.take(now, AGAIN):
                    record.fetched = now
                    store.keep(record, now)
                    done += 1
        taking += clock.cpu
        with timed() as clock:
            checkpoint()
        saving += clock.cpu
    report(
        f"revisits_store: {name}",
        pages=count,
        url_bytes=length,
        packed_bytes_beside_url_and_validators=len(pack(PageRecord("", "", NOW))) - 1 + STAMP,
        keep_us=keeping / count * 1e6,
        take_and_keep_us=taking / done * 1e6,
        checkpoints_us=saving / done * 1e6,
        taken=done,
        disk_bytes_per_page=size / count,
        disk_bytes_per_page_after=_size(db) / count,
        pages_per_block=count / max(blocks, 1),
        memory_mib=kept,
        memory_mib_after=_rss() - before,
        checkpoint_stops_ms=max(stops) * 1e3,
        **_traced(),
    )


def _traced() -> dict[str, float]:
    """MiB that Python holds now, and held at most while pages were taken."""
    if not tracemalloc.is_tracing():
        return {}
    held, most = tracemalloc.get_traced_memory()
    return {"held_mib": held / 2**20, "held_at_most_mib": most / 2**20}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.revisits_store", description=__doc__)
    parser.add_argument("--n", type=int, default=0, help="pages, instead of each case's number")
    parser.add_argument("--again", type=int, default=100_000, help="pages that are taken and kept again")
    parser.add_argument("--trace", action="store_true", help="count Python's memory, which takes four times as long")
    parser.add_argument("--case", choices=CASES, help="run only this case, in this process")
    args = parser.parse_args()
    if not args.case:
        for case in CASES:
            command = [sys.executable, "-m", "benchmarks.revisits_store", "--case", case, "--again", str(args.again)]
            subprocess.run([*command, "--n", str(args.n)], check=True)
        return
    with tempfile.TemporaryDirectory() as scratch, closing(CrawlDB(Path(scratch))) as db:
        policy = Spread()
        rate: Callable[[], float] = lambda: float(AGAIN)  # noqa: E731 - as short as that
        rows = args.case.startswith("baseline")
        store = Rows(db, policy) if rows else Revisits(db, policy, rate=rate, random=Random(4))
        _measure(args.case, db, store, args.n or CASES[args.case], args.again, trace=args.trace)


if __name__ == "__main__":
    main()
