"""The verdicts on merged records of U, new or not: one bit per record, in pieces by ordinal, until they are taken.

Each piece is written once, at the first checkpoint after its merge, as `seen.new.<first ordinal>` in the table meta.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from webcrawl.frontier.seen.keys import Bits, marked
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile

PIECE = 1 << 14  # records per piece: 2 KiB
AT_ONCE = 64  # pieces written in one step ahead of a checkpoint
NAME = "seen.new."
COUNT = struct.Struct("<Q")


@dataclass(slots=True)
class _Piece:
    first: int
    count: int
    bits: Bits
    saved: bool = False

    @property
    def end(self) -> int:
        return self.first + self.count

    def packed(self) -> bytes:
        return COUNT.pack(self.count) + self.bits.tobytes()

    def ordinals(self, begin: int) -> npt.NDArray[np.int64]:
        """The ordinals of new records, from `begin` on."""
        skipped = max(0, begin - self.first)
        return np.flatnonzero(marked(self.bits, skipped, self.count)) + (self.first + skipped)


def _stored_piece(name: str, value: bytes) -> _Piece:
    count = COUNT.unpack_from(value)[0] if len(value) >= COUNT.size else -1
    if len(value) != COUNT.size + (count + 7) // 8:
        raise ValueError("verdicts of the wrong length")
    return _Piece(int(name.removeprefix(NAME)), count, np.frombuffer(value, np.uint8, offset=COUNT.size), saved=True)


def stored_ordinals(name: str, value: bytes, begin: int) -> npt.NDArray[np.int64]:
    """The ordinals of new records, from `begin` on, in a piece as a checkpoint has it; ValueError if it is damaged."""
    return _stored_piece(name, value).ordinals(begin)


class Verdicts:
    """The verdicts of past merges on records `begin` to `end`; `left` is the number of new ones not yet taken."""

    def __init__(self, db: CrawlDB, begin: int, end: int) -> None:
        self.end = end
        self._db = db
        self._pieces = self._stored(begin, end)
        self.left = sum(len(piece.ordinals(begin)) for piece in self._pieces)
        self._found: npt.NDArray[np.int64] | None = None  # the first piece's new records that are not yet taken

    def _stored(self, begin: int, end: int) -> deque[_Piece]:
        pieces = [self._piece(name, value) for name, value in self._db.named(NAME)]
        pieces.sort(key=lambda piece: piece.first)
        at = pieces[0].first if pieces else end
        for piece in pieces:
            if piece.first != at:
                raise self._damaged(at, "no verdict")
            at = piece.end
        if at != end or (pieces and pieces[0].first > begin) or (not pieces and begin != end):
            raise self._damaged(begin, "no verdict")
        return deque(pieces)

    def _piece(self, name: str, value: bytes) -> _Piece:
        try:
            return _stored_piece(name, value)
        except ValueError as error:
            raise self._damaged(int(name.removeprefix(NAME)), str(error)) from error

    def _damaged(self, ordinal: int, why: str) -> DamagedFile:
        return DamagedFile(self._db.path, 0, f"table meta, {NAME}*, record {ordinal}: {why}")

    def add(self, bits: Bits, count: int, new: int) -> None:
        """Adds the verdicts on the next `count` records."""
        for at in range(0, count, PIECE):
            part = min(PIECE, count - at)
            self._pieces.append(_Piece(self.end + at, part, bits[at >> 3 : (at + part + 7) >> 3]))
        self.end += count
        self.left += new

    def next(self, begin: int, limit: int) -> tuple[npt.NDArray[np.int64], int]:
        """At most `limit` new records from `begin` on, and the ordinal up to which records are then dealt with.

        The returned records count as taken.
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
            self._db.execute("DELETE FROM meta WHERE name = ?", (f"{NAME}{piece.first}",))
        return taken, piece.end

    def save(self) -> Iterator[None]:
        """Writes unwritten pieces, some at a time; pieces may be taken between two steps."""
        while unsaved := list(islice((piece for piece in self._pieces if not piece.saved), AT_ONCE)):
            self._db.set_all((f"{NAME}{piece.first}", piece.packed()) for piece in unsaved)
            for piece in unsaved:
                piece.saved = True
            yield
