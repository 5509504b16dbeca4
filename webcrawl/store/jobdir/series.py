"""Downloads over time, in bounded memory: when the series is full, each two of its slots become one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

SLOTS = 720
FIRST = 1000  # milliseconds of a slot at first


class Series:
    """Downloads, documents and bytes in slots of equal length, from the first download on."""

    def __init__(self, slots: int = SLOTS, width: int = FIRST) -> None:
        self._slots, self.width = slots, width
        self.start = 0  # milliseconds since 1970, a multiple of the width at first; 0: nothing was added
        self.downloads: list[int] = []
        self.documents: list[int] = []
        self.sizes: list[int] = []

    def add(self, at: int, documents: int, size: int, downloads: int = 1) -> None:
        """Adds a download that ended at this time, in milliseconds; what seems to be before the first goes with it."""
        if not self.start:
            self.start = at - at % self.width
        slot = (at - self.start) // self.width
        if slot >= len(self.downloads):
            slot = self._extend(at)
        elif slot < 0:  # the machine's clock was set back
            slot = 0
        self.downloads[slot] += downloads
        self.documents[slot] += documents
        self.sizes[slot] += size

    def _extend(self, at: int) -> int:
        """Makes room up to this time; returns its slot."""
        while (slot := (at - self.start) // self.width) >= self._slots:
            self.width *= 2
            self.downloads, self.documents, self.sizes = map(_halved, (self.downloads, self.documents, self.sizes))
        for values in (self.downloads, self.documents, self.sizes):
            values.extend([0] * (slot + 1 - len(values)))
        return slot

    @property
    def active(self) -> float:
        """Seconds in which anything came: a crawl may have been stopped for a week."""
        return sum(map(bool, self.downloads)) * self.width / 1000

    @classmethod
    def joined(cls, parts: Iterable[Series]) -> Series:
        """The sums of several, in slots as wide as the widest of theirs, from the earliest beginning on.

        Each of their slots goes into the one that has its middle.
        """
        made, begun = cls(), [part for part in parts if part.start]
        if begun:
            made.width, made.start = max(part.width for part in begun), min(part.start for part in begun)
        for part in begun:
            slots = zip(part.downloads, part.documents, part.sizes, strict=True)
            for middle, (downloads, documents, size) in zip(count(part.start + part.width // 2, part.width), slots):
                made.add(middle, documents, size, downloads)
        return made

    def table(self) -> dict[str, Any]:
        """Return what stats.json has of it; times are in whole seconds there."""
        return {
            "start": self.start // 1000,
            "seconds": self.width // 1000,
            "downloads": self.downloads,
            "documents": self.documents,
            "bytes": self.sizes,
        }

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Series:
        """Return the series that `table` gave."""
        made = cls(width=1000 * table["seconds"])
        made.start = 1000 * table["start"]
        made.downloads, made.documents, made.sizes = table["downloads"], table["documents"], table["bytes"]
        return made

    def save(self) -> list[object]:
        return [self.width, self.start, self.downloads, self.documents, self.sizes]

    def restore(self, saved: Iterable[object]) -> None:
        """Takes what `save` returned."""
        self.width, self.start, self.downloads, self.documents, self.sizes = saved  # type: ignore[assignment]


def _halved(values: list[int]) -> list[int]:
    return [sum(values[at : at + 2]) for at in range(0, len(values), 2)]
