"""Mercator's: a priority by the download history, which falls while a page does not change, and chance."""

from __future__ import annotations

from webcrawl.crawl.revisit.policies.steered import Steered
from webcrawl.crawl.revisit.policy import PolicyOptions
from webcrawl.crawl.revisit.record import PageRecord

LEAST = 1e-3  # of the changes: signals that never failed may fail


class History(Steered):
    """The priority of a page is the share of its visits that found it changed; twice as much means twice as often.

    "The priority of documents that do not change from one download to the next decreases over time, thereby causing
    them to be downloaded less frequently than documents that change often", by a "randomized priority-based scheme"
    (Najork and Heydon 2001, section 3.1). A page of which nothing is known counts as changed on one visit of two.
    """

    def __init__(self, options: PolicyOptions) -> None:
        super().__init__(options, _interval)
        self._random = options.random

    def numbers(self, record: PageRecord, missed: float) -> tuple[float, float, float]:
        priority = (record.changes + 1) / (record.visits + 2) * max(missed, LEAST)
        return priority, 0.5 + self._random.random(), 0.0


def _interval(level: float, priority: float, chance: float, _: float) -> float:
    return level * chance / priority
