"""Slots that another drone hands over: their pieces are unpacked, and what comes for them meanwhile is parked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from webcrawl.frontier.moves import Moves
from webcrawl.hive.leaving import COUNTED, Counts, Item
from webcrawl.hive.parking import Parking
from webcrawl.seen.protocol import SeenStore

KNOWN = b""  # for the seen store: mark as seen, never return
Deliver = Callable[[int, int, list[Any]], None]  # a Kind or NAME, a slot, items
NAME = 0  # in the place of a Kind: what is parked is the name of a host that came


class Coming:
    """Per slot: expected -> arriving (its `end` was read: it is here, and what was parked for it goes in) -> own."""

    def __init__(self, moves: Moves, seen: SeenStore, parking: Parking, lost: Callable[[str], None]) -> None:
        """`lost` is told in one line if a slot did not come whole."""
        self._moves, self._seen, self._parking, self._lost = moves, seen, parking, lost
        self.sources: dict[int, int] = {}  # slots that are expected, and from whom
        self.arriving: list[int] = []  # slots that are here, with something parked
        self._counts: dict[int, Counts] = {}
        self.came = 0  # slots

    def __repr__(self) -> str:
        return f"<Coming {len(self.sources)} slots, arriving {len(self.arriving)}>"

    def expect(self, slot: int, source: int) -> None:
        """A slot will come from a drone."""
        self.sources[slot] = source

    def gone(self, drone: int) -> list[int]:
        """A drone is lost: of its slots nothing more comes; returns which these are."""
        slots = [slot for slot, source in self.sources.items() if source == drone]
        for slot in slots:
            came = self._counts.pop(slot, [0, 0, 0, 0])
            self._lost(f"slot {slot} is lost with drone {drone}; of it had come: {_said(came)}")
            self._arrived(slot)
        return slots

    def strays(self, now: float) -> None:
        """Lets hosts in whose slots are here, though their last pieces never came."""
        for name in self._moves.strays():
            self._moves.arrive(name, now)

    def unpack(self, slot: int) -> None:
        """All pieces of a slot are parked here."""
        if slot not in self.arriving:
            self.arriving.append(slot)

    def piece(self, item: Item, now: float) -> int | None:
        """Unpacks an item of a SLOT letter; returns its slot if it is whole now."""
        slot, kind, name, value = item
        moves, count = self._moves, 1
        if kind == "end":
            return self._ended(slot, value)
        if kind == "keys":
            keys = np.frombuffer(value, "<u8").tolist()
            count = len(keys)
            self._seen.submit(keys, [KNOWN] * count)
        elif kind == "host":
            moves.host(value, now)
            self.park(slot, NAME, name)
            if slot not in self.sources and slot not in self.arriving:
                self.arriving.append(slot)
        elif kind == "domain":
            moves.domain(name, value)
        else:
            count = len(value)
            if kind == "urls":
                moves.urls(name, value)
            elif kind == "later":
                moves.later(name, value, now)
            else:
                moves.held(name, value)
        self._counts.setdefault(slot, [0, 0, 0, 0])[COUNTED[kind]] += count
        return None

    def _ended(self, slot: int, sent: Counts) -> int:
        came = self._counts.pop(slot, [0, 0, 0, 0])
        if came != sent:
            self._lost(f"slot {slot} did not come whole: {_said(came)} came, and {_said(sent)} were sent")
        self._arrived(slot)
        return slot

    def _arrived(self, slot: int) -> None:
        self.sources.pop(slot, None)
        self.came += 1
        if slot not in self.arriving:
            self.arriving.append(slot)

    def park(self, slot: int, kind: int, item: Any) -> None:
        """Keeps an item until its slot is here."""
        self._parking.put(slot, [int(kind), item])

    def step(self, may: Callable[[int], bool], deliver: Deliver) -> bool:
        """One slice of what was parked for slots that are here; returns whether there is more.

        `may` says for which slots `deliver` may be called now.
        """
        slot = next(filter(may, self.arriving), None)
        if slot is None:
            return False
        items = self._parking.take(slot)
        if not items:
            self.arriving.remove(slot)
        groups: defaultdict[int, list[Any]] = defaultdict(list)
        for kind, item in items:
            groups[kind].append(item)
        for kind, some in groups.items():
            deliver(kind, slot, some)
        return any(map(may, self.arriving))

    def save(self) -> dict[str, Any]:
        """What a checkpoint keeps, as msgpack can."""
        self._parking.save()
        return {"sources": self.sources, "arriving": self.arriving, "counts": self._counts}

    def restore(self, saved: dict[str, Any]) -> None:
        """The inverse of `save`."""
        self.sources, self.arriving, self._counts = saved["sources"], saved["arriving"], saved["counts"]


def _said(counts: Counts) -> str:
    return "{} hosts, {} URLs, {} domains, {} fingerprints".format(*counts)
