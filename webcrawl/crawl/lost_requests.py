"""Requests of the spider that are lost: the crawl cannot keep them, or the spider no longer has their methods."""

from __future__ import annotations

import logging
from collections import Counter

from webcrawl.base.model import Status
from webcrawl.store.crawldb import CrawlDB

logger = logging.getLogger(__name__)

COUNTED = "requests/unkept"  # among the counters, over all runs
NAMELESS = f"status/{Status.NO_METHOD:d}"  # those that ended because a method is gone
META = "unkept"  # in the database: how many of them the end of a run has reported by its exit status


class Unkept:
    """Counts them, logs each kind once per run, and makes the run that ends the crawl report them."""

    def __init__(self, db: CrawlDB, counters: Counter[str]) -> None:
        self._db, self._counters = db, counters
        self._told: set[str] = set()

    def add(self, kind: str, line: str) -> None:
        """One more; the first of its kind is told in a line."""
        self._counters[COUNTED] += 1
        if kind not in self._told:
            self._told.add(kind)
            logger.error("%s; it is lost, and others like it are only counted", line)

    def report(self) -> int:
        """The number that no end of a run has reported so far; call it before the last checkpoint, which notes that."""
        found, reported = self._counters[COUNTED] + self._counters[NAMELESS], int(self._db.get(META) or 0)
        if found != reported:
            self._db.set(META, b"%d" % found)
        return found - reported
