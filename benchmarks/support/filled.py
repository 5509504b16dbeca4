"""A seen store that has long been at work, made directly: its files F of any size, and its buffer T
nearly full.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np

from benchmarks.support.seen_streams import Strided, as_array
from webcrawl.frontier.seen.caches.policies import StaticCache
from webcrawl.frontier.seen.disk import DiskSeen
from webcrawl.frontier.seen.protocol import layout
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.runs import RunWriter

KEYS_AT_ONCE = 1_000_000  # keys made at a time
BATCH = 1 << 16
RECORD = b"http://www.site%09d.example/archive/story.html"
MISSING_FOR_MERGE = 20_000  # records that T lacks for a merge


def fill_files(state: Path, count: int, *, small: int = 0) -> None:
    """Give F so many keys: one file, and a second one with each `small`-th key.

    Merges leave such files.
    """
    known = Strided(count)
    with closing(CrawlDB(state)) as db:
        (state / "seen").mkdir(exist_ok=True)
        writers = [
            RunWriter(db.disk, state / f"seen/url-{number:08}")
            for number in range(1, 2 + bool(small))
        ]
        for first in range(0, count, KEYS_AT_ONCE):
            keys = known.keys(np.arange(first, min(first + KEYS_AT_ONCE, count), dtype=np.uint64))
            writers[-1].append(keys[::small] if small else keys)
            if small:
                writers[0].append(np.delete(keys, slice(None, None, small)))
        for writer in writers:
            writer.finish()
            db.execute("INSERT INTO run VALUES (?, 'url', ?)", (writer.path.name, writer.count))
        db.checkpoint()


def fill_buffer(state: Path, count: int, memory: int) -> int:
    """Submit keys that F has until T is nearly full, and return how many wait.

    `count` is that of `fill_files`.
    """
    known, sizes = Strided(count), layout(memory)
    with (
        closing(CrawlDB(state)) as db,
        closing(DiskSeen(db, memory=memory, cache=StaticCache(0))) as seen,
    ):
        most = (
            max(sizes.least, min(int(sizes.share * seen.stats()["keys"]), sizes.largest))
            - MISSING_FOR_MERGE
        )
        random = np.random.default_rng(3)
        while (left := most - seen.pending) > 0:
            numbers = random.integers(0, count, min(BATCH, left), np.uint64)
            seen.submit(
                as_array(known.keys(numbers)), [RECORD % number for number in numbers.tolist()]
            )
            if seen.pending % (16 * BATCH) < BATCH:
                for _ in db.prepare():
                    pass
                db.checkpoint()
        db.checkpoint()
        return seen.pending
