"""Finds what several drones have of which each may have only its own, among any number of names, in bounded memory."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Self

import numpy as np
import numpy.typing as npt

BUCKETS, SHIFT = 64, 58  # by the first six bits of a hash
BATCH = 1 << 18  # hashes in memory before they go to their buckets
CLAIM = np.dtype([("hash", "<u8"), ("drone", "<u2")])
MOST = 1 << 14  # hashes whose names are looked for
MASK = (1 << 64) - 1
Place = tuple[Path, int]  # a file and a byte of it
Hashes = npt.NDArray[np.uint64]
Names = Callable[[], Iterable[tuple[bytes, Path, int]]]  # what a drone has, and where; it may be read twice


@dataclass(frozen=True, slots=True)
class Shared:
    """A name that several drones have, and where each has it first."""

    name: bytes
    places: dict[int, Place]


def shared(drones: Mapping[int, Names]) -> tuple[int, list[Shared]]:
    """How many names were read, each counted once per drone that has it; and those that several have, MOST at most.

    Memory is that of 2 million hashes, and a 64th of all in temporary files, of 10 bytes per name. What hashes find is
    read once more: only names that are equal then count, so that what a running crawl moves meanwhile does not.
    """
    with Claims() as claims:
        for drone, names in drones.items():
            claims.add(drone, names())
        wanted = claims.shared()
        count = claims.count
    if not wanted:
        return count, []
    found: dict[bytes, dict[int, Place]] = {}
    for drone, names in drones.items():
        for name, path, at in names():
            if hash(name) & MASK in wanted:
                found.setdefault(name, {}).setdefault(drone, (path, at))
    return count, [Shared(name, places) for name, places in found.items() if len(places) > 1]


class Claims:
    """Who has which hash: pairs in temporary files, one for each bucket."""

    def __init__(self) -> None:
        self.count = 0
        with ExitStack() as opened:
            self._files: list[IO[bytes]] = [opened.enter_context(TemporaryFile()) for _ in range(BUCKETS)]
            self._closing = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def __repr__(self) -> str:
        return f"<Claims count={self.count}>"

    def add(self, drone: int, names: Iterable[tuple[bytes, Path, int]]) -> None:
        """All names of a drone."""
        waiting = array("Q")
        for name, _, _ in names:
            waiting.append(hash(name) & MASK)
            if len(waiting) >= BATCH:
                self._spread(drone, waiting)
        self._spread(drone, waiting)

    def _spread(self, drone: int, waiting: array[int]) -> None:
        hashes = np.unique(np.frombuffer(waiting, np.uint64))
        del waiting[:]  # not before its buffer is free
        claims = np.empty(len(hashes), CLAIM)
        claims["hash"], claims["drone"] = hashes, drone
        ends = np.searchsorted(hashes >> np.uint64(SHIFT), np.arange(BUCKETS), side="right")
        begin = 0
        for file, end in zip(self._files, ends.tolist(), strict=True):
            file.write(claims[begin:end].tobytes())
            begin = end

    def shared(self) -> set[int]:
        """The hashes that several drones have, MOST at most; counts all of them."""
        found: set[int] = set()
        for file in self._files:
            file.seek(0)
            claims = np.frombuffer(file.read(), CLAIM)
            order = np.argsort(claims["hash"], kind="stable")  # drones were added one after the other
            hashes: Hashes = claims["hash"][order]
            drones = claims["drone"][order]
            again = hashes[1:] == hashes[:-1]
            others = drones[1:] != drones[:-1]
            self.count += len(hashes) - int(np.count_nonzero(again & ~others))
            found.update(hashes[1:][again & others][: MOST - len(found)].tolist())
        return found
