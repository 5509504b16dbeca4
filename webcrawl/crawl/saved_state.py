"""Counters, statistics and what filters have learned, as parts of the checkpoint."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping

import msgpack

from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.crawl.clock import CrawlClock
from webcrawl.crawl.crawl_log import CrawlLog
from webcrawl.record.statistics import Statistics
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.counter_words import by_present_names
from webcrawl.store.jobdir.meta_row import COUNTERS, FILTERS, STATISTICS
from webcrawl.urls.filters.filter_protocol import Chain

logger = logging.getLogger(__name__)


class SavedCounters(Part):
    """Restores these counters from the last checkpoint, and saves them with each."""

    def __init__(self, db: CrawlDB, counters: Mapping[str, Counter[str]]) -> None:
        self._db = db
        self._counters = counters
        data = db.get(COUNTERS)
        saved = msgpack.unpackb(data) if data is not None else {}
        for name, counter in counters.items():
            counter.update(by_present_names(saved.get(name, {})))
        db.join(self)

    def save(self) -> None:
        self._db.set(COUNTERS, msgpack.packb(self._counters))


class SavedStatistics(Part):
    """Restores statistics, saves them in checkpoints, and lets them hear of every end."""

    def __init__(self, db: CrawlDB, log: CrawlLog, key: bytes, clock: CrawlClock) -> None:
        """Restore the statistics, and begin to hear of each line of the crawl log."""
        self._db = db
        self._clock = clock
        self.statistics = Statistics(key)
        data = db.get(STATISTICS)
        if data is not None:
            self.statistics.restore(msgpack.unpackb(data, strict_map_key=False))
        else:
            # A crawl of a version without statistics has lines in its log that they never heard.
            self.statistics.since = log.length
        log.hearers.append(self._record_end)
        db.join(self)

    def _record_end(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        """Count the end of a URL at the crawl's time, as the series over time is of that.

        By the machine's clock, which may be set, a crawl of a minute once took a year.
        """
        at = self._clock.at(outcome.ended) if outcome.ended else None
        self.statistics.record_end(link, outcome, exchange, at)

    def need_scripts(self) -> dict[str, int]:
        """Return pages that show next to nothing without a browser; not of all hosts by name."""
        scripted = self.statistics.scripted
        named = sum(row[0] for row in scripted.names.values())
        others = scripted.others[0]
        if not named:
            return {}
        found = {"need_scripts": named + others, "need_scripts/hosts": len(scripted.names)}
        if others:
            found["need_scripts/others"] = others
        return found

    def save(self) -> None:
        self._db.set(STATISTICS, msgpack.packb(self.statistics.save()))


def rename_answers(counters: Counter[str], statistics: Statistics) -> None:
    """Bring the counters of an earlier version up to date: its `pages` counted every answer."""
    if counters["pages"] and "answers" not in counters:
        counters["answers"], counters["pages"] = counters["pages"], statistics.documents


class FilterStates(Part):
    """Saves and restores the states of a chain's filters, by name."""

    def __init__(self, db: CrawlDB, chain: Chain) -> None:
        self._db = db
        self.chain = chain
        data = db.get(FILTERS)
        if data is not None:
            chain.restore(msgpack.unpackb(data))
        db.join(self)

    def save(self) -> None:
        try:
            states = self.chain.state()
            data = msgpack.packb(states)
        except Exception as error:  # of a filter of the user's own
            logger.exception("the state of URL_FILTERS")
            raise StoreError(f"the state of URL_FILTERS: {error!r}") from error
        if states:
            self._db.set(FILTERS, data)
