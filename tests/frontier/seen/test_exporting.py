"""Ranges of fingerprints, as they move from one drone of a hive to another."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.seens import bloom, disk, memory
from webcrawl.frontier.seen.protocol import ExportsKeys
from webcrawl.store.crawldb import CrawlDB

LAST = 2**64 - 1


def exported(store, low=0, high=LAST, most=3):
    """All keys of a range, in pieces."""
    keys, found = store.sorted_keys(), []
    while len(piece := keys.next(low, high, most)):
        assert len(piece) <= most
        found += piece.tolist()
        low = found[-1] + 1
        if low > high:
            break
    return found


def decide(store):
    while not store.decided(store.mark()):
        store.merge()
        time.sleep(0.0005)


class TestExport:
    @given(
        keys=st.lists(st.integers(0, LAST), max_size=60),
        bounds=st.tuples(st.integers(0, LAST), st.integers(0, LAST)),
    )
    @pytest.mark.parametrize("factory", [disk, memory])
    def test_a_range_comes_out_whole_and_in_order(self, tmp_path_factory, factory, keys, bounds):
        """Whether keys lie in memory or in files, all of a range come out, ascending, and no
        others.
        """
        db = CrawlDB(tmp_path_factory.mktemp("seen"))
        store = factory(db)
        low, high = sorted(bounds)
        for at in range(0, len(keys), 7):
            some = keys[at : at + 7]
            store.submit(some, [b"x"] * len(some))
            decide(store)

        assert exported(store, low, high) == sorted({key for key in keys if low <= key <= high})
        assert exported(store) == sorted(set(keys))
        store.close()
        db.close()

    def test_a_bloom_filter_has_no_keys(self, tmp_path):
        """Nobody can ask a Bloom filter for its keys, and its class says so."""
        db = CrawlDB(tmp_path)
        store = bloom(db)

        assert not isinstance(store, ExportsKeys)
        store.close()
        db.close()
