"""Whether a URL is known is answered from outside as the seen stores themselves would answer."""

from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import in_campaign
from tests.support.seens import STORES
from webcrawl.frontier.seen.sorted_keys import opened
from webcrawl.store.crawldb import CrawlDB
from webcrawl.tools.why.places import SeenSnapshot

KEYS = st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=12), max_size=8)


@pytest.mark.parametrize("store", ["disk", *in_campaign("memory", "bloom")])
@given(
    batches=KEYS, taken=st.integers(0, 30), strangers=st.sets(st.integers(0, 2**64 - 1), max_size=5)
)
def test_known_and_waiting(tmp_path_factory, store, batches, taken, strangers):
    """Every submitted key is known or waits, with its own record; others are not."""
    state = tmp_path_factory.mktemp("job") / "state"
    db = CrawlDB(state)
    seen = STORES[store](db)
    for number, keys in enumerate(batches):
        seen.submit(keys, [f"{key} {number}".encode() for key in keys])
        if number % 3 == 2:
            seen.merge()
        seen.pop_new(taken)
    for _ in db.prepare():
        pass
    db.checkpoint()
    seen.close()
    db.close()

    submitted = {key for keys in batches for key in keys}
    snapshot, files = opened(state)
    with snapshot, closing(files):
        found = SeenSnapshot(snapshot, files)
        asked = submitted | strangers
        known, waiting = found.where_known(asked), found.submitted(asked)

    assert submitted <= known.keys() | waiting.keys()
    if store != "bloom":
        assert known.keys() | waiting.keys() <= submitted
    for key, one in waiting.items():
        assert one.record.startswith(f"{key} ".encode())


def test_nobody_asked(tmp_path):
    """No keys are known of none."""
    CrawlDB(tmp_path / "state").close()
    snapshot, files = opened(tmp_path / "state")
    with snapshot, closing(files):
        found = SeenSnapshot(snapshot, files)
        assert (found.where_known([]), found.submitted([])) == ({}, {})
