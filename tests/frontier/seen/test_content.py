"""The content-seen store against a plain set."""

import logging
import shutil
import tempfile
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from tests.support.crawling import wait_until
from tests.support.examples import examples
from tests.support.faults import BreakingDisk
from tests.support.places import IN_MEMORY
from tests.support.seens import Reopenable
from webcrawl.frontier.seen.content import ContentSeen
from webcrawl.store.errors import DamagedFile, StoreError

# Digests that share only their first or second half are different.
HALF = st.integers(0, 3).map(lambda n: n.to_bytes(8, "big")) | st.just(b"\xff" * 8)
DIGEST = st.binary(min_size=16, max_size=16) | st.tuples(HALF, HALF).map(b"".join)


def small(db):
    """A store that holds three digests in memory and merges six rows at once."""
    return ContentSeen(db, memory=3 * 512)


def digest(number):
    return sha256(b"%d" % number).digest()[:16]


class ContentMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.root, self.disk = Path(tempfile.mkdtemp(dir=IN_MEMORY)), BreakingDisk()
        self.job = Reopenable(self.root / "state", small, self.disk)
        self.known, self.saved = set(), set()

    @rule(digests=st.lists(DIGEST, max_size=6))
    def ask(self, digests):
        for asked in digests:
            try:
                held = self.job.store.holds(asked)
                seen = self.job.store.seen(asked)
            except StoreError:
                assert self.disk.broken
                self.crash()
                return
            assert seen == held == (asked in self.known)
            self.known.add(asked)
            assert len(self.job.store) == len(self.known)

    @rule()
    def checkpoint(self):
        self.job.checkpoint()
        self.saved = set(self.known)

    @rule()
    def crash(self):
        self.disk.fail_at = 0
        self.known = set(self.saved)
        self.job.reopen()

    @rule(operations=st.integers(1, 9))
    def break_disk(self, operations):
        self.disk.fail_at = self.disk.operations + operations

    def teardown(self):
        self.crash()
        self.ask(sorted(self.known))
        self.job.close()
        assert self.job.damages() == []
        shutil.rmtree(self.root)


ContentMachine.TestCase.settings = examples(25, stateful_step_count=30)
TestContentMachine = ContentMachine.TestCase


@pytest.fixture(name="job")
def _job(tmp_path):
    job = Reopenable(tmp_path / "state", small)
    yield job
    job.close()


class TestContentSeen:
    def test_a_merge_is_told(self, job, caplog):
        """With what it took and the files that there are then."""
        caplog.set_level(logging.INFO)
        for number in range(4):
            job.store.seen(digest(number))
        assert caplog.messages == []
        wait_until(lambda: job.store.holds(digest(0)) and caplog.messages)

        assert caplog.messages == ["duplicate bodies: merged 3 digests, now 1 file"]

    def test_a_digest_has_sixteen_bytes(self, job):
        """A digest of another length raises ValueError."""
        with pytest.raises(ValueError, match="must have 16 bytes, not 15"):
            job.store.seen(b"x" * 15)

    def test_a_damaged_value_is_refused(self, job):
        """A value of an impossible form raises DamagedFile."""
        job.store.seen(digest(1))
        job.checkpoint()
        job.tamper("UPDATE meta SET value = x'00' WHERE name = 'content.fresh'")
        with pytest.raises(DamagedFile):
            job.open()
        job.make = lambda db: _Nothing()
        job.open()

    def test_its_repr_says_how_much_it_holds(self, job):
        """The repr shows the number of digests."""
        job.store.seen(digest(1))

        assert "fresh=1" in repr(job.store)


class _Nothing:
    def close(self):
        pass
