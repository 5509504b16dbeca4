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

from webcrawl.crawl.hive.letter import (
    EXACT_KINDS,
    MAX_ITEMS_BYTES,
    Kind,
    Letter,
    LetterTooLong,
    pack_letter,
    place_number,
    unpack_letter,
)
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile

# names of rows: hive/out/DRONE/exact/NUMBER and hive/out/DRONE/plain/NUMBER
ROWS_BEGIN = "hive/out/"
ROWS_END = "hive/out0"  # `0` follows `/` in ASCII
PLAIN_LANE, EXACT_LANE = "plain", "exact"
NUMBER_DIGITS = 15  # in this width the order of names is that of numbers
AFTER_NUMBERS = ":"  # follows the digits in ASCII
NEXT_ROW = "SELECT name FROM meta WHERE name > ? AND name < ? ORDER BY name LIMIT 1"

MAX_ITEMS = 256  # with which a letter is closed
# Age at which a letter is closed if its receiver, or the hive, is not to wait
MIN_AGE_SECONDS = 1.0
# Letters of a kind that a drone sends in a second, full ones aside. Without a bound there are as
# many as other drones: of 1,000 drones 27 cores of the server would do nothing else
MAX_LETTERS_PER_SECOND = 64


def batch_age(drones: int, max_seconds: float) -> float:
    """Return the seconds after which a letter is closed in a hive of so many drones.

    `max_seconds`: HIVE_BATCH_AGE.
    """
    return min(max_seconds, max(MIN_AGE_SECONDS, drones / MAX_LETTERS_PER_SECOND))


@dataclass(frozen=True, slots=True)
class PackedLetter:
    """A letter as it goes over the wire, and where the outbox has it."""

    number: int  # in its lane
    exact: bool
    turn: int  # Outbox._turn when it was due
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
        "_places",
        "_prefix",
        "_unwritten",
        "_unwritten_from",
        "end",
        "first",
        "next",
        "sendable_end",
        "unwritten_bytes",
    )

    def __init__(
        self, db: CrawlDB, drone: int, *, exact: bool, first: int = 1, end: int = 1
    ) -> None:
        """Begin with the letters that crawl.db has, from `first` to before `end`."""
        self._db = db
        self._prefix = f"{ROWS_BEGIN}{drone}/{EXACT_LANE if exact else PLAIN_LANE}/"
        self.first = first
        self.next = first
        self.end = end
        self.sendable_end = end  # exact letters from this number on wait for a checkpoint
        self._unwritten_from = end
        self._unwritten: dict[int, bytes] = {}  # from `_unwritten_from` to before `end`
        self.unwritten_bytes = 0
        self._places: deque[int] = deque()  # of the letters that are sent and not acknowledged

    def __len__(self) -> int:
        """Return the number of letters that are not acknowledged."""
        return self.end - self.first

    def _row_name(self, number: int) -> str:
        return f"{self._prefix}{number:0{NUMBER_DIGITS}}"

    def add(self, data: bytes) -> None:
        """Append a letter."""
        self._unwritten[self.end] = data
        self.end += 1
        self.unwritten_bytes += len(data)

    def read(self, start: int, end: int) -> Iterator[tuple[int, bytes]]:
        """Yield the letters from `start` to before `end`, which must exist, with their numbers.

        Raise DamagedFile if crawl.db does not have all that were written.
        """
        written_end = min(end, self._unwritten_from)
        if start < written_end:
            rows = self._db.between(self._row_name(start), self._row_name(written_end))
            if len(rows) != written_end - start:
                raise DamagedFile(
                    self._db.path, 0, f"table meta, {self._prefix}*: letters are missing"
                )
            yield from enumerate((data for _, data in rows), start)
        for number in range(max(start, written_end), end):
            yield number, self._unwritten[number]

    def write(self, most: int) -> None:
        """Write the oldest letters that are only in memory, at most so many."""
        oldest = list(islice(self._unwritten.items(), most))
        self._db.set_all((self._row_name(number), data) for number, data in oldest)
        for number, data in oldest:
            del self._unwritten[number]
            self.unwritten_bytes -= len(data)
        self._unwritten_from += len(oldest)

    @property
    def unwritten(self) -> int:
        """Return the number of letters that are only in memory."""
        return len(self._unwritten)

    def note_sent(self, place: int) -> None:
        """Note that the letter `next` is at this place of the stream."""
        self._places.append(place)
        self.next += 1

    def acknowledge(self, place: int) -> int:
        """Forget the letters that were sent to places up to this one; return their number."""
        places = self._places
        count = 0
        while places and places[0] <= place:
            places.popleft()
            count += 1
        self.forget(count)
        return count

    def forget(self, count: int) -> None:
        """Remove the first letters, whether they are written or not."""
        end = self.first + count
        if self.first < self._unwritten_from:
            written_end = min(end, self._unwritten_from)
            self._db.delete(self._row_name(self.first), self._row_name(written_end))
        for number in range(max(self.first, self._unwritten_from), end):
            self.unwritten_bytes -= len(self._unwritten.pop(number))
        self.first = end
        self.next = max(self.next, end)
        self._unwritten_from = max(self._unwritten_from, end)
        self.sendable_end = max(self.sendable_end, end)

    def send_again(self) -> int:
        """Let all letters be sent again that are not acknowledged; return how many were sent."""
        count = self.next - self.first
        self.next = self.first
        self._places.clear()
        return count


def stored_lanes(db: CrawlDB) -> Iterator[tuple[RowName, int]]:
    """Yield the first row, and the number after the last, of each lane in crawl.db.

    Raise DamagedFile for a row whose name is not that of a letter.
    """
    after = ROWS_BEGIN
    while rows := db.query(NEXT_ROW, (after, ROWS_END)):
        first = rows[0][0]
        after = f"{first.rpartition('/')[0]}/{AFTER_NUMBERS}"
        ((last,),) = db.query("SELECT max(name) FROM meta WHERE name < ?", (after,))
        try:
            yield parse_row_name(first), parse_row_name(last).number + 1
        except ValueError as error:
            raise DamagedFile(db.path, 0, f"table meta, {first}: {error}") from error


class RowName(NamedTuple):
    """The lane and the number of a letter, as the name of its row says."""

    drone: int
    exact: bool
    number: int


def parse_row_name(name: str) -> RowName:
    """Return the lane and the number of a letter from the name of its row.

    Raise ValueError if that is no name of a letter.
    """
    try:
        _, _, drone, lane, number = name.split("/")
        is_exact = bool((PLAIN_LANE, EXACT_LANE).index(lane))
        return RowName(int(drone), is_exact, int(number))
    except ValueError as error:
        raise ValueError("not a valid name of a letter") from error


@dataclass(slots=True)
class _OpenLetter:
    since: float
    items: list[Any]


class OpenLetters:
    """Collects the items of letters that are not closed, one for each drone and kind.

    A closed letter is given to `take`, by its drone, kind and items.
    """

    def __init__(
        self, take: Callable[[int, Kind, list[Any]], None], clock: Callable[[], float]
    ) -> None:
        self._take = take
        self._clock = clock
        self._open: dict[tuple[int, Kind], _OpenLetter] = {}  # the oldest first

    def __len__(self) -> int:
        return len(self._open)

    def put(self, drone: int, kind: Kind, items: Sequence[Any]) -> None:
        """Add items to the letter of this kind for this drone; close it if it is full."""
        letter = self._open.get((drone, kind))
        if letter is None:
            if not items:
                return
            # Items of all exact kinds keep their order: one letter begins when the other is closed.
            if kind in EXACT_KINDS:
                self.close_kinds(drone, EXACT_KINDS)
            letter = self._open[drone, kind] = _OpenLetter(self._clock(), [])
        letter.items.extend(items)
        if len(letter.items) >= MAX_ITEMS:
            self._close_full(drone, kind)

    def _close_full(self, drone: int, kind: Kind) -> None:
        """Close as many full letters as the items make; the rest begins another one."""
        items = self._open.pop((drone, kind)).items
        full = len(items) - len(items) % MAX_ITEMS
        if full < len(items):
            self._open[drone, kind] = _OpenLetter(self._clock(), items[full:])
        for start in range(0, full, MAX_ITEMS):
            self._take(drone, kind, items[start : start + MAX_ITEMS])

    def close_begun_by(self, latest: float) -> None:
        """Close the letters that were begun up to this time.

        All other letters for the same drones are closed too: they travel together.
        """
        while self._open:
            (drone, _), oldest = next(iter(self._open.items()))
            if oldest.since > latest:
                return
            self.close_kinds(drone, Kind)

    def close_for(self, drones: Iterable[int], latest: float) -> None:
        """Close all letters for those of these drones that have one begun up to this time."""
        for drone in drones:
            letters = [self._open.get((drone, kind)) for kind in Kind]
            if any(letter is not None and letter.since <= latest for letter in letters):
                self.close_kinds(drone, Kind)

    def close_kinds(self, drone: int, kinds: Iterable[Kind]) -> None:
        """Close the letters of these kinds for this drone."""
        for kind in kinds:
            if (drone, kind) in self._open:
                self._take(drone, kind, self._open.pop((drone, kind)).items)

    def drones(self) -> list[int]:
        """Return the drone of each open letter."""
        return [drone for drone, _ in self._open]


OUTBOX = "hive/outbox"  # in the database: see `channels_of`
# Bytes of a letter's items. A single item may have more, up to letter.MAX_ITEMS_BYTES.
SPLIT_ABOVE_BYTES = 1 << 20
MAX_DUE_BYTES = 4 << 20  # of letters that are sent in one call, unless the first has more
WRITE_SLICE = 32  # letters written in one turn: 2 ms


def channels_of(saved: bytes | None) -> dict[int, tuple[int, int]]:
    """Return the channel and the last number of the exact letters to each drone.

    `saved` is what a checkpoint has as OUTBOX.
    """
    return {
        int(drone): (int(channel), int(last))
        for drone, channel, last in msgpack.unpackb(saved or b"\x90")
    }


class Outbox:
    """Letters for all other drones: open, closed, and sent until they are acknowledged.

    It is a part of the checkpoint, and its follower (`committed`). Parts that put anything while
    they are saved must have joined the database before.
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
        """Resume with the letters of the checkpoint.

        `hive` is the hive's key or what stands for it, the same for all its drones. `memory` is the
        number of bytes of unwritten letters above which some are written early.
        """
        self.generation = 0  # of the slot map: put on letters when they are closed
        self.age = MIN_AGE_SECONDS  # after which letters are closed
        # Drones that have nothing to do: letters for them are closed after MIN_AGE_SECONDS.
        self.hungry: Collection[int] = ()
        self.epoch = ""
        self._db = db
        self._me = me
        self._hive = hive
        self._memory = memory
        self._clock = clock
        self._chance = chance or random.SystemRandom()
        self._open = OpenLetters(self._add, clock)
        self._lanes: dict[tuple[int, bool], Lane] = {}  # by drone, and whether it is exact
        self._acknowledged: dict[int, int] = {}  # the place of each drone in this epoch
        # Counts how often lanes began to be sent again. What is heard of a letter that was due in
        # an earlier turn says nothing of its lane as it is now.
        self._turn = 0
        self._counts: Counter[str] = Counter()
        self._channels: dict[int, int] = {}
        for drone, (channel, last) in channels_of(db.get(OUTBOX)).items():
            self._channels[drone] = channel
            self._lanes[drone, True] = Lane(db, drone, exact=True, first=last + 1, end=last + 1)
        for first, end in stored_lanes(db):
            lane = Lane(db, first.drone, exact=first.exact, first=first.number, end=end)
            self._lanes[first.drone, first.exact] = lane
        self._saved_channels = self._pack_channels()
        self._rerouted_drones: set[int] = set()  # whose letters are about to go to others
        # Drones for which the last checkpoint has letters, and the one that is being taken
        self.saved_receivers = frozenset(self.drones())
        self._receivers_being_saved = self.saved_receivers
        # Exact lanes, and the end of each in the checkpoint that is being taken
        self._lane_ends_being_saved: list[tuple[Lane, int]] = []
        db.join(self)

    # -- in

    def put(self, drone: int, kind: Kind, items: Sequence[Any]) -> None:
        """Add items to the open letter of this kind for another drone."""
        self._open.put(drone, kind, items)

    def close_old(self, now: float) -> None:
        """Close the open letters that are old enough; full ones are closed already."""
        self._open.close_begun_by(now - self.age)
        self._open.close_for(self.hungry, now - MIN_AGE_SECONDS)

    def close_all(self) -> None:
        """Close all open letters, however old they are."""
        self._open.close_begun_by(inf)

    def _add(self, drone: int, kind: Kind, items: list[Any]) -> None:
        """Append a letter of these items, or several if they are large.

        Raise LetterTooLong if a single item is larger than a letter may be.
        """
        exact = kind in EXACT_KINDS
        lane = self._lane(drone, exact=exact)
        number = lane.end if exact else 0
        channel = self._channel(drone) if exact else 0
        letter = Letter(kind, self._me, self.generation, number, items, channel)
        max_items_bytes = SPLIT_ABOVE_BYTES if len(items) > 1 else MAX_ITEMS_BYTES
        try:
            data = pack_letter(letter, self._hive, max_items_bytes)
        except LetterTooLong:
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
        if self._unwritten_bytes > self._memory:
            self._write_early()

    def _lane(self, drone: int, *, exact: bool) -> Lane:
        lane = self._lanes.get((drone, exact))
        if lane is None:
            lane = self._lanes[drone, exact] = Lane(self._db, drone, exact=exact)
        return lane

    def _channel(self, drone: int) -> int:
        """Return the channel of the exact letters to a drone; draw it for the first of them."""
        if drone not in self._channels:
            self._channels[drone] = self._chance.randrange(1, 1 << 32)
        return self._channels[drone]

    def _write_early(self) -> None:
        """Write letters, those of the fullest lanes first, until the memory suffices."""
        while self._unwritten_bytes > self._memory:
            fullest = max(self._lanes.values(), key=attrgetter("unwritten_bytes"))
            fullest.write(WRITE_SLICE)

    @property
    def _unwritten_bytes(self) -> int:
        return sum(lane.unwritten_bytes for lane in self._lanes.values())

    # -- out

    def due_letters(self, drone: int, most: int) -> list[PackedLetter]:
        """Return the next letters that may be sent, at most so many, in order; exact ones first."""
        letters: list[PackedLetter] = []
        if drone in self._rerouted_drones:
            return letters
        due_bytes = 0
        for lane, exact in self._lanes_of(drone):
            sendable_end = lane.sendable_end if exact else lane.end
            end = min(sendable_end, lane.next + most - len(letters))
            for number, data in lane.read(lane.next, end):
                due_bytes += len(data)
                if letters and due_bytes > MAX_DUE_BYTES:
                    return letters
                letters.append(PackedLetter(number, exact, self._turn, data))
        return letters

    def _lanes_of(self, drone: int) -> Iterator[tuple[Lane, bool]]:
        for exact in (True, False):
            if (drone, exact) in self._lanes:
                yield self._lanes[drone, exact], exact

    def note_sent(self, drone: int, letter: PackedLetter, place: str) -> None:
        """Note that the server has a letter at this place of the drone's stream.

        Raise ValueError if it is not the first due letter that was not sent.
        """
        if letter.turn != self._turn:  # it was on its way while an epoch ended
            return
        lane = self._lanes[drone, letter.exact]
        if letter.number != lane.next:
            raise ValueError(
                f"letter {letter.number} for drone {drone} was sent, but letter {lane.next} was next"
            )
        lane.note_sent(place_number(place))
        self._counts["sent"] += 1
        # The acknowledgement may be heard before the answer that says where the letter is.
        if place_number(place) <= self._acknowledged.get(drone, 0):
            self._forget_acknowledged(drone)

    def acknowledge(self, drone: int, place: str) -> None:
        """Forget the letters up to this place of the epoch: the receiver's checkpoint has them."""
        self._acknowledged[drone] = place_number(place)
        self._forget_acknowledged(drone)

    def _forget_acknowledged(self, drone: int) -> None:
        for lane, _ in self._lanes_of(drone):
            self._counts["acknowledged"] += lane.acknowledge(self._acknowledged[drone])

    def new_epoch(self, epoch: str) -> None:
        """Send all letters again that are not acknowledged, for the streams have begun anew."""
        if epoch == self.epoch:
            return
        self.epoch = epoch
        self._turn += 1
        self._acknowledged.clear()
        for lane in self._lanes.values():
            self._counts["again"] += lane.send_again()

    def reroute(self, gone: int, route: Callable[[Kind, Any], int]) -> Iterator[None]:
        """Redirect all items for a lost drone, one by one, to the drones that `route` names.

        Return an iterator whose steps do the work: each takes one letter, in 0.3 ms, so that
        checkpoints may be taken in between. From this call on nothing is sent to the lost drone.
        Call it for a drone that has left, too, before another drone gets its number: that one knows
        no numbers of letters.
        """
        self._turn += 1
        self._rerouted_drones.add(gone)
        for lane, _ in self._lanes_of(gone):
            lane.send_again()
        self._open.close_kinds(gone, Kind)
        return self._reroute_letters(gone, route)

    def _reroute_letters(self, gone: int, route: Callable[[Kind, Any], int]) -> Iterator[None]:
        """Put the items of each letter into others, a letter in each step; then drop the lanes."""
        for lane, exact in list(self._lanes_of(gone)):
            while lane:
                ((_, data),) = lane.read(lane.first, lane.first + 1)
                letter = unpack_letter(data, self._hive)
                self._put_again(gone, letter.kind, letter.items, route)
                lane.forget(1)
                yield
            del self._lanes[gone, exact]
            # a drone of this number that comes later knows no former letters
            self._channels.pop(gone, None)
        self._acknowledged.pop(gone, None)
        self._rerouted_drones.discard(gone)

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
        """Return the drones for which there are letters, open or closed."""
        receivers = {drone for (drone, _), lane in self._lanes.items() if lane}
        return receivers.union(self._open.drones())

    @property
    def unacknowledged(self) -> int:
        """Return the number of letters that are not acknowledged, open ones included."""
        return sum(map(len, self._lanes.values())) + len(self._open)

    @property
    def awaits_checkpoint(self) -> bool:
        """Return whether exact letters wait for a checkpoint of this drone that has them."""
        exact_lanes = (lane for (_, exact), lane in self._lanes.items() if exact)
        return any(lane.sendable_end < lane.end for lane in exact_lanes)

    def stats(self) -> dict[str, int]:
        """Return what was closed, sent and acknowledged by this process, and what there is now."""
        counts = {
            name: self._counts[name]
            for name in ("letters", "items", "bytes", "sent", "again", "acknowledged")
        }
        return {**counts, "unacknowledged": self.unacknowledged, "memory": self._unwritten_bytes}

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        """Write letters ahead of the checkpoint, a slice in each step."""
        self.close_all()
        for lane in list(self._lanes.values()):
            for _ in range(0, lane.unwritten, WRITE_SLICE):
                lane.write(WRITE_SLICE)
                yield

    def save(self) -> None:
        """Write the letters that have come since `prepare`, and the channels."""
        self.close_all()
        for lane in self._lanes.values():
            while lane.unwritten:
                lane.write(WRITE_SLICE)
        channels = self._pack_channels()
        if channels != self._saved_channels:
            self._db.set(OUTBOX, channels)
            self._saved_channels = channels
        self._lane_ends_being_saved = [
            (lane, lane.end) for (_, exact), lane in self._lanes.items() if exact
        ]
        self._receivers_being_saved = frozenset(self.drones())

    def _pack_channels(self) -> bytes:
        rows = [
            (drone, channel, self._lanes[drone, True].end - 1)
            for drone, channel in self._channels.items()
        ]
        return bytes(msgpack.packb(rows))

    def committed(self) -> None:
        """Let the exact letters be sent that the checkpoint has; call it after COMMIT."""
        for lane, end in self._lane_ends_being_saved:
            lane.sendable_end = end
        self._lane_ends_being_saved = []
        self.saved_receivers = self._receivers_being_saved
