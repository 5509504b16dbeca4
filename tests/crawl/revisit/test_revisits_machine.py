"""Every record is in one place at a time, whatever happens: crashes, signals, pauses of months,
pages never due.
"""

import tempfile
from contextlib import closing
from dataclasses import replace
from math import ceil, inf
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.support.examples import examples
from tests.support.patches import patched
from tests.support.places import IN_MEMORY
from tests.support.revisits import DAY, NOW, Told, made
from webcrawl.crawl.revisit import buckets
from webcrawl.crawl.revisit.budget import TOKENS_KEPT_SECONDS
from webcrawl.crawl.revisit.record import PageRecord
from webcrawl.crawl.revisit.revisits import FLOOR
from webcrawl.store.crawldb import CrawlDB

# seconds that an owner promises; the last is absurd
HOLDS = st.sampled_from([0, 30, 3600, int(DAY), int(90 * DAY)])
DUE = st.sampled_from([-400 * DAY, -1.0, 0.0, 5.0, 3600.0, DAY, 90 * DAY, 5000 * DAY, inf])


class Pages(RuleBasedStateMachine):
    """The twin knows of each page whether it waits or is out, and when it was fetched."""

    @initialize(
        rate=st.sampled_from([0.01, 1.0, 20.0]), early=st.booleans(), run=st.integers(2, 1024)
    )
    def begin(self, rate, early, run):
        self.patches = patched((buckets, {"LONGEST_SORTED": run}))
        self.scratch = self.patches.enter_context(tempfile.TemporaryDirectory(dir=IN_MEMORY))
        self.rate, self.early, self.now, self.number = rate, early, NOW, 0
        # when each page was fetched; its record; that of its signal
        self.waiting, self.out, self.ahead = {}, {}, {}
        self.since_ahead = {}
        self.durable = ({}, {})
        self.open()

    def open(self):
        self.db = CrawlDB(Path(self.scratch))
        self.policy = Told(early=self.early)
        self.revisits = made(self.db, self.policy, rate=self.rate)
        self.revisits.pop_due(self.now, 0)
        self.since, self.taken = self.now, 0

    @rule(dues=st.lists(DUE, max_size=20), seconds=HOLDS)
    def find(self, dues, seconds):
        for due in dues:
            self.number += 1
            record = PageRecord(f"http://h/{self.number}", "L", self.now, digest=self.number)
            record.holds = ceil(self.now + seconds) if seconds else 0
            self.keep(record, due)

    def keep(self, record, due):
        self.policy.when[record.url] = self.now + due
        self.revisits.keep(record, self.now)
        self.waiting[record.url] = record.fetched

    @rule(most=st.integers(0, 100))
    def take(self, most):
        records = self.revisits.pop_due(self.now, most)
        assert len(records) <= most
        self.taken += len(records)
        assert (
            self.taken
            <= self.rate * (self.now - self.since)
            + max(1.0, self.rate * TOKENS_KEPT_SECONDS)
            + 1e-6
        )
        for record in records:
            assert self.now - record.fetched >= FLOOR - 1 / buckets.TICKS_PER_SECOND
            if record.signal is not None:
                assert record.url not in self.ahead or self.now - self.since_ahead[record.url] > DAY
                self.ahead[record.url], self.since_ahead[record.url] = record, self.now
                continue
            del self.waiting[record.url]  # it waited, and comes once
            assert self.now >= record.holds or record.holds > self.now + DAY
            self.out[record.url] = record

    @rule(due=DUE, fetched=st.booleans())
    def come_back(self, due, fetched):
        for record in self.out.values():
            self.keep(replace(record, fetched=self.now) if fetched else record, due)
        self.out.clear()

    @rule(which=st.integers(0, 50))
    def signal(self, which):
        self.revisits.announce(f"http://h/{which}", self.now)

    @rule(found=st.booleans(), seconds=HOLDS)
    def come_back_ahead(self, found, seconds):
        for url, record in self.ahead.items():
            if found:
                holds = ceil(self.now + seconds) if seconds else 0
                self.revisits.ahead.found(replace(record, fetched=self.now, digest=7, holds=holds))
            else:
                self.revisits.ahead.give_up(url)
        self.ahead.clear()

    @rule(seconds=st.sampled_from([0.1, 10.0, FLOOR, DAY, 40 * DAY]))
    def time_passes(self, seconds):
        self.now += seconds

    @rule()
    def wait(self):
        """When `next_due` says so, and only then, there may be something to take."""
        then = self.revisits.next_due(self.now)
        assert then is None or then >= self.now
        if then is not None and then > self.now:
            assert self.revisits.pop_due(self.now, 100) == []
            self.now = then

    @rule()
    def checkpoint(self):
        for _ in self.db.prepare():
            pass
        self.db.checkpoint()
        self.durable = (dict(self.waiting), dict(self.out))

    @rule()
    def crash(self):
        """Links that were out are in the frontier's part of the checkpoint; here the twin stands
        for it.
        """
        self.db.close()
        self.waiting, self.out = map(dict, self.durable)
        self.ahead.clear()
        when = self.policy.when
        self.open()
        self.policy.when = when

    @invariant()
    def the_numbers_agree(self):
        """Signals that wait are in the queue, too."""
        assert len(self.revisits) >= len(self.waiting)

    def teardown(self):
        if hasattr(self, "db"):
            with self.patches, closing(self.db):
                self.finish()

    def finish(self):
        """All come out once they are due."""
        self.policy.when.clear()
        self.policy.after = -1.0
        for _ in range(400 + 20 * len(self.waiting)):
            self.now += 1.1 * max(1 / self.rate, FLOOR)
            self.take(100)
            if not self.waiting:
                break
            self.now += DAY
        assert self.waiting == {}


Pages.TestCase.settings = examples(60, stateful_step_count=30)
TestPages = Pages.TestCase
