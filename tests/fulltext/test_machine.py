"""Text files and index against a list of pages, in any order of pages, checkpoints, crashes and losses."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.support.fulltext import Texts, indexed, page, written
from webcrawl.fulltext import indexer


class Machine(RuleBasedStateMachine):
    """Each page has a URL of its own, so that one which is taken back and comes again is noticed."""

    def __init__(self):
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.known, self.since, self.number = [], [], 0  # URLs in the last checkpoint, and those that came later
        self.open()

    def open(self, max_size=1 << 30):
        self.texts = Texts(self.root, max_size=max_size)

    @rule(count=st.integers(1, 7))
    def add(self, count):
        for _ in range(count):
            self.number += 1
            self.since.append(f"http://a.test/{self.number}")
            self.texts.add(page(self.since[-1]))

    @rule(wait=st.booleans())
    def checkpoint(self, wait):
        self.texts.checkpoint()
        self.known += self.since
        self.since = []
        if wait:
            self.texts.wait()

    @rule(at_once=st.booleans(), max_size=st.sampled_from((1, 200, 1 << 30)))
    def crash(self, at_once, max_size):
        """What was written since the checkpoint is taken back; the index may have got anywhere."""
        self.texts.indexer._stopped = at_once
        self.texts.close()
        self.since = []
        self.open(max_size)

    @rule(max_size=st.sampled_from((1, 200, 1 << 30)))
    def stop(self, max_size):
        self.texts.stop()
        self.known += self.since
        self.since = []
        assert indexed(self.root) == list(enumerate(self.known))
        self.open(max_size)

    @rule()
    def lose_the_index(self):
        self.texts.close()
        self.since = []
        shutil.rmtree(self.root / "index")
        self.open()

    @invariant()
    def the_index_has_the_first_pages(self):
        """All that it has is in the last checkpoint, in order and without gaps."""
        found = indexed(self.root) if (self.root / "index/meta.json").exists() else []
        assert found == list(enumerate(self.known))[: len(found)]

    def teardown(self):
        self.texts.stop()
        assert [line["url"] for line in written(self.root)] == self.known + self.since
        assert [url for _, url in indexed(self.root)] == self.known + self.since
        shutil.rmtree(self.root)


Machine.TestCase.settings = settings(max_examples=12, stateful_step_count=12, deadline=None)
TestMachine = Machine.TestCase
PORTION = 3


def setup_module():
    indexer.PAGES, TestMachine.usual = PORTION, indexer.PAGES


def teardown_module():
    indexer.PAGES = TestMachine.usual
