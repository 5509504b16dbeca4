"""A Bloom filter (Nielsen's and Mischel's choice): small and immediate, but it loses some new URLs.

The bits are written to a file now and then, whole and synced by a thread, and named by the next checkpoint. The keys
added since are in the key log, rows of the table meta; replaying them restores the set. Saving only changed blocks of
bits would gain nothing: at 25,000 new keys per second all change between two checkpoints.

The file: header, bits, crc32 of both. Bits set while it is written may be missing in it: their keys are in the key log,
which the same checkpoint saves.
"""

from __future__ import annotations

import logging
import math
import os
import struct
import zlib
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np
from pybloom_live import BloomFilter

from webcrawl.frontier.seen.caches import UrlCache
from webcrawl.frontier.seen.protocol import BLOOM_FILE, KEY_ROWS, load_state, unseen_lately
from webcrawl.frontier.seen.sorted_keys import Names, packed
from webcrawl.frontier.seen.waiting_records import WaitingRecords
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import Disk, regular
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.worker import Worker

MAGIC = b"WCRLBLM\n"
VERSION = 1
HEADER = struct.Struct("<8sIdQQ")  # magic, version, error rate, capacity, bytes of bits
CRC = struct.Struct("<I")
PIECE = 1 << 20


def write_bits(disk: Disk, path: Path, bloom: BloomFilter) -> Path:
    """Writes the bits; more may be set meanwhile."""
    bits = memoryview(bloom.bitarray)
    fd = disk.create(path)
    try:
        data = HEADER.pack(MAGIC, VERSION, bloom.error_rate, bloom.capacity, len(bits))
        disk.write(fd, data)
        crc = zlib.crc32(data)
        for at in range(0, len(bits), PIECE):
            data = bytes(bits[at : at + PIECE])
            disk.write(fd, data)
            crc = zlib.crc32(data, crc)
        disk.write(fd, CRC.pack(crc))
        disk.sync(fd)
    finally:
        os.close(fd)
    disk.sync_folder(path.parent)
    return path


def read_bits(path: Path) -> BloomFilter:
    """The filter with its capacity and error rate, as it was written."""
    try:
        with regular(path) as file:
            return _read(path, file)
    except FileNotFoundError as error:
        raise DamagedFile(path, 0, "the checkpoint names it, but it is not there") from error


def _read(path: Path, file: BinaryIO) -> BloomFilter:
    head, error_rate, capacity, size = _header(path, file)
    bloom = BloomFilter(capacity, error_rate)
    bits = memoryview(bloom.bitarray)
    if len(bits) != size:
        raise DamagedFile(path, 8, f"{size} bytes of bits, where its capacity needs {len(bits)}")
    crc = zlib.crc32(head)
    for at in range(0, size, PIECE):
        bits[at : at + PIECE] = file.read(min(PIECE, size - at))
        crc = zlib.crc32(bits[at : at + PIECE], crc)
    if file.read() != CRC.pack(crc):
        raise DamagedFile(path, HEADER.size, "checksum")
    return bloom


def _header(path: Path, file: BinaryIO) -> tuple[bytes, float, int, int]:
    """The header as bytes, the filter's error rate and capacity, and the number of bytes of bits."""
    head = file.read(HEADER.size)
    if not head.startswith(MAGIC) or len(head) < HEADER.size:
        raise DamagedFile(path, 0, "not a Bloom filter's file")
    _, version, error_rate, capacity, size = HEADER.unpack(head)
    expected = HEADER.size + size + CRC.size
    if version != VERSION or os.fstat(file.fileno()).st_size != expected or not (0 < error_rate < 1 <= capacity):
        raise DamagedFile(path, 8, "its header does not match its length")
    return head, error_rate, capacity, size


def check_bits(path: Path) -> Iterator[DamagedFile]:
    """Yields the damage of the file, if there is any."""
    try:
        with regular(path) as file:
            yield from check_file(path, file)
    except FileNotFoundError:
        yield DamagedFile(path, 0, "the checkpoint names it, but it is not there")


def check_file(path: Path, file: BinaryIO) -> Iterator[DamagedFile]:
    """Checks an open file, without the filter's memory."""
    try:
        head, _, _, size = _header(path, file)
    except DamagedFile as damage:
        yield damage
        return
    crc, left = zlib.crc32(head), size
    while left and (piece := file.read(min(PIECE, left))):
        crc, left = zlib.crc32(piece, crc), left - len(piece)
    if file.read() != CRC.pack(crc):
        yield DamagedFile(path, HEADER.size, "checksum")


ROW = 8192  # keys per row: 64 KiB


class KeyLog:
    """Keys in order of arrival, numbered. The row `seen.keys.<n>` starts with key number n."""

    def __init__(self, db: CrawlDB, row: int = ROW) -> None:
        self._db, self._size = db, row
        found = db.query("SELECT name, length(value) FROM meta WHERE name GLOB ?", (f"{KEY_ROWS}*",))
        rows = sorted((int(name.removeprefix(KEY_ROWS)), size // 8) for name, size in found)
        self.begin = rows[0][0] if rows else 0
        self.end = self.begin
        for first, count in rows:
            if first != self.end:
                raise DamagedFile(db.path, 0, f"table meta, {KEY_ROWS}{self.end}: not there")
            self.end += count
        self._rows = deque(first for first, _ in rows)
        self._keys = array("Q")  # the unfinished row
        self._saved = 0

    def __len__(self) -> int:
        return self.end - self.begin

    def append(self, keys: array[int]) -> None:
        self._keys.extend(keys)
        self.end += len(keys)
        if len(self._keys) >= self._size:
            self.cut()

    def cut(self) -> int:
        """Finishes the last row; returns the number of the next key."""
        self.save()
        if self._keys:
            self._rows.append(self.end - len(self._keys))
            self._keys, self._saved = array("Q"), 0
        return self.end

    def save(self) -> None:
        """Writes the unfinished row, replacing its earlier version."""
        if len(self._keys) != self._saved:
            data = packed(self._keys)
            self._db.set(f"{KEY_ROWS}{self.end - len(self._keys)}", data)
            self._saved = len(self._keys)

    def forget(self, before: int) -> None:
        """Removes the rows before key number `before`, which starts a row."""
        self.begin = before
        while self._rows and self._rows[0] < before:
            self._db.execute("DELETE FROM meta WHERE name = ?", (f"{KEY_ROWS}{self._rows.popleft()}",))

    def replay(self) -> Iterator[list[int]]:
        """The keys on disk, row by row."""
        for first in self._rows:
            yield np.frombuffer(self._db.get(f"{KEY_ROWS}{first}") or b"", "<u8").tolist()


class Journal:
    """Key log, counters, and the records not yet taken; `len` is the number of these."""

    def __init__(self, db: CrawlDB, store: str) -> None:
        self._db = db
        self.state = load_state(db, store)
        self.keys = KeyLog(db)
        self._waiting = WaitingRecords(db, self.state.begin, self.state.end)

    def __len__(self) -> int:
        return len(self._waiting)

    def append(self, keys: array[int], records: Sequence[bytes]) -> None:
        """Adds new keys and their records."""
        self.keys.append(keys)
        self._waiting.append(keys, records)
        self.state.new += len(keys)

    def take(self, limit: int) -> list[bytes]:
        begin, end = self._waiting.begin, min(self._waiting.begin + limit, self._waiting.end)
        return self._waiting.take(np.arange(begin, end), end)

    def save(self) -> None:
        self.keys.save()
        self._waiting.save()
        self.state.save(self._db, self._waiting.begin, self._waiting.end, self._waiting.end)

    def check(self) -> Iterator[DamagedFile]:
        return self._waiting.check()


logger = logging.getLogger(__name__)

ERROR_RATE = 0.001  # share of new URLs taken for seen once the filter is full
SNAPSHOT = 1 << 20  # keys in the log before the bits are written: replaying them takes 5 s


class BloomSeen:
    """Decides at once, never with a false "new", and with at most `error_rate` false "seen" up to its capacity.

    `memory` determines the capacity: 14.4 bits per key for an error rate of 0.001. Beyond the capacity the rate
    grows; the excess keys are counted and logged.
    """

    busy = False

    def __init__(
        self,
        db: CrawlDB,
        *,
        memory: int,
        cache: UrlCache,
        on_ready: Callable[[], None] | None = None,  # noqa: ARG002 - the Protocol has it
        error_rate: float = ERROR_RATE,
        snapshot: int = SNAPSHOT,
    ) -> None:
        self._db, self._cache, self._snapshot = db, cache, snapshot
        self._journal = Journal(db, "bloom")
        self._state, self._log = self._journal.state, self._journal.keys
        self._names = Names(db.folder, db.disk, "bloom")
        self._file = self._named()
        if self._file is None:
            self._bloom = BloomFilter(_capacity(memory, error_rate), error_rate)
        else:
            self._bloom = read_bits(self._file)
            db.presence.add(self._file, self._file.stat().st_size)
        self._names.clean({self._file.name} if self._file is not None else ())
        for keys in self._log.replay():
            for key in keys:
                self._add(key)
        self._warn_above = max(self._bloom.capacity, self._state.new)
        self._worker = Worker()
        self._writing: Future[Path] | None = None
        self._cut = 0  # the number of the first key that may be missing in the file being written
        db.join(self)

    def __repr__(self) -> str:
        return f"<BloomSeen keys={self._state.new}/{self._bloom.capacity} pending={self.pending}>"

    def _named(self) -> Path | None:
        name = self._db.get(BLOOM_FILE)
        return self._names.path(name.decode()) if name is not None else None

    def submit(self, keys: Sequence[int], records: Sequence[bytes]) -> int:
        self._advance()
        batch, missed = unseen_lately(self._cache, self._state, keys, records)
        new, found = array("Q"), []
        for key, record in zip(batch, missed, strict=True):
            if not self._add(key):
                new.append(key)
                found.append(record)
        self._journal.append(new, found)
        if self._state.new > self._warn_above:
            self._warn_above = self._state.new + self._bloom.capacity // 10
            line = "seen: %d keys in a Bloom filter for %d: about one new URL in %d is lost"
            logger.warning(line, self._state.new, self._bloom.capacity, 1 / self._error_rate())
        return len(new)

    def _add(self, key: int) -> bool:
        """Adds the key; returns whether all its bits were set before."""
        # The library counts keys and raises beyond its capacity, which would end the crawl. Our state counts instead.
        self._bloom.count = 0
        return bool(self._bloom.add(key))

    def _error_rate(self) -> float:
        """The probability that all bits of a new key are set, computed from the number of keys."""
        on = -math.expm1(-self._state.new / self._bloom.bits_per_slice)
        return float(on**self._bloom.num_slices)

    def take(self, limit: int) -> list[bytes]:
        self._advance()
        return self._journal.take(limit)

    def merge(self) -> None:
        """Nothing ever waits for a merge."""
        self._advance()

    @property
    def pending(self) -> int:
        return len(self._journal)

    def stats(self) -> dict[str, int | float]:
        keys, capacity = self._state.new, self._bloom.capacity
        bloom = {"capacity": capacity, "over_capacity": max(0, keys - capacity), "error_rate": self._error_rate()}
        return {**self._state.stats(waiting=0, keys=keys, runs=int(self._file is not None)), **bloom}

    # -- the checkpoint

    def _advance(self) -> None:
        """Names a file that was completed; starts writing another when the log has grown long."""
        if self._writing is not None and self._worker.done(self._writing):
            try:
                path = self._writing.result()
            except OSError as error:
                raise StoreError(f"{self._names.folder}: {error}") from error
            self._writing = None
            self._db.set(BLOOM_FILE, path.name.encode())
            if self._file is not None:
                self._db.discard(self._file)
            self._file = path
            self._db.presence.add(path, path.stat().st_size)
            self._log.forget(self._cut)
        if self._writing is None and len(self._log) >= self._snapshot:
            self._cut = self._log.cut()
            self._writing = self._worker.submit(write_bits, self._db.disk, self._names.new(), self._bloom)

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        self._journal.save()

    def check(self) -> Iterator[DamagedFile]:
        files = check_bits(self._file) if self._file is not None else ()
        return chain(self._journal.check(), files)

    def close(self) -> None:
        self._worker.close()


def _capacity(memory: int, error_rate: float) -> int:
    return max(1, int(memory * 8 * math.log(2) ** 2 / -math.log(error_rate)))
