"""Sorted fingerprints: the numpy operations that merges consist of, and the files of all seen
stores.

All keys must be uint64: numpy silently compares uint64 with int64 as float64, with wrong results.

Runs on disk have geometrically growing sizes, so that each key is rewritten only a few times. A
running crawl removes files that it has replaced.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from webcrawl.frontier.seen.protocol import BLOOM_FILE
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import Disk, regular, remove_unnamed
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.runs import Keys, Mask, Run, RunWriter

Bits = npt.NDArray[np.uint8]

BLOCK = 1 << 14
HIGHEST = (1 << 64) - 1
NO_KEYS: Keys = np.empty(0, np.uint64)


def ranges(rows: int, budget: int) -> Iterator[tuple[int, int]]:
    """Split the key space into equal ranges (first, last) of about `budget` rows, if keys are
    uniform.
    """
    shares = max(1, -(-rows // budget))
    for share in range(shares):
        yield (share << 64) // shares, (((share + 1) << 64) // shares) - 1


def even(rows: int, budget: int, within: Callable[[int, int], int]) -> Iterator[tuple[int, int]]:
    """Split the key space into ranges of about `budget` rows, whatever the keys, in their order.

    A range that has far more rows is halved, as in a hive keys crowd in the ranges of slots.
    `within` returns how many rows a range has at least.
    """
    for first, last in ranges(rows, budget):
        ranges_left = [(first, last)]  # the lowest one is at the end
        while ranges_left:
            low, high = ranges_left.pop()
            if low == high or within(low, high) <= 2 * budget:
                yield low, high
                continue
            middle = (low + high) // 2
            ranges_left += [(middle + 1, high), (low, middle)]


def order(keys: Keys) -> Keys:
    """Return the positions of the keys by key, as a stable argsort does, in half its time.

    Sorts integers made of each key's high bits and its position. Keys that differ only in the few
    low bits lost this way may come out of order; if so, the nearly sorted result is sorted again.
    """
    bits = np.uint64(max(0, len(keys) - 1).bit_length())  # as many as a position takes
    low = (np.uint64(1) << bits) - np.uint64(1)  # the mask of these bits
    places: Keys = np.arange(len(keys), dtype=np.uint64)
    # avoids temporary arrays of full size
    blocks = [slice(at, at + BLOCK) for at in range(0, len(keys), BLOCK)]
    for block in blocks:
        places[block] |= keys[block] & ~low
    # One integer for key and place takes 61 ns per key, and an argsort 100.
    places.sort()
    places &= low
    # Each block with the first key of the next one.
    if any(_falls(keys[places[block.start : block.stop + 1]]) for block in blocks):
        places = places[np.argsort(keys[places], kind="stable")]
    return places


def _falls(keys: Keys) -> bool:
    """Return whether one of the keys is below the one before it."""
    return bool((keys[1:] < keys[:-1]).any())


def firsts(parts: Sequence[Keys]) -> Keys:
    """Return each key with its lowest ordinal.

    `parts` are rows (ascending keys, ordinals), in the order of ordinals.
    """
    rows: Keys = np.concatenate(parts, axis=1)
    # A stable sort merges sorted parts: 21 ns per row for 8 of them, as fast as the vectorised
    # unstable one.
    rows = rows[:, np.argsort(rows[0], kind="stable")]
    return distinct(rows)


def distinct(rows: Keys) -> Keys:
    """Return the first of each group of rows with equal keys; keys are ascending."""
    differs = rows[0, 1:] != rows[0, :-1]
    return rows if differs.all() else rows[:, np.append(True, differs)]


def merged(pieces: Sequence[Keys]) -> Keys:
    """Return the ascending union of ascending, disjoint pieces."""
    filled = [piece for piece in pieces if len(piece)]
    if len(filled) < 2:
        return filled[0] if filled else NO_KEYS
    keys: Keys = np.concatenate(filled)
    keys.sort(kind="stable")  # a merge, as above: 5 ns per key
    return keys


def packed(keys: array[int]) -> bytes:
    """Return keys as they are stored in the database: little-endian."""
    return np.frombuffer(keys, np.uint64).astype("<u8").tobytes()


def mark(bits: Bits, ordinals: Keys) -> None:
    """Set the bits with these numbers; bit 0 is the lowest of the first byte."""
    # Not `|=`: of several bits in one byte that would set only the last.
    np.bitwise_or.at(
        bits,
        (ordinals >> np.uint64(3)).view(np.int64),
        _BIT[(ordinals & np.uint64(7)).view(np.int64)],
    )


def marked(bits: Bits, first: int, last: int) -> Mask:
    """Return the bits `first` to `last` (exclusive), as `mark` has set them."""
    part = np.unpackbits(bits[first >> 3 : (last + 7) >> 3], bitorder="little")
    return part[first & 7 :][: last - first].view(np.bool_)


_BIT = (1 << np.arange(8)).astype(np.uint8)


COLUMNS = {"url": 1, "content": 2}  # of a store's runs
TRIES = 3  # a running crawl may replace files between the checkpoint that is read and their opening


class Names:
    """Numbered files of one kind in the state's folder `seen`; no number is used twice."""

    def __init__(self, state: Path, disk: Disk, kind: str) -> None:
        self.folder = state / "seen"
        self.kind = kind
        self._disk = disk
        self._pattern = re.compile(rf"{re.escape(kind)}-(\d{{8,}})")
        self.folder.mkdir(exist_ok=True)
        matches = [self._pattern.fullmatch(path.name) for path in self.folder.iterdir()]
        used = [int(match[1]) for match in matches if match is not None]
        self._numbers = count(max(used, default=0) + 1)

    def new(self) -> Path:
        """Return a path that no file of this kind has had since the crawl was opened."""
        return self.path(f"{self.kind}-{next(self._numbers):08}")

    def path(self, name: str) -> Path:
        return self.folder / name

    def clean(self, named: Collection[str]) -> None:
        """Remove files of this kind that no checkpoint names: incomplete, or replaced just before a
        crash.
        """
        for path in sorted(self.folder.iterdir()):
            if self._pattern.fullmatch(path.name) and path.name not in named:
                remove_unnamed(self._disk, path)


class SeenFiles:
    """The files named in the tables `run` and `meta`; `damages` are those that cannot be opened."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._folder = snapshot.path.parent / "seen"
        self._closing = ExitStack()
        self._runs: list[Run] = []
        self.url_runs: list[Run] = []  # those of them that are of the URL store
        self.bloom: tuple[Path, BinaryIO] | None = None
        self.damages: list[DamagedFile] = []
        try:
            for name, store, count in snapshot.rows("SELECT name, store, count FROM run"):
                self._open_run(snapshot, name, store, count)
            name = snapshot.get(BLOOM_FILE)
            if name is not None:
                self._open_bloom(self._folder / name.decode(errors="replace"))
        except DamagedFile as damage:
            self.damages.append(damage)

    def _open_run(self, snapshot: Snapshot, name: str, store: str, count: int) -> None:
        """Open one run that the checkpoint names; what is wrong with it is added to `damages`."""
        is_name_of_store = str(name).startswith(f"{store}-") and "/" not in str(name)
        if store not in COLUMNS or not is_name_of_store:
            self.damages.append(snapshot.damaged(f"table run: {name}, store {store}"))
            return
        path = self._folder / name
        try:
            run = Run(path)
        except (FileNotFoundError, ValueError):  # a name may be damaged
            self.damages.append(
                DamagedFile(path, 0, "the file is missing, though the checkpoint names it")
            )
            return
        except DamagedFile as damage:
            self.damages.append(damage)
            return
        self._closing.callback(run.close)
        self._runs.append(run)
        if store == "url":
            self.url_runs.append(run)
        if (run.count, run.columns) != (count, COLUMNS[store]):
            why = f"it has {run.count} keys, but the checkpoint says {count}"
            self.damages.append(DamagedFile(path, path.stat().st_size, why))

    def _open_bloom(self, path: Path) -> None:
        try:
            self.bloom = path, self._closing.enter_context(regular(path))
        except (FileNotFoundError, NotADirectoryError, ValueError):  # a name may be damaged
            self.damages.append(
                DamagedFile(path, 0, "the file is missing, though the checkpoint names it")
            )

    @property
    def keys(self) -> int:
        """The number of keys in the runs of the URL store."""
        return sum(run.count for run in self.url_runs)

    def check(self) -> Iterator[DamagedFile]:
        yield from self.damages
        for run in self._runs:
            yield from run.check()
        if self.bloom is not None:
            from webcrawl.frontier.seen import bloomfile  # noqa: PLC0415 - and its library, which other seen stores do without

            yield from bloomfile.check_file(*self.bloom)

    def close(self) -> None:
        self._closing.close()


def opened(state: Path) -> tuple[Snapshot, SeenFiles]:
    """Return a checkpoint and its files, which the caller closes.

    If files cannot be opened, the checkpoint is read anew, TRIES times in all; what is missing on the
    last try is in the files' `damages`.
    """
    for left in reversed(range(TRIES)):
        snapshot = Snapshot(state)
        files = SeenFiles(snapshot)
        if not files.damages or not left:
            break
        files.close()
        snapshot.close()
    return snapshot, files


@dataclass(slots=True)
class MergeResult:
    """The change that a merge made to the runs: it added one that replaces some, or did nothing."""

    added: Run | None = None
    replaced: list[Run] = field(default_factory=list)

    def close(self) -> None:
        """Close the new run, which will not be adopted."""
        if self.added is not None:
            self.added.close()


class RunSet:
    """The runs of one store, as named in the open transaction.

    Threads write files; the owner's thread names them.
    """

    def __init__(self, db: CrawlDB, store: str, columns: int, growth: float) -> None:
        self.runs: list[Run] = []
        self._replaced: list[Run] = []  # replaced since the last checkpoint, which still names them
        self._removed: list[Run] = []  # replaced before it, and removed by it
        self._db = db
        self._store = store
        self._columns = columns
        self._growth = growth
        self.names = Names(db.folder, db.disk, store)
        named = db.query(
            "SELECT name, count FROM run WHERE store = ? ORDER BY count DESC, name", (store,)
        )
        try:
            for name, count in named:
                self.runs.append(self._open(name, count))
        except BaseException:
            self.close()
            raise
        self.names.clean({name for name, _ in named})

    def __repr__(self) -> str:
        return f"<RunSet {self._store} {[run.count for run in self.runs]}>"

    def __len__(self) -> int:
        return sum(run.count for run in self.runs)

    def _open(self, name: str, count: int) -> Run:
        """Open a run with this many keys. Raise DamagedFile if it is missing or has others."""
        path = self.names.path(name)
        try:
            run = Run(path)
        except FileNotFoundError as error:
            raise DamagedFile(
                path, 0, "the file is missing, though the checkpoint names it"
            ) from error
        if (run.count, run.columns) != (count, self._columns):
            run.close()
            raise DamagedFile(
                path,
                path.stat().st_size,
                f"it has {run.count} keys, but the checkpoint says {count}",
            )
        self._db.presence.add(path, path.stat().st_size)
        return run

    def plan(self, count: int) -> list[Run]:
        """Return the runs to merge with `count` keys.

        From the smallest up, each is at most `growth` times as large as the sum so far.
        """
        chosen = []
        for run in sorted(self.runs, key=len):
            if run.count > self._growth * count:
                break
            chosen.append(run)
            count += run.count
        return chosen

    def create(self) -> RunWriter:
        """Return a writer of a new file of this store, for use in a thread."""
        return RunWriter(self._db.disk, self.names.new(), self._columns)

    def adopt(self, change: MergeResult) -> None:
        """Name the new file instead of the replaced ones, which the next checkpoint removes."""
        # The new file is synced. The COMMIT that names it comes next, and the replaced files go
        # after it: a crash finds all keys in files that a checkpoint names.
        for run in change.replaced:
            self._db.execute("DELETE FROM run WHERE name = ?", (run.path.name,))
            self._db.discard(run.path)
            self.runs.remove(run)
            self._replaced.append(run)
        if change.added is not None:
            row = (change.added.path.name, self._store, change.added.count)
            self._db.execute("INSERT INTO run VALUES (?, ?, ?)", row)
            self.runs.append(change.added)
            self._db.presence.add(change.added.path, change.added.path.stat().st_size)
            self.runs.sort(key=len, reverse=True)

    def save(self) -> None:
        """Close the files that the last checkpoint removed, in a thread.

        The last close of a removed file takes 0.2 ms per MiB to free its blocks: too long for the
        event loop.
        """
        removed = self._removed
        self._removed = self._replaced
        self._replaced = []
        if removed:
            self._db.worker.submit(_close, removed)

    def close(self) -> None:
        """Close all files. `runs` stays, because stats.json is written afterwards."""
        _close([*self.runs, *self._replaced, *self._removed])
        self._replaced = []
        self._removed = []


def _close(runs: list[Run]) -> None:
    for run in runs:
        run.close()


def contained_in_runs(runs: Sequence[Run], keys: Keys) -> Mask:
    """Return for each of these ascending keys whether one of the runs has it.

    Give the largest run first, so that the fewest keys are left for the others.
    """
    found = np.zeros(len(keys), np.bool_)
    # Keys that one run has are not looked for in the next ones.
    for run in runs:
        left = np.flatnonzero(~found)
        if len(left) == 0:
            break
        found[left] = run.contains(keys[left])
    return found
