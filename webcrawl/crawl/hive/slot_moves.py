"""The slots that a drone has, and its steps when the slot map changes (docs/hive-protocol.md)."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import msgpack

from webcrawl.base.model import Packed
from webcrawl.crawl.hive.batch import Kind
from webcrawl.crawl.hive.errors import HiveError
from webcrawl.crawl.hive.outbox import Outbox
from webcrawl.crawl.hive.partition import SlotMap
from webcrawl.crawl.hive.slot_pieces import (
    HOST_NAME,
    Deliver,
    Item,
    ParkedItems,
    SlotPacker,
    SlotRules,
    SlotUnpacker,
    links_for_others,
)
from webcrawl.frontier.frontier import Frontier
from webcrawl.frontier.hosts import host_name
from webcrawl.frontier.seen.protocol import ExportsKeys, SeenStore
from webcrawl.store.crawldb import CrawlDB, Part

logger = logging.getLogger(__name__)

MOVES = "hive.moving"
GO, COME = 0, 1  # steps of a plan, each with a drone; the numbers are in checkpoints
NOBODY = -1  # in the place of a drone: nothing comes
DRAIN_SLICE = 500  # URLs moved at once by a drone that drains: about 2 ms


class SlotMoves(Part):
    """Knows which slots are here, and moves slots when the map changes.

    It is a part of the checkpoint. Make it right after the frontier, before anything is taken
    there. All is called in the event loop's thread, and nothing waits.
    """

    def __init__(
        self,
        db: CrawlDB,
        me: int,
        frontier: Frontier,
        seen: SeenStore,
        rules: SlotRules,
        outbox: Outbox,
        accept: Callable[[Kind, Sequence[Any]], None],
        complain: Callable[[str], None] = logger.error,
    ) -> None:
        """Resume from the checkpoint.

        `accept` takes LINKS, REQUESTS and QUEUED items of slots that are here, as they come in
        batches. `complain` is called with one line for each slot that did not come whole.
        """
        self._slot_of = rules.slot_of
        self._for_other_drone = rules.for_other_drone
        self.map: SlotMap | None = None  # the latest that was learned
        # By slot: 1 if it is here, so that its links are submitted and its hosts requested
        self.owned = bytearray()
        self._was_here = bytearray()  # by slot: 1 if it is here, or was once
        self._db = db
        self._me = me
        self._frontier = frontier
        self._seen = seen
        self._outbox = outbox
        self._accept = accept
        # Submits some of the links of a large page that wait; returns whether there were any
        self.submit_portion: Callable[[float], bool] | None = None
        # Queues some of the pages that are to be fetched again; returns whether there were any
        self.queue_revisits: Callable[[], bool] | None = None
        self.unpacker = SlotUnpacker(frontier.moves, seen, ParkedItems(db), complain)
        self.packer: SlotPacker | None = None
        if isinstance(seen, ExportsKeys):
            self.packer = SlotPacker(frontier.moves, seen, rules, self._send_piece, self._end_step)
        # The steps that are left for each slot that is on its way. There is more than one only if
        # the map has changed again before all slots were where they belong.
        self._plans: dict[int, list[tuple[int, int]]] = {}
        self._saved_state = b""
        self._restore()
        db.join(self)

    @property
    def why_slots_stay(self) -> str:
        """Return the reason why no slot can leave, or nothing if slots can."""
        if self.packer is not None:
            return ""
        store = f"{type(self._seen).__module__}.{type(self._seen).__name__}"
        return f"a {store} cannot hand over its fingerprints"

    # -- the map

    def apply_map(self, later: SlotMap, *, lost: Iterable[int] = ()) -> None:
        """Take a map if it is later than the one before, and begin to move slots as it says.

        The first map that a drone ever learns is that of the founding: its slots come from nobody.
        A drone that joins a running hive learns the map before it first, in which it has no slots.
        `lost` are drones whose state is gone, so that nothing comes from them. Raise HiveError if
        slots would leave, and the seen store cannot give their fingerprints away.
        """
        before = self.map
        if before is not None and later.generation <= before.generation:
            return
        moved = before.moved(later) if before is not None else []
        are_leaving = any(old == self._me for _, old, _ in moved)
        if are_leaving and self.packer is None:
            raise HiveError(f"the hive cannot be resized: {self.why_slots_stay}")
        self.map = later
        if before is None:
            self.owned = bytearray(owner == self._me for owner in later.owners)
            self._was_here = bytearray(self.owned)
            self._set_gate()
            return
        gone = set(lost)
        for drone in gone:
            self._forget_drone(drone)
        for slot, old, new in moved:
            if old == self._me:
                self._plan(slot, (GO, new))
            elif new == self._me:
                self._plan(slot, (COME, self._giver(slot, old, gone)))
        self._frontier.moves.freeze()

    def _giver(self, slot: int, before: int, gone: Collection[int]) -> int:
        """Return the drone from which a slot comes: the owner before, unless that one is lost."""
        plan = self._plans.get(slot)
        if plan and plan[-1] == (GO, self._me):  # parked here: it was to go to a drone that is lost
            return self._me
        return NOBODY if before in gone else before

    def _plan(self, slot: int, step: tuple[int, int]) -> None:
        """Add a step to the plan of a slot, which is no longer owned until the plan is done."""
        plan = self._plans.setdefault(slot, [])
        plan.append(step)
        self.owned[slot] = 0
        if len(plan) == 1:
            self._begin_step(slot)

    def _begin_step(self, slot: int) -> None:
        """Begin the first step of a slot's plan: pack the slot, or expect it from another drone.

        A step from nobody brings nothing, and ends at once.
        """
        direction, drone = self._plans[slot][0]
        if direction == GO and self.packer is not None:
            self.packer.add(slot, drone)
        elif drone != NOBODY:
            self.unpacker.expect(slot, drone)
        else:
            self._end_step(slot)

    def _end_step(self, slot: int) -> None:
        """Begin the next step planned for a slot that is packed, or has come.

        After the last step the slot is owned here if the latest map says so.
        """
        plan = self._plans.get(slot)
        if plan is None:  # something that was for a lost drone has come instead
            return
        del plan[0]
        if plan:
            self._begin_step(slot)
            return
        del self._plans[slot]
        if self.owner(slot) == self._me:
            self.owned[slot] = 1
            self._was_here[slot] = 1

    def _forget_drone(self, gone: int) -> None:
        """Expect nothing from a lost drone, and give the slots that it was to get to others."""
        for slot, plan in self._plans.items():
            plan[:] = self._plan_without(gone, slot, plan)
            if self.packer is not None and slot in self.packer.targets:
                self.packer.targets[slot] = plan[0][1]
        for slot in self.unpacker.forget_drone(gone):
            self._end_step(slot)
        self.unpacker.has_strays = True

    def _plan_without(
        self, gone: int, slot: int, plan: Sequence[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """Return the plan of a slot without a lost drone.

        A slot that was to go there goes to its owner by the latest map. If it was to come back from
        there, it goes to this drone itself, and comes from it: so it stays here.
        """
        steps: list[tuple[int, int]] = []
        for number, step in enumerate(plan):
            if step == (GO, gone):
                comes_back = plan[number + 1 : number + 2] == [(COME, gone)]
                steps.append((GO, self._me if comes_back else self.owner(slot)))
            elif step == (COME, gone):
                stays_here = steps[-1:] == [(GO, self._me)]
                steps.append((COME, self._me if stays_here else NOBODY))
            else:
                steps.append(step)
        return steps

    def _set_gate(self) -> None:
        """Have the frontier keep out the hosts that are not here, and hand over their URLs."""
        owned = self.owned
        slot_of = self._slot_of
        self._frontier.moves.guard(lambda host: not owned[slot_of(host)], self._send_queued)

    def _send_queued(self, record: Packed) -> None:
        """Send a URL that is known to be new, of a host that is not here."""
        self.send(Kind.QUEUED, self._slot_of(host_name(record)), [record])

    @property
    def is_settled(self) -> bool:
        """Return whether no slot is on its way from or to this drone.

        The coordinator publishes no map before all drones are settled.
        """
        return not (self._plans or self.unpacker.arriving)

    @property
    def partners(self) -> tuple[int, ...]:
        """Return the drones with which slots are still to be exchanged; this one if none but it."""
        targets = self.packer.targets.values() if self.packer is not None else ()
        partners = sorted({*targets, *self.unpacker.sources.values()})
        if not partners and not self.is_settled:
            return (self._me,)
        return tuple(partners)

    def owner(self, slot: int) -> int:
        """Return the drone whose slot it is by the latest map; the slot may be on its way there."""
        if self.map is None:
            raise ValueError("no slot map yet")
        return self.map.owners[slot]

    def was_here(self, slot: int) -> bool:
        """Return whether the slot was ever here: its seeds that are read later go to its owner.

        Seeds of all other slots are skipped: the drone that had them at the founding reads them
        too.
        """
        return bool(self._was_here[slot])

    # -- links

    def send(self, kind: Kind, slot: int, items: list[Any]) -> None:
        """Send items of a slot to its owner; accept them, or park them until the slot is here."""
        owner = self.owner(slot)
        if owner != self._me:
            self._outbox.put(owner, kind, self._for_others(kind, items))
        elif self.owned[slot]:
            self._accept(kind, items)
        else:
            for item in items:
                self.unpacker.park(slot, kind, item)

    def _for_others(self, kind: Kind, items: list[Any]) -> list[Any]:
        """Return the items without requests that no other drone takes."""
        if kind is Kind.REQUESTS:
            return [item for item in items if self._for_other_drone(item[0])]
        if kind is Kind.QUEUED:
            return links_for_others(items, self._for_other_drone)
        return items  # links of pages have no requests

    def receive(self, kind: Kind, items: Iterable[Any], now: float) -> None:
        """Take the items of a batch of LINKS, REQUESTS, QUEUED or SLOT.

        Pieces of slots are unpacked, and all else is sent to where its slot is.
        """
        if kind is Kind.SLOT:
            for item in items:
                self._receive_piece(item, now)
            return
        items_by_slot: defaultdict[int, list[Any]] = defaultdict(list)
        for item in items:
            items_by_slot[self.slot(kind, item)].append(item)
        here = [slot for slot in items_by_slot if self.owned[slot]]
        if here:
            self._accept(kind, [item for slot in here for item in items_by_slot.pop(slot)])
        for slot, some in items_by_slot.items():
            self.send(kind, slot, some)

    def slot(self, kind: Kind, item: Any) -> int:
        """Return the slot of an item of LINKS, REQUESTS, QUEUED or SLOT."""
        if kind is Kind.SLOT:
            return int(item[0])
        return self._slot_of(host_name(item[0] if kind is Kind.REQUESTS else item))

    def route(self, kind: Kind, item: Any) -> int:
        """Return the owner of an item of a batch to a drone that is lost."""
        return self.owner(self.slot(kind, item))

    def _receive_piece(self, item: Item, now: float) -> None:
        """Unpack a piece of a slot that comes, or send it on to the slot's owner."""
        slot = item[0]
        owner = self.owner(slot)
        if owner != self._me and slot not in self.unpacker.sources:
            self._outbox.put(owner, Kind.SLOT, [item])
            return
        complete_slot = self.unpacker.unpack_piece(item, now)
        if complete_slot is not None:
            self._end_step(complete_slot)

    def _send_piece(self, target: int, item: Item) -> None:
        """Send a piece of a slot that leaves, or park it if the slot turned out to stay here."""
        if target != self._me:
            self._outbox.put(target, Kind.SLOT, [item])
            return
        slot, piece_kind, *_ = item
        self.unpacker.park(slot, Kind.SLOT, item)
        if piece_kind == "end":
            self.unpacker.unpack_parked(slot)

    # -- between pages

    def step(self, now: float) -> bool:
        """Do one slice, in a few ms; return whether there is more to do at once.

        It costs almost nothing if no slot moves. Do not call it while the local network is out:
        failures that were not the hosts' could not be taken back on another drone.
        """
        if self.unpacker.has_strays:
            self.unpacker.has_strays = False
            self.unpacker.admit_strays(now)
        more = self.packer is not None and self.packer.step(now)
        deliver: Deliver = lambda kind, slot, items: self._deliver(kind, slot, items, now)  # noqa: E731 - knows the time
        return self.unpacker.step(self._may_deliver, deliver) or more

    def _may_deliver(self, slot: int) -> bool:
        """Return whether what is parked for a slot can be delivered, and is not parked again.

        Pieces that this drone has sent itself always can.
        """
        return (
            self.owner(slot) != self._me
            or bool(self.owned[slot])
            or self.unpacker.sources.get(slot) == self._me
        )

    def _deliver(self, kind: int, slot: int, items: list[Any], now: float) -> None:
        """Take parked names of hosts that came, pieces that this drone sent, or others' items."""
        if kind == Kind.SLOT:
            for item in items:
                self._receive_piece(item, now)
        elif kind == HOST_NAME:
            for item in items:
                self._let_host_arrive(slot, item, now)
        else:
            self.send(Kind(kind), slot, items)

    def _let_host_arrive(self, slot: int, name: Any, now: float) -> None:
        """Let a host arrive, or park its name until its slot has come whole."""
        if self.owned[slot]:
            self._frontier.moves.arrive(name, now)
        elif self.owner(slot) == self._me:
            self.unpacker.park(slot, HOST_NAME, name)

    def drain(self, now: float) -> bool:
        """Give away a slice of what a drone without slots has left; return whether nothing is left.

        It has to read its seeds to the end besides, and is done when others have acknowledged its
        batches.
        """
        has_slots = self.step(now) or not self.is_settled or any(self.owned)
        if has_slots:
            return False
        if self.submit_portion is not None and self.submit_portion(now):
            return False
        has_revisits = self.queue_revisits is not None and self.queue_revisits()
        self._frontier.add(filter(None, self._new_links()))
        is_frontier_empty = self._frontier.moves.drain(DRAIN_SLICE)
        return is_frontier_empty and not (self._seen.pending or has_revisits)

    def _new_links(self) -> list[bytes]:
        """Return links that the seen store has found to be new, after a merge if there are none yet."""
        records = self._seen.pop_new(DRAIN_SLICE)
        if records or not self._seen.pending:
            return records
        self._seen.merge()
        return self._seen.pop_new(DRAIN_SLICE)

    def stats(self) -> dict[str, int]:
        """Return the numbers of slots that are here, on their way, and moved since the start."""
        packer = self.packer
        return {
            "slots": self.owned.count(1),
            "slots/leaving": len(packer.targets) if packer is not None else 0,
            "slots/coming": len(self.unpacker.sources) + len(self.unpacker.arriving),
            "slots/left": packer.packed_slots if packer is not None else 0,
            "slots/came": self.unpacker.came,
        }

    # -- the checkpoint

    def _restore(self) -> None:
        """Resume from what the last checkpoint has, if it has anything."""
        data = self._db.get(MOVES)
        if data is None:
            return
        saved = msgpack.unpackb(data, strict_map_key=False)
        self.map = SlotMap.unpack(saved["map"])
        self.owned = bytearray(saved["owned"])
        self._was_here = bytearray(saved["had"])
        self._plans = {
            slot: [(direction, drone) for direction, drone in plan]
            for slot, plan in saved["plans"].items()
        }
        self.unpacker.restore(saved["coming"])
        self.unpacker.has_strays = saved["strays"]
        if self.packer is not None:
            self.packer.restore(saved["leaving"])
        self._set_gate()
        self._frontier.moves.freeze()

    def save(self) -> None:
        """Write all in one value, with the checkpoint that has the batches too.

        So a slot is here as a whole after a kill, or in batches as a whole.
        """
        coming = self.unpacker.save()
        if self.map is None:
            return
        state = {
            "map": self.map.pack(),
            "owned": bytes(self.owned),
            "had": bytes(self._was_here),
            "plans": self._plans,
            "strays": self.unpacker.has_strays,
            "coming": coming,
            "leaving": self.packer.save() if self.packer is not None else {},
        }
        data = msgpack.packb(state)
        if data != self._saved_state:
            self._db.set(MOVES, data)
            self._saved_state = data
