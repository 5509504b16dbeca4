"""Hosts that may have several requests at once (HOST_CONNECTIONS), and what still holds for the
whole host.
"""

from collections import Counter
from heapq import heappop, heappush

import pytest

from tests.support.frontiers import OK, POLITENESS, add, make
from tests.support.saving import prepared
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.base.url_text import host_of
from webcrawl.frontier.addresses import Addresses
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.host_queues import Connections
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.figures import HostTurns

REFUSED = Outcome(Status.CONNECT_FAILED, doubtful=True)


def limits(rules=None, **more):
    connections = Connections({"a": 3} if rules is None else rules)
    return Limits(**{"queues": 2, "max_queues": 100, "connections": connections, **more})


def several(db, count=20, *, host="a", now=0.0, rules=None, admission=None, addresses=None, **more):
    """A frontier with so many URLs of a host that may have three requests at once."""
    frontier = make(db, limits(rules, **more), now=now, admission=admission, addresses=addresses)
    add(frontier, *(f"http://{host}/{number}" for number in range(count)))
    return frontier


def taken(frontier, now):
    """All that can be requested at this time, none of it answered."""
    return [*iter(lambda: frontier.take(now), None)]


def answered(frontier, links, now, outcome=OK):
    for link in links:
        frontier.done(link, outcome, now)


def requested(frontier, until, outcome=OK):
    """All requests until then, each answered in its time: [(when, host)]."""
    now, found, flying = 0.0, [], []
    while now < until:
        while (link := frontier.take(now)) is not None:
            found.append((now, host_of(link.url)))
            heappush(flying, (now + outcome.seconds, len(found), link))
        ready = frontier.next_ready()
        if flying and (ready is None or flying[0][0] <= max(ready, now)):
            now, _, link = heappop(flying)
            frontier.done(link, outcome, now)
        elif ready is None:
            break
        else:
            now = max(now, ready)
    return found


class TestAtOnce:
    @pytest.mark.parametrize("most", [1, 2, 4])
    def test_the_rate_is_so_many_times_as_high(self, db, most):
        """In a time in which another host is requested 100 times, it is requested as many times 100."""
        frontier = several(db, 500, rules={"a": most})
        add(frontier, *(f"http://b/{number}" for number in range(200)))

        found = Counter(host for _, host in requested(frontier, 100 * 2.2 - 0.1))

        assert found == {"a": most * 100, "b": 100}

    def test_by_name(self, db):
        """A rule is for a name and all below it, and the most specific one holds."""
        frontier = make(db, limits({"a.org": 4, "b.a.org": 2, "x.b.a.org": 1}))
        names = ("a.org", "c.a.org", "b.a.org", "y.b.a.org", "x.b.a.org", "aa.org")
        for name in names:
            add(frontier, *(f"http://{name}/{number}" for number in range(9)))

        found = Counter(host_of(link.url) for link in taken(frontier, 0))

        assert [found[name] for name in names] == [4, 4, 2, 2, 1, 1]

    def test_with_politeness_per_address(self, db):
        """An address has one request at a time, and so has every host."""
        assert len(taken(several(db, addresses=Addresses()), 0)) == 1

    def test_a_page_budget_is_kept(self, db):
        """No more are in flight than the host may have pages."""
        frontier = several(db, host_pages=4)
        assert len(requested(frontier, 1000)) == 4
        assert len(frontier) == 0

    def test_pages_that_are_fetched_again(self, db):
        """Of a host that has given all its pages, those that it gave before are requested one after
        another.
        """
        frontier = make(db, limits(host_pages=2), revisits=True)
        add(frontier, "http://a/1", "http://a/2")
        answered(frontier, taken(frontier, 0), 0.2)
        frontier.add(
            [Link(f"http://a/old{number}", history="before").pack() for number in range(6)]
        )

        counts = []
        for now in range(1, 12):
            links = taken(frontier, now)
            counts.append(len(links))
            answered(frontier, links, now + 0.2)

        assert counts == [0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0]


class TestAlone:
    def robots(self, db, known):
        """A frontier that asks for robots.txt unless the host is known."""
        prerequisite = Link("http://a/robots.txt", "P")
        return several(
            db, admission=lambda link, now: 0 if known or link.path == "P" else prerequisite
        )

    def test_robots_once_more(self, db):
        """If its rules are too old, what is in flight ends first, and robots.txt is requested
        alone.
        """
        known = ["a"]
        frontier = self.robots(db, known)
        first, second, third = taken(frontier, 0)
        known.clear()
        answered(frontier, [first, second], 1)
        assert not taken(frontier, 100)
        answered(frontier, [third], 100)
        assert [link.path for link in taken(frontier, 200)] == ["P"]

    def test_inline_downloads(self, db):
        """What somebody awaits is asked for when nothing else is, and all waits are over."""
        frontier = several(db)
        first, second, third = taken(frontier, 0)
        image = Link("http://a/image", "E")
        answered(frontier, [first], 1)

        def in_flight(record):
            return (OK, 5.0) if record == second.pack() else None

        assert frontier.lending.lend(image, 5, in_flight) == float("inf")
        answered(frontier, [third], 4)
        assert frontier.lending.lend(image, 5, in_flight) == 7.0
        assert frontier.lending.lend(image, 7, in_flight) is None
        assert not taken(frontier, 100)
        frontier.lending.give_back("a", OK, 8)
        frontier.lending.release("a", 8)
        assert [len(taken(frontier, now)) for now in (9.9, 10)] == [0, 2]


class TestWholeHost:
    def test_a_failure_holds_all_back(self, db):
        """After it the host is asked by one request at a time, when its longer wait is over, until
        it answers.
        """
        frontier = several(db, retry_wait=60)
        first, second, third = taken(frontier, 0)
        frontier.done(first, REFUSED, 1)
        assert not taken(frontier, 60)
        answered(frontier, [second, third], 60, REFUSED)
        (again,) = taken(frontier, 62)
        frontier.done(again, OK, 62)
        assert len(taken(frontier, 200)) == 3

    def test_one_failure_is_counted_once(self, db):
        """Requests that were under way when the host failed say nothing new if they fail too."""
        frontier = several(db, host_failures=3, retry_wait=60)
        links = taken(frontier, 0)
        predicted = []
        for link in links:
            predicted.append(frontier.will_retry(link, REFUSED, 1))
            assert frontier.done(link, REFUSED, 1) is not predicted[-1]

        assert predicted == [True] * 3
        assert frontier.look.record("a")[0] == 1
        assert frontier.next_ready() == 61.0
        assert len(frontier) == 20

    def test_no_url_is_to_blame_alone(self, db):
        """If others fail at the same time, it is not the URL."""
        frontier = several(db, 2, attempts=2)
        for now in (0, 1000):
            answered(frontier, taken(frontier, now), now, Outcome(Status.TIMEOUT))
        assert len(frontier) == 2

    def test_a_name_that_does_not_exist(self, db):
        """It is requested once more after some time, as of any host, however many URLs found that
        out.
        """
        gone = Outcome(Status.DNS_FAILED, permanent=True)
        frontier = several(db)
        answered(frontier, taken(frontier, 0), 1, gone)
        assert len(frontier) == 20

    def test_taken_back(self, db):
        """If it was our own network, the host has not failed and its links have their attempts."""
        frontier = several(db)
        links = taken(frontier, 0)
        answered(frontier, links, 1, REFUSED)

        assert frontier.outage.pardon(0) == 3
        assert frontier.look.record("a")[0] == 0
        assert {link.url for link in taken(frontier, 3)} == {link.url for link in links}

    def test_a_crawl_delay(self, db):
        """A host that wants so many seconds between any two requests is asked by one at a time."""
        frontier = several(db)
        links = taken(frontier, 0)
        frontier.crawl_delay("a", 20)
        answered(frontier, links, 1)
        assert [len(taken(frontier, now)) for now in (20, 21, 100)] == [0, 1, 0]
        frontier.crawl_delay("a", 0)
        assert len(taken(frontier, 100)) == 2

    def test_a_crawl_delay_that_does_not_count(self, db):
        """Unless CRAWL_DELAY_MAX takes it away."""
        frontier = several(db, crawl_delay_max=0)
        frontier.crawl_delay("a", 20)
        assert len(taken(frontier, 0)) == 3

    def test_a_cancelled_download_holds_all_back(self, db):
        """A host that was too slow gets its pause as a whole, and the link comes again."""
        frontier = several(db, 3, retry_wait=60)
        first, second, third = taken(frontier, 0)
        frontier.done(first, Outcome(429, 0.1, wait=500), 1)
        frontier.cancelled(second, 30, 30)
        frontier.done(third, OK, 30)
        assert not taken(frontier, 400)
        assert second.url in {link.url for _ in range(3) for link in taken(frontier, 502 + 60 * _)}


class TestOrders:
    def test_robots_in_flight(self, db):
        """It stays alone when the host gets more connections meanwhile."""
        prerequisite = Link("http://a/robots.txt", "P")
        frontier = several(
            db, rules={}, admission=lambda link, now: 0 if link.path == "P" else prerequisite
        )
        assert taken(frontier, 0) == [prerequisite]
        frontier.change(POLITENESS, limits())
        assert not taken(frontier, 100)

    def test_paused(self, db):
        """Nothing more is asked of a paused host; it is deferred when all that is in flight has
        ended.
        """
        frontier = several(db)
        links = taken(frontier, 0)
        answered(frontier, links[:1], 1)
        frontier.steering.pause(["a"], 1)
        assert not taken(frontier, 100)
        answered(frontier, links[1:], 100)
        assert (
            frontier.core.deferred.hosts,
            frontier.core.deferred.urls,
            len(taken(frontier, 200)),
        ) == (
            1,
            17,
            0,
        )
        frontier.steering.resume("a", 200)
        assert len(taken(frontier, 300)) == 3

    def test_dropped(self, db):
        """Its URLs end at once, and what is in flight is booked when that ends."""
        dropped = []
        frontier = make(db, limits(), dropped=lambda link, status: dropped.append(status))
        add(frontier, *(f"http://a/{number}" for number in range(10)))
        links = taken(frontier, 0)
        answered(frontier, links[:1], 1)
        frontier.steering.drop("a", 1)
        assert not taken(frontier, 2)
        answered(frontier, links[1:], 3)
        assert not taken(frontier, 100)
        assert (dropped, len(frontier)) == ([Status.DROPPED] * 7, 0)

    def test_moves(self, db):
        """A host that leaves for another crawl leaves when its last request has ended."""
        frontier = several(db)
        links = taken(frontier, 0)
        answered(frontier, links[:1], 1)
        frontier.moves.guard(lambda name: name == "a", lambda record: None)
        frontier.moves.freeze()
        assert not taken(frontier, 100)
        answered(frontier, links[1:2], 100)
        assert frontier.moves.busy()
        answered(frontier, links[2:], 100)
        assert not frontier.moves.busy()
        assert len(frontier.core.back) == 0

    def test_seen(self, db):
        """Whoever looks at the host sees how many it may have, and what is in flight."""
        frontier = several(db)
        links = taken(frontier, 0)
        assert all(frontier.look.in_flight(link.url) for link in links)
        facts = frontier.look.facts("a")
        assert (facts.connections, facts.requests) == (3, 3)
        assert (
            HostTurns.of(frontier.look.figures()).active
            == len({host_of(link.url) for link in links})
            < len(links)
        )
        assert frontier.look.facts("b").connections == 1


class TestAfterACrash:
    def test_the_longest_wait_is_kept(self, tmp_path):
        """Which of the waits were over then is not known: the host waits for the last one."""
        db = CrawlDB(tmp_path)
        frontier = several(db, 6)
        first, second, _ = taken(frontier, 0)
        frontier.done(first, Outcome(200, 20.0), 1)
        frontier.done(second, OK, 1)
        prepared(db)
        db.checkpoint()
        db.close()
        db = CrawlDB(tmp_path)
        frontier = make(db, limits(), now=50)
        assert [len(taken(frontier, now)) for now in (200, 201)] == [0, 3]
        db.close()
