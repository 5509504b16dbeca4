"""The figures of a hive on one machine, as its drones' last checkpoints have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from webcrawl.crawl.hive.hive_folder import HiveFolder
from webcrawl.store.jobdir.sums import merged

NEEDED = dict.fromkeys(("pages", "queued", "failures"), 0)


def saved(folder: HiveFolder) -> dict[str, Any]:
    """From the stats.json of all drones, those that are no members any more included."""
    return total({"drone": number, **folder.figures(number)} for number in folder.all_drones())


def total(stats: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """All drones as one crawl, whatever they have counted so far."""
    return {**NEEDED, **merged(stats)}
