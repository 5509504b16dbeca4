"""URLs that are fetched again: a level of their own in the front-end, and turns in their hosts'
queues.
"""

from collections import Counter
from contextlib import closing

import msgpack
import pytest

from tests.support.frontiers import OK, add, drain, make
from tests.support.saving import prepared
from webcrawl.base.model import Link, Outcome, Status, is_revisit, unpack
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.health import DAY
from webcrawl.store.crawldb import CrawlDB


@pytest.fixture
def db(tmp_path):
    with closing(CrawlDB(tmp_path / "state")) as opened:
        yield opened


def again(*urls):
    return [Link(url, "L", history="r=AAAA.").pack() for url in urls]


def test_which_links_are_such():
    """A history says so, unless it is that of a robots.txt."""
    assert is_revisit(again("http://a.test/")[0])
    assert unpack(again("http://a.test/")[0]).is_revisit
    with_cookies = Link("http://a.test/", "LR", history="r=AAAA.", chain=".1~")
    assert is_revisit(with_cookies.pack())
    for link in (
        Link("http://a.test/"),
        Link("http://a.test/", "LR", chain=".1~"),
        Link("http://a.test/robots.txt", "P", history="http://a.test"),
    ):
        assert not is_revisit(link.pack())
        assert not link.is_revisit


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_turns_in_a_hosts_queue(db, share):
    """They have their share of the host's turns, however many wait on either side."""
    frontier = make(db, revisits=True)
    frontier.revisits.set_share(share)
    add(frontier, *(f"http://a.test/{n}" for n in range(2000)))
    frontier.revisits.add(again(*(f"http://a.test/old{n}" for n in range(2000))))
    frontier.revisits.bring(0.0)

    taken = [link.url for _, link in drain(frontier, 0.0, most=1000)]
    old = [url for url in taken if "old" in url]
    assert len(old) / len(taken) == pytest.approx(share, abs=0.05)
    assert old == [f"http://a.test/old{n}" for n in range(len(old))]


def test_they_enter_although_all_places_are_taken(db):
    """Hosts with long queues do not keep them out."""
    frontier = make(db, Limits(queues=2, max_queues=100), revisits=True)
    for host in "ab":
        add(frontier, *(f"http://{host}.test/{n}" for n in range(100)))
    assert frontier.take(0.0) is not None
    frontier.revisits.add(again("http://old.test/"))
    frontier.revisits.bring(0.0)

    assert "http://old.test/" in [link.url for _, link in drain(frontier, 0.0, most=6)]


def test_without_room_they_wait_in_the_front_end(db):
    """Where no host may enter, they have their share of the places that become free."""
    frontier = make(db, Limits(queues=2, max_queues=2), revisits=True)
    for host in range(200):
        add(frontier, f"http://new{host}.test/")
    assert frontier.take(0.0) is not None
    frontier.revisits.add(again(*(f"http://old{host}.test/" for host in range(200))))

    frontier.revisits.bring(0.0)
    taken = [link.url for _, link in drain(frontier, 0.0, most=200)]
    assert sum("old" in url for url in taken) == pytest.approx(100, abs=30)


def test_they_are_kept(db):
    """In the level, in a host's queue, in flight: all come back after a crash, as such."""
    frontier = make(db, Limits(queues=1, max_queues=1), revisits=True)
    frontier.revisits.add(again("http://a.test/1", "http://a.test/2"))
    frontier.revisits.bring(0.0)
    assert frontier.take(0.0).history
    frontier.revisits.add(again("http://b.test/1"))
    prepared(db)
    db.checkpoint()
    db.close()

    with closing(CrawlDB(db.folder)) as opened:
        again_ = make(opened, Limits(queues=1, max_queues=1), revisits=True)
        taken = [link for _, link in drain(again_, 0.0)]
    assert sorted(link.url for link in taken) == [
        "http://a.test/1",
        "http://a.test/2",
        "http://b.test/1",
    ]
    assert all(link.history for link in taken)


def test_a_page_budget(db):
    """HOST_MAX_PAGES is about new pages: those end, and the others wait for the host's turn."""
    frontier = make(db, Limits(queues=2, max_queues=100, host_pages=1), revisits=True)
    add(frontier, "http://a.test/1", "http://a.test/2")
    frontier.revisits.set_share(0.01)
    assert frontier.take(0.0).url == "http://a.test/1"
    frontier.done(unpack(Link("http://a.test/1").pack()), OK, 0.0)
    frontier.revisits.add(again("http://a.test/1"))
    frontier.revisits.bring(0.5)

    assert frontier.take(0.5) is None
    taken = drain(frontier, 0.5)
    assert [(link.url, at >= 2.0) for at, link in taken] == [("http://a.test/1", True)]
    assert len(frontier) == 0
    frontier.revisits.add(again("http://a.test/1"))
    frontier.revisits.bring(10.0)
    assert [link.url for _, link in drain(frontier, 10.0)] == ["http://a.test/1"]


def test_a_host_with_its_pages_is_not_looked_at_before_its_turn(db):
    """If only URLs are left that are fetched again, there is nothing to do until they may be
    requested for.
    """
    frontier = make(db, Limits(queues=2, max_queues=100, host_pages=1), revisits=True)
    add(frontier, "http://a.test/1")
    last = frontier.take(0.0)
    frontier.revisits.add(again("http://a.test/1"))
    frontier.revisits.bring(0.0)

    frontier.done(last, OK, 0.0)

    assert frontier.next_ready() == 2.0


def test_a_host_that_was_given_up(db):
    """They end like all URLs of the host, which has another chance after a day."""
    dropped = []
    limits = Limits(queues=2, max_queues=100, host_failures=1, patience=0.0, attempts=1)
    frontier = make(
        db, limits, revisits=True, dropped=lambda link, status: dropped.append(link.url)
    )
    add(frontier, "http://a.test/1", "http://a.test/2")
    frontier.done(frontier.take(0.0), Outcome(Status.CONNECT_FAILED), 0.0)
    drain(frontier, 0.0, Outcome(Status.CONNECT_FAILED))
    dropped.clear()
    frontier.revisits.add(again("http://a.test/1"))
    frontier.revisits.bring(1000.0)
    assert (drain(frontier, 1000.0), dropped) == ([], ["http://a.test/1"])

    later = 1000.0 + 2 * DAY
    frontier.revisits.add(again("http://a.test/1"))
    frontier.revisits.bring(later)
    assert [link.url for _, link in drain(frontier, later, most=1)] == ["http://a.test/1"]


def test_they_move_with_their_host(tmp_path):
    """From one frontier to another, each with its history, and as what it is."""
    with closing(CrawlDB(tmp_path / "a")) as first, closing(CrawlDB(tmp_path / "b")) as second:
        one, two = make(first, revisits=True), make(second, revisits=True)
        add(one, "http://a.test/new")
        one.revisits.add(again("http://a.test/old"))
        one.revisits.bring(0.0)
        one.done(one.take(0.0), OK, 0.0)
        pieces, left = [], []
        one.moves.guard(lambda name: name == "a.test", left.append)
        one.moves.freeze()
        for some in one.moves.hosts(lambda name: name == "a.test", lambda: 0.0):
            pieces += msgpack.unpackb(msgpack.packb(some))
        for kind, name, value in pieces:
            if kind == "urls":
                two.moves.urls(name, value)
            elif kind == "host":
                two.moves.host(value, 0.0)
                two.moves.arrive(name, 0.0)
        one.revisits.add(again("http://a.test/older"))
        one.revisits.bring(0.0)

        taken = [link for _, link in drain(two, 0.0)]
        assert [bool(link.history) for link in taken] in ([True], [False])
        assert Counter(map(is_revisit, left)) == {True: 1}
        assert len(one) == 0
