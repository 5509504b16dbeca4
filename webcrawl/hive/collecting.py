"""Items on their way into a letter: collected for each drone and kind until there are enough, or they have waited."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from webcrawl.hive.message import EXACT, Kind

SIZE, AGE = 256, 1.0  # items and seconds after which a letter is closed


@dataclass(slots=True)
class _Collection:
    since: float
    items: list[Any]


class Collections:
    """Gives `take` the items of a letter: drone, kind, items."""

    def __init__(self, take: Callable[[int, Kind, list[Any]], None], clock: Callable[[], float]) -> None:
        self._take, self._clock = take, clock
        self._open: dict[tuple[int, Kind], _Collection] = {}  # the oldest first

    def __repr__(self) -> str:
        return f"<Collections {len(self)}>"

    def __len__(self) -> int:
        return len(self._open)

    def put(self, drone: int, kind: Kind, items: Sequence[Any]) -> None:
        """Takes items; a full letter is closed at once."""
        collection = self._open.get((drone, kind))
        if collection is None:
            if not items:
                return
            if kind in EXACT:  # their order is kept over all kinds: one begins when the other has ended
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

    def close(self, now: float, *, all: bool = False) -> None:  # noqa: A002 - reads as what it is
        """Closes the letters whose first items are a second old, or all."""
        while self._open:
            (drone, kind), oldest = next(iter(self._open.items()))
            if not all and now - oldest.since < AGE:
                return
            self.close_kinds(drone, (kind,))

    def close_kinds(self, drone: int, kinds: Iterable[Kind]) -> None:
        """Closes the letters of these kinds for this drone."""
        for kind in kinds:
            if (drone, kind) in self._open:
                self._take(drone, kind, self._open.pop((drone, kind)).items)

    def drones(self) -> list[int]:
        """The drone of each collection."""
        return [drone for drone, _ in self._open]
