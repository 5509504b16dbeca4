"""Content seen: the 128-bit digests of all bodies, looked up and added in one step, in bounded memory.

On disk they are sorted files like F's, with two columns: a digest's first eight bytes are the key, its last eight
the second value. New digests form a set in memory; a thread merges a full set into the files while the next fills.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from threading import Event

import numpy as np

from webcrawl.base.readable import count
from webcrawl.frontier.seen.files import Change, RunSet
from webcrawl.frontier.seen.keys import ranges
from webcrawl.frontier.seen.known_keys import Cancelled
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.runs import Keys, Run, RunWriter, between
from webcrawl.store.worker import Worker

logger = logging.getLogger(__name__)

NAME = "content.fresh"
SIZE = 16  # bytes of a digest
FRESH = 1 << 15  # digests per set at most: half a MiB to write at a checkpoint
# A look-up reads from every file, so there must be few: each is over four times as large as all smaller ones. The
# rewriting that this costs is affordable, because there are forty links per body.
GROWTH = 4.0


class ContentSeen:
    """The bodies that were seen. Not thread-safe."""

    def __init__(self, db: CrawlDB, *, memory: int) -> None:
        """`memory` in bytes: 81 per digest in each of the two sets, 100 per row in a merge."""
        self._db, self._limit, self._budget = db, max(1, min(FRESH, memory // 512)), max(1, memory // 1024)
        self._fresh = _stored(db)
        self._frozen: set[bytes] = set()  # what the thread merges
        self._changed = False
        self._runs = RunSet(db, "content", 2, GROWTH)
        self._merging: Future[Change] | None = None
        self._stop = Event()
        try:
            self._worker = Worker()
        except BaseException:
            self._runs.close()
            raise
        db.join(self)

    def __repr__(self) -> str:
        return f"<ContentSeen fresh={len(self._fresh)}+{len(self._frozen)} {self._runs!r}>"

    def __len__(self) -> int:
        return len(self._fresh) + len(self._frozen) + len(self._runs)

    def seen(self, digest: bytes) -> bool:
        """Adds a digest; returns whether it was added before."""
        if self.holds(digest):
            return True
        self.add(digest)
        return False

    def add(self, digest: bytes) -> None:
        """Adds a digest that is known not to have been added before."""
        if len(self._fresh) >= self._limit:
            self._adopt(wait=True)  # waits only if the last merge is slower than the next set fills
            self._freeze()
        self._fresh.add(digest)
        self._changed = True

    def holds(self, digest: bytes) -> bool:
        """True if a digest was added before."""
        if len(digest) != SIZE:
            raise ValueError(f"a digest of {len(digest)} bytes, not {SIZE}")
        self._adopt(wait=False)
        return digest in self._fresh or digest in self._frozen or self._on_disk(digest)

    def _on_disk(self, digest: bytes) -> bool:
        key, second = int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:], "big")
        return any(run.holds(key, second) for run in self._runs.runs)

    def _freeze(self) -> None:
        self._frozen, self._fresh = self._fresh, set()
        replaced = self._runs.plan(len(self._frozen))
        job = (self._frozen, replaced, self._runs.create, self._budget, self._stop)
        self._merging = self._worker.submit(_merge, *job)

    def _adopt(self, *, wait: bool) -> None:
        if self._merging is None or not (wait or self._worker.done(self._merging)):
            return
        try:
            change = self._worker.result(self._merging)
        except OSError as error:
            raise StoreError(f"{self._runs.names.folder}: {error}") from error
        self._merging = None
        self._runs.adopt(change)
        self._changed = True
        merged, files = count(len(self._frozen), "digest"), count(len(self._runs.runs), "file")
        logger.info("content seen: merged %s, %s", merged, files)
        self._frozen = set()

    def stats(self) -> dict[str, int | float]:
        return {"keys": len(self), "runs": len(self._runs.runs)}

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        """Saves as if a merge under way had not begun."""
        self._runs.save()
        if self._changed:
            self._db.set(NAME, b"".join(self._frozen) + b"".join(self._fresh))
            self._changed = False

    def check(self) -> Iterator[DamagedFile]:
        return self._runs.check()

    def close(self) -> None:
        self._stop.set()
        self._worker.close()
        if self._merging is not None:
            with contextlib.suppress(Exception):  # it was told to stop, or has failed: nothing of it is kept
                self._worker.result(self._merging).close()
            self._merging = None
        self._runs.close()


def _stored(db: CrawlDB) -> set[bytes]:
    value = db.get(NAME) or b""
    if len(value) % SIZE:
        raise DamagedFile(db.path, 0, f"table meta, {NAME}: {len(value)} bytes are no digests")
    return {value[at : at + SIZE] for at in range(0, len(value), SIZE)}


def _merge(
    digests: Collection[bytes], replaced: list[Run], create: Callable[[], RunWriter], budget: int, stop: Event
) -> Change:
    """Writes the digests and the runs that it replaces as one run, one range of keys after the other."""
    fresh = np.frombuffer(b"".join(digests), ">u8").reshape(-1, 2).T.astype(np.uint64)
    fresh = fresh[:, np.argsort(fresh[0])]
    writer = create()
    try:
        for low, high in ranges(len(digests) + sum(run.count for run in replaced), budget):
            writer.append(*_range(fresh, replaced, low, high, stop))
    except BaseException:
        writer.abandon()
        raise
    writer.finish()
    return Change(Run(writer.path), replaced)


def _range(fresh: Keys, replaced: list[Run], low: int, high: int, stop: Event) -> Keys:
    if stop.is_set():
        raise Cancelled
    rows: Keys = np.concatenate([between(fresh, low, high), *(run.between(low, high) for run in replaced)], axis=1)
    return rows[:, np.argsort(rows[0], kind="stable")]
