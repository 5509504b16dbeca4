"""Counts by name and by host, in bounded memory, even if hostile sites invent names."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from siphashc import siphash

from webcrawl.base.url_text import visible
from webcrawl.store.jobdir.stats_file import OTHERS

Row = tuple[str, int, int]  # name, count, bytes


class NameTally:
    """Number and bytes by name, of at most `max_names` names.

    If there are too many names, the counts of the rarer half are added to `others`. So sums are
    always exact, and so is the count of a name that was never in the rarer half. The count of any
    other name is too small by at most `max_missing`.
    """

    def __init__(self, max_names: int) -> None:
        self._max_names = max_names
        self.names: dict[str, list[int]] = {}  # number and bytes
        self.others = [0, 0]  # number and bytes of the names that were dropped
        # The sum of the largest count of each rarer half that was dropped
        self.max_missing = 0

    def add(self, name: str, size: int) -> None:
        """Count one occurrence of a name, with `size` bytes."""
        row = self.names.get(name)
        if row is None:
            if len(self.names) >= self._max_names:
                self._drop_rarer_half()
            row = self.names[name] = [0, 0]
        row[0] += 1
        row[1] += size

    def _drop_rarer_half(self) -> None:
        """Add the counts of the rarer half of the names to the others."""
        by_count = sorted(self.names, key=lambda name: self.names[name][0])
        rarer_half = by_count[: max(self._max_names // 2, 1)]
        rows = [self.names.pop(name) for name in rarer_half]
        self.others = [
            self.others[0] + sum(row[0] for row in rows),
            self.others[1] + sum(row[1] for row in rows),
        ]
        self.max_missing += rows[-1][0]

    def join(self, other: NameTally) -> None:
        """Add the counts of another tally. There may be more than `max_names` names afterwards."""
        for name, (number, size) in other.names.items():
            row = self.names.setdefault(name, [0, 0])
            row[0] += number
            row[1] += size
        self.others = [
            mine + theirs for mine, theirs in zip(self.others, other.others, strict=True)
        ]
        self.max_missing += other.max_missing

    def rows(self) -> list[Row]:
        """Return all names, the most frequent first."""
        rows = [(name, number, size) for name, (number, size) in self.names.items()]
        return sorted(rows, key=lambda row: (-row[1], row[0]))

    def top(self, limit: int) -> list[Row]:
        """Return the `limit` most frequent names, and a row OTHERS with the sum of all others."""
        rows = self.rows()
        number, size = self.others
        number += sum(row[1] for row in rows[limit:])
        size += sum(row[2] for row in rows[limit:])
        top = rows[:limit]
        if number:
            top.append((OTHERS, number, size))
        return top

    def save(self) -> list[object]:
        return [self.names, self.others, self.max_missing]

    def restore(self, saved: Iterable[object]) -> None:
        self.names, self.others, self.max_missing = saved  # type: ignore[assignment]


NO_TYPE = "no-type"  # as in crawl.log
MAX_TYPE_CHARS = 80
GROUPS = ("HTML", "other text", "images", "audio and video", "PDF", "other")
_HTML_TYPES = frozenset(("text/html", "application/xhtml+xml"))
_GROUP_PREFIXES = (
    ("text/", 1),
    ("image/", 2),
    ("audio/", 3),
    ("video/", 3),
    ("application/pdf", 4),
)
_TEXT_SUFFIXES = ("json", "xml", "javascript")


def media_type_of(content_type: str) -> str:
    """Return the media type of a Content-Type header or of a line in crawl.log, in lower case.

    Return NO_TYPE if there is none. A longer type is truncated after MAX_TYPE_CHARS.
    """
    return visible(content_type.partition(";")[0].strip()).lower()[:MAX_TYPE_CHARS] or NO_TYPE


def group_of(kind: str) -> int:
    """Return the position in GROUPS of a type that `media_type_of` returned."""
    if kind in _HTML_TYPES:
        return 0
    for start, group in _GROUP_PREFIXES:
        if kind.startswith(start):
            return group
    return 1 if kind.endswith(_TEXT_SUFFIXES) else 5


MAX_HOSTS = 1 << 13  # 3 MB, packed in 3 ms at each checkpoint
# Of each of the four measures, so many of the heaviest hosts stay, whatever their hash: together an
# eighth of all
HEAVY_PER_MEASURE = MAX_HOSTS // 32
SLOT_BITS = 12
BOUND_SLOTS = 1 << SLOT_BITS
# Leaves the first bits of a hash of 64 bits, which are a slot. The sample depends on the last bits.
BOUND_SHIFT = 64 - SLOT_BITS
# Positions in a host's row
DOCUMENTS, BYTES, FAILED_URLS, MILLISECONDS, DOWNLOADS, MISSED_DOCUMENTS, MISSED_BYTES = range(7)
MEASURES = (DOCUMENTS, BYTES, FAILED_URLS, MILLISECONDS)  # those by which a host may be heavy


class HostRow(NamedTuple):
    """The figures of one host.

    They are exact if `missed` is 0. Otherwise up to `missed` documents, with up to `missed_size`
    bytes, are not counted.
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
        """Return the mean duration of the host's downloads. There must be at least one."""
        return self.milliseconds / self.downloads / 1000


class HostTally:
    """Rows of hosts: of each host while there is room, then of heavy hosts and of a sample.

    The sample has the hosts whose hash ends in `level` zero bits (Wegman's adaptive sampling). As
    the level only rises, their rows are complete, and each stands for 2^level hosts. The heavy
    hosts are the first of each measure. The hash is keyed, so that a hostile site cannot choose
    names that fill the sample.

    Of dropped rows only bounds are kept: in the slot of each host, which is the first bits of its
    hash, the largest number of documents and of bytes. A host that comes again may lack that many.
    """

    def __init__(
        self, key: bytes, max_hosts: int = MAX_HOSTS, heavy: int = HEAVY_PER_MEASURE
    ) -> None:
        """`key` is that of the hash, and `heavy` the number of heavy hosts of each measure."""
        self._key = key
        self._max_hosts = max_hosts
        self._heavy = heavy
        self.level = 0
        # 64 bits for each slot: of documents, then of bytes
        self._bounds = array("Q", bytes(2 * 8 * BOUND_SLOTS))
        self.rows: dict[str, list[int]] = {}

    @property
    def max_missed(self) -> tuple[int, int]:
        """Return the most documents, and the most bytes, that any host had in a dropped row.

        No host without a row has more, and no row lacks more.
        """
        return max(self._bounds[:BOUND_SLOTS]), max(self._bounds[BOUND_SLOTS:])

    def row_of(self, name: str) -> list[int]:
        """Return the row of a host, to which the caller adds. A new host gets an empty one."""
        row = self.rows.get(name)
        if row is None:
            if len(self.rows) >= self._max_hosts:
                self._drop_rows()
            missed = self._missed_by(name) if self.level else (0, 0)
            row = self.rows[name] = [0, 0, 0, 0, 0, *missed]
        return row

    def _missed_by(self, name: str) -> tuple[int, int]:
        """Return how many documents and bytes a host may have had in a row that was dropped."""
        hashed = siphash(self._key, name)
        is_sampled = not hashed & ((1 << self.level) - 1)
        # The row of a sampled host was never dropped
        if is_sampled:
            return 0, 0
        slot = hashed >> BOUND_SHIFT
        return self._bounds[slot], self._bounds[BOUND_SLOTS + slot]

    def _is_sampled(self, name: str) -> bool:
        return not siphash(self._key, name) & ((1 << self.level) - 1)

    def _drop_rows(self) -> None:
        """Drop the rows of all hosts that are neither heavy nor in the sample.

        This takes some milliseconds, once in thousands of new hosts.
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
        """Raise the level until the sample is at most half of all hosts; return its names."""
        sampled = {name for name in self.rows if self._is_sampled(name)}
        while len(sampled) > self._max_hosts // 2:
            self.level += 1
            sampled = {name for name in sampled if self._is_sampled(name)}
        return sampled

    def _heavy_hosts(self) -> set[str]:
        """Return the names of the hosts that are among the heaviest by any measure."""
        heavy: set[str] = set()
        for measure in MEASURES:
            bound = self._lower_bound_of_heavy(measure)
            heavy.update(name for name, row in self.rows.items() if row[measure] > bound)
        return heavy

    def _remember_bounds(self, name: str, row: list[int]) -> None:
        """Raise the bounds in the host's slot to the figures of its row, which is dropped."""
        bounds = self._bounds
        slot = siphash(self._key, name) >> BOUND_SHIFT
        byte_slot = BOUND_SLOTS + slot
        bounds[slot] = max(bounds[slot], row[DOCUMENTS] + row[MISSED_DOCUMENTS])
        bounds[byte_slot] = max(bounds[byte_slot], row[BYTES] + row[MISSED_BYTES])

    def _lower_bound_of_heavy(self, measure: int) -> int:
        """Return the value of a measure that fewer than `heavy` hosts exceed."""
        return sorted([row[measure] for row in self.rows.values()])[-self._heavy]

    def __iter__(self) -> Iterator[HostRow]:
        return (HostRow(name, *row) for name, row in self.rows.items())

    @property
    def with_documents(self) -> int:
        """Return the number of hosts with documents, estimated if rows were dropped."""
        most_missed = self.max_missed[DOCUMENTS]
        sampled = sum(
            self._is_sampled(name)
            for name, row in self.rows.items()
            if 0 < row[DOCUMENTS] <= most_missed
        )
        # Hosts with more documents than any dropped row have all kept their rows
        certain = sum([row[DOCUMENTS] > most_missed for row in self.rows.values()])
        return certain + (sampled << self.level)

    def weighted_rows(self, measure: int) -> Iterator[tuple[HostRow, int]]:
        """Yield rows that stand for all hosts, each with the number of hosts that it stands for.

        A host that has more than any dropped row stands for itself. `measure` is DOCUMENTS or
        BYTES.
        """
        most_missed = self.max_missed
        for row in self:
            if (row.documents, row.size)[measure] > most_missed[measure]:
                yield row, 1
            elif self._is_sampled(row.name):
                yield row, 1 << self.level

    def join(self, other: HostTally) -> None:
        """Add the rows of another tally with the same key. There may be too many rows afterwards.

        The sample is that of the higher level: other hosts in the sample of the lower level then
        count only if they are heavy. The bounds are the larger ones, because a host belongs to one
        of the two tallies. An exception is a host that passed from one drone of a hive to another,
        and whose rows were dropped in both: it may lack the sum of the two bounds.
        """
        self.level = max(self.level, other.level)
        self._bounds = array("Q", map(max, self._bounds, other._bounds))
        for name, row in other.rows.items():
            mine = self.rows.get(name)
            if mine is None:
                self.rows[name] = [*row]
            else:
                self.rows[name] = [own + added for own, added in zip(mine, row, strict=True)]

    def save(self) -> list[object]:
        return [self.level, self._bounds.tobytes() if self.level else b"", self.rows]

    def restore(self, saved: Iterable[object]) -> None:
        self.level, bounds, self.rows = saved  # type: ignore[assignment]
        if isinstance(bounds, bytes) and bounds:
            self._bounds = array("Q", bounds)
