"""Merges of keys that are not uniform, as in a hive: those of a slot are one range of all."""

import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.seens import disk
from webcrawl.frontier.seen import known_keys
from webcrawl.frontier.seen.protocol import Layout
from webcrawl.frontier.seen.sorted_keys import even, ranges
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import Disk
from webcrawl.store.runs import PAGE, Run, RunWriter

LAST = 2**64 - 1
BUDGET = 5
# rows of files are pages
IN_MEMORY = Layout(chunk=1000, budget=BUDGET, largest=1000, row=3, fresh=900, at_once=3)
CROWD = st.lists(st.integers(0, 300).map(lambda one: (7 << 54) + one), min_size=1, max_size=40)


@pytest.fixture(scope="module")
def steps():
    """The number of distinct keys in each step of all merges."""
    counts, firsts = [], known_keys.firsts

    def counted(parts):
        rows = firsts(parts)
        counts.append(rows.shape[1])
        return rows

    known_keys.firsts = counted
    yield counts
    known_keys.firsts = firsts


class TestEven:
    @given(
        keys=st.lists(st.one_of(st.integers(0, LAST), st.integers(5000, 5100)), max_size=60),
        budget=st.integers(1, 9),
    )
    def test_no_range_has_far_too_many_rows(self, keys, budget):
        """Ranges follow each other without a gap; none has more than twice the rows, but for equal
        keys.
        """
        count = lambda low, high: sum(low <= key <= high for key in keys)  # noqa: E731 - a short name
        found = list(even(len(keys), budget, count))

        assert (found[0][0], found[-1][1]) == (0, LAST)
        assert all(after[0] == before[1] + 1 for before, after in pairwise(found))
        assert all(low == high or count(low, high) <= 2 * budget for low, high in found)

    def test_uniform_keys_are_not_split_further(self):
        """Where fingerprints are uniform nothing changes."""
        assert list(even(100, 10, lambda *_: 12)) == list(ranges(100, 10))


class TestMerges:
    @given(st.lists(CROWD, min_size=1, max_size=5))
    def test_few_rows_are_in_memory_at_once(self, tmp_path_factory, steps, batches):
        """However crowded the keys are, one step of a merge has no more than about the budget, and
        all is right.
        """
        db = CrawlDB(tmp_path_factory.mktemp("seen"))
        store, known, taken = disk(db, sizes=IN_MEMORY), set(), []
        for batch in batches:
            store.submit(batch, [b"%d" % key for key in batch])
            known.update(batch)
        while store.pending:
            store.merge()
            time.sleep(0.0005)
            taken += map(int, store.pop_new(100))

        assert sorted(taken) == sorted(known)
        assert max(steps, default=0) <= 2 * BUDGET
        store.close()
        db.close()


def test_a_file_knows_how_many_rows_a_range_has_at_least(tmp_path):
    """Whole pages count, without being read."""
    writer = RunWriter(Disk(), tmp_path / "url-00000001", 1)
    writer.append(np.arange(10 * PAGE, dtype=np.uint64))
    writer.finish()
    run = Run(writer.path)

    assert run.within(0, LAST) == 9 * PAGE
    assert run.within(PAGE, 3 * PAGE) == 2 * PAGE
    assert run.within(5, 6) == 0
    assert 0 <= 4 * PAGE - run.within(100, 4 * PAGE + 99) <= 2 * PAGE
    run.close()
