"""Seen stores for tests, so small that a few dozen records pass through every part."""

from __future__ import annotations

import threading
import time
from collections import Counter
from pathlib import Path

from benchmarks.support.memory_seen import MemorySeen
from tests.support.saving import prepared
from tests.support.tampering import tampered
from webcrawl.frontier.check_state import check_seen
from webcrawl.frontier.seen.bloom import BloomSeen
from webcrawl.frontier.seen.caches.clock import ClockCache
from webcrawl.frontier.seen.caches.policies import StaticCache
from webcrawl.frontier.seen.disk import DiskSeen
from webcrawl.frontier.seen.protocol import Layout
from webcrawl.frontier.seen.sorted_keys import opened
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import Disk

TINY = Layout(chunk=4, budget=5, largest=12, row=3, fresh=6, at_once=3, share=0.5, growth=1.0)
ROOMY = Layout(chunk=1000, budget=100, largest=10_000, row=8, fresh=50, at_once=20)
PLENTY = 1 << 20


def disk(db, *, cache=None, sizes=TINY, on_ready=None):
    """The disk store with tiny parts; without a cache unless one is given, so that all keys reach
    T.
    """
    return DiskSeen(
        db,
        memory=PLENTY,
        cache=StaticCache(0) if cache is None else cache,
        sizes=sizes,
        on_ready=on_ready,
    )


def memory(db, *, cache=None):
    return MemorySeen(db, memory=PLENTY, cache=ClockCache(16) if cache is None else cache)


def bloom(db, *, cache=None):
    return BloomSeen(
        db, memory=PLENTY, cache=ClockCache(16) if cache is None else cache, snapshot=20
    )


STORES = {"disk": disk, "memory": memory, "bloom": bloom}
OF_CRAWLS = ("disk", "bloom")  # the package's own: `verify` knows these


class Reopenable:
    """A store in a folder, which can be closed and reopened."""

    def __init__(self, folder: Path, make, fs=None):
        self.folder, self.make, self.fs = folder, make, fs
        self.open()

    def open(self):
        self.db = CrawlDB(self.folder, self.fs)
        try:
            self.store = self.make(self.db)
        except BaseException:
            self.db.close()
            raise

    def checkpoint(self):
        prepared(self.db)
        self.db.checkpoint()

    def close(self):
        self.store.close()
        self.db.close()

    def reopen(self):
        """Closes and opens the store; what no checkpoint has is lost."""
        self.close()
        self.open()

    def tamper(self, sql, *, sealed=True):
        """Closes the store and changes its database; leaves it closed."""
        self.close()
        tampered(self.folder / "crawl.db", sql, sealed=sealed)

    def damages(self):
        """What `verify` finds in the last checkpoint of the store, which is closed, except that the
        records of these tests are no links.
        """
        snapshot, files = opened(self.folder)
        try:
            found = list(check_seen(snapshot, files, Counter()))
            return [damage for damage in found if "not a link" not in damage.why]
        finally:
            files.close()
            snapshot.close()

    def names(self):
        """The files in the seen stores' folder."""
        return sorted(path.name for path in (self.folder / "seen").iterdir())

    def submit(self, *keys, tag=b""):
        self.store.submit(keys, [b"%d%s" % (key, tag) for key in keys])

    def wait(self):
        while self.store.busy:
            time.sleep(0.0005)

    def settle(self):
        """Merges and takes until nothing is pending."""
        taken = []
        while self.store.pending:
            self.store.merge()
            self.wait()
            taken += self.store.pop_new(5)
        return taken


def job_of(tmp_path, sizes=TINY, fs=None, on_ready=None):
    """A reopenable disk store with these sizes, on this disk."""
    return Reopenable(tmp_path / "state", lambda db: disk(db, sizes=sizes, on_ready=on_ready), fs)


class WaitingDisk(Disk):
    """Blocks the creation of files until `open` is set."""

    def __init__(self):
        self.open = threading.Event()

    def create(self, path):
        assert self.open.wait(120)
        return super().create(path)
