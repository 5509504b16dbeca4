"""Counts by name and by host, in bounded memory, whatever names a hostile web makes up."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from siphashc import siphash

from webcrawl.base.url_text import visible
from webcrawl.store.jobdir.stats_file import OTHERS

Row = tuple[str, int, int]  # name, count, bytes


class Tally:
    """Number and bytes by name. When there are too many names, the rarer half is counted together
    as `others`.

    So sums are always exact, and so is a name that was never among the rarer half. One that was has
    fewer than `most`.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self.names: dict[str, list[int]] = {}
        self.others = [0, 0]
        # the largest count that was added to the others at once, summed over all times
        self.most = 0

    def add(self, name: str, size: int) -> None:
        """Count one of this name."""
        row = self.names.get(name)
        if row is None:
            if len(self.names) >= self._room:
                self._make_room()
            row = self.names[name] = [0, 0]
        row[0] += 1
        row[1] += size

    def _make_room(self) -> None:
        """Linear in the number of names, and needed at most once in half as many new ones."""
        rare = sorted(self.names, key=lambda name: self.names[name][0])[: max(self._room // 2, 1)]
        rows = [self.names.pop(name) for name in rare]
        self.others = [
            self.others[0] + sum(row[0] for row in rows),
            self.others[1] + sum(row[1] for row in rows),
        ]
        self.most += rows[-1][0]

    def join(self, other: Tally) -> None:
        """Add what another has counted; of two there may be more names than one has room for."""
        for name, (number, size) in other.names.items():
            row = self.names.setdefault(name, [0, 0])
            row[0] += number
            row[1] += size
        self.others = [
            mine + theirs for mine, theirs in zip(self.others, other.others, strict=True)
        ]
        self.most += other.most

    def rows(self) -> list[Row]:
        """All names, the most frequent first."""
        rows = [(name, number, size) for name, (number, size) in self.names.items()]
        return sorted(rows, key=lambda row: (-row[1], row[0]))

    def first(self, most: int) -> list[Row]:
        """Return so many of these rows, and one of all others together if there are any."""
        rows = self.rows()
        number, size = self.others
        number += sum(row[1] for row in rows[most:])
        size += sum(row[2] for row in rows[most:])
        return [*rows[:most], *([(OTHERS, number, size)] if number else [])]

    def save(self) -> list[object]:
        return [self.names, self.others, self.most]

    def restore(self, saved: Iterable[object]) -> None:
        self.names, self.others, self.most = saved  # type: ignore[assignment]


NO_TYPE = "no-type"  # as in crawl.log
LONGEST = 80  # characters of a type
GROUPS = ("HTML", "other text", "images", "audio and video", "PDF", "other")
_HTML = frozenset(("text/html", "application/xhtml+xml"))
_STARTS = (("text/", 1), ("image/", 2), ("audio/", 3), ("video/", 3), ("application/pdf", 4))
_TEXT = ("json", "xml", "javascript")


def kind_of(content_type: str) -> str:
    """The type without its parameters, in lower case; of a header or of a line in crawl.log alike."""
    return visible(content_type.partition(";")[0].strip()).lower()[:LONGEST] or NO_TYPE


def group_of(kind: str) -> int:
    """The position in GROUPS of a type as `kind_of` gives it."""
    if kind in _HTML:
        return 0
    for start, group in _STARTS:
        if kind.startswith(start):
            return group
    return 1 if kind.endswith(_TEXT) else 5


ROOM = 1 << 13  # hosts: 3 MB, packed in 3 ms at each checkpoint
# of each measure so many are kept whatever their hash: together an eighth of the room
HEAVY = ROOM // 32
BOUNDS = 1 << 12
SHIFT = 64 - 12  # the bits of a hash that the sample does not look at
MEASURES = range(4)  # documents, bytes, failures, milliseconds: positions in a row


class HostRow(NamedTuple):
    """The figures of one host.

    They are exact if `missed` is 0; else up to so many documents more are its own.
    """

    name: str
    documents: int
    size: int  # bytes of these
    failures: int
    milliseconds: int  # of all its downloads together
    downloads: int
    missed: int
    missed_size: int

    @property
    def seconds(self) -> float:
        """The mean duration of its downloads."""
        return self.milliseconds / self.downloads / 1000


class Hosts:
    """One row per host while there is room. Then rows give way whose hosts are neither heavy nor in
    the sample.

    The sample is those hosts whose hash ends in `level` zero bits (Wegman's adaptive sampling). As
    the level only rises, they have been here from their first URL on, and each stands for 2^level
    hosts. The heavy ones are the first of each measure. The hash is keyed: a hostile site cannot
    choose names that fill the sample.

    What a host had when it gave way is remembered as a bound: of all hosts with the same hash below
    `BOUNDS` the largest number of documents, and of bytes. A host that comes again may have missed
    so many.
    """

    def __init__(self, key: bytes, room: int = ROOM, heavy: int = HEAVY) -> None:
        self._key = key
        self._room = room
        self._heavy = heavy
        self.level = 0
        self._bounds = array("Q", bytes(16 * BOUNDS))  # documents, then bytes
        self.rows: dict[str, list[int]] = {}

    @property
    def missed(self) -> tuple[int, int]:
        """Documents and bytes: no host that is not here has more, and no row lacks more."""
        return max(self._bounds[:BOUNDS]), max(self._bounds[BOUNDS:])

    def row(self, name: str) -> list[int]:
        """The host's row: the four measures, its downloads, and what it may have lost.

        The caller adds to it.
        """
        row = self.rows.get(name)
        if row is None:
            if len(self.rows) >= self._room:
                self._make_room()
            row = self.rows[name] = [0, 0, 0, 0, 0, *(self._bound(name) if self.level else (0, 0))]
        return row

    def _bound(self, name: str) -> tuple[int, int]:
        """Return the number that a host may have had before; one of the sample never gave way."""
        number = siphash(self._key, name)
        if not number & ((1 << self.level) - 1):
            return 0, 0
        return self._bounds[number >> SHIFT], self._bounds[BOUNDS + (number >> SHIFT)]

    def _is_sampled(self, name: str) -> bool:
        return not siphash(self._key, name) & ((1 << self.level) - 1)

    def _make_room(self) -> None:
        """Drop all hosts but the sample, which has half of the room at most, and the heaviest by
        each measure.

        This takes some milliseconds, and is needed once in thousands of new hosts.
        """
        sampled = {name for name in self.rows if self._is_sampled(name)}
        while len(sampled) > self._room // 2:
            self.level += 1
            sampled = {name for name in sampled if self._is_sampled(name)}
        documents, size, failures, milliseconds = [
            self._heavier_than(measure) for measure in MEASURES
        ]
        rows, self.rows = self.rows, {}
        for name, row in rows.items():
            is_heavy = (
                row[0] > documents or row[1] > size or row[2] > failures or row[3] > milliseconds
            )
            if is_heavy or name in sampled:
                self.rows[name] = row
            else:
                self._give_way(name, row)

    def _give_way(self, name: str, row: list[int]) -> None:
        at, bounds = siphash(self._key, name) >> SHIFT, self._bounds
        bounds[at] = max(bounds[at], row[0] + row[5])
        bounds[BOUNDS + at] = max(bounds[BOUNDS + at], row[1] + row[6])

    def _heavier_than(self, measure: int) -> int:
        """Return the number that fewer than `heavy` hosts exceed."""
        return sorted([row[measure] for row in self.rows.values()])[-self._heavy]

    def __iter__(self) -> Iterator[HostRow]:
        return (HostRow(name, *row) for name, row in self.rows.items())

    @property
    def with_documents(self) -> int:
        """The number of hosts that gave any: those that gave way are estimated."""
        missed = self.missed[0]
        sampled = sum(
            self._is_sampled(name) for name, row in self.rows.items() if 0 < row[0] <= missed
        )
        return sum([row[0] > missed for row in self.rows.values()]) + (sampled << self.level)

    def weighed(self, measure: int) -> Iterator[tuple[HostRow, int]]:
        """Rows that stand for all hosts, and for how many each does: one that could not be missed,
        for itself.
        """
        missed = self.missed
        for row in self:
            if (row.documents, row.size)[measure] > missed[measure]:
                yield row, 1
            elif self._is_sampled(row.name):
                yield row, 1 << self.level

    def join(self, other: Hosts) -> None:
        """Add the rows of another, which must have the same key; there may be more than one has
        room for.

        The sample is that of the higher level: what the lower one has beyond it then counts among
        the heavy ones alone. Bounds are the larger of both, because a host belongs to one of them.
        One that gave way in both, as it changed hands between two drones of a hive, may have had
        the sum.
        """
        self.level = max(self.level, other.level)
        self._bounds = array("Q", map(max, self._bounds, other._bounds))
        for name, row in other.rows.items():
            mine = self.rows.get(name)
            self.rows[name] = (
                [*row]
                if mine is None
                else [one + more for one, more in zip(mine, row, strict=True)]
            )

    def save(self) -> list[object]:
        return [self.level, self._bounds.tobytes() if self.level else b"", self.rows]

    def restore(self, saved: Iterable[object]) -> None:
        self.level, bounds, self.rows = saved  # type: ignore[assignment]
        if isinstance(bounds, bytes) and bounds:
            self._bounds = array("Q", bounds)
