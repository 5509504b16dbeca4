"""The letters of a drone for another, from the first item until they are acknowledged.

Items are collected until there are enough, or they have waited. Letters are rows of crawl.db, and in memory those yet
to be written. The letters of a lane are numbered consecutively, sent in this order, and so acknowledged in this order:
three numbers say what has become of each. `first` is the first that is not acknowledged, `next` the first that is not
sent, `end` the number of the next to come. Exact letters have a lane of their own, because they wait for the sender's
checkpoint.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from webcrawl.crawl.hive.letter import EXACT, Kind
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile

NAME, END = "hive/out/", "hive/out0"  # names of rows: hive/out/DRONE/exact/NUMBER and hive/out/DRONE/plain/NUMBER
_PLAIN, _EXACT = "plain", "exact"
DIGITS = 15  # of a number: in this width the order of names is that of numbers
AFTER = ":"  # follows the digits in ASCII
NEXT = "SELECT name FROM meta WHERE name > ? AND name < ? ORDER BY name LIMIT 1"

SIZE, AGE = 256, 1.0  # items and seconds after which a letter is closed


@dataclass(frozen=True, slots=True)
class PackedLetter:
    """A message as it goes over the wire, and which it is for the spool."""

    number: int  # in its lane
    exact: bool
    turn: int  # letters of an earlier turn are no longer in the spool as they were
    data: bytes


class Lane:
    """Plain or exact letters for one drone."""

    __slots__ = ("_db", "_fresh", "_places", "_prefix", "_written", "end", "first", "held", "next", "ready")

    def __init__(self, db: CrawlDB, drone: int, *, exact: bool, first: int = 1, end: int = 1) -> None:
        """`first` to `end` are those that crawl.db has."""
        self._db = db
        self._prefix = f"{NAME}{drone}/{_EXACT if exact else _PLAIN}/"
        self.first = self.next = first
        self.end = self._written = end
        self.ready = end  # exact ones from here on may not be sent yet
        self._fresh: dict[int, bytes] = {}  # from `_written` on
        self._places: deque[int] = deque()  # of those that are sent
        self.held = 0  # bytes of _fresh

    def __len__(self) -> int:
        return self.end - self.first

    def _name(self, number: int) -> str:
        return f"{self._prefix}{number:0{DIGITS}}"

    def add(self, data: bytes) -> None:
        """Appends a letter."""
        self._fresh[self.end] = data
        self.end += 1
        self.held += len(data)

    def read(self, number: int, end: int) -> Iterator[tuple[int, bytes]]:
        """Those from this number on, up to `end`, which must exist."""
        stored = min(end, self._written)
        if number < stored:
            rows = self._db.between(self._name(number), self._name(stored))
            if len(rows) != stored - number:
                raise DamagedFile(self._db.path, 0, f"table meta, {self._prefix}*: letters are missing")
            yield from enumerate((data for _, data in rows), number)
        for later in range(max(number, stored), end):
            yield later, self._fresh[later]

    def write(self, most: int) -> None:
        """Writes the oldest letters that are only in memory."""
        some = list(islice(self._fresh.items(), most))
        self._db.set_all((self._name(number), data) for number, data in some)
        for number, data in some:
            del self._fresh[number]
            self.held -= len(data)
        self._written += len(some)

    @property
    def unwritten(self) -> int:
        """The number of letters that are only in memory."""
        return len(self._fresh)

    def sent(self, place: int) -> None:
        """The next letter is at this place of the stream."""
        self._places.append(place)
        self.next += 1

    def acknowledged(self, place: int) -> int:
        """Forgets the letters that were sent to places up to this one; returns how many these were."""
        places, count = self._places, 0
        while places and places[0] <= place:
            places.popleft()
            count += 1
        self.forget(count)
        return count

    def forget(self, count: int) -> None:
        """Removes the first letters, whether they are written or not."""
        end = self.first + count
        if self.first < self._written:
            self._db.delete(self._name(self.first), self._name(min(end, self._written)))
        for number in range(max(self.first, self._written), end):
            self.held -= len(self._fresh.pop(number))
        self.first = end
        self.next, self._written, self.ready = max(self.next, end), max(self._written, end), max(self.ready, end)

    def again(self) -> int:
        """All that are not acknowledged will be sent again; returns how many of them were sent."""
        count, self.next = self.next - self.first, self.first
        self._places.clear()
        return count


def stored(db: CrawlDB) -> Iterator[tuple[RowName, int]]:
    """For each lane of which crawl.db has letters: its first row, and the number after its last."""
    name = NAME
    while rows := db.query(NEXT, (name, END)):
        first = rows[0][0]
        name = f"{first.rpartition('/')[0]}/{AFTER}"
        ((last,),) = db.query("SELECT max(name) FROM meta WHERE name < ?", (name,))
        try:
            yield read_name(first), read_name(last).number + 1
        except ValueError as error:
            raise DamagedFile(db.path, 0, f"table meta, {first}: {error}") from error


class RowName(NamedTuple):
    """The letter's place, as the name of its row says."""

    drone: int
    exact: bool
    number: int


def read_name(name: str) -> RowName:
    """ValueError: this is not the name of a letter."""
    try:
        _, _, drone, kind, number = name.split("/")
        return RowName(int(drone), (_PLAIN, _EXACT).index(kind) == 1, int(number))
    except ValueError as error:
        raise ValueError("not the name of a letter") from error


@dataclass(slots=True)
class _Collection:
    since: float
    items: list[Any]


class Collections:
    """Gives `take` the items of a letter: drone, kind, items."""

    def __init__(self, take: Callable[[int, Kind, list[Any]], None], clock: Callable[[], float]) -> None:
        self._take, self._clock = take, clock
        self._open: dict[tuple[int, Kind], _Collection] = {}  # the oldest first

    def __len__(self) -> int:
        return len(self._open)

    def put(self, drone: int, kind: Kind, items: Sequence[Any]) -> None:
        """Takes items; a full letter is closed at once."""
        collection = self._open.get((drone, kind))
        if collection is None:
            if not items:
                return
            if kind in EXACT:  # their order is kept over all kinds: one begins when the other has ended
                self.close_kinds(drone, EXACT)
            collection = self._open[drone, kind] = _Collection(self._clock(), [])
        collection.items.extend(items)
        if len(collection.items) >= SIZE:
            self._close_full(drone, kind)

    def _close_full(self, drone: int, kind: Kind) -> None:
        items = self._open.pop((drone, kind)).items
        full = len(items) - len(items) % SIZE
        if full < len(items):
            self._open[drone, kind] = _Collection(self._clock(), items[full:])
        for at in range(0, full, SIZE):
            self._take(drone, kind, items[at : at + SIZE])

    def close(self, now: float, *, all: bool = False) -> None:  # noqa: A002 - reads as what it is
        """Closes the letters whose first items are a second old, or all."""
        while self._open:
            (drone, kind), oldest = next(iter(self._open.items()))
            if not all and now - oldest.since < AGE:
                return
            self.close_kinds(drone, (kind,))

    def close_kinds(self, drone: int, kinds: Iterable[Kind]) -> None:
        """Closes the letters of these kinds for this drone."""
        for kind in kinds:
            if (drone, kind) in self._open:
                self._take(drone, kind, self._open.pop((drone, kind)).items)

    def drones(self) -> list[int]:
        """The drone of each collection."""
        return [drone for drone, _ in self._open]
