"""Crawls in which nothing is left to do: which are refused another run."""

import json
from types import SimpleNamespace

import pytest

from webcrawl.adapter.finished_crawl import NothingLeft, refuse_complete


def finished(tmp_path, *, away=0, unfinished=False):
    """A crawl that ended by itself, with nothing in its queues."""
    (tmp_path / "stats.json").write_text(json.dumps({"reason": "finished"}))
    parts = SimpleNamespace(
        seeding=SimpleNamespace(away=away), outputs=SimpleNamespace(unfinished=unfinished), counters={"pages": 7}
    )
    return SimpleNamespace(parts=parts, pending=0, stats=lambda: {"queued": 0, "over_budget": 0})


def test_nothing_is_left(tmp_path):
    """All was done: a line says so."""
    with pytest.raises(NothingLeft, match="complete, with 7 pages: nothing left to do"):
        refuse_complete(tmp_path, finished(tmp_path))


@pytest.mark.parametrize("left", [{"away": 1}, {"unfinished": True}])
def test_something_is_left(tmp_path, left):
    """A list of seeds could not be read, or the disk failed while the last archive was finished."""
    refuse_complete(tmp_path, finished(tmp_path, **left))
