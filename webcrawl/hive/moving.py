"""Which slots are here, as this drone sees it, and what it does when the slot map changes (docs/hive.md)."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgpack

from webcrawl.frontier.frontier import Frontier
from webcrawl.frontier.moves import host_name
from webcrawl.hive.coming import Coming
from webcrawl.hive.errors import HiveError
from webcrawl.hive.leaving import Item, Leaving, Outgoing
from webcrawl.hive.message import Kind
from webcrawl.hive.parking import Parking
from webcrawl.hive.slots import SlotMap
from webcrawl.model import Packed
from webcrawl.seen.exporting import ExportsKeys
from webcrawl.seen.protocol import SeenStore
from webcrawl.store.crawldb import CrawlDB

logger = logging.getLogger(__name__)

META = "hive.moving"
SLICE = 500  # URLs moved at once by a drone that drains: about 2 ms


class Moving:
    """A part of the checkpoint. Make it right after the frontier, before anything is taken from there.

    All is called in the event loop's thread, and nothing waits.
    """

    def __init__(
        self,
        db: CrawlDB,
        me: int,
        frontier: Frontier,
        seen: SeenStore,
        slot_of: Callable[[str], int],
        outbox: Outgoing,
        accept: Callable[[Kind, Sequence[Any]], None],
        *,
        domains: bool = True,
        lost: Callable[[str], None] = logger.error,
        portion: Callable[[float], bool] | None = None,
    ) -> None:
        """`slot_of`: Partition.slot. `domains`: False if the partition is by host, so that domains stay where they are.

        `accept` takes LINKS, REQUESTS and QUEUED items of slots that are here, as they come in letters. `lost` is told
        in a line what did not come whole. `portion` submits a portion of a large page's links, and returns whether
        there was one.
        """
        self.map: SlotMap | None = None  # the latest that was learned
        self.owned = bytearray()  # by slot: 1 if it is here, so that its links are submitted and its hosts asked
        self._had = bytearray()
        self._db, self._me, self._frontier, self._seen = db, me, frontier, seen
        self._slot_of, self._outbox, self._accept, self._portion = slot_of, outbox, accept, portion
        self.coming = Coming(frontier.moves, seen, Parking(db), lost)
        self.leaving: Leaving | None = None
        if isinstance(seen, ExportsKeys):
            self.leaving = Leaving(frontier.moves, seen, slot_of, self._pack, domains=domains)
        self._held: set[int] = set()  # slots that leave when they have come
        self._strays = False  # slots are here whose last pieces never came
        self._saved = b""
        self._restore()
        db.join(self)

    def __repr__(self) -> str:
        return f"<Moving drone {self._me} slots={sum(self.owned)} {self.coming!r}>"

    # -- the map

    def learn(self, later: SlotMap, *, lost: Iterable[int] = ()) -> None:
        """A new map; an older one, or the same, is passed over. HiveError if slots would leave that cannot.

        The first map that a drone ever learns is that of the founding: its slots come from nobody. A drone that joins a
        running hive learns the map before it first, in which it has no slots. `lost`: drones whose state is gone, so
        that nothing comes from them.
        """
        before, gone = self.map, set(lost)
        if before is not None and later.generation <= before.generation:
            return
        moved = before.moved(later) if before is not None else []
        going = {slot: new for slot, old, new in moved if old == self._me}
        if going and self.leaving is None:
            store = f"{type(self._seen).__module__}.{type(self._seen).__name__}"
            raise HiveError(f"the hive cannot be resized: a {store} cannot give fingerprints away")
        self.map = later
        if before is None:
            self.owned = bytearray(owner == self._me for owner in later.owners)
            self._had = bytearray(self.owned)
            self._guard()
            return
        for drone in gone:
            self._here(self.coming.gone(drone))
            self._strays = True
        if self.leaving is not None:
            self._go(self.leaving, going, gone)
        for slot in (slot for slot, _, new in moved if new == self._me):
            self._expect(slot, before.owners[slot], gone)
        self._frontier.moves.freeze()

    def _go(self, leaving: Leaving, going: dict[int, int], gone: set[int]) -> None:
        for slot in going:
            self.owned[slot] = 0
        self._held.update(slot for slot in going if slot in self.coming.sources)
        if going:
            leaving.add(going)
        for drone in gone:
            leaving.retarget(drone, self.owner)

    def _expect(self, slot: int, old: int, gone: set[int]) -> None:
        if self.leaving is not None and slot in self.leaving.targets:  # it comes back from whoever is to get it
            self.coming.expect({slot: self.leaving.targets[slot]})
        elif old in gone:
            self._here([slot])
        else:
            self.coming.expect({slot: old})

    def _here(self, slots: Iterable[int]) -> None:
        """These slots have come, and are ours unless a later map says something else."""
        for slot in slots:
            self._held.discard(slot)
            if self.owner(slot) == self._me:
                self.owned[slot] = self._had[slot] = 1

    def _guard(self) -> None:
        owned, slot_of = self.owned, self._slot_of
        self._frontier.moves.guard(lambda host: not owned[slot_of(host)], self._leave)

    def _leave(self, record: Packed) -> None:
        """A URL that is known to be new, of a host that is not here."""
        self.send(Kind.QUEUED, self._slot_of(host_name(record)), [record])

    @property
    def settled(self) -> bool:
        """Whether no slot is on its way from or to this drone: the queen publishes no map before all are settled."""
        return not (self.coming.sources or self.coming.arriving or (self.leaving is not None and self.leaving.targets))

    def owner(self, slot: int) -> int:
        """The drone whose slot it is by the latest map; it may be on its way there."""
        if self.map is None:
            raise ValueError("no slot map yet")
        return self.map.owners[slot]

    def had(self, slot: int) -> bool:
        """Whether the slot was here at any time: then seeds of it that are read later go to its owner, as LINKS.

        Seeds of all other slots are passed over: whoever had them at the founding reads them too.
        """
        return bool(self._had[slot])

    # -- links

    def send(self, kind: Kind, slot: int, items: list[Any]) -> None:
        """Items of one slot: to its owner, parked if it is on its way here, or accepted."""
        owner = self.owner(slot)
        if owner != self._me:
            self._outbox.put(owner, kind, items)
        elif self.owned[slot]:
            self._accept(kind, items)
        else:
            for item in items:
                self.coming.park(slot, kind, item)

    def receive(self, kind: Kind, items: Iterable[Any], now: float) -> None:
        """The items of a letter of LINKS, REQUESTS, QUEUED or SLOT: as `send`, and pieces of slots are unpacked."""
        if kind is Kind.SLOT:
            for item in items:
                self._piece(item, now)
            return
        groups: defaultdict[int, list[Any]] = defaultdict(list)
        for item in items:
            groups[self.slot(kind, item)].append(item)
        mine = [slot for slot in groups if self.owned[slot]]
        if mine:
            self._accept(kind, [item for slot in mine for item in groups.pop(slot)])
        for slot, some in groups.items():
            self.send(kind, slot, some)

    def slot(self, kind: Kind, item: Any) -> int:
        """The slot of an item of LINKS, REQUESTS, QUEUED or SLOT."""
        if kind is Kind.SLOT:
            return int(item[0])
        return self._slot_of(host_name(item[0] if kind is Kind.REQUESTS else item))

    def route(self, kind: Kind, item: Any) -> int:
        """Its owner, for a letter to a drone that is lost."""
        return self.owner(self.slot(kind, item))

    def _piece(self, item: Item, now: float) -> None:
        slot = item[0]
        if self.owner(slot) != self._me and slot not in self.coming.sources:
            self._outbox.put(self.owner(slot), Kind.SLOT, [item])
            return
        whole = self.coming.piece(item, now)
        if whole is not None:
            self._here([whole])

    def _pack(self, target: int, item: Item) -> None:
        """A piece of a slot that leaves; if it was to go to a drone that is lost, it may be ours again."""
        if target != self._me:
            self._outbox.put(target, Kind.SLOT, [item])
            return
        self.coming.park(item[0], Kind.SLOT, item)
        if item[1] == "end":
            self.coming.unpack(item[0])

    # -- between pages

    def step(self, now: float) -> bool:
        """One slice of a few ms; returns whether there is more to do at once. Almost free if nothing moves.

        Not while our own network is out: failures that were not the hosts' could not be taken back elsewhere.
        """
        if self._strays:
            self._strays = False
            self.coming.strays(now)
        more = self.leaving is not None and self.leaving.step(now, self._held.__contains__)
        return self.coming.step(now, lambda kind, slot, items: self._deliver(kind, slot, items, now)) or more

    def _deliver(self, kind: Kind, slot: int, items: list[Any], now: float) -> None:
        if kind is Kind.SLOT:
            for item in items:
                self._piece(item, now)
        else:
            self.send(kind, slot, items)

    def drain(self, now: float) -> bool:
        """For a drone without slots, in place of taking URLs: a slice of all that is left. True: nothing is left.

        It has to read its seeds to the end besides, and is done when others have acknowledged its letters.
        """
        if self.step(now) or not self.settled or any(self.owned):
            return False
        if self._portion is not None and self._portion(now):
            return False
        records = self._seen.take(SLICE)
        if not records and self._seen.pending:
            self._seen.merge()
            records = self._seen.take(SLICE)
        self._frontier.add(filter(None, records))
        return self._frontier.moves.drain(SLICE) and not self._seen.pending

    def stats(self) -> dict[str, int]:
        """For stats.json: slots that are here, on their way, and how many have moved since the start."""
        leaving = self.leaving
        return {
            "slots": sum(self.owned),
            "slots/leaving": len(leaving.targets) if leaving is not None else 0,
            "slots/coming": len(self.coming.sources) + len(self.coming.arriving),
            "slots/left": leaving.packed if leaving is not None else 0,
            "slots/came": self.coming.came,
        }

    # -- the checkpoint

    def _restore(self) -> None:
        data = self._db.get(META)
        if data is None:
            return
        saved = msgpack.unpackb(data, strict_map_key=False)
        self.map = SlotMap.unpack(saved["map"])
        self.owned, self._had = bytearray(saved["owned"]), bytearray(saved["had"])
        self._held, self._strays = set(saved["held"]), saved["strays"]
        self.coming.restore(saved["coming"])
        if self.leaving is not None:
            self.leaving.restore(saved["leaving"])
        self._guard()
        self._frontier.moves.freeze()

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        coming = self.coming.save()
        if self.map is None:
            return
        state = {
            "map": self.map.pack(),
            "owned": bytes(self.owned),
            "had": bytes(self._had),
            "held": sorted(self._held),
            "strays": self._strays,
            "coming": coming,
            "leaving": self.leaving.save() if self.leaving is not None else {},
        }
        data = msgpack.packb(state)
        if data != self._saved:
            self._db.set(META, data)
            self._saved = data
