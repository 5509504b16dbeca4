"""U: the records of T in order of submission (Mercator, section 3.2), and the verdicts on those
that are merged.

Records lie in rows of the crawl's database. A row has the ordinal of its first record, the keys,
the zstd of [the records' lengths as uint32, the records], and the crc32 of the first two. The last,
unfinished row is in memory and written at each checkpoint. At the start T is rebuilt from U
(docs/seen-store.md).

A verdict says whether a record is new: one bit per record, in pieces by ordinal, until they are
taken. Each piece is written once, at the first checkpoint after its merge, as `seen.new.<first
ordinal>` in the table meta.
"""

from __future__ import annotations

import struct
from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from webcrawl.base.zstd_frame import pack_checked, unpack
from webcrawl.frontier.seen.sorted_keys import Bits, marked, packed
from webcrawl.store import rowcrc
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile
from webcrawl.store.runs import Keys

ROW = 8192  # records per row: half a megabyte of 70-byte URLs, compressed in 1 ms


@dataclass(slots=True)
class _Row:
    """A row of U that was read from disk."""

    first: int  # the ordinal of its first record
    data: bytes  # the lengths of the records, and the records
    ends: npt.NDArray[np.int64]  # where the first record begins in data, then where each one ends

    def records(self, ordinals: npt.NDArray[np.int64]) -> list[bytes]:
        """Return the records with these ordinals, which must be in this row."""
        positions = ordinals - self.first
        data = self.data
        begins = self.ends[positions].tolist()
        ends = self.ends[positions + 1].tolist()
        return [data[begin:end] for begin, end in zip(begins, ends, strict=True)]


class WaitingRecords:
    """U, from the first record not yet taken (`begin`) to the next one to be submitted (`end`)."""

    def __init__(self, db: CrawlDB, begin: int, end: int, row: int = ROW) -> None:
        self.begin = begin
        self.end = end
        self._db = db
        self._size = row  # records of a full row
        # the first and last (exclusive) ordinal of each finished row on disk
        self._rows = self._stored(begin, end)
        # the unfinished row
        self._keys = array("Q")
        self._records: list[bytes] = []
        # what is written of it: first ordinal, number of records
        self._saved: tuple[int, int] | None = None
        # The row that was read last: `pop_records` comes to it again, as one call takes a part of a
        # row.
        self._open: _Row | None = None

    def __len__(self) -> int:
        return self.end - self.begin

    def _stored(self, begin: int, end: int) -> deque[tuple[int, int]]:
        """Return the first and last (exclusive) ordinal of each row on disk.

        Raise DamagedFile unless they have all records from `begin` to `end`.
        """
        rows: deque[tuple[int, int]] = deque()
        for first, size in self._db.query("SELECT seq, length(keys) FROM waiting ORDER BY seq"):
            continues = not rows or first == rows[-1][1]
            if size % 8 or not continues:
                raise self._damaged(first, "there is a gap between rows")
            rows.append((first, first + size // 8))
        # Of the first row a part may have been taken.
        is_whole = rows[0][0] <= begin and rows[-1][1] == end if rows else begin == end
        if not is_whole:
            raise self._damaged(begin, "records are missing")
        return rows

    def _damaged(self, ordinal: int, why: str) -> DamagedFile:
        return DamagedFile(self._db.path, 0, f"table waiting, record {ordinal}: {why}")

    # -- in

    def append(self, keys: array[int], records: Sequence[bytes]) -> None:
        """Add records with their keys; write each row that is full by them."""
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
        """Write the first `count` records of the unfinished row, replacing what was written of it."""
        self._forget()
        first = self._tail
        records = self._records[:count]
        lengths = struct.pack(f"<{count}I", *map(len, records))  # takes a third of numpy's time
        keys = packed(self._keys[:count])
        row = (first, keys, pack_checked(lengths + b"".join(records)), rowcrc.waiting(first, keys))
        self._db.execute("INSERT INTO waiting VALUES (?, ?, ?, ?)", row)
        self._saved = (first, count)

    def _drop(self, count: int) -> None:
        """Drop `count` records from the unfinished row.

        What was written of them is now a finished row.
        """
        if self._saved is not None:
            self._rows.append((self._saved[0], self._saved[0] + self._saved[1]))
            self._saved = None
        del self._keys[:count], self._records[:count]

    def _forget(self) -> None:
        """Remove what is written of the unfinished row."""
        if self._saved is not None:
            self._db.execute("DELETE FROM waiting WHERE seq = ?", (self._saved[0],))
            self._saved = None

    def save(self) -> None:
        """Write the unfinished row."""
        if self._records and self._saved != (self._tail, len(self._records)):
            self._write(len(self._records))

    # -- out

    def pop_records(self, ordinals: npt.NDArray[np.int64], end: int) -> list[bytes]:
        """Return these records (ascending ordinals from `begin` on), then drop all records before
        `end`.
        """
        taken: list[bytes] = []
        while self._rows and self.begin < end:
            first, last = self._rows[0]
            count = int(np.searchsorted(ordinals, last))  # of the ordinals, those in this row
            if count:
                taken += self._row(first, last - first).records(ordinals[:count])
                ordinals = ordinals[count:]
            self.begin = min(end, last)
            # The row goes with the next checkpoint, whose queues have its records.
            if self.begin == last:
                self._rows.popleft()
                self._db.execute("DELETE FROM waiting WHERE seq = ?", (first,))
        # The rest is of the unfinished row.
        if self.begin < end:
            tail = self._tail
            records = self._records
            taken += [records[ordinal - tail] for ordinal in ordinals.tolist()]
            self._forget()
            del self._keys[: end - tail], records[: end - tail]
            self.begin = end
        return taken

    def _row(self, first: int, count: int) -> _Row:
        """Read a row from disk, and cache the last one."""
        if self._open is None or self._open.first != first:
            ((packed,),) = self._db.query("SELECT records FROM waiting WHERE seq = ?", (first,))
            self._open = self._read(first, count, packed)
        return self._open

    def _read(self, first: int, count: int, packed: bytes) -> _Row:
        """Unpack a row of `count` records. Raise DamagedFile if it does not hold as many."""
        try:
            data = unpack(packed)
            lengths = np.frombuffer(data, "<u4", count)
        except ValueError as error:
            raise self._damaged(first, str(error)) from error
        begin = 4 * count  # of the records, behind their lengths
        ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64))) + begin
        if ends[-1] != len(data):
            raise self._damaged(first, f"has {len(data)} bytes instead of {ends[-1]}")
        return _Row(first, data, ends)

    # -- whole

    def keys_from(self, ordinal: int) -> Iterator[Keys]:
        """Yield the keys on disk from this record on, to rebuild T."""
        for first, last in self._rows:
            if last > ordinal:
                keys = np.frombuffer(self._stored_keys(first), "<u8")
                yield keys[max(0, ordinal - first) :].astype(np.uint64)

    def _stored_keys(self, first: int) -> bytes:
        (row,) = self._db.query("SELECT seq, keys, crc FROM waiting WHERE seq = ?", (first,))
        if not rowcrc.agrees(rowcrc.waiting, row):
            raise self._damaged(first, "wrong checksum of the keys")
        keys: bytes = row[1]
        return keys


PIECE = 1 << 14  # records per piece: 2 KiB
AT_ONCE = 64  # pieces written in one step ahead of a checkpoint
VERDICTS = "seen.new."
COUNT = struct.Struct("<Q")


@dataclass(slots=True)
class _Piece:
    """The verdicts on some records in a row."""

    first: int  # the ordinal of the first one
    count: int
    bits: Bits  # one for each record, set if it is new
    saved: bool = False  # it has a row in the table meta

    @property
    def end(self) -> int:
        return self.first + self.count

    def packed(self) -> bytes:
        return COUNT.pack(self.count) + self.bits.tobytes()

    def ordinals(self, begin: int) -> npt.NDArray[np.int64]:
        """Return the ordinals of new records, from `begin` on."""
        skipped = max(0, begin - self.first)
        return np.flatnonzero(marked(self.bits, skipped, self.count)) + (self.first + skipped)


def _stored_piece(name: str, value: bytes) -> _Piece:
    """Return the piece of verdicts of a saved row. Raise ValueError if its length is wrong."""
    count = COUNT.unpack_from(value)[0] if len(value) >= COUNT.size else -1
    if len(value) != COUNT.size + (count + 7) // 8:
        raise ValueError("the verdicts have the wrong length")
    return _Piece(
        int(name.removeprefix(VERDICTS)),
        count,
        np.frombuffer(value, np.uint8, offset=COUNT.size),
        saved=True,
    )


class Verdicts:
    """The verdicts of past merges on records `begin` to `end`, until these are taken.

    `left` is the number of new records that are not yet taken.
    """

    def __init__(self, db: CrawlDB, begin: int, end: int) -> None:
        self.end = end
        self._db = db
        self._pieces = self._stored(begin, end)
        self.left = sum(len(piece.ordinals(begin)) for piece in self._pieces)
        # the first piece's new records that are not yet taken
        self._found: npt.NDArray[np.int64] | None = None

    def _stored(self, begin: int, end: int) -> deque[_Piece]:
        """Return the saved pieces of verdicts in their order.

        Raise DamagedFile unless they cover all records from `begin` to `end`.
        """
        pieces = [self._piece(name, value) for name, value in self._db.named(VERDICTS)]
        pieces.sort(key=lambda piece: piece.first)
        at = pieces[0].first if pieces else end
        for piece in pieces:
            if piece.first != at:
                raise self._damaged(at, "the verdict is missing")
            at = piece.end
        is_whole = pieces[0].first <= begin if pieces else begin == end
        if at != end or not is_whole:
            raise self._damaged(begin, "the verdict is missing")
        return deque(pieces)

    def _piece(self, name: str, value: bytes) -> _Piece:
        try:
            return _stored_piece(name, value)
        except ValueError as error:
            raise self._damaged(int(name.removeprefix(VERDICTS)), str(error)) from error

    def _damaged(self, ordinal: int, why: str) -> DamagedFile:
        return DamagedFile(self._db.path, 0, f"table meta, {VERDICTS}*, record {ordinal}: {why}")

    def add(self, bits: Bits, count: int, new: int) -> None:
        """Add the verdicts on the next `count` records."""
        for at in range(0, count, PIECE):
            part = min(PIECE, count - at)
            self._pieces.append(_Piece(self.end + at, part, bits[at >> 3 : (at + part + 7) >> 3]))
        self.end += count
        self.left += new

    def next(self, begin: int, limit: int) -> tuple[npt.NDArray[np.int64], int]:
        """Return the ordinals of at most `limit` new records, all from the first piece.

        Return also the ordinal up to which records are then dealt with. The new ones count as taken,
        and a piece with no more of them is removed. `begin`: the first record that is not taken.
        """
        piece = self._pieces[0]
        found = piece.ordinals(begin) if self._found is None else self._found
        taken, self._found = found[:limit], found[limit:]
        self.left -= len(taken)
        if len(self._found):
            return taken, int(taken[-1]) + 1
        self._found = None
        self._pieces.popleft()
        if piece.saved:
            self._db.execute("DELETE FROM meta WHERE name = ?", (f"{VERDICTS}{piece.first}",))
        return taken, piece.end

    def save(self) -> Iterator[None]:
        """Write unwritten pieces, some at a time; pieces may be taken between two steps."""
        while True:
            all_unsaved = (piece for piece in self._pieces if not piece.saved)
            unsaved = list(islice(all_unsaved, AT_ONCE))
            if not unsaved:
                return
            self._db.set_all((f"{VERDICTS}{piece.first}", piece.packed()) for piece in unsaved)
            for piece in unsaved:
                piece.saved = True
            yield
