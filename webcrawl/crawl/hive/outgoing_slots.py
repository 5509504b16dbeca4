"""A drone's slots that go to others: frozen, packed in slices, and handed over by the drone's own checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from webcrawl.base.model import Packed
from webcrawl.crawl.hive.letter import Kind
from webcrawl.crawl.hive.partition import range_of
from webcrawl.frontier.host_handover import HostHandover, Piece
from webcrawl.frontier.seen.protocol import ExportsKeys

Item = list[Any]
"""Of a SLOT letter: slot, kind of piece, name, value. The kinds: those of frontier/host_handover.py, `keys`, `end`."""
Counts = list[int]
HOSTS, URLS, DOMAINS, KEYS = range(4)  # what is counted of a slot: both sides compare it at its end
COUNTED = {"host": HOSTS, "urls": URLS, "later": URLS, "held": URLS, "domain": DOMAINS, "keys": KEYS}
PIECE_KEYS = 512  # fingerprints in one item: 4 KiB
AT_ONCE = 16  # such items in a slice: two pages of a file


Leaves = Callable[[Packed], Packed | None]


class Outgoing(Protocol):
    """The outbox, as far as it is used here."""

    def put(self, drone: int, kind: Kind, items: list[Any], /) -> None:
        """Queues items for a drone; what is exact goes out after a checkpoint that has it."""


def as_it_is(record: Packed) -> Packed:
    """For those who have only links of pages."""
    return record


def all_taken(records: Iterable[Packed], leaves: Leaves) -> list[Packed]:
    """Those links that other drones take, as they take them."""
    return [taken for record in records if (taken := leaves(record)) is not None]


class Leaving:
    """Packs slots that are frozen already; one batch after the other, each in a single pass over the hosts.

    Per slot: own -> frozen (`add`) -> packed (its last item is `end`). A checkpoint keeps which slots these are, for
    whom, what was counted, and which fingerprints have gone. All else that was packed is no longer here, so that a pass
    may begin anew at any time.
    """

    def __init__(
        self,
        moves: HostHandover,
        seen: ExportsKeys,
        slot_of: Callable[[str], int],
        put: Callable[[int, Item], None],
        packed: Callable[[int], None],
        leaves: Leaves | None = None,
        *,
        domains: bool,
    ) -> None:
        """`put` takes SLOT items for a drone, `packed` hears of each slot whose last one was put.

        `leaves`: a link as another drone takes it, if it does.

        `domains`: a registered domain is in one slot, and moves with it.
        """
        self._moves, self._seen, self._slot_of = moves, seen, slot_of
        self._put, self._packed, self._domains, self._leaves = put, packed, domains, leaves or as_it_is
        self.targets: dict[int, int] = {}  # all slots that are frozen and not yet packed, and who gets each
        self._batch: dict[int, Counts] = {}  # those that are being packed
        self._cursor: dict[int, int] = {}  # of these, the one whose fingerprints are going, and the next of them
        self._run: Iterator[bool] | None = None
        self._mark = 0  # in the seen store: what was submitted before has to be decided first
        self._now = 0.0
        self.packed = 0  # slots

    def add(self, slot: int, target: int) -> None:
        """Takes a slot, and who gets it. The gate of the frontier keeps its hosts out from now on."""
        self.targets[slot] = target
        self._mark = self._seen.mark()

    def step(self, now: float) -> bool:
        """One slice of a few ms; returns whether there is more to do at once."""
        self._now = now
        if self._run is None:
            self._batch = self._batch or {slot: [0, 0, 0, 0] for slot in self.targets}
            if not self._batch:
                return False
            self._run = self._pack()
        more = next(self._run, None)
        if more is None:
            self._run = None
        return more is not False and bool(self.targets)

    def _pack(self) -> Iterator[bool]:
        """Packs the batch; yields False while it has to wait for something."""
        while self._moves.busy() or not self._decided():
            yield False
        for _ in self._moves.sweep():
            yield True
        for pieces in self._moves.hosts(self._goes, lambda: self._now):
            self._send(pieces)
            yield True
        for pieces in self._moves.domains(self._goes) if self._domains else ():
            self._send(pieces)
            yield True
        keys = self._seen.sorted_keys()
        for slot in sorted(self._batch, key=lambda one: one not in self._cursor):
            low, high = range_of(slot)
            low = self._cursor.get(slot, low)
            while len(found := keys.next(low, high, AT_ONCE * PIECE_KEYS)):
                for at in range(0, len(found), PIECE_KEYS):
                    some = found[at : at + PIECE_KEYS]
                    self._item(slot, "keys", "", some.astype("<u8").tobytes(), len(some))
                low = int(found[-1]) + 1
                self._cursor = {slot: low}
                yield True
            self._end(slot)
            yield True

    def _decided(self) -> bool:
        """True if all that was found before the slots were frozen is known as new or not: its keys go along."""
        if not self._seen.decided(self._mark):
            self._seen.merge()
        return self._seen.decided(self._mark)

    def _goes(self, name: str) -> bool:
        return self._slot_of(name) in self._batch

    def _send(self, pieces: list[Piece]) -> None:
        for kind, name, found in pieces:
            value = found
            if kind in ("urls", "held"):
                value = all_taken(found, self._leaves)
            elif kind == "later":
                taken = [(waits, wait, self._leaves(record)) for waits, wait, record in found]
                value = [[*one] for one in taken if one[2] is not None]
            many = 1 if kind in ("host", "domain") else len(value)
            self._item(self._slot_of(name), kind, name, value, many)

    def _item(self, slot: int, kind: str, name: str, value: Any, count: int) -> None:
        self._batch[slot][COUNTED[kind]] += count
        self._put(self.targets[slot], [slot, kind, name, value])

    def _end(self, slot: int) -> None:
        target = self.targets.pop(slot)
        self._cursor.pop(slot, None)
        self._put(target, [slot, "end", "", self._batch.pop(slot)])
        self.packed += 1
        self._packed(slot)

    def save(self) -> dict[str, Any]:
        """The part of a checkpoint, as msgpack takes it."""
        return {"targets": self.targets, "batch": self._batch, "cursor": self._cursor}

    def restore(self, saved: dict[str, Any]) -> None:
        """The inverse of `save`."""
        self.targets, self._batch, self._cursor = saved["targets"], saved["batch"], saved["cursor"]
        self._mark = self._seen.mark()
