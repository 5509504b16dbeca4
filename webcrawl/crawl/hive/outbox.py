"""Letters of this drone to others: collected, and kept until the receivers' checkpoints have them.

Ordinary letters may be sent at once. Exact ones are numbered for their receiver, and sent only after a checkpoint of
this drone has them, so that no number is ever sent with two contents. After a restart all letters of the checkpoint are
sent again: receivers know the exact ones by their numbers, and of the others a second copy does no harm.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any

import msgpack

from webcrawl.crawl.hive.keys import order
from webcrawl.crawl.hive.letter import EXACT, LARGEST, Kind, Letter, TooLong, pack, unpack
from webcrawl.crawl.hive.outgoing_letters import Collections, Lane, PackedLetter, stored
from webcrawl.store.crawldb import CrawlDB

META = "hive/outbox"  # in the database: channel and last number of the exact letters for each drone
COMFORTABLE = 1 << 20  # bytes of a letter's items, unless there is only one
AT_ONCE = 4 << 20  # bytes of letters that are due at once, unless the first has more
SLICE = 32  # letters written in one turn: 2 ms


def channels_of(saved: bytes | None) -> dict[int, tuple[int, int]]:
    """For each drone the channel and the last number of the exact letters to it, as META has them."""
    return {int(drone): (int(channel), int(last)) for drone, channel, last in msgpack.unpackb(saved or b"\x90")}


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
        self.epoch = ""
        self._db, self._me, self._hive, self._memory, self._clock = db, me, hive, memory, clock
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
        self._saving = self.kept = frozenset(self.drones())  # those for which the last checkpoint has letters
        self._closed: list[tuple[Lane, int]] = []  # exact lanes and how far the checkpoint that is being taken has them
        db.join(self)

    # -- in

    def put(self, drone: int, kind: Kind, items: Sequence[Any]) -> None:
        """Takes items for another drone."""
        self._collections.put(drone, kind, items)

    def close(self, now: float, *, all: bool = False) -> None:  # noqa: A002 - reads as what it is
        """Makes letters of the collections that are a second old, or of all; full ones are letters already."""
        self._collections.close(now, all=all)

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
        """The next letters that may be sent, at most so many, in order; exact ones first."""
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
        """The server has this letter, the first of those due that was not sent, at this place of the stream."""
        if letter.turn != self._turn:  # it was on its way while an epoch ended
            return
        lane = self._lanes[drone, letter.exact]
        if letter.number != lane.next:
            raise ValueError(f"letter {letter.number} for drone {drone} was sent when it was the turn of {lane.next}")
        lane.sent(order(place))
        self._counts["sent"] += 1
        if order(place) <= self._acknowledged.get(drone, 0):
            self._forget(drone)

    def acknowledged(self, drone: int, place: str) -> None:
        """The receiver's checkpoint has everything up to this place of the current epoch."""
        self._acknowledged[drone] = order(place)
        self._forget(drone)

    def _forget(self, drone: int) -> None:
        for lane, _ in self._lanes_of(drone):
            self._counts["acknowledged"] += lane.acknowledged(self._acknowledged[drone])

    def new_epoch(self, epoch: str) -> None:
        """The streams have begun anew: all letters that are not acknowledged will be sent again."""
        if epoch == self.epoch:
            return
        self.epoch = epoch
        self._turn += 1
        self._acknowledged.clear()
        for lane in self._lanes.values():
            self._counts["again"] += lane.again()

    def rerouting(self, gone: int, route: Callable[[Kind, Any], int]) -> Iterator[None]:
        """Redirects everything for a drone that is lost, item by item, to the drones that `route` names.

        In slices of a letter, 0.3 ms, with checkpoints in between; nothing is sent there any more. Call it for one that
        has left, too, before another drone gets its number, which knows no numbers of letters.
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
            self._channels.pop(gone, None)  # a drone of this number that comes later knows no former letters
        self._acknowledged.pop(gone, None)
        self._closed_lanes.discard(gone)

    def _put_again(self, gone: int, kind: Kind, items: Iterable[Any], route: Callable[[Kind, Any], int]) -> None:
        for item in items:
            drone = route(kind, item)
            if drone == gone:
                raise ValueError(f"an item of lost drone {gone} was given to it again")
            self.put(drone, kind, (item,))

    # -- what there is

    def drones(self) -> Iterable[int]:
        """The drones for which there are letters or collections."""
        return {drone for (drone, _), lane in self._lanes.items() if lane}.union(self._collections.drones())

    @property
    def unacknowledged(self) -> int:
        """Letters that are not acknowledged, and collections, which will be letters."""
        return sum(map(len, self._lanes.values())) + len(self._collections)

    @property
    def awaits_checkpoint(self) -> bool:
        """True if exact letters wait to be sent until a checkpoint of this drone has them."""
        return any(lane.ready < lane.end for (_, exact), lane in self._lanes.items() if exact)

    def stats(self) -> dict[str, int]:
        """Counters of what was closed, sent and acknowledged by this process, and what there is now."""
        counts = {name: self._counts[name] for name in ("letters", "items", "bytes", "sent", "again", "acknowledged")}
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
        rows = [(drone, channel, self._lanes[drone, True].end - 1) for drone, channel in self._channels.items()]
        return bytes(msgpack.packb(rows))

    def committed(self) -> None:
        """Call after COMMIT: its exact letters may be sent."""
        for lane, end in self._closed:
            lane.ready = end
        self._closed = []
        self.kept = self._saving
