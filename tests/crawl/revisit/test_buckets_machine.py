"""Buckets against a heap, with checkpoints, reopening and crashes among the steps."""

import tempfile
from contextlib import closing
from heapq import heapify, heappop, heappush
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.support.examples import examples
from tests.support.patches import patched
from tests.support.places import IN_MEMORY
from webcrawl.base.zstd_frame import unpack
from webcrawl.crawl.revisit import buckets as module
from webcrawl.crawl.revisit.buckets import (
    TICKS_PER_SECOND,
    Buckets,
    seconds_of,
    stamp,
    stamped,
    ticks,
)
from webcrawl.frontier.fifo import Blocks, Pool
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.queue_row import LARGEST, count_records

NOW = 1_800_000_000
DAY = 86_400
AWAY = st.one_of(
    st.integers(0, 2 * TICKS_PER_SECOND).map(
        lambda ticks: ticks / TICKS_PER_SECOND
    ),  # many of one second
    st.integers(0, 4000),
    st.integers(0, 40 * DAY),
    st.integers(-400 * DAY, 4000 * DAY),
)


class Times(RuleBasedStateMachine):
    """A few records are many here: buckets are divided, cut and reloaded all the time."""

    @initialize(memory=st.integers(0, 3000), run=st.integers(1, 8), moves=st.integers(1, 3))
    def begin(self, memory, run, moves):
        self.patches = patched((module, {"LONGEST_SORTED": run, "MOVES": moves}))
        self.scratch = self.patches.enter_context(tempfile.TemporaryDirectory(dir=IN_MEMORY))
        self.memory, self.now, self.number = memory, NOW, 0
        self.twin, self.durable = [], []
        self.open()

    def open(self):
        self.db = CrawlDB(Path(self.scratch))
        self.db.need("revisit")
        self.buckets = Buckets(
            self.db, Pool(Blocks(self.db, "revisit"), self.memory, block=200, inline=100)
        )

    @rule(aways=st.lists(AWAY, max_size=30))
    def push(self, aways):
        for away in aways:
            self.number += 1
            record = stamp(ticks(self.now + away)) + b"%d" % self.number
            self.buckets.push(record)
            heappush(self.twin, record)

    @rule(count=st.integers(1, 100))
    def push_many_of_one_second(self, count):
        self.push([7.5] * count)

    @rule(count=st.integers(1, 60))
    def pop(self, count):
        """The next one is the earliest, to the second; which of a second comes first is open."""
        for _ in range(min(count, len(self.twin))):
            first = self.buckets.first()
            record = self.buckets.pop()
            assert stamped(record) == first
            if record == self.twin[0]:
                heappop(self.twin)
            else:
                assert (
                    stamped(record) // TICKS_PER_SECOND == stamped(self.twin[0]) // TICKS_PER_SECOND
                )
                self.twin.remove(record)
                heapify(self.twin)
        if not self.twin:
            assert self.buckets.first() is None
            assert self.buckets.pop() is None

    @rule(seconds=st.sampled_from([1, 3600, 40 * DAY]))
    def time_passes(self, seconds):
        self.now += seconds

    @rule()
    def time_comes_to_the_queue(self):
        """Most pages are kept for a time after the one that has just been taken."""
        if self.twin:
            self.now = max(self.now, int(seconds_of(stamped(self.twin[0]))))

    @rule(ahead=st.booleans())
    def checkpoint(self, ahead):
        for _ in self.db.prepare() if ahead else ():
            pass
        for _ in self.buckets.prepare() if ahead else ():
            pass
        self.buckets.save()
        self.no_two_buckets_overlap()
        self.little_is_sorted()
        self.db.checkpoint()
        self.durable = list(self.twin)

    def no_two_buckets_overlap(self):
        """As the checkpoint has them."""
        prefix = module.BUCKET
        saved = [
            (int(name.removeprefix(prefix), 16), value[0]) for name, value in self.db.named(prefix)
        ]
        ends = [start + (1 << module.WIDTHS[width]) for start, width in sorted(saved)]
        starts = [start for start, _ in sorted(saved)]
        assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))

    def little_is_sorted(self):
        saved = self.db.get(module.SORTED)[module.TIME + module.COUNT :]
        assert count_records(unpack(saved, LARGEST)) <= 2 * module.LONGEST_SORTED + 1

    @rule()
    def crash(self):
        self.db.close()  # rolls back the open transaction
        self.twin = list(self.durable)
        self.open()

    @rule()
    def reopen(self):
        self.checkpoint(ahead=True)
        self.crash()

    @invariant()
    def the_numbers_agree(self):
        assert len(self.buckets) == len(self.twin)

    def teardown(self):
        if hasattr(self, "db"):
            with self.patches, closing(self.db):
                assert sorted(iter(self.buckets.pop, None)) == sorted(self.twin)
                self.buckets.save()
                assert self.db.query("SELECT count(*) FROM revisit") == [(0,)]


Times.TestCase.settings = examples(60, stateful_step_count=30)
TestTimes = Times.TestCase
