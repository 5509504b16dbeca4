"""Failures that turn out to be our own network's are taken back, from their hosts and from their
links.
"""

import pytest

from tests.support.frontiers import OK, add, make
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.frontier.booking import Limits
from webcrawl.store.crawldb import CrawlDB


def fail(frontier, now):
    """The next link, which fails for a reason that may be our own network's."""
    link = frontier.take(now)
    frontier.done(link, Outcome(Status.TIMEOUT, 1.0, doubtful=True), now)
    return link


def test_the_link_comes_again_with_the_attempt_that_it_had(db):
    """The attempt is not used up, and nothing has to be waited for but the host's usual delay."""
    frontier = make(db)
    add(frontier, "http://a/1")
    link = fail(frontier, 100)

    assert frontier.outage.pardon(100) == 1
    assert frontier.next_ready() == 101.0
    assert frontier.take(101) == link
    assert frontier.counters["tried again"] == frontier.queued == 0


def test_the_host_has_not_failed(db):
    """Its failures in a row, its times and whether it is retired are as before."""
    frontier = make(db, Limits(queues=2, max_queues=100, host_failures=2))
    add(frontier, "http://a/1", "http://a/2", "http://a/3")
    frontier.done(frontier.take(0), OK, 0)
    fail(frontier, 100)
    fail(frontier, 200)

    frontier.outage.pardon(100)

    assert frontier.look.record("a") == (0, True, "")
    assert [frontier.take(300 + 10 * at) is not None for at in range(1)] == [True]
    assert len(frontier) == 2


def test_a_link_whose_last_attempt_it_was(db):
    """A URL that was finished by such a failure is queued again."""
    frontier = make(db, Limits(queues=2, max_queues=100, attempts=1))
    add(frontier, "http://a/1")
    link = fail(frontier, 100)
    assert len(frontier) == 0

    frontier.outage.pardon(100)

    assert frontier.take(102) == link
    assert frontier.counters["finished"] == 0


def test_a_spider_was_told(db):
    """A spider's request that was finished stays so: its errback was called."""
    frontier = make(db, Limits(queues=2, max_queues=100, attempts=1))
    frontier.add([Link("http://a/1", request="x").pack()])
    fail(frontier, 100)

    frontier.outage.pardon(100)

    assert len(frontier) == 0


def test_robots_txt(db):
    """A prerequisite is not queued: it comes again before the URL that needs it."""
    frontier = make(
        db, admission=lambda link, _: None if link.path else Link("http://a/robots.txt", "P")
    )
    add(frontier, "http://a/1")
    assert fail(frontier, 100).path == "P"

    frontier.outage.pardon(100)

    assert len(frontier) == 1
    assert frontier.take(101).path == "P"


def test_a_host_that_was_dropped_meanwhile(db):
    """It stays given up, though the failure before it was none."""
    frontier = make(db)
    add(frontier, "http://a/1", "http://a/2")
    frontier.cancelled(frontier.take(100), 20.0, 120)
    frontier.steering.drop("a", 121)

    frontier.outage.pardon(100)

    assert frontier.look.facts("a").state == "given up"


def test_a_download_that_was_cancelled(db):
    """In an outage nothing comes, so hosts lose their slots to others; that makes no host wait
    longer afterwards.
    """
    frontier = make(db)
    add(frontier, "http://a/1", "http://a/2")
    frontier.done(frontier.take(0), OK, 0)
    link = frontier.take(100)
    frontier.cancelled(link, 20.0, 120)
    assert frontier.next_ready() == 320.0

    frontier.outage.pardon(100)

    assert frontier.next_ready() == 122.0
    assert frontier.take(122) == link
    assert len(frontier) == 1


def test_earlier_failures_stay(db):
    """What failed before that time is charged as ever."""
    frontier = make(db)
    add(frontier, "http://a/1", "http://b/1")
    fail(frontier, 100)
    fail(frontier, 200)

    assert frontier.outage.pardon(150) == 1
    assert [frontier.look.record(name)[0] for name in "ab"] == [1, 0]


def test_other_failures_stay(db):
    """A failure that cannot be our own network's is never taken back."""
    frontier = make(db)
    add(frontier, "http://a/1")
    frontier.done(frontier.take(0), Outcome(503, 1.0, wait=1.0), 100)

    assert frontier.outage.pardon(0) == 0
    assert frontier.look.record("a")[0] == 1


def test_more_has_happened_to_the_host(db):
    """A host that has answered since keeps the record of that."""
    frontier = make(db)
    add(frontier, "http://a/1", "http://a/2")
    fail(frontier, 100)
    frontier.done(frontier.take(200), Outcome(200, 30.0), 200)

    frontier.outage.pardon(100)

    assert frontier.take(499) is None
    assert frontier.take(500) is not None


def test_a_link_that_is_under_way_again(db):
    """A link that has been handed out again is not queued a second time."""
    frontier = make(db)
    add(frontier, "http://a/1")
    fail(frontier, 100)
    again = frontier.take(200)

    frontier.outage.pardon(100)

    assert (again.attempt, len(frontier), frontier.queued) == (1, 1, 0)
    assert frontier.done(again, OK, 201)


def test_a_host_that_has_left(db):
    """A host whose only URL was finished comes back with it."""
    frontier = make(db, Limits(queues=2, max_queues=100, attempts=1))
    add(frontier, "http://a/1")
    fail(frontier, 100)
    assert len(frontier.core.back) == 0

    frontier.outage.pardon(100)

    assert len(frontier.core.back) == 1


def test_after_a_crash(tmp_path):
    """A checkpoint after it has what was taken back."""
    db = CrawlDB(tmp_path)
    frontier = make(db, Limits(queues=2, max_queues=100, attempts=1))
    add(frontier, "http://a/1")
    fail(frontier, 100)
    frontier.outage.pardon(100)
    db.checkpoint()
    db.close()
    db = CrawlDB(tmp_path)

    assert make(db).take(102).attempt == 0
    db.close()


class TestProbes:
    def test_hosts_that_answered_go_first(self, db):
        """A host that answered last time is requested before one that is due for longer and never
        was.
        """
        frontier = make(db, Limits(queues=10, max_queues=100))
        add(frontier, "http://old/1", "http://old/2")
        frontier.done(frontier.take(0), OK, 0)
        add(frontier, "http://new/1", "http://other/1")

        assert frontier.outage.probe(10, anyone=False).url == "http://old/2"
        assert frontier.outage.probe(10, anyone=False).url == "http://new/1"

    def test_any_host(self, db):
        """Now and then another one goes before it: those that answered may all be dead by now."""
        frontier = make(db, Limits(queues=10, max_queues=100))
        add(frontier, "http://old/1", "http://old/2")
        frontier.done(frontier.take(0), OK, 0)
        add(frontier, "http://new/1")

        assert frontier.outage.probe(10, anyone=True).url == "http://new/1"

    def test_politeness(self, db):
        """No host is requested before its time."""
        frontier = make(db)
        add(frontier, "http://a/1", "http://a/2")
        frontier.done(frontier.take(0), Outcome(200, 5.0), 0)

        assert frontier.outage.probe(49, anyone=False) is None
        assert frontier.outage.probe(50, anyone=False) is not None


def test_a_host_that_was_lent(db):
    """An inline download is repeated by whoever awaits it: only its host is forgiven, and no URL is
    queued.
    """
    frontier = make(db)
    lending = frontier.lending
    lending.lend(Link("http://a/image"), 100, lambda _: None)
    lending.give_back("a", Outcome(Status.TIMEOUT, 1.0, doubtful=True), 100)
    lending.release("a", 100)

    assert frontier.outage.pardon(100) == 1
    assert (len(frontier), frontier.queued, frontier.look.record("a")[0]) == (0, 0, 0)


class TestTruncated:
    """A body of which a part is missing is an answer, and may be our own network's fault all the
    same.
    """

    @pytest.mark.parametrize(("why", "most"), [("disconnect", 3), ("time", 2)])
    @pytest.mark.parametrize("codes", [None, frozenset({500})])
    def test_it_is_tried_again(self, db, why, most, codes):
        """As often as a lost connection, once if it was late, and then it is final;
        RETRY_HTTP_CODES do not matter.
        """
        frontier = make(db, Limits(queues=2, max_queues=100, retry_codes=codes))
        add(frontier, "http://a/1")
        now, ends = 0.0, []
        while len(frontier):
            now = frontier.next_ready()
            ends.append(frontier.done(frontier.take(now), Outcome(200, 1.0, short=why), now))

        assert ends == [False] * (most - 1) + [True]
        assert frontier.counters["cut short"] == 1
        assert frontier.look.record("a")[0] == 0

    def test_a_robots_txt_is_no_page(self, db):
        """A robots.txt of which a part is missing is not counted among the pages that are kept so."""
        robots = Link("http://a/robots.txt", "P", history="http://a")
        frontier = make(db, admission=lambda link, _: None if link.is_prerequisite else robots)
        add(frontier, "http://a/1")

        assert frontier.done(frontier.take(0), Outcome(200, 1.0, short="disconnect"), 0)
        assert frontier.counters["cut short"] == 0

    def test_it_is_taken_back(self, db):
        """In an outage of our own it comes again with the attempt that it had, and the host's
        record stays.
        """
        frontier = make(db)
        add(frontier, "http://a/1", "http://a/2")
        link = frontier.take(100)
        frontier.done(link, Outcome(200, 1.0, short="disconnect", doubtful=True), 100)
        frontier.done(frontier.take(110), OK, 110)

        assert frontier.outage.pardon(100) == 1
        assert frontier.next_ready() == 112.0
        assert frontier.take(112) == link

    def test_one_that_was_kept_is_taken_back(self, db):
        """A page that was final comes again, and is no longer counted."""
        frontier = make(db, Limits(queues=2, max_queues=100, attempts=1))
        add(frontier, "http://a/1")
        link = frontier.take(100)
        assert frontier.done(link, Outcome(200, 1.0, short="disconnect", doubtful=True), 100)
        assert frontier.counters["cut short"] == 1

        frontier.outage.pardon(100)

        assert frontier.take(200) == link
        assert frontier.counters["cut short"] == 0
