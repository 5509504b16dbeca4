"""Figures of a hive: one drone's after the other, as one crawl's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from webcrawl.revisit.figures import PREFIX, together
from webcrawl.revisit.said import figures_of
from webcrawl.statistics import merging as tables

# Every drone reads all seeds, at the same time
LARGEST = ("seeds", "bad_seeds", "seed_lists_away", "outage/seconds", "seconds", "at")
EARLIEST = ("started",)
SOONEST = "aside_due"  # 0: nothing is due
RATE = "seen/cache_hit_rate"
APART = ("reason", "trouble", "bound", "statistics", "drones", RATE, SOONEST)  # not by their values alone
MAIN = (  # what the list of drones has of each
    *("drone", "state", "reason", "pages", "failures", "bytes", "queued", "in_flight", "hosts", "seconds"),
    *("host", "jobdir", "trouble"),
)


def merged(stats: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The figures of all drones, by the names that a single crawl has in stats.json; `drones`: each one's main ones.

    Each of `stats` is what a drone's stats.json has, or `Report.stats()`.
    """
    each = [*stats]
    total: dict[str, Any] = {}
    for one in each:
        for name, value in one.items():
            if name in APART:
                continue
            if name in LARGEST:
                total[name] = max(total.get(name, value), value)
            elif name in EARLIEST:
                total[name] = min(total.get(name, value), value)
            elif name not in MAIN or type(value) in (int, float):
                total[name] = total.get(name, 0) + value
    total.pop("drone", None)
    total |= _apart(each, total)
    total["drones"] = [{name: one[name] for name in MAIN if name in one} for one in each]
    return total


def revisits(each: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Figures of pages that are fetched again; none if no drone has any."""
    found = [*filter(None, map(figures_of, each))]
    return {PREFIX + name: number for name, number in together(found).numbers().items()} if found else {}


def _apart(each: list[Mapping[str, Any]], total: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if any(RATE in one for one in each):
        known = total.get("links/known", 0)
        asked = total.get("seen/submitted", 0) + known
        found[RATE] = (total.get("seen/cache_hits", 0) + known) / asked if asked else 0.0
    if any(SOONEST in one for one in each):
        found[SOONEST] = min(filter(None, (one.get(SOONEST) for one in each)), default=0.0)
    if any("reason" in one for one in each):
        found["reason"] = _reason([one.get("reason") for one in each])
    if any("trouble" in one for one in each):
        found["trouble"] = _trouble(each)
    found |= revisits(each)
    if any("statistics" in one for one in each):
        found["statistics"] = tables.merged(one["statistics"] for one in each if "statistics" in one)
    return found


def _reason(reasons: list[str | None]) -> str | None:
    """None while a drone runs; then what all say, or else the first that is not the plain end."""
    if None in reasons:
        return None
    return next((reason for reason in reasons if reason != "finished"), "finished")


def _trouble(each: list[Mapping[str, Any]]) -> str:
    """What is wrong, and with how many of the drones."""
    troubles = [one["trouble"] for one in each if one.get("trouble")]
    if not troubles:
        return ""
    return troubles[0] if len(each) == 1 else f"{troubles[0]} ({len(troubles)} of {len(each)} drones)"
