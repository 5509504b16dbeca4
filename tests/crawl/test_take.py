"""What a fetcher is given while hosts that may not answer have their share of the slots, and links
wait elsewhere.
"""

from dataclasses import fields
from types import SimpleNamespace

import pytest

from tests.support.frontiers import OK, add, make
from webcrawl.base.model import Link
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.moments import Moments
from webcrawl.crawl.parts import Parts
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.seen.portions import Portions
from webcrawl.store.crawldb import CrawlDB


class Seen:
    """A seen store in which links wait for a merge."""

    def __init__(self):
        self.waiting, self.known, self.busy = [], [], False

    @property
    def pending(self):
        return len(self.waiting) + len(self.known)

    def merge(self):
        self.known, self.waiting = self.known + self.waiting, []

    def pop_new(self, most):
        taken, self.known = self.known[:most], self.known[most:]
        return taken


@pytest.fixture(name="seen")
def _seen():
    return Seen()


@pytest.fixture(name="crawl")
def _crawl(tmp_path, seen):
    """One host that answered, as many unproven ones asked as their share is, and more that wait."""
    db = CrawlDB(tmp_path)
    frontier = make(db, Limits(queues=3, max_queues=100, fetchers=16))
    seeding = SimpleNamespace(
        first=False, ended=False, read=lambda most: pytest.fail("no seed is wanted")
    )
    parts = dict.fromkeys(field.name for field in fields(Parts))
    parts |= {
        "db": db,
        "seen": seen,
        "frontier": frontier,
        "seeding": seeding,
        "portions": Portions(db, str),
    }
    parts |= {
        "moments": Moments(),
        "uplink": SimpleNamespace(out=False),
        "in_force": SimpleNamespace(paused=False, rests=False),
    }
    parts["discovery"] = SimpleNamespace(submit_portion=lambda now, *, paced: False)
    crawl = Crawl(Parts(**parts))
    add(frontier, "http://old/")
    frontier.done(frontier.take(0), OK, 0)
    add(frontier, "http://busy/", "http://new1/", "http://new2/")
    assert crawl.next_link(1).url == "http://busy/"
    yield crawl
    db.close()


def test_links_that_wait_for_a_merge_go_before_one_more_host_that_may_not_answer(crawl, seen):
    """Beyond the share of unproven hosts waiting links are merged first: hosts that answer may be
    among them.
    """
    seen.waiting = [Link("http://old/1").pack()]

    assert [crawl.next_link(10).url for _ in range(3)] == [
        "http://old/1",
        "http://new1/",
        "http://new2/",
    ]


def test_merges_are_not_more_frequent_for_it(crawl, seen):
    """Links that come within a second of the last early merge wait; the slot is not idle meanwhile."""
    seen.waiting = [Link("http://old/1").pack()]
    crawl.next_link(10)
    seen.waiting = [Link("http://other/").pack()]

    assert crawl.next_link(10.5).url == "http://new1/"
    assert seen.waiting != []


class Seeding:
    """A list of seeds, a slice with each look; of those that are None all were seen before."""

    first = False

    def __init__(self, seen, slices):
        self._seen, self._slices = seen, slices

    @property
    def ended(self):
        return not self._slices

    def read(self, _):
        url = self._slices.pop(0)
        if url is not None:
            self._seen.waiting.append(Link(url).pack())
        return True


def test_seeds_that_are_known_do_not_hold_up_the_others(tmp_path, seen):
    """When nothing else is to be done, the next seeds are read at once, however many were known
    before.
    """
    db = CrawlDB(tmp_path)
    parts = dict.fromkeys(field.name for field in fields(Parts))
    parts |= {
        "db": db,
        "seen": seen,
        "frontier": make(db),
        "seeding": Seeding(seen, [None, None, "http://new/"]),
    }
    parts |= {
        "moments": Moments(),
        "uplink": SimpleNamespace(out=False),
        "in_force": SimpleNamespace(paused=False, rests=False),
    }
    nothing = SimpleNamespace(waiting=())
    parts |= {"portions": Portions(db, str), "refusals": nothing, "hostless": nothing}
    parts |= {"crawl_end": SimpleNamespace(next_time=lambda _: None), "clock": float}
    parts["discovery"] = SimpleNamespace(submit_portion=lambda now, *, paced: False)
    crawl = Crawl(Parts(**parts))

    for _ in range(2):
        assert crawl.next_link(1) is None
        assert crawl.next_ready() == 0
    assert crawl.next_link(1).url == "http://new/"
    db.close()
