"""U: the records of T in order of submission (Mercator, section 3.2), in rows of the crawl's database.

A row has the ordinal of its first record, the keys, the zstd of [the records' lengths as uint32, the records], and the
crc32 of the first two. The last, unfinished row is in memory and written at each checkpoint. At the start T is rebuilt
from U (docs/seen.md).
"""

from __future__ import annotations

import struct
from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import zstandard

from webcrawl.frontier.seen.keys import packed
from webcrawl.store import rowcrc
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile
from webcrawl.store.runs import Keys

ROW = 8192  # records per row: half a megabyte of 70-byte URLs, compressed in 1 ms


@dataclass(slots=True)
class _Row:
    first: int
    data: bytes
    ends: npt.NDArray[np.int64]  # where the first record begins in data, then where each one ends

    def records(self, ordinals: npt.NDArray[np.int64]) -> list[bytes]:
        at, data = ordinals - self.first, self.data
        return [data[a:b] for a, b in zip(self.ends[at].tolist(), self.ends[at + 1].tolist(), strict=True)]


class Waiting:
    """U, from the first record not yet taken (`begin`) to the next one to be submitted (`end`)."""

    def __init__(self, db: CrawlDB, begin: int, end: int, row: int = ROW) -> None:
        self.begin, self.end = begin, end
        self._db, self._size = db, row
        self._pack = zstandard.ZstdCompressor(level=1, write_checksum=True).compress
        self._unpack = zstandard.ZstdDecompressor().decompress
        self._rows = self._stored(begin, end)
        self._keys = array("Q")  # the unfinished row
        self._records: list[bytes] = []
        self._saved: tuple[int, int] | None = None  # what is written of it: first ordinal, number of records
        self._open: _Row | None = None

    def __len__(self) -> int:
        return self.end - self.begin

    def _stored(self, begin: int, end: int) -> deque[tuple[int, int]]:
        """First and last (exclusive) ordinal of each row on disk."""
        rows: deque[tuple[int, int]] = deque()
        for first, size in self._db.query("SELECT seq, length(keys) FROM waiting ORDER BY seq"):
            if size % 8 or (rows and first != rows[-1][1]):
                raise self._damaged(first, "there is a gap between rows")
            rows.append((first, first + size // 8))
        if (rows and not (rows[0][0] <= begin and rows[-1][1] == end)) or (not rows and begin != end):
            raise self._damaged(begin, "records are missing")
        return rows

    def _damaged(self, ordinal: int, why: str) -> DamagedFile:
        return DamagedFile(self._db.path, 0, f"table waiting, record {ordinal}: {why}")

    # -- in

    def append(self, keys: array[int], records: Sequence[bytes]) -> None:
        self._keys.extend(keys)
        self._records.extend(records)
        self.end += len(records)
        while len(self._records) >= self._size:
            self._write(self._size)
            self._drop(self._size)

    @property
    def _tail(self) -> int:
        """The ordinal of the unfinished row's first record."""
        return self.end - len(self._records)

    def _write(self, count: int) -> None:
        """Writes the first `count` records of the unfinished row, replacing what was written of it."""
        self._forget()
        first, records = self._tail, self._records[:count]
        lengths = struct.pack(f"<{count}I", *map(len, records))  # takes a third of numpy's time
        keys = packed(self._keys[:count])
        row = (first, keys, self._pack(lengths + b"".join(records)), rowcrc.waiting(first, keys))
        self._db.execute("INSERT INTO waiting VALUES (?, ?, ?, ?)", row)
        self._saved = (first, count)

    def _drop(self, count: int) -> None:
        """Drops `count` records from the unfinished row; what was written of them is now a finished row."""
        if self._saved is not None:
            self._rows.append((self._saved[0], self._saved[0] + self._saved[1]))
            self._saved = None
        del self._keys[:count], self._records[:count]

    def _forget(self) -> None:
        if self._saved is not None:
            self._db.execute("DELETE FROM waiting WHERE seq = ?", (self._saved[0],))
            self._saved = None

    def save(self) -> None:
        """Writes the unfinished row."""
        if self._records and self._saved != (self._tail, len(self._records)):
            self._write(len(self._records))

    # -- out

    def take(self, ordinals: npt.NDArray[np.int64], end: int) -> list[bytes]:
        """Returns these records (ascending ordinals from `begin` on), then drops all records before `end`."""
        taken: list[bytes] = []
        while self._rows and self.begin < end:
            first, last = self._rows[0]
            here = int(np.searchsorted(ordinals, last))
            if here:
                taken += self._row(first, last - first).records(ordinals[:here])
                ordinals = ordinals[here:]
            self.begin = min(end, last)
            if self.begin == last:
                self._rows.popleft()
                self._db.execute("DELETE FROM waiting WHERE seq = ?", (first,))
        if self.begin < end:
            tail, records = self._tail, self._records
            taken += [records[ordinal - tail] for ordinal in ordinals.tolist()]
            self._forget()
            del self._keys[: end - tail], records[: end - tail]
            self.begin = end
        return taken

    def _row(self, first: int, count: int) -> _Row:
        """Reads a row from disk, and caches the last one."""
        if self._open is None or self._open.first != first:
            ((packed,),) = self._db.query("SELECT records FROM waiting WHERE seq = ?", (first,))
            self._open = self._read(first, count, packed)
        return self._open

    def _read(self, first: int, count: int, packed: bytes) -> _Row:
        try:
            data = self._unpack(packed)
            lengths = np.frombuffer(data, "<u4", count)
        except (zstandard.ZstdError, ValueError) as error:
            raise self._damaged(first, str(error)) from error
        ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64))) + 4 * count
        if ends[-1] != len(data):
            raise self._damaged(first, f"{len(data)} bytes where {ends[-1]} should be")
        return _Row(first, data, ends)

    # -- whole

    def keys_from(self, ordinal: int) -> Iterator[Keys]:
        """The keys on disk from this record on, to rebuild T."""
        for first, last in self._rows:
            if last > ordinal:
                keys = np.frombuffer(self._stored_keys(first), "<u8")
                yield keys[max(0, ordinal - first) :].astype(np.uint64)

    def _stored_keys(self, first: int) -> bytes:
        (row,) = self._db.query("SELECT seq, keys, crc FROM waiting WHERE seq = ?", (first,))
        if not rowcrc.agrees(rowcrc.waiting, row):
            raise self._damaged(first, "checksum of the keys")
        keys: bytes = row[1]
        return keys

    def check(self) -> Iterator[DamagedFile]:
        for first, last in self._rows:
            ((packed,),) = self._db.query("SELECT records FROM waiting WHERE seq = ?", (first,))
            try:
                self._stored_keys(first)
                self._read(first, last - first, packed)
            except DamagedFile as damage:
                yield damage
