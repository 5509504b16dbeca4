"""Letters of this drone to others: collected, and kept until the receivers' checkpoints have them.

Ordinary letters may be sent at once. Exact ones are numbered for their receiver, and sent only
after a checkpoint of this drone has them, so that no number is ever sent with two contents. After a
restart all letters of the checkpoint are sent again: receivers know the exact ones by their
numbers, and of the others a second copy does no harm.
"""

from __future__ import annotations

import random
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf
from operator import attrgetter
from typing import Any, NamedTuple

import msgpack

from webcrawl.crawl.hive.letter import EXACT, LARGEST, Kind, Letter, TooLong, order, pack, unpack
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile

# names of rows: hive/out/DRONE/exact/NUMBER and hive/out/DRONE/plain/NUMBER
NAME, END = "hive/out/", "hive/out0"
_PLAIN, _EXACT = "plain", "exact"
DIGITS = 15  # of a number: in this width the order of names is that of numbers
AFTER = ":"  # follows the digits in ASCII
NEXT = "SELECT name FROM meta WHERE name > ? AND name < ? ORDER BY name LIMIT 1"

SIZE = 256  # items with which a letter is closed
AGE = 1.0  # seconds after which it is closed if its receiver, or the hive, is not to wait
# Letters of a kind that a drone sends in a second, full ones aside. Without a bound there are as
# many as other drones: of 1,000 drones 27 cores of the server would do nothing else
PER_SECOND = 64


def batch_age(drones: int, most: float) -> float:
    """Return the seconds after which a letter is closed in a hive of so many drones.

    `most`: HIVE_BATCH_AGE.
    """
    return min(most, max(AGE, drones / PER_SECOND))


@dataclass(frozen=True, slots=True)
class PackedLetter:
    """A message as it goes over the wire, and which it is for the spool."""

    number: int  # in its lane
    exact: bool
    turn: int  # letters of an earlier turn are no longer in the spool as they were
    data: bytes


class Lane:
    """Plain or exact letters for one drone: rows of crawl.db, and in memory the unwritten ones.

    They are numbered consecutively, sent in this order, and so acknowledged in this order: three
    numbers say what has become of each. `first` is the first that is not acknowledged, `next` the
    first that is not sent, `end` the number of the next to come. Exact letters have a lane of their
    own, because they wait for the sender's checkpoint.
    """

    __slots__ = (
        "_db",
        "_fresh",
        "_places",
        "_prefix",
        "_written",
        "end",
        "first",
        "held",
        "next",
        "ready",
    )

    def __init__(
        self, db: CrawlDB, drone: int, *, exact: bool, first: int = 1, end: int = 1
    ) -> None:
        """`first` to `end` are those that crawl.db has."""
        self._db = db
        self._prefix = f"{NAME}{drone}/{_EXACT if exact else _PLAIN}/"
        self.first = first
        self.next = first
        self.end = end
        self._written = end
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
        """Return the letters from this number on, up to `end`, which must exist."""
        stored = min(end, self._written)
        if number < stored:
            rows = self._db.between(self._name(number), self._name(stored))
            if len(rows) != stored - number:
                raise DamagedFile(
                    self._db.path, 0, f"table meta, {self._prefix}*: letters are missing"
                )
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
        """Return the number of letters that are only in memory."""
        return len(self._fresh)

    def sent(self, place: int) -> None:
        """Note that the next letter is at this place of the stream."""
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
        self.next = max(self.next, end)
        self._written = max(self._written, end)
        self.ready = max(self.ready, end)

    def again(self) -> int:
        """Send all again that are not acknowledged; return how many of them were sent."""
        count, self.next = self.next - self.first, self.first
        self._places.clear()
        return count


def stored(db: CrawlDB) -> Iterator[tuple[RowName, int]]:
    """Return the first row, and the number after the last, of each lane in crawl.db."""
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
    """Return the place of a letter from the name of its row.

    Raise ValueError if that is no name of a letter.
    """
    try:
        _, _, drone, kind, number = name.split("/")
        return RowName(int(drone), (_PLAIN, _EXACT).index(kind) == 1, int(number))
    except ValueError as error:
        raise ValueError("not a valid name of a letter") from error


@dataclass(slots=True)
class _Collection:
    since: float
    items: list[Any]


class Collections:
    """Gives `take` the items of a letter: drone, kind, items."""

    def __init__(
        self, take: Callable[[int, Kind, list[Any]], None], clock: Callable[[], float]
    ) -> None:
        self._take = take
        self._clock = clock
        self._open: dict[tuple[int, Kind], _Collection] = {}  # the oldest first

    def __len__(self) -> int:
        return len(self._open)

    def put(self, drone: int, kind: Kind, items: Sequence[Any]) -> None:
        """Takes items; a full letter is closed at once."""
        collection = self._open.get((drone, kind))
        if collection is None:
            if not items:
                return
            # their order is kept over all kinds: one begins when the other has ended
            if kind in EXACT:
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

    def close(self, before: float) -> None:
        """Closes the letters whose first items came up to this time.

        All that there is for the same drones goes along: they travel together.
        """
        while self._open:
            (drone, _), oldest = next(iter(self._open.items()))
            if oldest.since > before:
                return
            self.close_kinds(drone, Kind)

    def close_for(self, drones: Iterable[int], before: float) -> None:
        """Closes those of them that are for these drones."""
        for drone in drones:
            found = [self._open.get((drone, kind)) for kind in Kind]
            if any(one is not None and one.since <= before for one in found):
                self.close_kinds(drone, Kind)

    def close_kinds(self, drone: int, kinds: Iterable[Kind]) -> None:
        """Closes the letters of these kinds for this drone."""
        for kind in kinds:
            if (drone, kind) in self._open:
                self._take(drone, kind, self._open.pop((drone, kind)).items)

    def drones(self) -> list[int]:
        """Return the drone of each collection."""
        return [drone for drone, _ in self._open]


META = "hive/outbox"  # in the database: channel and last number of the exact letters for each drone
COMFORTABLE = 1 << 20  # bytes of a letter's items, unless there is only one
AT_ONCE = 4 << 20  # bytes of letters that are due at once, unless the first has more
SLICE = 32  # letters written in one turn: 2 ms


def channels_of(saved: bytes | None) -> dict[int, tuple[int, int]]:
    """Return the channel and the last number of the exact letters to each drone, as META has them."""
    return {
        int(drone): (int(channel), int(last))
        for drone, channel, last in msgpack.unpackb(saved or b"\x90")
    }


class Outbox:
    """Letters for all other drones. A Part of the checkpoint, and its follower (`committed`).

    Parts that put anything while they are saved must have joined the database before.
    """

    def __init__(
        self,
        db: CrawlDB,
        me: int,
        hive: bytes,
        *,
        memory: int = 8 << 20,
        clock: Callable[[], float] = time.monotonic,
        chance: random.Random | None = None,
    ) -> None:
        """`hive` is the hive's key or what stands for it, the same for all its drones."""
        self.generation = 0  # of the slot map: put on letters when they are closed
        self.age = AGE  # seconds after which letters are closed
        # drones that have nothing to do: letters for them are closed after a second
        self.hungry: Collection[int] = ()
        self.epoch = ""
        self._db = db
        self._me = me
        self._hive = hive
        self._memory = memory
        self._clock = clock
        self._chance = chance or random.SystemRandom()
        self._collections = Collections(self._add, clock)
        self._lanes: dict[tuple[int, bool], Lane] = {}
        self._acknowledged: dict[int, int] = {}  # the place of each drone in this epoch
        self._turn = 0  # of epochs: see PackedLetter
        self._counts: Counter[str] = Counter()
        self._channels: dict[int, int] = {}
        for drone, (channel, last) in channels_of(db.get(META)).items():
            self._channels[drone] = channel
            self._lanes[drone, True] = Lane(db, drone, exact=True, first=last + 1, end=last + 1)
        for first, end in stored(db):
            lane = Lane(db, first.drone, exact=first.exact, first=first.number, end=end)
            self._lanes[first.drone, first.exact] = lane
        self._saved = self._state()
        self._closed_lanes: set[int] = set()  # drones whose letters are about to go to others
        # those for which the last checkpoint has letters
        self.kept = frozenset(self.drones())
        self._saving = self.kept
        # exact lanes and how far the checkpoint that is being taken has them
        self._closed: list[tuple[Lane, int]] = []
        db.join(self)

    # -- in

    def put(self, drone: int, kind: Kind, items: Sequence[Any]) -> None:
        """Takes items for another drone."""
        self._collections.put(drone, kind, items)

    def close(self, now: float, *, all: bool = False) -> None:  # noqa: A002 - reads as what it is
        """Make letters of the collections that are old enough, or of all.

        Full ones are letters already.
        """
        if all:
            self._collections.close(inf)
            return
        self._collections.close(now - self.age)
        self._collections.close_for(self.hungry, now - AGE)

    def _add(self, drone: int, kind: Kind, items: list[Any]) -> None:
        """Appends a letter of these items, or more if they are large."""
        exact = kind in EXACT
        lane = self._lane(drone, exact=exact)
        channel = self._channel(drone) if exact else 0
        message = Letter(kind, self._me, self.generation, lane.end if exact else 0, items, channel)
        try:
            data = pack(message, self._hive, COMFORTABLE if len(items) > 1 else LARGEST)
        except TooLong:
            half = len(items) // 2
            if not half:
                raise
            self._add(drone, kind, items[:half])
            self._add(drone, kind, items[half:])
            return
        lane.add(data)
        self._counts["letters"] += 1
        self._counts["items"] += len(items)
        self._counts["bytes"] += len(data)
        if self._held > self._memory:
            self._relieve()

    def _lane(self, drone: int, *, exact: bool) -> Lane:
        lane = self._lanes.get((drone, exact))
        if lane is None:
            lane = self._lanes[drone, exact] = Lane(self._db, drone, exact=exact)
        return lane

    def _channel(self, drone: int) -> int:
        if drone not in self._channels:
            self._channels[drone] = self._chance.randrange(1, 1 << 32)
        return self._channels[drone]

    def _relieve(self) -> None:
        """Writes letters early, those of the fullest lanes first."""
        while self._held > self._memory:
            max(self._lanes.values(), key=attrgetter("held")).write(SLICE)

    @property
    def _held(self) -> int:
        """Bytes of letters in memory."""
        return sum(lane.held for lane in self._lanes.values())

    # -- out

    def due(self, drone: int, most: int) -> list[PackedLetter]:
        """Return the next letters that may be sent, at most so many, in order; exact ones first."""
        letters: list[PackedLetter] = []
        size = 0
        for lane, exact in self._lanes_of(drone) if drone not in self._closed_lanes else ():
            end = min(lane.ready if exact else lane.end, lane.next + most - len(letters))
            for number, data in lane.read(lane.next, end):
                size += len(data)
                if letters and size > AT_ONCE:
                    return letters
                letters.append(PackedLetter(number, exact, self._turn, data))
        return letters

    def _lanes_of(self, drone: int) -> Iterator[tuple[Lane, bool]]:
        for exact in (True, False):
            if (drone, exact) in self._lanes:
                yield self._lanes[drone, exact], exact

    def sent(self, drone: int, letter: PackedLetter, place: str) -> None:
        """Note that the server has the first due letter that was not sent, at this place."""
        if letter.turn != self._turn:  # it was on its way while an epoch ended
            return
        lane = self._lanes[drone, letter.exact]
        if letter.number != lane.next:
            raise ValueError(
                f"letter {letter.number} for drone {drone} was sent, but letter {lane.next} was next"
            )
        lane.sent(order(place))
        self._counts["sent"] += 1
        if order(place) <= self._acknowledged.get(drone, 0):
            self._forget(drone)

    def acknowledged(self, drone: int, place: str) -> None:
        """Forget the letters up to this place of the epoch: the receiver's checkpoint has them."""
        self._acknowledged[drone] = order(place)
        self._forget(drone)

    def _forget(self, drone: int) -> None:
        for lane, _ in self._lanes_of(drone):
            self._counts["acknowledged"] += lane.acknowledged(self._acknowledged[drone])

    def new_epoch(self, epoch: str) -> None:
        """Send all letters again that are not acknowledged, for the streams have begun anew."""
        if epoch == self.epoch:
            return
        self.epoch = epoch
        self._turn += 1
        self._acknowledged.clear()
        for lane in self._lanes.values():
            self._counts["again"] += lane.again()

    def rerouting(self, gone: int, route: Callable[[Kind, Any], int]) -> Iterator[None]:
        """Redirect all items for a lost drone, one by one, to the drones that `route` names.

        In slices of a letter, 0.3 ms, with checkpoints in between; nothing is sent there any more.
        Call it for one that has left, too, before another drone gets its number, which knows no
        numbers of letters.
        """
        self._turn += 1
        self._closed_lanes.add(gone)
        for lane, _ in self._lanes_of(gone):
            lane.again()
        self._collections.close_kinds(gone, Kind)
        return self._rerouted(gone, route)

    def _rerouted(self, gone: int, route: Callable[[Kind, Any], int]) -> Iterator[None]:
        for lane, exact in list(self._lanes_of(gone)):
            while lane:
                ((_, data),) = lane.read(lane.first, lane.first + 1)
                message = unpack(data, self._hive)
                self._put_again(gone, message.kind, message.items, route)
                lane.forget(1)
                yield
            del self._lanes[gone, exact]
            # a drone of this number that comes later knows no former letters
            self._channels.pop(gone, None)
        self._acknowledged.pop(gone, None)
        self._closed_lanes.discard(gone)

    def _put_again(
        self, gone: int, kind: Kind, items: Iterable[Any], route: Callable[[Kind, Any], int]
    ) -> None:
        for item in items:
            drone = route(kind, item)
            if drone == gone:
                raise ValueError(f"an item was sent to drone {gone}, which is lost")
            self.put(drone, kind, (item,))

    # -- what there is

    def drones(self) -> Iterable[int]:
        """Return the drones for which there are letters or collections."""
        return {drone for (drone, _), lane in self._lanes.items() if lane}.union(
            self._collections.drones()
        )

    @property
    def unacknowledged(self) -> int:
        """Return the number of unacknowledged letters, and of collections that will be letters."""
        return sum(map(len, self._lanes.values())) + len(self._collections)

    @property
    def awaits_checkpoint(self) -> bool:
        """Return whether exact letters wait for a checkpoint of this drone that has them."""
        return any(lane.ready < lane.end for (_, exact), lane in self._lanes.items() if exact)

    def stats(self) -> dict[str, int]:
        """Return what was closed, sent and acknowledged by this process, and what there is now."""
        counts = {
            name: self._counts[name]
            for name in ("letters", "items", "bytes", "sent", "again", "acknowledged")
        }
        return {**counts, "unacknowledged": self.unacknowledged, "memory": self._held}

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        """Writes letters ahead of the checkpoint."""
        self.close(self._clock(), all=True)
        for lane in list(self._lanes.values()):
            for _ in range(0, lane.unwritten, SLICE):
                lane.write(SLICE)
                yield

    def save(self) -> None:
        """Writes what has come since."""
        self.close(self._clock(), all=True)
        for lane in self._lanes.values():
            while lane.unwritten:
                lane.write(SLICE)
        state = self._state()
        if state != self._saved:
            self._db.set(META, state)
            self._saved = state
        self._closed = [(lane, lane.end) for (_, exact), lane in self._lanes.items() if exact]
        self._saving = frozenset(self.drones())

    def _state(self) -> bytes:
        rows = [
            (drone, channel, self._lanes[drone, True].end - 1)
            for drone, channel in self._channels.items()
        ]
        return bytes(msgpack.packb(rows))

    def committed(self) -> None:
        """Let the exact letters be sent that the checkpoint has; call it after COMMIT."""
        for lane, end in self._closed:
            lane.ready = end
        self._closed = []
        self.kept = self._saving
