"""Batches for other drones: collected, and kept until the receivers' checkpoints have them.

Ordinary batches may be sent at once. Exact ones are numbered for their receiver, and sent only
after a checkpoint of this drone has them, so that no number is ever sent with two contents. After a
restart all batches of the checkpoint are sent again: receivers know the exact ones by their
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

from webcrawl.crawl.hive.batch import (
    EXACT_KINDS,
    MAX_ITEMS_BYTES,
    Batch,
    BatchTooLarge,
    Kind,
    pack_batch,
    place_number,
    unpack_batch,
)
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile

# names of rows: hive/out/DRONE/exact/NUMBER and hive/out/DRONE/plain/NUMBER
ROWS_BEGIN = "hive/out/"
ROWS_END = "hive/out0"  # `0` follows `/` in ASCII
PLAIN_QUEUE, EXACT_QUEUE = "plain", "exact"
NUMBER_DIGITS = 15  # in this width the order of names is that of numbers
AFTER_NUMBERS = ":"  # follows the digits in ASCII
NEXT_ROW = "SELECT name FROM meta WHERE name > ? AND name < ? ORDER BY name LIMIT 1"

MAX_ITEMS = 256  # with which a batch is closed
# Age at which a batch is closed if its receiver, or the hive, is not to wait
MIN_AGE_SECONDS = 1.0
# Batches of a kind that a drone sends in a second, full ones aside. Without a bound there are as
# many as other drones: of 1,000 drones 27 cores of the server would do nothing else
MAX_BATCHES_PER_SECOND = 64


def batch_age(drones: int, max_seconds: float) -> float:
    """Return the seconds after which a batch is closed in a hive of so many drones.

    `max_seconds`: HIVE_BATCH_AGE.
    """
    return min(max_seconds, max(MIN_AGE_SECONDS, drones / MAX_BATCHES_PER_SECOND))


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """A batch as it goes over the wire, and where the outbox has it."""

    number: int  # in its queue
    exact: bool
    turn: int  # Outbox._turn when it was due
    data: bytes


class SendQueue:
    """Plain or exact batches for one drone: rows of crawl.db, and in memory the unwritten ones.

    They are numbered consecutively, sent in this order, and so acknowledged in this order: three
    numbers say what has become of each. `first` is the first that is not acknowledged, `next` the
    first that is not sent, `end` the number of the next to come. Exact batches have a queue of
    their own, because they wait for the sender's checkpoint.
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
        """Begin with the batches that crawl.db has, from `first` to before `end`."""
        self._db = db
        self._prefix = f"{ROWS_BEGIN}{drone}/{EXACT_QUEUE if exact else PLAIN_QUEUE}/"
        self.first = first
        self.next = first
        self.end = end
        self.sendable_end = end  # exact batches from this number on wait for a checkpoint
        self._unwritten_from = end
        self._unwritten: dict[int, bytes] = {}  # from `_unwritten_from` to before `end`
        self.unwritten_bytes = 0
        self._places: deque[int] = deque()  # of the batches that are sent and not acknowledged

    def __len__(self) -> int:
        """Return the number of batches that are not acknowledged."""
        return self.end - self.first

    def _row_name(self, number: int) -> str:
        return f"{self._prefix}{number:0{NUMBER_DIGITS}}"

    def add(self, data: bytes) -> None:
        """Append a batch."""
        self._unwritten[self.end] = data
        self.end += 1
        self.unwritten_bytes += len(data)

    def read(self, start: int, end: int) -> Iterator[tuple[int, bytes]]:
        """Yield the batches from `start` to before `end`, which must exist, with their numbers.

        Raise DamagedFile if crawl.db does not have all that were written.
        """
        written_end = min(end, self._unwritten_from)
        if start < written_end:
            rows = self._db.between(self._row_name(start), self._row_name(written_end))
            if len(rows) != written_end - start:
                raise DamagedFile(
                    self._db.path, 0, f"table meta, {self._prefix}*: batches are missing"
                )
            yield from enumerate((data for _, data in rows), start)
        for number in range(max(start, written_end), end):
            yield number, self._unwritten[number]

    def write(self, most: int) -> None:
        """Write the oldest batches that are only in memory, at most so many."""
        oldest = list(islice(self._unwritten.items(), most))
        self._db.set_all((self._row_name(number), data) for number, data in oldest)
        for number, data in oldest:
            del self._unwritten[number]
            self.unwritten_bytes -= len(data)
        self._unwritten_from += len(oldest)

    @property
    def unwritten(self) -> int:
        """Return the number of batches that are only in memory."""
        return len(self._unwritten)

    def note_sent(self, place: int) -> None:
        """Note that the batch `next` is at this place of the stream."""
        self._places.append(place)
        self.next += 1

    def acknowledge(self, place: int) -> int:
        """Forget the batches that were sent to places up to this one; return their number."""
        places = self._places
        count = 0
        while places and places[0] <= place:
            places.popleft()
            count += 1
        self.forget(count)
        return count

    def forget(self, count: int) -> None:
        """Remove the first batches, whether they are written or not."""
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
        """Let all batches be sent again that are not acknowledged; return how many were sent."""
        count = self.next - self.first
        self.next = self.first
        self._places.clear()
        return count


def stored_send_queues(db: CrawlDB) -> Iterator[tuple[RowName, int]]:
    """Yield the first row, and the number after the last, of each queue in crawl.db.

    Raise DamagedFile for a row whose name is not that of a batch.
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
    """The queue and the number of a batch, as the name of its row says."""

    drone: int
    exact: bool
    number: int


def parse_row_name(name: str) -> RowName:
    """Return the queue and the number of a batch from the name of its row.

    Raise ValueError if that is no name of a batch.
    """
    try:
        _, _, drone, queue, number = name.split("/")
        is_exact = bool((PLAIN_QUEUE, EXACT_QUEUE).index(queue))
        return RowName(int(drone), is_exact, int(number))
    except ValueError as error:
        raise ValueError("not a valid name of a batch") from error


@dataclass(slots=True)
class _OpenBatch:
    since: float
    items: list[Any]


class OpenBatches:
    """Collects the items of batches that are not closed, one for each drone and kind.

    A closed batch is given to `take`, by its drone, kind and items.
    """

    def __init__(
        self, take: Callable[[int, Kind, list[Any]], None], clock: Callable[[], float]
    ) -> None:
        self._take = take
        self._clock = clock
        self._open: dict[tuple[int, Kind], _OpenBatch] = {}  # the oldest first

    def __len__(self) -> int:
        return len(self._open)

    def put(self, drone: int, kind: Kind, items: Sequence[Any]) -> None:
        """Add items to the batch of this kind for this drone; close it if it is full."""
        batch = self._open.get((drone, kind))
        if batch is None:
            if not items:
                return
            # Items of all exact kinds keep their order: one batch begins when the other is closed.
            if kind in EXACT_KINDS:
                self.close_kinds(drone, EXACT_KINDS)
            batch = self._open[drone, kind] = _OpenBatch(self._clock(), [])
        batch.items.extend(items)
        if len(batch.items) >= MAX_ITEMS:
            self._close_full(drone, kind)

    def _close_full(self, drone: int, kind: Kind) -> None:
        """Close as many full batches as the items make; the rest begins another one."""
        items = self._open.pop((drone, kind)).items
        full = len(items) - len(items) % MAX_ITEMS
        if full < len(items):
            self._open[drone, kind] = _OpenBatch(self._clock(), items[full:])
        for start in range(0, full, MAX_ITEMS):
            self._take(drone, kind, items[start : start + MAX_ITEMS])

    def close_begun_by(self, latest: float) -> None:
        """Close the batches that were begun up to this time.

        All other batches for the same drones are closed too: they travel together.
        """
        while self._open:
            (drone, _), oldest = next(iter(self._open.items()))
            if oldest.since > latest:
                return
            self.close_kinds(drone, Kind)

    def close_for(self, drones: Iterable[int], latest: float) -> None:
        """Close all batches for those of these drones that have one begun up to this time."""
        for drone in drones:
            batches = [self._open.get((drone, kind)) for kind in Kind]
            if any(batch is not None and batch.since <= latest for batch in batches):
                self.close_kinds(drone, Kind)

    def close_kinds(self, drone: int, kinds: Iterable[Kind]) -> None:
        for kind in kinds:
            if (drone, kind) in self._open:
                self._take(drone, kind, self._open.pop((drone, kind)).items)

    def drones(self) -> list[int]:
        """Return the drone of each open batch."""
        return [drone for drone, _ in self._open]


OUTBOX = "hive/outbox"  # in the database: see `channels_of`
# Bytes of a batch's items. A single item may have more, up to batch.MAX_ITEMS_BYTES.
SPLIT_ABOVE_BYTES = 1 << 20
MAX_DUE_BYTES = 4 << 20  # of batches that are sent in one call, unless the first has more
WRITE_SLICE = 32  # batches written in one turn: 2 ms


def channels_of(saved: bytes | None) -> dict[int, tuple[int, int]]:
    """Return the channel and the last number of the exact batches to each drone.

    `saved` is what a checkpoint has as OUTBOX.
    """
    return {
        int(drone): (int(channel), int(last))
        for drone, channel, last in msgpack.unpackb(saved or b"\x90")
    }


class Outbox:
    """Batches for all other drones: open, closed, and sent until they are acknowledged.

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
        """Resume with the batches of the checkpoint.

        `hive` is the hive's key or what stands for it, the same for all its drones. `memory` is the
        number of bytes of unwritten batches above which some are written early.
        """
        self.generation = 0  # of the slot map: put on batches when they are closed
        self.age = MIN_AGE_SECONDS  # after which batches are closed
        # Drones that have nothing to do: batches for them are closed after MIN_AGE_SECONDS.
        self.hungry: Collection[int] = ()
        self.epoch = ""
        self._db = db
        self._me = me
        self._hive = hive
        self._memory = memory
        self._chance = chance or random.SystemRandom()
        self._open = OpenBatches(self._add, clock)
        self._send_queues: dict[
            tuple[int, bool], SendQueue
        ] = {}  # by drone, and whether it is exact
        self._acknowledged: dict[int, int] = {}  # the place of each drone in this epoch
        # Counts how often queues began to be sent again. What is heard of a batch that was due in
        # an earlier turn says nothing of its queue as it is now.
        self._turn = 0
        self._counts: Counter[str] = Counter()
        self._channels: dict[int, int] = {}
        for drone, (channel, last) in channels_of(db.get(OUTBOX)).items():
            self._channels[drone] = channel
            self._send_queues[drone, True] = SendQueue(
                db, drone, exact=True, first=last + 1, end=last + 1
            )
        for first, end in stored_send_queues(db):
            queue = SendQueue(db, first.drone, exact=first.exact, first=first.number, end=end)
            self._send_queues[first.drone, first.exact] = queue
        self._saved_channels = self._pack_channels()
        self._rerouted_drones: set[int] = set()  # whose batches are about to go to others
        # Drones for which the last checkpoint has batches, and the one that is being taken
        self.saved_receivers = frozenset(self.drones())
        self._receivers_being_saved = self.saved_receivers
        # Exact queues, and the end of each in the checkpoint that is being taken
        self._queue_ends_being_saved: list[tuple[SendQueue, int]] = []
        db.join(self)

    # -- in

    def put(self, drone: int, kind: Kind, items: Sequence[Any]) -> None:
        """Add items to the open batch of this kind for another drone."""
        self._open.put(drone, kind, items)

    def close_old(self, now: float) -> None:
        """Close the open batches that are old enough; full ones are closed already."""
        self._open.close_begun_by(now - self.age)
        self._open.close_for(self.hungry, now - MIN_AGE_SECONDS)

    def close_all(self) -> None:
        """Close all open batches, however old they are."""
        self._open.close_begun_by(inf)

    def _add(self, drone: int, kind: Kind, items: list[Any]) -> None:
        """Append a batch of these items, or several if they are large.

        Raise BatchTooLarge if a single item is larger than a batch may be.
        """
        exact = kind in EXACT_KINDS
        queue = self._send_queue(drone, exact=exact)
        number = queue.end if exact else 0
        channel = self._channel(drone) if exact else 0
        batch = Batch(kind, self._me, self.generation, number, items, channel)
        max_items_bytes = SPLIT_ABOVE_BYTES if len(items) > 1 else MAX_ITEMS_BYTES
        try:
            data = pack_batch(batch, self._hive, max_items_bytes)
        except BatchTooLarge:
            half = len(items) // 2
            if not half:
                raise
            self._add(drone, kind, items[:half])
            self._add(drone, kind, items[half:])
            return
        queue.add(data)
        self._counts["closed"] += 1
        self._counts["items"] += len(items)
        self._counts["bytes"] += len(data)
        if self._unwritten_bytes > self._memory:
            self._write_early()

    def _send_queue(self, drone: int, *, exact: bool) -> SendQueue:
        queue = self._send_queues.get((drone, exact))
        if queue is None:
            queue = self._send_queues[drone, exact] = SendQueue(self._db, drone, exact=exact)
        return queue

    def _channel(self, drone: int) -> int:
        """Return the channel of the exact batches to a drone; draw it for the first of them."""
        if drone not in self._channels:
            self._channels[drone] = self._chance.randrange(1, 1 << 32)
        return self._channels[drone]

    def _write_early(self) -> None:
        """Write batches, those of the fullest queues first, until the memory suffices."""
        while self._unwritten_bytes > self._memory:
            fullest = max(self._send_queues.values(), key=attrgetter("unwritten_bytes"))
            fullest.write(WRITE_SLICE)

    @property
    def _unwritten_bytes(self) -> int:
        return sum(queue.unwritten_bytes for queue in self._send_queues.values())

    # -- out

    def due_batches(self, drone: int, most: int) -> list[PackedBatch]:
        """Return the next batches that may be sent, at most so many, in order; exact ones first."""
        batches: list[PackedBatch] = []
        if drone in self._rerouted_drones:
            return batches
        due_bytes = 0
        for queue, exact in self._send_queues_of(drone):
            sendable_end = queue.sendable_end if exact else queue.end
            end = min(sendable_end, queue.next + most - len(batches))
            for number, data in queue.read(queue.next, end):
                due_bytes += len(data)
                if batches and due_bytes > MAX_DUE_BYTES:
                    return batches
                batches.append(PackedBatch(number, exact, self._turn, data))
        return batches

    def _send_queues_of(self, drone: int) -> Iterator[tuple[SendQueue, bool]]:
        for exact in (True, False):
            if (drone, exact) in self._send_queues:
                yield self._send_queues[drone, exact], exact

    def note_sent(self, drone: int, batch: PackedBatch, place: str) -> None:
        """Note that the server has a batch at this place of the drone's stream.

        Raise ValueError if it is not the first due batch that was not sent.
        """
        if batch.turn != self._turn:  # it was on its way while an epoch ended
            return
        queue = self._send_queues[drone, batch.exact]
        if batch.number != queue.next:
            raise ValueError(
                f"batch {batch.number} for drone {drone} was sent, but batch {queue.next} was next"
            )
        queue.note_sent(place_number(place))
        self._counts["sent"] += 1
        # The acknowledgement may be heard before the answer that says where the batch is.
        if place_number(place) <= self._acknowledged.get(drone, 0):
            self._forget_acknowledged(drone)

    def acknowledge(self, drone: int, place: str) -> None:
        """Forget the batches up to this place of the epoch: the receiver's checkpoint has them."""
        self._acknowledged[drone] = place_number(place)
        self._forget_acknowledged(drone)

    def _forget_acknowledged(self, drone: int) -> None:
        for queue, _ in self._send_queues_of(drone):
            self._counts["acknowledged"] += queue.acknowledge(self._acknowledged[drone])

    def new_epoch(self, epoch: str) -> None:
        """Send all batches again that are not acknowledged, for the streams have begun anew."""
        if epoch == self.epoch:
            return
        self.epoch = epoch
        self._turn += 1
        self._acknowledged.clear()
        for queue in self._send_queues.values():
            self._counts["again"] += queue.send_again()

    def reroute(self, gone: int, route: Callable[[Kind, Any], int]) -> Iterator[None]:
        """Redirect all items for a lost drone, one by one, to the drones that `route` names.

        Return an iterator whose steps do the work: each takes one batch, in 0.3 ms, so that
        checkpoints may be taken in between. From this call on nothing is sent to the lost drone.
        Call it for a drone that has left, too, before another drone gets its number: that one knows
        no numbers of batches.
        """
        self._turn += 1
        self._rerouted_drones.add(gone)
        for queue, _ in self._send_queues_of(gone):
            queue.send_again()
        self._open.close_kinds(gone, Kind)
        return self._reroute_batches(gone, route)

    def _reroute_batches(self, gone: int, route: Callable[[Kind, Any], int]) -> Iterator[None]:
        """Put the items of each batch into others, a batch in each step; then drop the queues."""
        for queue, exact in list(self._send_queues_of(gone)):
            while queue:
                ((_, data),) = queue.read(queue.first, queue.first + 1)
                batch = unpack_batch(data, self._hive)
                self._put_again(gone, batch.kind, batch.items, route)
                queue.forget(1)
                yield
            del self._send_queues[gone, exact]
            # a drone of this number that comes later knows no former batches
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
        """Return the drones for which there are batches, open or closed."""
        receivers = {drone for (drone, _), queue in self._send_queues.items() if queue}
        return receivers.union(self._open.drones())

    @property
    def unacknowledged(self) -> int:
        """Return the number of batches that are not acknowledged, open ones included."""
        return sum(map(len, self._send_queues.values())) + len(self._open)

    @property
    def awaits_checkpoint(self) -> bool:
        """Return whether exact batches wait for a checkpoint of this drone that has them."""
        exact_queues = (queue for (_, exact), queue in self._send_queues.items() if exact)
        return any(queue.sendable_end < queue.end for queue in exact_queues)

    def stats(self) -> dict[str, int]:
        """Return what was closed, sent and acknowledged by this process, and what there is now."""
        counts = {
            name: self._counts[name]
            for name in ("closed", "items", "bytes", "sent", "again", "acknowledged")
        }
        return {**counts, "unacknowledged": self.unacknowledged, "memory": self._unwritten_bytes}

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        """Write batches ahead of the checkpoint, a slice in each step."""
        self.close_all()
        for queue in list(self._send_queues.values()):
            for _ in range(0, queue.unwritten, WRITE_SLICE):
                queue.write(WRITE_SLICE)
                yield

    def save(self) -> None:
        """Write the batches that have come since `prepare`, and the channels."""
        self.close_all()
        for queue in self._send_queues.values():
            while queue.unwritten:
                queue.write(WRITE_SLICE)
        channels = self._pack_channels()
        if channels != self._saved_channels:
            self._db.set(OUTBOX, channels)
            self._saved_channels = channels
        self._queue_ends_being_saved = [
            (queue, queue.end) for (_, exact), queue in self._send_queues.items() if exact
        ]
        self._receivers_being_saved = frozenset(self.drones())

    def _pack_channels(self) -> bytes:
        rows = [
            (drone, channel, self._send_queues[drone, True].end - 1)
            for drone, channel in self._channels.items()
        ]
        return bytes(msgpack.packb(rows))

    def committed(self) -> None:
        """Let the exact batches be sent that the checkpoint has; call it after COMMIT."""
        for queue, end in self._queue_ends_being_saved:
            queue.sendable_end = end
        self._queue_ends_being_saved = []
        self.saved_receivers = self._receivers_being_saved
