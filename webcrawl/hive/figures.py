"""The figures of a hive on one machine, as its drones' last checkpoints have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from webcrawl.hive.folder import HiveFolder

NEEDED = ("pages", "queued", "failures")


def totals(folder: HiveFolder, drones: Iterable[int]) -> dict[str, Any]:
    """One drone's after the other, as one crawl's."""
    return {**dict.fromkeys(NEEDED, 0), **merged(map(folder.figures, drones))}


def merged(stats: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    total: dict[str, Any] = {}
    for one in stats:
        for name, value in one.items():
            if type(value) in (int, float):
                total[name] = total.get(name, 0) + value
    return total
