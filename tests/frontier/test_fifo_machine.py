"""Disk FIFOs against deques, with checkpoints, reopening, crashes and a full disk among the steps."""

import tempfile
from collections import deque
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.support.examples import examples
from tests.support.places import IN_MEMORY
from webcrawl.frontier.fifo import Blocks, Pool
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError

QUEUES = 4
WHICH = st.integers(0, QUEUES - 1)
RECORDS = st.one_of(st.binary(max_size=40), st.integers(253, 257).map(bytes))


class Fifos(RuleBasedStateMachine):
    """Like a small frontier, it saves only queues that changed since they were last saved."""

    @initialize(memory=st.integers(0, 600), block=st.integers(1, 200))
    def begin(self, memory, block):
        self.scratch = tempfile.TemporaryDirectory(dir=IN_MEMORY)
        self.memory, self.block = memory, block
        self.twins = [deque() for _ in range(QUEUES)]
        self.durable = [deque() for _ in range(QUEUES)]
        self.open()

    def open(self):
        self.db = CrawlDB(Path(self.scratch.name))
        self.pool = Pool(Blocks(self.db), self.memory, self.block)
        self.dirty = set()
        self.pool.on_spill = self.dirty.add
        self.fifos = [self.load(which) for which in range(QUEUES)]

    def load(self, which):
        fifo = self.pool.fifo(self.db.get(f"queue {which}"))
        fifo.owner = which
        return fifo

    def save(self, which):
        self.db.set(f"queue {which}", self.fifos[which].save())
        self.dirty.discard(which)

    @rule(which=WHICH, records=st.lists(RECORDS, max_size=20))
    def push(self, which, records):
        for record in records:
            self.fifos[which].push(record)
        self.twins[which].extend(records)
        self.dirty.add(which)

    @rule(which=WHICH, records=st.lists(RECORDS, max_size=80))
    def push_all(self, which, records):
        self.fifos[which].push_all(records)
        self.twins[which].extend(records)
        self.dirty.add(which)

    @rule(which=WHICH, size=st.integers(200, 3000))
    def push_large(self, which, size):
        self.push(which, [b"x" * size])

    @rule(which=WHICH, count=st.integers(1, 30))
    def pop(self, which, count):
        fifo, twin = self.fifos[which], self.twins[which]
        for _ in range(count):
            assert fifo.pop() == (twin.popleft() if twin else None)
        self.dirty.add(which)

    @rule(which=WHICH)
    def put_away(self, which):
        if which in self.dirty:
            self.save(which)
        self.fifos[which].close()
        self.fifos[which] = self.load(which)

    @rule()
    def checkpoint(self):
        for which in sorted(self.dirty):
            self.save(which)
        assert not self.dirty
        self.db.checkpoint()
        self.durable = [deque(twin) for twin in self.twins]

    @rule()
    def crash(self):
        self.db.close()  # rolls back the open transaction
        self.twins = [deque(twin) for twin in self.durable]
        self.open()

    @rule()
    def reopen(self):
        self.checkpoint()
        self.crash()

    @rule()
    def fill_disk(self):
        ((pages,),) = self.db.query("PRAGMA page_count")
        self.db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match="full"):
            self.db.set("filler", bytes(1 << 20))
        for refused in (
            lambda: self.db.set("x", b""),
            self.db.checkpoint,
            lambda: self.db.get("x"),
        ):
            with pytest.raises(StoreError, match="cannot be used after an earlier error"):
                refused()
        self.crash()

    @invariant()
    def lengths_agree(self):
        assert [len(fifo) for fifo in self.fifos] == [len(twin) for twin in self.twins]

    @invariant()
    def memory_is_what_is_held_and_bounded(self):
        held = sum(fifo.in_memory for fifo in self.fifos) + self.pool.heads
        assert held == self.memory - self.pool.free
        assert (self.pool.heads > 0) == (self.pool.loaded > 0)
        largest = max((len(record) + 5 for twin in self.twins for record in twin), default=0)
        assert held <= self.memory + self.block + 2 * largest

    @invariant()
    def all_checks_pass(self):
        assert [damage for fifo in self.fifos for damage in fifo.check()] == []

    def teardown(self):
        if hasattr(self, "db"):
            assert [list(iter(fifo.pop, None)) for fifo in self.fifos] == [
                list(twin) for twin in self.twins
            ]
            # nothing is left of empty queues, neither in memory nor on disk
            assert (self.pool.free, self.pool.heads, self.pool.loaded) == (self.memory, 0, 0)
            assert self.db.query("SELECT count(*) FROM block") == [(0,)]
            self.db.close()
            self.scratch.cleanup()


Fifos.TestCase.settings = examples(40, stateful_step_count=30)
TestFifos = Fifos.TestCase
