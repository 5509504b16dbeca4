"""Text files and index against a list of lines, in any order of pages, states, checkpoints, crashes
and losses.
"""

import shutil
import tempfile
import time
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.support.fulltext import Texts, indexed, page, written
from tests.support.places import IN_MEMORY
from webcrawl.base.page_values import Change
from webcrawl.record.fulltext import text_index


def kept(lines):
    """What the index has of these lines, each a URL and whether it is of a page fetched again."""
    found = {}
    for number, (url, again) in enumerate(lines):
        if again:
            found = {at: one for at, one in found.items() if one != url}
        found[number] = url
    return sorted(found.items())


def remove(folder):
    """A thread of tantivy's may write a file for a moment after the index was closed: seen once in
    many runs.
    """
    for left in range(100, -1, -1):
        try:
            shutil.rmtree(folder)
        except OSError:
            if not left:
                raise
            time.sleep(0.01)
        else:
            return


class Machine(RuleBasedStateMachine):
    """Each new page has a URL of its own, so that one which is taken back and comes again is
    noticed.
    """

    def __init__(self):
        super().__init__()
        self.root = Path(tempfile.mkdtemp(dir=IN_MEMORY))
        # lines in the last checkpoint, and those that came later
        self.known, self.since, self.number = [], [], 0
        self.open()

    def open(self, max_size=1 << 30):
        self.texts = Texts(self.root, max_size=max_size)

    @rule(count=st.integers(1, 7))
    def add(self, count):
        for _ in range(count):
            self.number += 1
            self.since.append((f"http://a.test/{self.number}", False))
            self.texts.add(page(self.since[-1][0]))

    @rule(
        numbers=st.lists(st.integers(1, 9), min_size=1, max_size=5),
        change=st.sampled_from(("changed", "gone")),
    )
    def again(self, numbers, change):
        for number in numbers:
            self.since.append((f"http://a.test/{number}", True))
            one = page(self.since[-1][0])
            one.change = Change(change)
            self.texts.add(one)

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
        assert indexed(self.root) == kept(self.known)
        self.open(max_size)

    @rule()
    def lose_the_index(self):
        self.texts.close()
        self.since = []
        remove(self.root / "index")
        self.open()

    @invariant()
    def the_index_has_the_first_lines(self):
        """All that it has is in the last checkpoint, in order and without gaps, and of each page
        the last state.
        """
        found = indexed(self.root) if (self.root / "index/meta.json").exists() else []
        assert found == kept(self.known[: found[-1][0] + 1] if found else [])

    def teardown(self):
        self.texts.stop()
        lines = self.known + self.since
        assert [line["url"] for line in written(self.root)] == [url for url, _ in lines]
        assert indexed(self.root) == kept(lines)
        remove(self.root)


Machine.TestCase.settings = settings(max_examples=12, stateful_step_count=12, deadline=None)
TestMachine = Machine.TestCase
PORTION = 3


def setup_module():
    text_index.MAX_COMMIT_PAGES, TestMachine.usual = PORTION, text_index.MAX_COMMIT_PAGES


def teardown_module():
    text_index.MAX_COMMIT_PAGES = TestMachine.usual
