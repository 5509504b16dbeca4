"""Counts by name and by host, in bounded memory, even if a hostile web makes up names."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from siphashc import siphash

from webcrawl.base.url_text import visible
from webcrawl.store.jobdir.stats_file import OTHERS

Row = tuple[str, int, int]  # name, count, bytes


class NameTally:
    """Number and bytes by name. If there are too many names, the rarer half becomes `others`.

    So sums are always exact, and so is the count of a name that was never in the rarer half. The
    count of any other name lacks at most `most`.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self.names: dict[str, list[int]] = {}
        self.others = [0, 0]
        # The sum of the largest counts that were added to the others, one for each time
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
        """Add the rarer half to the others: once per half as many new names, at most."""
        rare = sorted(self.names, key=lambda name: self.names[name][0])[: max(self._room // 2, 1)]
        rows = [self.names.pop(name) for name in rare]
        self.others = [
            self.others[0] + sum(row[0] for row in rows),
            self.others[1] + sum(row[1] for row in rows),
        ]
        self.most += rows[-1][0]

    def join(self, other: NameTally) -> None:
        """Add the counts of another tally. There may be more names afterwards than `room`."""
        for name, (number, size) in other.names.items():
            row = self.names.setdefault(name, [0, 0])
            row[0] += number
            row[1] += size
        self.others = [
            mine + theirs for mine, theirs in zip(self.others, other.others, strict=True)
        ]
        self.most += other.most

    def rows(self) -> list[Row]:
        """Return all names, the most frequent first."""
        rows = [(name, number, size) for name, (number, size) in self.names.items()]
        return sorted(rows, key=lambda row: (-row[1], row[0]))

    def first(self, most: int) -> list[Row]:
        """Return this many rows, and one row of all others together if there are any."""
        rows = self.rows()
        number, size = self.others
        number += sum(row[1] for row in rows[most:])
        size += sum(row[2] for row in rows[most:])
        first = rows[:most]
        if number:
            first.append((OTHERS, number, size))
        return first

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
    """Return the media type, in lower case, of a Content-Type header or of a line in crawl.log."""
    return visible(content_type.partition(";")[0].strip()).lower()[:LONGEST] or NO_TYPE


def group_of(kind: str) -> int:
    """Return the position in GROUPS of a type that `kind_of` returned."""
    if kind in _HTML:
        return 0
    for start, group in _STARTS:
        if kind.startswith(start):
            return group
    return 1 if kind.endswith(_TEXT) else 5


ROOM = 1 << 13  # hosts: 3 MB, packed in 3 ms at each checkpoint
# This many hosts of each measure are kept with any hash: together an eighth of the room
HEAVY = ROOM // 32
BOUNDS = 1 << 12
# Leaves the first bits of a hash. The sample looks at the last ones.
SHIFT = 64 - 12
MEASURES = range(4)  # documents, bytes, failures, milliseconds: positions in a row


class HostRow(NamedTuple):
    """The figures of one host.

    They are exact if `missed` is 0; otherwise the host may have that many documents more.
    """

    name: str
    documents: int
    size: int  # bytes of the documents
    failures: int
    milliseconds: int  # of all its downloads together
    downloads: int
    missed: int
    missed_size: int

    @property
    def seconds(self) -> float:
        """Return the mean duration of the host's downloads."""
        return self.milliseconds / self.downloads / 1000


class HostTally:
    """One row per host while there is room; then only of hosts that are heavy or in the sample.

    The sample has the hosts whose hash ends in `level` zero bits (Wegman's adaptive sampling). As
    the level only rises, their rows are complete, and each stands for 2^level hosts. The heavy ones
    are the first of each measure. The hash is keyed: a hostile site cannot choose names that fill
    the sample.

    The figures of a dropped row are remembered as bounds: for all hosts with the same first bits of
    the hash, the largest number of documents and of bytes. A host that comes again may lack that
    many.
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
        """Return bounds of documents and bytes: no host without a row has more, no row lacks more."""
        return max(self._bounds[:BOUNDS]), max(self._bounds[BOUNDS:])

    def row(self, name: str) -> list[int]:
        """Return the host's row: the four measures, its downloads, and what it may have lost.

        The caller adds to it.
        """
        row = self.rows.get(name)
        if row is None:
            if len(self.rows) >= self._room:
                self._make_room()
            missed = self._bound(name) if self.level else (0, 0)
            row = self.rows[name] = [0, 0, 0, 0, 0, *missed]
        return row

    def _bound(self, name: str) -> tuple[int, int]:
        """Return how many documents and bytes a host may have had in a row that was dropped."""
        number = siphash(self._key, name)
        is_sampled = not number & ((1 << self.level) - 1)
        # Its row was never dropped
        if is_sampled:
            return 0, 0
        first_bits = number >> SHIFT
        return self._bounds[first_bits], self._bounds[BOUNDS + first_bits]

    def _is_sampled(self, name: str) -> bool:
        return not siphash(self._key, name) & ((1 << self.level) - 1)

    def _make_room(self) -> None:
        """Drop the rows of all hosts but the sample and the heaviest by each measure.

        This takes some milliseconds, and is needed once in thousands of new hosts.
        """
        sampled = self._reduced_sample()
        heavy = self._heavy_hosts()
        rows = self.rows
        self.rows = {}
        for name, row in rows.items():
            if name in sampled or name in heavy:
                self.rows[name] = row
            else:
                self._remember_bounds(name, row)

    def _reduced_sample(self) -> set[str]:
        """Raise the level until the sample takes half of the room at most; return the sample."""
        sampled = {name for name in self.rows if self._is_sampled(name)}
        while len(sampled) > self._room // 2:
            self.level += 1
            sampled = {name for name in sampled if self._is_sampled(name)}
        return sampled

    def _heavy_hosts(self) -> set[str]:
        """Return the hosts that are among the heaviest by any measure."""
        heavy: set[str] = set()
        for measure in MEASURES:
            bound = self._heavier_than(measure)
            heavy.update(name for name, row in self.rows.items() if row[measure] > bound)
        return heavy

    def _remember_bounds(self, name: str, row: list[int]) -> None:
        """Raise the bounds to the figures of a row that is dropped."""
        bounds = self._bounds
        documents = siphash(self._key, name) >> SHIFT
        size = BOUNDS + documents
        bounds[documents] = max(bounds[documents], row[0] + row[5])
        bounds[size] = max(bounds[size], row[1] + row[6])

    def _heavier_than(self, measure: int) -> int:
        """Return the number that fewer than `heavy` hosts exceed."""
        return sorted([row[measure] for row in self.rows.values()])[-self._heavy]

    def __iter__(self) -> Iterator[HostRow]:
        return (HostRow(name, *row) for name, row in self.rows.items())

    @property
    def with_documents(self) -> int:
        """Return the number of hosts with documents. Those whose rows were dropped are estimated."""
        missed = self.missed[0]
        sampled = sum(
            self._is_sampled(name) for name, row in self.rows.items() if 0 < row[0] <= missed
        )
        with_own_row = sum([row[0] > missed for row in self.rows.values()])
        return with_own_row + (sampled << self.level)

    def weighed(self, measure: int) -> Iterator[tuple[HostRow, int]]:
        """Yield rows that stand for all hosts, each with the number of hosts it stands for.

        A host with more than any dropped row stands for itself.
        """
        missed = self.missed
        for row in self:
            if (row.documents, row.size)[measure] > missed[measure]:
                yield row, 1
            elif self._is_sampled(row.name):
                yield row, 1 << self.level

    def join(self, other: HostTally) -> None:
        """Add the rows of another, which must have the same key. They may exceed the room.

        The sample is that of the higher level: the other hosts of the lower one then count only if
        they are heavy. The bounds are the larger ones, because a host belongs to one of the two. A
        host whose rows were dropped in both, as it passed from one drone of a hive to another, may
        have had the sum.
        """
        self.level = max(self.level, other.level)
        self._bounds = array("Q", map(max, self._bounds, other._bounds))
        for name, row in other.rows.items():
            mine = self.rows.get(name)
            if mine is None:
                self.rows[name] = [*row]
            else:
                self.rows[name] = [one + more for one, more in zip(mine, row, strict=True)]

    def save(self) -> list[object]:
        return [self.level, self._bounds.tobytes() if self.level else b"", self.rows]

    def restore(self, saved: Iterable[object]) -> None:
        self.level, bounds, self.rows = saved  # type: ignore[assignment]
        if isinstance(bounds, bytes) and bounds:
            self._bounds = array("Q", bounds)
