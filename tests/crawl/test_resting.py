"""A crawl in which only deferred hosts have URLs left, while it is one drone of several."""

from dataclasses import fields
from types import SimpleNamespace

import pytest

from tests.support.clocks import SetByHand
from tests.support.frontiers import add, make
from webcrawl.base.model import Outcome, Status
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.crawl_end import CrawlEnd
from webcrawl.crawl.hostless import Hostless
from webcrawl.crawl.lost_requests import Refusals
from webcrawl.crawl.moments import Moments
from webcrawl.crawl.parts import Parts
from webcrawl.frontier.seen.portions import Portions
from webcrawl.store.crawldb import CrawlDB

WAIT = 50.0


class Holds:
    """No command is in force; the crawl can be held."""

    paused = False
    is_fenced = bool

    def __init__(self):
        self.holders = {}

    @property
    def held(self):
        return "".join(self.holders.values())

    @property
    def rests(self):
        return bool(self.holders)


@pytest.fixture(name="clock")
def _clock():
    return SetByHand(0.0)


@pytest.fixture(name="crawl")
def _crawl(tmp_path, clock):
    """Its only host has failed until it was deferred, and would be tried again."""
    db = CrawlDB(tmp_path)
    frontier = make(db)
    seen = SimpleNamespace(pending=0, busy=False, pop_new=lambda most: [])
    parts = dict.fromkeys(field.name for field in fields(Parts))
    parts |= {
        "db": db,
        "seen": seen,
        "frontier": frontier,
        "portions": Portions(db, str),
        "refusals": Refusals(db, None, None),
        "hostless": Hostless(db, None),
    }
    parts |= {
        "seeding": SimpleNamespace(first=False, ended=True),
        "clock": clock,
        "crawl_end": CrawlEnd(WAIT),
    }
    parts |= {"moments": Moments(), "uplink": SimpleNamespace(out=False)}
    parts["in_force"] = Holds()
    parts["discovery"] = SimpleNamespace(submit_portion=lambda now, *, paced: False)
    crawl = Crawl(Parts(**parts))
    add(frontier, "http://a/1", "http://a/2")
    while not frontier.resting():
        link = frontier.take(clock.now)
        if link is None:
            clock.now = frontier.next_ready()
        else:
            frontier.done(link, Outcome(Status.CONNECT_FAILED), clock.now)
    yield crawl
    db.close()


def test_others_have_something_to_do(crawl, clock):
    """However long it has waited, it tries its hosts as long as another drone has something else to
    do.
    """
    assert not crawl.rests
    clock.now += 10 * WAIT
    assert crawl.rests
    clock.now = max(clock.now, crawl.parts.frontier.next_ready())

    assert crawl.next_link(clock.now) is not None
    assert crawl.pending  # it is being tried
    assert crawl.rests


def test_time_in_which_it_is_held(crawl, clock):
    """On a full disk nobody is tried: that is no part of OUTAGE_END_WAIT."""
    assert not crawl.rests
    crawl.parts.set_pause_reason("disk nearly full", "disk")
    clock.now += 10 * WAIT
    crawl.parts.set_pause_reason("", "disk")
    assert not crawl.rests
    clock.now += WAIT

    assert crawl.rests


def test_time_without_a_network(crawl, clock):
    """Nor is that."""
    assert not crawl.rests
    crawl.parts.uplink.out = True
    clock.now += 10 * WAIT
    assert crawl.pending
    crawl.parts.uplink.out = False
    assert not crawl.rests
    clock.now += WAIT

    assert crawl.rests


def test_all_rest(crawl, clock):
    """If none has, it hands out nothing, so that all can end."""
    assert not crawl.rests
    crawl.all_rest = True
    clock.now += 100 * WAIT

    assert crawl.next_link(clock.now) is None
    assert crawl.next_ready() is None
    assert not crawl.pending


def test_something_comes(crawl, clock):
    """What others find for it is fetched, and its hosts are tried meanwhile, whatever was said
    before.
    """
    assert not crawl.rests
    crawl.all_rest = True
    clock.now += WAIT
    assert crawl.rests
    add(crawl.parts.frontier, "http://b/")

    assert not crawl.rests
    assert crawl.next_link(clock.now) is not None
