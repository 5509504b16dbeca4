"""Damage to what is known of random walks."""

from collections import Counter
from contextlib import closing

import msgpack
import pytest

from tests.support.walks import Walk
from webcrawl.lab.walks.walkers import WalkRules, check_walk
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.snapshot import Snapshot

LINKS = {
    f"http://h{host}/{page}": [f"http://h{(host + 1) % 5}/{page}"]
    for host in range(5)
    for page in range(4)
}


@pytest.fixture
def state(tmp_path):
    """The state of a walk of three walkers that knows all five hosts."""
    with closing(CrawlDB(tmp_path)) as db:
        Walk(db, WalkRules(3, 0.2, "hosts"), LINKS).run(60)
        db.checkpoint()
    return tmp_path


def damage(state):
    """Lines, and figures."""
    found = Counter()
    with closing(Snapshot(state)) as snapshot:
        return [str(one) for one in check_walk(snapshot, found)], found


def walk(state, **changes):
    """Changes parts of the walk's row."""
    with closing(CrawlDB(state)) as db:
        db.set("walk", msgpack.packb({**msgpack.unpackb(db.get("walk")), **changes}))
        db.checkpoint()


def test_a_sound_walk(state):
    """Walkers are counted, and the hosts to which they may jump."""
    assert damage(state) == ([], {"walkers": 3, "walked hosts": 5})


def test_a_crawl_without_walkers(tmp_path):
    """Most crawls are no walks."""
    with closing(CrawlDB(tmp_path)) as db:
        db.checkpoint()
    assert damage(tmp_path) == ([], {})


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        (
            {"at": [["http://h0/0", 0, 1, "link"], ["", 0, 1, "restart"], ["", 2, 1, "restart"]]},
            "each in one place",
        ),
        ({"at": [["http://h0/0", 0, 1, "link"]]}, "each in one place"),
        (
            {"at": [["", 0, 1, "start"], ["", 1, 0, "start"], ["", 2, 0, "start"]]},
            "walker 0 is at the start, though it has made steps",
        ),
        ({"rules": [3, 1.5, "hosts"]}, "must be rules"),
        ({"visits": -1}, "must be rules"),
        ({"random": [3, [1, 2], None]}, "ValueError"),
        ({"starts": 7}, "TypeError"),
        ({"starts": (20, 6)}, "there should be 6 rows walk/host/N, but there are 5"),
        ({"starts": (19, 5)}, "walk/seed/19: not counted"),
    ],
)
def test_a_row_that_cannot_be(state, changes, what):
    """Walkers that are nowhere or twice, and counts that are not those of the rows, are damage."""
    walk(state, **changes)
    lines, _ = damage(state)
    assert what in "\n".join(lines)


@pytest.mark.parametrize(
    ("row", "value", "what"),
    [
        ("walk/host/3", msgpack.packb([]), "0 pages of 0 hosts"),
        (
            "walk/host/3",
            msgpack.packb([(1, "http://h0/0"), (2, "http://h1/0")]),
            "2 pages of 2 hosts",
        ),
        ("walk/host/3", b"\xc1", "walk/host/3: "),
        ("walk/host/x", msgpack.packb([(1, "http://h0/0")]), "walk/host/x: "),
        ("walk/host/03", msgpack.packb([(1, "http://h0/0")]), "walk/host/03: not counted"),
        ("walk/number/h0", b"77", "h0 has another number"),
        ("walk/number/h9", b"5", "5 hosts are counted, but 6 have a number"),
        ("walk/seed/4", b"", "walk/seed/4: not a URL"),
    ],
)
def test_a_start_that_cannot_be(state, row, value, what):
    """A row of a host or seed with which a jump would fail is damage."""
    with closing(CrawlDB(state)) as db:
        db.set(row, value)
        db.checkpoint()
    lines, _ = damage(state)
    assert what in "\n".join(lines)
