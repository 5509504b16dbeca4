"""What each host gave: of few hosts all, of many the heavy ones and a fair sample of the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from siphashc import siphash

ROOM = 1 << 13  # hosts: 3 MB, packed in 3 ms at each checkpoint
HEAVY = ROOM // 32  # of each measure so many are kept whatever their hash: together an eighth of the room
MEASURES = range(4)  # documents, bytes, failures, milliseconds: positions in a row


class HostRow(NamedTuple):
    """The figures of one host. They are exact if `missed` is 0; else up to so many documents more are its own."""

    name: str
    documents: int
    size: int  # bytes of these
    failures: int
    milliseconds: int  # of all its downloads together
    downloads: int
    missed: int
    missed_size: int


class Hosts:
    """One row per host while there is room. Then rows give way whose hosts are neither heavy nor in the sample.

    The sample is those hosts whose hash ends in `level` zero bits (Wegman's adaptive sampling). As the level only
    rises, they have been here from their first URL on, and each stands for 2^level hosts. The heavy ones are the first
    of each measure. `missed` is what a host can have lost by giving way, in documents and in bytes: the largest row
    that gave way, summed over all times. So all hosts with more are listed, and what a row says is too little by
    `missed` at most. The hash is keyed: a hostile site cannot choose names that fill the sample.
    """

    def __init__(self, key: bytes, room: int = ROOM, heavy: int = HEAVY) -> None:
        self._key, self._room, self._heavy = key, room, heavy
        self.level = 0
        self.missed = [0, 0]
        self.rows: dict[str, list[int]] = {}

    def __repr__(self) -> str:
        return f"<Hosts rows={len(self.rows)} level={self.level} missed={self.missed}>"

    def row(self, name: str) -> list[int]:
        """The host's row: the four measures, its downloads, and what it may have lost. The caller adds to it."""
        row = self.rows.get(name)
        if row is None:
            if len(self.rows) >= self._room:
                self._make_room()
            lost = self.missed if self.level and not self._is_sampled(name) else (0, 0)
            row = self.rows[name] = [0, 0, 0, 0, 0, *lost]
        return row

    def _is_sampled(self, name: str) -> bool:
        return not siphash(self._key, name) & ((1 << self.level) - 1)

    def _make_room(self) -> None:
        """Half of the room is for the sample. Takes some milliseconds, and is needed once in thousands of new hosts."""
        sampled = {name for name in self.rows if self._is_sampled(name)}
        while len(sampled) > self._room // 2:
            self.level += 1
            sampled = {name for name in sampled if self._is_sampled(name)}
        least = [self._heavier_than(measure) for measure in MEASURES]
        documents, size, failures, milliseconds = least
        kept, gone = {}, []
        for name, row in self.rows.items():
            if row[0] > documents or row[1] > size or row[2] > failures or row[3] > milliseconds or name in sampled:
                kept[name] = row
            else:
                gone.append(row)
        for measure in (0, 1):
            self.missed[measure] += max((row[measure] for row in gone), default=0)
        self.rows = kept

    def _heavier_than(self, measure: int) -> int:
        """What fewer than `heavy` hosts have more of."""
        return sorted([row[measure] for row in self.rows.values()])[-self._heavy]

    def __iter__(self) -> Iterator[HostRow]:
        """All rows."""
        return (HostRow(name, *row) for name, row in self.rows.items())

    def weighed(self, measure: int) -> Iterator[tuple[HostRow, int]]:
        """Rows that stand for all hosts, and for how many each does: one that could not be missed, for itself."""
        for row in self:
            if (row.documents, row.size)[measure] > self.missed[measure]:
                yield row, 1
            elif self._is_sampled(row.name):
                yield row, 1 << self.level

    def save(self) -> list[object]:
        return [self.level, self.missed, self.rows]

    def restore(self, saved: Iterable[object]) -> None:
        """Takes what `save` returned."""
        self.level, self.missed, self.rows = saved  # type: ignore[assignment]
