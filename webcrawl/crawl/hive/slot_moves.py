"""The slots that a drone has, and its steps when the slot map changes (docs/hive-protocol.md)."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import msgpack

from webcrawl.base.model import Packed
from webcrawl.crawl.hive.errors import HiveError
from webcrawl.crawl.hive.letter import Kind
from webcrawl.crawl.hive.outbox import Outbox
from webcrawl.crawl.hive.partition import SLOTS, SlotMap
from webcrawl.crawl.hive.slot_pieces import (
    NAME,
    Deliver,
    Item,
    Leaves,
    ParkedItems,
    SlotPacker,
    SlotUnpacker,
    all_taken,
    as_it_is,
)
from webcrawl.frontier.frontier import Frontier
from webcrawl.frontier.hosts import host_name
from webcrawl.frontier.seen.protocol import ExportsKeys, SeenStore
from webcrawl.store.crawldb import CrawlDB, Part

logger = logging.getLogger(__name__)

META = "hive.moving"
GO, COME = 0, 1  # in a plan, with a drone
NOBODY = -1
SLICE = 500  # URLs moved at once by a drone that drains: about 2 ms


class SlotMoves(Part):
    """A part of the checkpoint. Make it right after the frontier, before anything is taken there.

    All is called in the event loop's thread, and nothing waits.
    """

    def __init__(
        self,
        db: CrawlDB,
        me: int,
        frontier: Frontier,
        seen: SeenStore,
        slot_of: Callable[[str], int],
        outbox: Outbox,
        accept: Callable[[Kind, Sequence[Any]], None],
        *,
        domains: bool = True,
        lost: Callable[[str], None] = logger.error,
        leaves: Leaves = as_it_is,
        slots: int = SLOTS,
    ) -> None:
        """`slot_of`: Partition.slot; each group has so many `slots`.

        `domains`: False if hosts move, and domains do not.

        `accept` takes LINKS, REQUESTS and QUEUED items of slots that are here, as they come in
        letters. `lost` is told in a line what did not come whole. `leaves`: a link as another drone
        takes it, if it does.
        """
        self._as_taken = leaves
        self.map: SlotMap | None = None  # the latest that was learned
        # by slot: 1 if it is here, so that its links are submitted and its hosts asked
        self.owned = bytearray()
        self._had = bytearray()
        self._db = db
        self._me = me
        self._frontier = frontier
        self._seen = seen
        self._slot_of = slot_of
        self._outbox = outbox
        self._accept = accept
        # submits links of a large page; says if there were any
        self.portion: Callable[[float], bool] | None = None
        # queues pages that are to be fetched again, likewise
        self.again: Callable[[], bool] | None = None
        self.coming = SlotUnpacker(frontier.moves, seen, ParkedItems(db), lost)
        self.leaving: SlotPacker | None = None
        if isinstance(seen, ExportsKeys):
            self.leaving = SlotPacker(
                frontier.moves,
                seen,
                slot_of,
                self._pack,
                self._next,
                leaves,
                domains=domains,
                slots=slots,
            )
        # What is to happen to each slot that is on its way, one thing after the other. More than
        # one only if the map has changed again before all slots were where they belong.
        self._plans: dict[int, list[tuple[int, int]]] = {}
        self._saved = b""
        self._restore()
        db.join(self)

    @property
    def stays(self) -> str:
        """Return the reason why no slot can leave, or nothing if slots can."""
        store = f"{type(self._seen).__module__}.{type(self._seen).__name__}"
        return f"a {store} cannot hand over its fingerprints" if self.leaving is None else ""

    # -- the map

    def learn(self, later: SlotMap, *, lost: Iterable[int] = ()) -> None:
        """Take a new map, unless it is not later. Raise HiveError if slots would leave that cannot.

        The first map that a drone ever learns is that of the founding: its slots come from nobody.
        A drone that joins a running hive learns the map before it first, in which it has no slots.
        `lost`: drones whose state is gone, so that nothing comes from them.
        """
        before = self.map
        gone = set(lost)
        if before is not None and later.generation <= before.generation:
            return
        moved = before.moved(later) if before is not None else []
        going = {slot: new for slot, old, new in moved if old == self._me}
        if going and self.leaving is None:
            raise HiveError(f"the hive cannot be resized: {self.stays}")
        self.map = later
        if before is None:
            self.owned = bytearray(owner == self._me for owner in later.owners)
            self._had = bytearray(self.owned)
            self._guard()
            return
        for drone in gone:
            self._forget(drone)
        for slot, old, new in moved:
            if old == self._me:
                self._plan(slot, (GO, new))
            elif new == self._me:
                self._plan(slot, (COME, self._giver(slot, old, gone)))
        self._frontier.moves.freeze()

    def _giver(self, slot: int, before: int, gone: Collection[int]) -> int:
        """Return the drone from which a slot comes: the owner before, unless that one is lost."""
        is_parked_here = self._plans.get(slot, [(COME, NOBODY)])[-1] == (GO, self._me)
        if is_parked_here:  # it was to go to a drone that is lost
            return self._me
        return NOBODY if before in gone else before

    def _plan(self, slot: int, what: tuple[int, int]) -> None:
        plan = self._plans.setdefault(slot, [])
        plan.append(what)
        self.owned[slot] = 0
        if len(plan) == 1:
            self._begin(slot)

    def _begin(self, slot: int) -> None:
        what, drone = self._plans[slot][0]
        if what == GO and self.leaving is not None:
            self.leaving.add(slot, drone)
        elif drone != NOBODY:
            self.coming.expect(slot, drone)
        else:
            self._next(slot)

    def _next(self, slot: int) -> None:
        """Begin the next step planned for a slot, now that the slot is packed or has arrived
        complete.
        """
        plan = self._plans.get(slot)
        if plan is None:  # something that was for a lost drone has come instead
            return
        del plan[0]
        if plan:
            self._begin(slot)
            return
        del self._plans[slot]
        if self.owner(slot) == self._me:
            self.owned[slot] = self._had[slot] = 1

    def _forget(self, gone: int) -> None:
        """Expect nothing from a lost drone, and give the slots that it was to get to others."""
        for slot, plan in self._plans.items():
            plan[:] = self._replanned(slot, plan, gone)
            if self.leaving is not None and slot in self.leaving.targets:
                self.leaving.targets[slot] = plan[0][1]
        for slot in self.coming.gone(gone):
            self._next(slot)
        self.coming.torn = True

    def _replanned(
        self, slot: int, plan: Sequence[tuple[int, int]], gone: int
    ) -> list[tuple[int, int]]:
        """Return the plan of a slot without a lost drone.

        A slot that was to go there goes to its owner by the latest map. If it was to come back from
        there, it goes to this drone itself, and comes from it: so it stays here.
        """
        replanned: list[tuple[int, int]] = []
        for at, step in enumerate(plan):
            if step == (GO, gone):
                comes_back = plan[at + 1 : at + 2] == [(COME, gone)]
                replanned.append((GO, self._me if comes_back else self.owner(slot)))
            elif step == (COME, gone):
                stays_here = replanned[-1:] == [(GO, self._me)]
                replanned.append((COME, self._me if stays_here else NOBODY))
            else:
                replanned.append(step)
        return replanned

    def _guard(self) -> None:
        owned, slot_of = self.owned, self._slot_of
        self._frontier.moves.guard(lambda host: not owned[slot_of(host)], self._leave)

    def _leave(self, record: Packed) -> None:
        """Send a URL that is known to be new, of a host that is not here."""
        self.send(Kind.QUEUED, self._slot_of(host_name(record)), [record])

    @property
    def settled(self) -> bool:
        """Return whether no slot is on its way from or to this drone.

        The queen publishes no map before all drones are settled.
        """
        return not (self._plans or self.coming.arriving)

    @property
    def partners(self) -> tuple[int, ...]:
        """Return the drones with which it has slots to exchange still."""
        to = self.leaving.targets.values() if self.leaving is not None else ()
        found = sorted({*to, *self.coming.sources.values()})
        return tuple(found or ([] if self.settled else [self._me]))

    def owner(self, slot: int) -> int:
        """Return the drone whose slot it is by the latest map; the slot may be on its way there."""
        if self.map is None:
            raise ValueError("no slot map yet")
        return self.map.owners[slot]

    def had(self, slot: int) -> bool:
        """Return whether the slot was ever here: its seeds that are read later go to its owner.

        Seeds of all other slots are passed over: the drone that had them at the founding reads them
        too.
        """
        return bool(self._had[slot])

    # -- links

    def send(self, kind: Kind, slot: int, items: list[Any]) -> None:
        """Send items of a slot to its owner; accept them, or park them until the slot is here."""
        owner = self.owner(slot)
        if owner != self._me:
            self._outbox.put(owner, kind, self._taken(kind, items))
        elif self.owned[slot]:
            self._accept(kind, items)
        else:
            for item in items:
                self.coming.park(slot, kind, item)

    def _taken(self, kind: Kind, items: list[Any]) -> list[Any]:
        """Return the items without requests that no other drone takes; links of pages have none."""
        if kind is Kind.REQUESTS:
            return [item for item in items if self._as_taken(item[0])]
        return all_taken(items, self._as_taken) if kind is Kind.QUEUED else items

    def receive(self, kind: Kind, items: Iterable[Any], now: float) -> None:
        """Take the items of a letter of LINKS, REQUESTS, QUEUED or SLOT.

        Pieces of slots are unpacked, and all else is sent to where its slot is.
        """
        if kind is Kind.SLOT:
            for item in items:
                self._piece(item, now)
            return
        groups = self._by_slot(kind, items)
        here = [slot for slot in groups if self.owned[slot]]
        if here:
            self._accept(kind, [item for slot in here for item in groups.pop(slot)])
        for slot, some in groups.items():
            self.send(kind, slot, some)

    def _by_slot(self, kind: Kind, items: Iterable[Any]) -> dict[int, list[Any]]:
        groups: defaultdict[int, list[Any]] = defaultdict(list)
        for item in items:
            groups[self.slot(kind, item)].append(item)
        return groups

    def slot(self, kind: Kind, item: Any) -> int:
        """Return the slot of an item of LINKS, REQUESTS, QUEUED or SLOT."""
        if kind is Kind.SLOT:
            return int(item[0])
        return self._slot_of(host_name(item[0] if kind is Kind.REQUESTS else item))

    def route(self, kind: Kind, item: Any) -> int:
        """Return the owner of an item of a letter to a drone that is lost."""
        return self.owner(self.slot(kind, item))

    def _piece(self, item: Item, now: float) -> None:
        slot = item[0]
        if self.owner(slot) != self._me and slot not in self.coming.sources:
            self._outbox.put(self.owner(slot), Kind.SLOT, [item])
            return
        whole = self.coming.piece(item, now)
        if whole is not None:
            self._next(whole)

    def _pack(self, target: int, item: Item) -> None:
        """Send a piece of a slot that leaves, or park it if the slot turned out to stay here."""
        if target != self._me:
            self._outbox.put(target, Kind.SLOT, [item])
            return
        self.coming.park(item[0], Kind.SLOT, item)
        if item[1] == "end":
            self.coming.unpack(item[0])

    # -- between pages

    def step(self, now: float) -> bool:
        """Do one slice, in a few ms; return whether there is more to do at once.

        It costs almost nothing if no slot moves.

        Not while our own network is out: failures that were not the hosts' could not be taken back
        elsewhere.
        """
        if self.coming.torn:
            self.coming.torn = False
            self.coming.strays(now)
        more = self.leaving is not None and self.leaving.step(now)
        deliver: Deliver = lambda kind, slot, items: self._deliver(kind, slot, items, now)  # noqa: E731 - knows the time
        return self.coming.step(self._may_deliver, deliver) or more

    def _may_deliver(self, slot: int) -> bool:
        """Return whether what is parked for a slot can be delivered, and is not parked again.

        Pieces that this drone has sent itself always can.
        """
        return (
            self.owner(slot) != self._me
            or bool(self.owned[slot])
            or self.coming.sources.get(slot) == self._me
        )

    def _deliver(self, kind: int, slot: int, items: list[Any], now: float) -> None:
        """Take parked names of hosts that came, pieces that this drone sent, or others' items."""
        if kind == Kind.SLOT:
            for item in items:
                self._piece(item, now)
        elif kind == NAME:
            for item in items:
                self._arrive(slot, item, now)
        else:
            self.send(Kind(kind), slot, items)

    def _arrive(self, slot: int, name: Any, now: float) -> None:
        """Let a host arrive, or park its name until its slot has come whole."""
        if self.owned[slot]:
            self._frontier.moves.arrive(name, now)
        elif self.owner(slot) == self._me:
            self.coming.park(slot, NAME, name)

    def drain(self, now: float) -> bool:
        """Give away a slice of what a drone without slots has left; return whether nothing is left.

        It has to read its seeds to the end besides, and is done when others have acknowledged its
        letters.
        """
        has_slots = self.step(now) or not self.settled or any(self.owned)
        if has_slots:
            return False
        if self.portion is not None and self.portion(now):
            return False
        has_revisits = self.again is not None and self.again()
        self._frontier.add(filter(None, self._new_links()))
        is_frontier_empty = self._frontier.moves.drain(SLICE)
        return is_frontier_empty and not (self._seen.pending or has_revisits)

    def _new_links(self) -> list[bytes]:
        """Return links that the seen store has found to be new, after a merge if there are none."""
        records = self._seen.take(SLICE)
        if records or not self._seen.pending:
            return records
        self._seen.merge()
        return self._seen.take(SLICE)

    def stats(self) -> dict[str, int]:
        """Return the numbers of slots that are here, on their way, and moved since the start."""
        leaving = self.leaving
        return {
            "slots": self.owned.count(1),
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
        self.owned = bytearray(saved["owned"])
        self._had = bytearray(saved["had"])
        self._plans = {
            slot: [(what, drone) for what, drone in plan] for slot, plan in saved["plans"].items()
        }
        self.coming.restore(saved["coming"])
        self.coming.torn = saved["strays"]
        if self.leaving is not None:
            self.leaving.restore(saved["leaving"])
        self._guard()
        self._frontier.moves.freeze()

    def save(self) -> None:
        """Write all in one value, with the checkpoint that has the letters too.

        So a slot is here as a whole after a kill, or in letters as a whole.
        """
        coming = self.coming.save()
        if self.map is None:
            return
        state = {
            "map": self.map.pack(),
            "owned": bytes(self.owned),
            "had": bytes(self._had),
            "plans": self._plans,
            "strays": self.coming.torn,
            "coming": coming,
            "leaving": self.leaving.save() if self.leaving is not None else {},
        }
        data = msgpack.packb(state)
        if data != self._saved:
            self._db.set(META, data)
            self._saved = data
