"""The slots that are here, as this drone sees it, and its steps when the slot map changes
(docs/hive.md).
"""

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
from webcrawl.crawl.hive.partition import SlotMap
from webcrawl.crawl.hive.slot_pieces import (
    NAME,
    Coming,
    Deliver,
    Item,
    Leaves,
    Leaving,
    Parking,
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


class Moving(Part):
    """A part of the checkpoint. Make it right after the frontier, before anything is taken from
    there.

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
    ) -> None:
        """`slot_of`: Partition.slot. `domains`: False if the partition is by host, so that domains
        stay where they are.

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
        self.coming = Coming(frontier.moves, seen, Parking(db), lost)
        self.leaving: Leaving | None = None
        if isinstance(seen, ExportsKeys):
            self.leaving = Leaving(
                frontier.moves, seen, slot_of, self._pack, self._next, leaves, domains=domains
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
        return f"a {store} cannot give fingerprints away" if self.leaving is None else ""

    # -- the map

    def learn(self, later: SlotMap, *, lost: Iterable[int] = ()) -> None:
        """Take a new map; pass over an older one, or the same. Raise HiveError if slots would leave
        that cannot.

        The first map that a drone ever learns is that of the founding: its slots come from nobody.
        A drone that joins a running hive learns the map before it first, in which it has no slots.
        `lost`: drones whose state is gone, so that nothing comes from them.
        """
        before, gone = self.map, set(lost)
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
        """Return the drone from which a slot comes that is to be ours: the owner before, unless
        that is lost.
        """
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
        """Begin what is planned next for a slot, which is packed, or has come whole."""
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
        """Expect nothing from a lost drone, and give what it was to get to others, as far as that
        is still here.
        """
        for slot, plan in self._plans.items():
            for at, what in enumerate(plan):
                back = plan[at + 1 : at + 2] == [(COME, gone)]
                if what == (GO, gone):
                    plan[at] = (GO, self._me if back else self.owner(slot))
                elif what == (COME, gone):
                    plan[at] = (COME, self._me if plan[:at][-1:] == [(GO, self._me)] else NOBODY)
            if self.leaving is not None and slot in self.leaving.targets:
                self.leaving.targets[slot] = plan[0][1]
        for slot in self.coming.gone(gone):
            self._next(slot)
        self.coming.torn = True

    def _guard(self) -> None:
        owned, slot_of = self.owned, self._slot_of
        self._frontier.moves.guard(lambda host: not owned[slot_of(host)], self._leave)

    def _leave(self, record: Packed) -> None:
        """Send a URL that is known to be new, of a host that is not here."""
        self.send(Kind.QUEUED, self._slot_of(host_name(record)), [record])

    @property
    def settled(self) -> bool:
        """True if no slot is on its way from or to this drone: the queen publishes no map before
        all are settled.
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
        """True if the slot was here at any time: then seeds of it that are read later go to its
        owner, as LINKS.

        Seeds of all other slots are passed over: whoever had them at the founding reads them too.
        """
        return bool(self._had[slot])

    # -- links

    def send(self, kind: Kind, slot: int, items: list[Any]) -> None:
        """Send items of one slot to its owner, park them if the slot is on its way here, or accept
        them.
        """
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
        """Take the items of a letter of LINKS, REQUESTS, QUEUED or SLOT: as `send`, and unpack
        pieces of slots.
        """
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
        """Send a piece of a slot that leaves; park it if the slot was for a lost drone, and is ours
        again.
        """
        if target != self._me:
            self._outbox.put(target, Kind.SLOT, [item])
            return
        self.coming.park(item[0], Kind.SLOT, item)
        if item[1] == "end":
            self.coming.unpack(item[0])

    # -- between pages

    def step(self, now: float) -> bool:
        """Do one slice, in a few ms; return whether there is more to do at once. Almost free if
        nothing moves.

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
        """True if what is parked for a slot would not be parked again: but the pieces that this
        drone sent itself.
        """
        return (
            self.owner(slot) != self._me
            or bool(self.owned[slot])
            or self.coming.sources.get(slot) == self._me
        )

    def _deliver(self, kind: int, slot: int, items: list[Any], now: float) -> None:
        """Takes what was parked: names of hosts that came, pieces that this drone sent, and what
        others sent.
        """
        for item in items if kind in (NAME, Kind.SLOT) else ():
            if kind == Kind.SLOT:
                self._piece(item, now)
            elif self.owned[slot]:
                self._frontier.moves.arrive(item, now)
            elif self.owner(slot) == self._me:
                self.coming.park(slot, NAME, item)
        if kind not in (NAME, Kind.SLOT):
            self.send(Kind(kind), slot, items)

    def drain(self, now: float) -> bool:
        """Give away a slice of what a drone without slots has left; return whether nothing is left.

        It has to read its seeds to the end besides, and is done when others have acknowledged its
        letters.
        """
        if self.step(now) or not self.settled or any(self.owned):
            return False
        if self.portion is not None and self.portion(now):
            return False
        again = self.again is not None and self.again()
        records = self._seen.take(SLICE)
        if not records and self._seen.pending:
            self._seen.merge()
            records = self._seen.take(SLICE)
        self._frontier.add(filter(None, records))
        return self._frontier.moves.drain(SLICE) and not (self._seen.pending or again)

    def stats(self) -> dict[str, int]:
        """Return the numbers of slots that are here, that are on their way, and that have moved
        since the start.
        """
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
