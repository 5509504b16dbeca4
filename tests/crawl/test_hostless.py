"""Requests that need no host, from their coming to their end, over checkpoints."""

import pytest

from webcrawl.base.model import Link, unpack
from webcrawl.crawl.hostless import Hostless, needs_no_host
from webcrawl.frontier.seen.content import ContentSeen
from webcrawl.store.crawldb import CrawlDB

FIRST, SECOND = Link("data:,first", "L", request="abc"), Link("data:,second")


@pytest.fixture(name="opened")
def _opened(tmp_path):
    """Opens the state anew each time, as of the last checkpoint."""
    found = []

    def opened():
        while found:
            found.pop().close()
        db = CrawlDB(tmp_path / "state")
        content = ContentSeen(db, memory=1 << 20)
        found.extend((db, content))
        return Hostless(db, content), db

    yield opened
    while found:
        found.pop().close()


def taken(hostless):
    """All that are handed out."""
    return [unpack(hostless.next_request()[1]) for _ in range(len(hostless.waiting))]


def test_requests_come_out_as_they_came(opened):
    """A link keeps its order and all that it carries."""
    hostless, _ = opened()
    hostless.add(FIRST)
    hostless.add(SECOND)

    assert taken(hostless) == [FIRST, SECOND]


def test_what_is_not_finished_comes_again(opened):
    """After a crash, requests under way and waiting ones are handed out again; finished ones are
    not.
    """
    hostless, db = opened()
    for link in (FIRST, SECOND, FIRST):
        hostless.add(link)
    number, _ = hostless.next_request()
    hostless.done(number)
    hostless.next_request()
    db.checkpoint()

    again, db = opened()
    assert taken(again) == [SECOND, FIRST]
    for number in (1, 2):
        again.done(number)
    assert again.pending == 0
    db.checkpoint()

    assert opened()[0].pending == 0


def test_what_could_not_be_tried_is_the_next_one(opened):
    """A lack of ours leaves a request where it was."""
    hostless, _ = opened()
    hostless.add(FIRST)
    hostless.add(SECOND)
    hostless.put_back(hostless.next_request()[0])

    assert taken(hostless) == [FIRST, SECOND]


def test_a_request_is_known_from_then_on(opened):
    """Method and body tell requests for one URL apart, in later runs too."""
    hostless, db = opened()

    assert not hostless.is_known(FIRST, "")
    assert hostless.is_known(FIRST, "")
    assert not hostless.is_known(FIRST, "POST abc")
    db.checkpoint()
    assert opened()[0].is_known(FIRST, "")


@pytest.mark.parametrize(
    ("url", "needs"), [("data:,x", False), ("DATA:,x", False), ("file:///x", True), ("a:b", True)]
)
def test_what_needs_a_host(url, needs):
    """Only a `data:` URL has its answer in it: `file:` would read what a page names."""
    assert needs_no_host(url) is not needs
