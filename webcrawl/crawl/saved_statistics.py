"""Statistics as part of the checkpoint, so that after a kill they agree with crawl.log again."""

from __future__ import annotations

from collections.abc import Iterator

import msgpack

from webcrawl.crawl.crawl_log import CrawlLog
from webcrawl.statistics.statistics import Statistics
from webcrawl.store.crawldb import CrawlDB

META = "statistics"


class SavedStatistics:
    """Restores statistics from the last checkpoint, saves them with each, and lets them hear of every URL's end."""

    def __init__(self, db: CrawlDB, log: CrawlLog, key: bytes) -> None:
        self._db = db
        self.statistics = Statistics(key)
        data = db.get(META)
        if data is not None:
            self.statistics.restore(msgpack.unpackb(data, strict_map_key=False))
        else:
            self.statistics.since = log.length
        log.hearers.append(self.statistics.hear)
        db.join(self)

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        self._db.set(META, msgpack.packb(self.statistics.save()))
