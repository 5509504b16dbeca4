"""New links enter the frontier a slice at a time, whenever nothing there may be fetched."""

from contextlib import closing

import pytest

from tests.support.frontiers import OK, make
from webcrawl.base.model import Link, Outcome
from webcrawl.crawl.crawl import SLICE, Feeding
from webcrawl.store.crawldb import CrawlDB

FAST = Outcome(200, 0.1)  # its host is due again after a second


class Seen:
    """A store whose links are decided at once, or by the next merge."""

    def __init__(self):
        self.new, self.undecided, self.busy, self.merges = [], [], False, 0

    def pop_new(self, limit):
        taken, self.new = self.new[:limit], self.new[limit:]
        return taken

    def merge(self):
        self.merges += 1
        self.new, self.undecided = self.new + self.undecided, []

    @property
    def pending(self):
        return len(self.new) + len(self.undecided)


class Seeds:
    ended = True

    def read(self, most):
        raise AssertionError("there are none")


@pytest.fixture(name="frontier")
def _frontier(tmp_path):
    with closing(CrawlDB(tmp_path)) as db:
        yield make(db)


def links(host, count):
    return [Link(f"http://{host}/{number}").pack() for number in range(count)]


class Known(Seeds):
    """Seeds that the store has to look up, and knows."""

    ended = False

    def __init__(self, seen, slices):
        self._seen, self._slices = seen, slices

    def read(self, most):
        self._slices -= 1
        self.ended = self._slices == 0
        self._seen.undecided = [b""] * most
        return True


def test_links_that_may_be_fetched_enter_at_once(frontier):
    """As long as new links let a fetcher work, the next ones enter whenever nothing else is due."""
    seen = Seen()
    seen.new = [record for number in range(3) for record in links(f"host{number}", SLICE)]
    feeding = Feeding(frontier, seen, Seeds())

    assert [feeding.next_link(0.0).url for _ in range(3)] == [
        f"http://host{number}/0" for number in range(3)
    ]


def test_with_nothing_under_way_more_enter(frontier):
    """While all hosts wait for their turn, links enter one slice after the other: others may be
    behind them.
    """
    seen = Seen()
    seen.new = links("a", 100 * SLICE)
    feeding = Feeding(frontier, seen, Seeds())
    frontier.done(feeding.next_link(0.0), FAST, 0.0)

    for number in range(100):
        assert feeding.next_link(number / 100) is None

    assert frontier.queued == 100 * SLICE - 1


def test_a_host_behind_them_is_found(frontier):
    """However many links of hosts that wait are before them, those of other hosts come."""
    seen = Seen()
    seen.new = [*links("a", 20 * SLICE), *links("b", 1)]
    feeding, now = Feeding(frontier, seen, Seeds()), 0.0
    assert feeding.next_link(now) is not None

    while (link := feeding.next_link(now)) is None:
        now = feeding.next_ready(frontier.next_ready())

    assert link.url == "http://b/0"
    assert now == 0.0


def test_a_dry_frontier_waits_for_nothing(frontier):
    """If no URL is left, new ones enter and waiting ones are merged at once."""
    seen = Seen()
    seen.new = links("a", 1)
    feeding = Feeding(frontier, seen, Seeds())
    first = feeding.next_link(0.0)
    seen.undecided = links("b", 1)
    frontier.done(first, OK, 0.0)

    assert feeding.next_link(0.0).url == "http://b/0"
    assert seen.merges == 1


def test_merges_are_early_but_not_often(frontier):
    """While the frontier has URLs, though none that are due, what waits is merged once a second."""
    seen = Seen()
    seen.new = links("a", 2)
    feeding = Feeding(frontier, seen, Seeds())
    feeding.next_link(100.0)

    for number in range(30):
        seen.undecided = links(f"b{number}", 1) if number % 2 else []
        feeding.next_link(100.0 + number / 10)

    assert seen.merges == 3


def test_seeds_that_are_known_are_read_to_their_end(frontier):
    """A slice of seeds of which none is new is no end: the crawl goes on with the next one at once."""
    seen = Seen()
    seeds = Known(seen, 5)
    seen.merge = lambda: setattr(seen, "undecided", [])
    feeding = Feeding(frontier, seen, seeds)
    while not seeds.ended:
        assert feeding.next_link(0.0) is None
        assert seeds.ended or feeding.next_ready(None) == 0.0
