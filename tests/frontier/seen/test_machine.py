"""The disk store against a plain set, in any order of submissions, merges, checkpoints, crashes and
failures.
"""

import shutil
import tempfile
from hashlib import blake2b
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from benchmarks.support.seen_graphs import STREAMS
from tests.support.cases import cases
from tests.support.examples import examples, in_campaign
from tests.support.faults import BreakingDisk
from tests.support.places import IN_MEMORY
from tests.support.seens import STORES, TINY, Reopenable, disk
from webcrawl.frontier.seen.caches.clock import ClockCache
from webcrawl.frontier.seen.caches.policies import LruCache, StaticCache
from webcrawl.frontier.seen.protocol import Layout
from webcrawl.store.errors import StoreError

# Few keys, so that many repeat, including both ends of the range.
KEYS = st.integers(0, 40) | st.integers(2**64 - 3, 2**64 - 1) | st.integers(0, 2**64 - 1)
CACHES = {
    "none": lambda: StaticCache(0),
    "clock": lambda: ClockCache(3),
    "lru": lambda: LruCache(5),
}


class Twin:
    """The set of keys ever submitted, and the records that were new, in order."""

    def __init__(self):
        self.keys, self.new, self.taken, self.submitted = set(), [], 0, 0

    def copy(self):
        other = Twin()
        other.keys, other.new = set(self.keys), list(self.new)
        other.taken, other.submitted = self.taken, self.submitted
        return other

    def submit(self, keys, records):
        for key, record in zip(keys, records, strict=True):
            if key not in self.keys:
                self.keys.add(key)
                self.new.append(record)
        self.submitted += len(keys)


class SeenMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.root = Path(tempfile.mkdtemp(dir=IN_MEMORY))
        self.disk = BreakingDisk()
        self.twin, self.saved, self.serial = Twin(), Twin(), 0

    @initialize(cache=st.sampled_from(sorted(CACHES)))
    def begin(self, cache):
        self.job = Reopenable(
            self.root / "state", lambda db: disk(db, cache=CACHES[cache](), sizes=TINY), self.disk
        )
        self.job.checkpoint()

    def doing(self, step):
        """Returns whether the step succeeded; it may fail only on a broken disk."""
        try:
            return step(), True
        except StoreError:
            assert self.disk.broken
            self.crash()
            return None, False

    @rule(keys=st.lists(KEYS, max_size=9))
    def submit(self, keys):
        records = [b"%d:%d" % (key, self.serial + at) for at, key in enumerate(keys)]
        self.serial += len(keys)
        _, done = self.doing(lambda: self.job.store.submit(keys, records))
        if done:
            self.twin.submit(keys, records)

    @rule(limit=st.integers(1, 7))
    def take(self, limit):
        taken, done = self.doing(lambda: self.job.store.pop_new(limit))
        if done:
            self.took(taken, limit)

    def took(self, taken, limit):
        assert len(taken) <= limit
        assert taken == self.twin.new[self.twin.taken : self.twin.taken + len(taken)]
        self.twin.taken += len(taken)

    @rule()
    def merge(self):
        self.doing(self.job.store.merge)

    @rule()
    def wait(self):
        self.job.wait()

    @rule()
    def settle(self):
        taken, done = self.doing(self.job.settle)
        if done:
            self.took(taken, len(taken))
            assert self.twin.taken == len(self.twin.new)
            assert self.job.store.stats()["keys"] == len(self.twin.keys)

    @rule(prepared=st.booleans())
    def checkpoint(self, prepared):
        _, done = self.doing(self.job.checkpoint if prepared else self.job.db.checkpoint)
        if done:
            self.saved = self.twin.copy()

    @rule()
    def reopen_after_checkpoint(self):
        self.checkpoint(prepared=True)
        self.crash()

    @rule()
    def crash(self):
        """Reopens the crawl at its last checkpoint, on a working disk."""
        self.disk.fail_at = 0
        self.disk.broken.clear()
        self.twin = self.saved.copy()
        self.job.reopen()

    @rule(operations=st.integers(1, 12), for_good=st.booleans())
    def break_disk(self, operations, for_good):
        self.disk.fail_at, self.disk.for_good = self.disk.operations + operations, for_good

    @invariant()
    def all_that_is_new_is_pending_or_taken(self):
        if hasattr(self, "job"):
            assert self.job.store.pending >= len(self.twin.new) - self.twin.taken
            assert self.job.store.stats()["submitted"] == self.twin.submitted

    def teardown(self):
        if hasattr(self, "job"):
            self.crash()
            self.settle()
            self.checkpoint(prepared=False)
            self.job.close()
            assert self.job.damages() == []
            left = {path.name for path in (self.root / "state" / "seen").iterdir()}
            assert len([name for name in left if name.startswith("scratch")]) == 0
        shutil.rmtree(self.root)


SeenMachine.TestCase.settings = examples(20, stateful_step_count=40)
TestSeenMachine = SeenMachine.TestCase


MIDDLING = Layout(chunk=1000, budget=700, largest=10**6, row=100, fresh=500, at_once=100)
KINDS = {**STORES, "disk": lambda db: disk(db, cache=ClockCache(256), sizes=MIDDLING)}


def fingerprint(url):
    return int.from_bytes(blake2b(url.encode(), digest_size=8).digest())


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize(
    "stream", [min(STREAMS), *in_campaign(*sorted(STREAMS.keys() - {min(STREAMS)}))]
)
def test_a_replayed_crawl_gives_the_distinct_urls_in_first_seen_order(tmp_path, stream, kind):
    """New URLs come out as from a plain set, in order, across restarts and early merges."""
    pages = STREAMS[stream](cases(stream).parent)
    job, taken = Reopenable(tmp_path / "state", KINDS[kind]), []
    for number, page in enumerate(pages):
        job.store.submit([fingerprint(url) for url in page], [url.encode() for url in page])
        taken += job.store.pop_new(100)
        if number % 40 == 0:
            job.store.merge()
        if number % (len(pages) // 3) == 0:
            job.checkpoint()
            job.reopen()
    taken += job.settle()
    job.close()
    expected = list(dict.fromkeys(url for page in pages for url in page))

    assert len(expected) > 3000
    assert [record.decode() for record in taken] == expected
