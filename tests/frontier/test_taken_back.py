"""Links that are taken back: not requested for a lack of this machine's, or in flight for so long
that others wait.
"""

from dataclasses import dataclass

import pytest

from tests.support.frontiers import OK, add, make
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.frontier.addresses import Addresses
from webcrawl.frontier.back_end import DOUBTFUL, SLOW, UNKNOWN
from webcrawl.frontier.booking import Limits
from webcrawl.store.crawldb import CrawlDB


def test_a_host_that_may_have_been_requested_has_its_usual_wait(db):
    """With a lack that lasts for some seconds the host is left alone for as long as after an
    answer, at least.
    """
    frontier = make(db)
    add(frontier, "http://a/1", "http://a/2")
    frontier.done(frontier.take(0), Outcome(200, 5.0), 0)
    frontier.put_back(frontier.take(50), 60, 2.0)

    assert frontier.next_ready() == 60 + 50


def test_its_address_is_free(db):
    """With politeness per address the next host of that address need not wait for it."""
    frontier = make(db, addresses=Addresses())
    for name in "ab":
        add(frontier, f"http://{name}/0")
        frontier.done(frontier.take(0), Outcome(200, 0.1, ip="192.0.2.1"), 0)
    add(frontier, "http://a/1", "http://b/1")

    frontier.put_back(frontier.take(100), 100)

    assert frontier.take(100) is not None


def test_it_may_have_to_wait(db):
    """A link put back for a lack that will last is not handed out before, and nothing is booked."""
    frontier = make(db)
    add(frontier, "http://a/1")
    taken = frontier.take(0)

    frontier.put_back(taken, 100, 30.0)

    assert frontier.take(129) is None
    assert frontier.next_ready() == 130
    assert frontier.take(130) == taken


SLOTS = 6
RETRY_WAIT = 60.0


@dataclass
class Download:
    link: Link
    seconds: float
    received: int = 0


@pytest.fixture(name="frontier")
def _frontier(tmp_path):
    """A crawl in which answers usually come at once."""
    db = CrawlDB(tmp_path)
    frontier = make(db, Limits(queues=100, max_queues=1000, fetchers=SLOTS, retry_wait=RETRY_WAIT))
    frontier.core.back.slots.slow = SLOW
    yield frontier
    db.close()


def answered(frontier, *hosts):
    for host in hosts:
        add(frontier, f"http://{host}/")
        frontier.done(frontier.take(0), OK, 0)


def held(frontier, now=10, seconds=6.0, received=0):
    """All that is handed out now, as downloads that last for so long."""
    return [Download(link, seconds, received) for link in iter(lambda: frontier.take(now), None)]


def overstaying(frontier, running, now, *, full):
    """What of it is cancelled now."""
    return frontier.demand.overstaying(running, full=full)[
        : frontier.demand.starved(now, full=full)
    ]


def names(downloads):
    return sorted(one.link.url.split("/")[2] for one in downloads)


class TestChoice:
    def full(self, frontier, seconds=6.0, received=0):
        """New hosts hold all slots, and four more are due."""
        add(frontier, *(f"http://new{i}/" for i in range(SLOTS)))
        running = held(frontier, 10, seconds, received)
        assert len(running) == SLOTS
        add(frontier, *(f"http://next{i}/" for i in range(4)))
        assert frontier.take(10) is None
        return running

    def test_as_many_are_cancelled_as_hosts_wait(self, frontier):
        """When no slot is free, each host that has been due for a second gets the slot of a slow
        download.
        """
        running = self.full(frontier)

        assert overstaying(frontier, running, 10.5, full=True) == []
        assert len(overstaying(frontier, running, 12, full=True)) == 4

    def test_what_has_only_begun_is_not_cancelled(self, frontier):
        """A download is never cancelled before an answer counts as slow."""
        running = self.full(frontier, seconds=4.9)

        assert overstaying(frontier, running, 12, full=True) == []

    def test_what_comes_steadily_is_not_cancelled(self, frontier):
        """A large answer that comes at 10 KB per second is not requested a second time."""
        running = self.full(frontier, received=60_000)

        assert overstaying(frontier, running, 12, full=True) == []

    def test_the_slowest_go_first(self, frontier):
        """Those that brought the least per second are cancelled."""
        running = self.full(frontier)
        running[3].received = running[5].received = 100

        assert names(overstaying(frontier, running, 12, full=True)) == [
            "new0",
            "new1",
            "new2",
            "new4",
        ]

    def test_nothing_is_cancelled_for_doubtful_hosts(self, frontier):
        """Hosts that failed or were slow themselves wait until a slot is free."""
        add(frontier, *(f"http://bad{i}/" for i in range(4)))
        for link in [one.link for one in held(frontier, 0)]:
            frontier.done(link, Outcome(Status.CONNECT_FAILED), 0)
        add(frontier, *(f"http://new{i}/" for i in range(SLOTS - 1)))
        running = held(frontier, 10)
        assert len(running) == SLOTS - 1

        assert overstaying(frontier, running, 1000, full=True) == []

    def test_new_hosts_get_the_slots_of_their_like_while_others_are_free(self, frontier):
        """If only the slots of unproven hosts are all in use, only downloads of unproven hosts are
        cancelled.
        """
        answered(frontier, "old0", "old1")
        add(frontier, "http://old0/1", "http://old0/2", "http://old1/1", "http://old1/2")
        add(frontier, *(f"http://new{i}/" for i in range(10)))
        running = held(frontier, 10)
        assert {"old0", "old1"} < set(names(running))

        found = names(overstaying(frontier, running, 20, full=False))

        assert found
        assert all(name.startswith("new") for name in found)

    def test_what_is_usual_is_not_slow(self, frontier):
        """Where most answers take long, a download may take as long as four of them."""
        frontier.core.back.slots.slow = UNKNOWN
        for number in range(50):
            add(frontier, f"http://late{number}/")
            frontier.done(frontier.take(0), Outcome(200, 10.0), 0)

        running = self.full(frontier, seconds=35.0)

        assert overstaying(frontier, running, 12, full=True) == []
        for one in running:
            one.seconds = 45.0
        assert len(overstaying(frontier, running, 12, full=True)) == 4


class TestCancelled:
    def test_the_url_comes_first_again_after_a_wait(self, frontier):
        """A URL that was cancelled is its host's next one, with the same attempt, after
        HOST_RETRY_WAIT at least.
        """
        add(frontier, "http://slow/1", "http://slow/2")
        link = frontier.take(0)

        frontier.cancelled(link, 5.0, 5.0)

        assert frontier.take(4.9 + RETRY_WAIT) is None
        assert frontier.take(5.0 + RETRY_WAIT) == link
        assert len(frontier) == 2
        assert frontier.counters["cut"] == 1

    def test_robots_txt_comes_before_the_url_that_needs_it(self, frontier):
        """A prerequisite that was cancelled comes again before all else of its host."""
        add(frontier, "http://slow/1")
        add(frontier, "http://slow/robots.txt", path="P")
        needs = Link("http://slow/robots.txt", "P", "http://slow/1")
        frontier.core.admission = lambda link, _: None if link.path else needs
        robots = frontier.take(0)
        assert robots.path == "P"

        frontier.cancelled(robots, 5.0, 5.0)

        assert frontier.take(100) == robots

    def test_it_is_no_failure(self, frontier):
        """However often a host is cancelled, it is not retired; but it is doubtful, and waits
        longer each time.
        """
        add(frontier, *(f"http://slow/{number}" for number in range(3)))
        now, waits = 0.0, []
        for seconds in (5.0, 10.0, 20.0, 25.0, 25.0, 25.0):
            link = frontier.take(now)
            frontier.cancelled(link, seconds + 0.1, now)
            host = frontier.core.back.active["slow"]
            assert (host.failures, host.retired, host.standing) == (0, 0, DOUBTFUL)
            waits.append(host.ready_at - now)
            now = host.ready_at

        assert waits == pytest.approx([60, 101, 201, 251, 251, 251])

    def test_each_time_it_may_take_twice_as_long(self, frontier):
        """The time after which a download is cancelled doubles, up to the time-out: an honest slow
        host ends one day.
        """
        add(frontier, "http://slow/")
        now, cancelled_after = 0.0, []
        while (
            seconds := frontier.core.back.slots.patience(frontier.core.back.active["slow"])
            if cancelled_after
            else SLOW
        ) < 30:
            frontier.cancelled(frontier.take(now), seconds, now)
            cancelled_after.append(seconds)
            now += 1000

        assert cancelled_after == [5, 10, 20]

    def test_it_is_remembered(self, tmp_path):
        """That a download was cancelled survives a checkpoint: the URL is there, and its host may
        take longer.
        """
        db = CrawlDB(tmp_path / "again")
        frontier = make(db)
        add(frontier, "http://slow/")
        frontier.cancelled(frontier.take(0), 20.0, 20.0)
        db.checkpoint()
        db.close()
        db = CrawlDB(tmp_path / "again")
        frontier = make(db)

        assert frontier.take(219) is None
        assert frontier.take(220).url == "http://slow/"
        assert frontier.core.back.slots.patience(frontier.core.back.active["slow"]) == 40
        db.close()
