"""Revisits in simulated time whose records are on disk, as in a crawl: nothing of them is in memory
but the truth.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

import numpy as np

from benchmarks.support.changing import World
from benchmarks.support.report import timed
from benchmarks.support.revisiting import Store
from webcrawl.crawl.revisit.record import PageRecord
from webcrawl.crawl.revisit.revisits import Revisits
from webcrawl.store.crawldb import CrawlDB

# between two looks at what may be fetched; unused budget is saved for hardly longer
LOOK_SECONDS = 4.0
# The last page of a look must not wait for the next look because of rounding
LATER_FACTOR = 1 + 1e-5
PAGES_PER_CHECKPOINT = 50_000  # between two checkpoints
PAGES_PER_HOST = 100  # pages
DATE = b"Sat, 01 Nov 2025 12:00:00 GMT"


class Filed(Store):
    """A store whose records are in a crawl.db; the crawl's `Revisits` says which pages are due."""

    def __init__(self, world: World, budget: float, policy: str, *, seed: int = 1) -> None:
        super().__init__(world, budget, policy, seed=seed)
        self._folder = TemporaryDirectory()
        self._db = CrawlDB(Path(self._folder.name))
        self.revisits = Revisits(
            self._db, self.policy, rate=lambda: self.budget, random=Random(seed)
        )
        self.cpu = 0.0  # seconds that records and policy took, checkpoints included
        self._unsaved = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._db.close()
        self._folder.cleanup()

    @property
    def disk(self) -> int:
        """Return the bytes of the database."""
        return self._db.path.stat().st_size

    def first(self, part: int) -> None:
        """Fetch all pages once, at the rate of the budget, and keep their records."""
        order = self.world.random.permutation(len(self.world))
        for at in np.array_split(order, max(len(order) // part, 1)):
            times = self._times(len(at))
            self._fetch(at, times)
            rows = zip(at.tolist(), times.tolist(), self.world.weights[at].tolist(), strict=True)
            with timed() as clock:
                for page, now, weight in rows:
                    url = f"https://www.site{page // PAGES_PER_HOST}.example/pages/{page}"
                    record = PageRecord(
                        url,
                        "LL",
                        now,
                        b'"%016x"' % page,
                        DATE,
                        digest=page,
                        text=page,
                        weight=weight,
                    )
                    self.kept += 1
                    self.sample.put(record, 0.0)
                    self.revisits.keep(record, now)
                self._save(len(at))
            self.cpu += clock.cpu

    def visit(self, part: int) -> None:
        """Fetch what is due, in looks of LOOK_SECONDS."""
        each = max(int(LOOK_SECONDS * self.budget), 1)
        for _ in range(max(part // each, 1)):
            self.clock += each / self.budget * LATER_FACTOR
            now = self.clock
            with timed() as clock:
                records = self.revisits.pop_due(now, each)
            self.cpu += clock.cpu
            if records:
                self._fetch_due(records, now)

    def _fetch_due(self, records: list[PageRecord], now: float) -> None:
        """Fetch these records, and let the policy learn from what has changed."""
        at = np.array([int(record.url.rpartition("/")[2]) for record in records])
        changed = (self.changes_at[at] <= now).tolist()
        self._fetch(at, np.full(len(at), now))
        with timed() as clock:
            for record, is_changed in zip(records, changed, strict=True):
                seconds, record.fetched = now - record.fetched, now
                self.policy.observe(record, seconds, is_changed)
                self.sample.put(record, seconds)
                self.revisits.keep(record, now)
            self._save(len(records))
        self.cpu += clock.cpu
        self.total += len(records)

    def _save(self, pages: int) -> None:
        self._unsaved += pages
        if self._unsaved >= PAGES_PER_CHECKPOINT:
            self._unsaved = 0
            for _ in self._db.prepare():
                pass
            self._db.checkpoint()
