"""Hosts that may have several requests at once (HOST_CONNECTIONS), and what still holds for the whole host."""

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
from webcrawl.store.jobdir.figures import Turns

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
    """All that can be asked for at this time, none of it answered."""
    return [*iter(lambda: frontier.take(now), None)]


def answered(frontier, links, now, outcome=OK):
    for link in links:
        frontier.done(link, outcome, now)


def asked(frontier, until, outcome=OK):
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
    def test_as_many_as_the_rule_says(self, db):
        """A host with a rule is asked for so many URLs at once, every other host for one."""
        frontier = several(db)
        add(frontier, *(f"http://b/{number}" for number in range(5)))

        assert Counter(host_of(link.url) for link in taken(frontier, 0)) == {"a": 3, "b": 1}
        assert frontier.in_flight == 4

    def test_each_has_its_wait(self, db):
        """One that has ended makes room for another after the host's wait, whatever the others do."""
        frontier = several(db)
        first, second, _ = taken(frontier, 0)
        frontier.done(first, OK, 1)
        frontier.done(second, OK, 2)

        assert [len(taken(frontier, now)) for now in (2.99, 3, 3.99, 4, 100)] == [0, 1, 0, 1, 0]

    @pytest.mark.parametrize("most", [1, 2, 4])
    def test_the_rate_is_so_many_times_as_high(self, db, most):
        """In a time in which another host is asked 100 times, it is asked as many times 100."""
        frontier = several(db, 500, rules={"a": most})
        add(frontier, *(f"http://b/{number}" for number in range(200)))

        found = Counter(host for _, host in asked(frontier, 100 * 2.2 - 0.1))

        assert found == {"a": most * 100, "b": 100}

    def test_by_name(self, db):
        """A rule is for a name and all below it, and the most specific one holds."""
        frontier = make(db, limits({"a.org": 4, "b.a.org": 2, "x.b.a.org": 1}))
        names = ("a.org", "c.a.org", "b.a.org", "y.b.a.org", "x.b.a.org", "aa.org")
        for name in names:
            add(frontier, *(f"http://{name}/{number}" for number in range(9)))

        found = Counter(host_of(link.url) for link in taken(frontier, 0))

        assert [found[name] for name in names] == [4, 4, 2, 2, 1, 1]

    def test_url_by_url(self, db):
        """A URL that comes while others of its host are in flight need not wait for their end."""
        frontier = several(db, 1)
        assert len(taken(frontier, 0)) == 1
        add(frontier, "http://a/more")
        assert len(taken(frontier, 0)) == 1
        frontier.expedite(Link("http://a/now").pack())
        frontier.expedite(Link("http://a/later").pack())
        assert [link.url for link in taken(frontier, 0)] == ["http://a/later"]

    def test_one_url_is_asked_for_once(self, db):
        """Of requests for the same URL only one is in flight."""
        frontier = make(db, limits())
        frontier.add([Link("http://a/1", request=word).pack() for word in ("one", "two")])

        (first,) = taken(frontier, 0)
        answered(frontier, [first], 1)

        (second,) = taken(frontier, 3)
        assert (first.url, first.request != second.request) == (second.url, True)

    def test_with_politeness_per_address(self, db):
        """An address has one request at a time, and so has every host."""
        assert len(taken(several(db, addresses=Addresses()), 0)) == 1

    def test_a_page_budget_is_kept(self, db):
        """No more are in flight than the host may have pages."""
        frontier = several(db, host_pages=4)
        assert len(asked(frontier, 1000)) == 4
        assert len(frontier) == 0

    def test_pages_that_are_fetched_again(self, db):
        """Of a host that has given all its pages, those that it gave before are asked for one after another."""
        frontier = make(db, limits(host_pages=2), revisits=True)
        add(frontier, "http://a/1", "http://a/2")
        answered(frontier, taken(frontier, 0), 0.2)
        frontier.add([Link(f"http://a/old{number}", history="before").pack() for number in range(6)])

        counts = []
        for now in range(1, 12):
            links = taken(frontier, now)
            counts.append(len(links))
            answered(frontier, links, now + 0.2)

        assert counts == [0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0]

    def test_what_was_not_handed_out(self, db):
        """It is an error to end a link that is not in flight."""
        frontier = several(db)
        taken(frontier, 0)
        with pytest.raises(ValueError, match="not handed out: http://a/x"):
            frontier.done(Link("http://a/x"), OK, 1)


class TestAlone:
    def robots(self, db, known):
        """A frontier that asks for robots.txt unless the host is known."""
        prerequisite = Link("http://a/robots.txt", "P")
        return several(db, admission=lambda link, now: 0 if known or link.path == "P" else prerequisite)

    def test_robots_come_first(self, db):
        """Nothing else of the host is asked for until its robots.txt has come."""
        known = []
        frontier = self.robots(db, known)
        (link,) = taken(frontier, 0)
        assert link.path == "P"
        known.append("a")
        assert not taken(frontier, 1)
        answered(frontier, [link], 1)
        assert len(taken(frontier, 100)) == 3

    def test_robots_once_more(self, db):
        """If its rules are too old, what is in flight ends first, and robots.txt is asked for alone."""
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
        """After it the host is asked by one request at a time, when its longer wait is over, until it answers."""
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
        """It is asked for once more after some time, as of any host, however many URLs found that out."""
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

    def test_retry_after(self, db):
        """What the host asks for holds for all of it."""
        frontier = several(db)
        first, second, _ = taken(frontier, 0)
        frontier.done(first, Outcome(200, 0.2, wait=500), 1)
        frontier.done(second, OK, 2)
        assert [len(taken(frontier, now)) for now in (500, 501)] == [0, 2]

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

    def test_a_cut_holds_all_back(self, db):
        """A host that was too slow gets its pause as a whole, and the link comes again."""
        frontier = several(db, 3, retry_wait=60)
        first, second, third = taken(frontier, 0)
        frontier.done(first, Outcome(429, 0.1, wait=500), 1)
        frontier.cut(second, 30, 30)
        frontier.done(third, OK, 30)
        assert not taken(frontier, 400)
        assert second.url in {link.url for _ in range(3) for link in taken(frontier, 502 + 60 * _)}

    def test_put_back(self, db):
        """A link that was not asked for takes no wait with it."""
        frontier = several(db)
        links = taken(frontier, 0)
        frontier.put_back(links[1], 1)
        assert [link.url for link in taken(frontier, 1)] == [links[1].url]
        frontier.put_back(links[0], 1, wait=30)
        assert [len(taken(frontier, now)) for now in (30, 31)] == [0, 1]

    def test_when_it_comes_back(self, db):
        """A host that has run out of URLs waits until all of its waits are over, wherever its record was meanwhile."""
        frontier = several(db, 3)
        first, second, third = taken(frontier, 0)
        answered(frontier, [first], 1, Outcome(200, 10.0))
        answered(frontier, [second, third], 1)
        assert len(frontier.core.back) == 0
        add(frontier, *(f"http://a/again{number}" for number in range(5)))
        assert [len(taken(frontier, now)) for now in (100, 101)] == [0, 3]


class TestOrders:
    def test_fewer(self, db):
        """What is in flight beyond the new number ends as ever; then the host has no more than that."""
        frontier = several(db, rules={"a": 4})
        links = taken(frontier, 0)
        frontier.change(POLITENESS, limits({"a": 2}))
        answered(frontier, links[:2], 1)
        assert not taken(frontier, 100)
        answered(frontier, links[2:3], 100)
        assert [len(taken(frontier, now)) for now in (101, 102)] == [0, 1]
        frontier.change(POLITENESS, limits({"other": 2}))
        frontier.change(POLITENESS, Limits(queues=2, max_queues=100))
        answered(frontier, links[3:], 200)
        assert not taken(frontier, 300)
        assert frontier.in_flight == 1

    def test_more(self, db):
        """A host in flight is asked for more at once."""
        frontier = several(db, rules={})
        assert len(taken(frontier, 0)) == 1
        frontier.change(POLITENESS, limits({"a": 3}))
        assert len(taken(frontier, 0)) == 2
        frontier.steering.set_own({"a": (POLITENESS, limits({"a": 5}))})
        assert len(taken(frontier, 0)) == 2

    def test_robots_in_flight(self, db):
        """It stays alone when the host gets more connections meanwhile."""
        prerequisite = Link("http://a/robots.txt", "P")
        frontier = several(db, rules={}, admission=lambda link, now: 0 if link.path == "P" else prerequisite)
        assert taken(frontier, 0) == [prerequisite]
        frontier.change(POLITENESS, limits())
        assert not taken(frontier, 100)

    def test_paused(self, db):
        """Nothing more is asked of a paused host; it goes aside when all that is in flight has ended."""
        frontier = several(db)
        links = taken(frontier, 0)
        answered(frontier, links[:1], 1)
        frontier.steering.hold(["a"], 1)
        assert not taken(frontier, 100)
        answered(frontier, links[1:], 100)
        assert (frontier.core.aside.hosts, frontier.core.aside.urls, len(taken(frontier, 200))) == (1, 17, 0)
        frontier.steering.let_go("a", 200)
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
        assert Turns.of(frontier.look.figures()).asked == len({host_of(link.url) for link in links}) < len(links)
        assert frontier.look.facts("b").connections == 1


class TestAfterACrash:
    def test_all_in_flight_come_again(self, tmp_path):
        """After kill -9 every URL that was in flight is handed out again, first, and once."""
        db = CrawlDB(tmp_path)
        frontier = several(db, 6)
        links = {link.url for link in taken(frontier, 0)}
        prepared(db)
        db.checkpoint()
        db.close()
        db = CrawlDB(tmp_path)
        frontier = make(db, limits(), now=50)
        assert not taken(frontier, 50)
        again = taken(frontier, 51)
        assert {link.url for link in again} == links
        answered(frontier, again, 52)
        assert len({link.url for link in taken(frontier, 60)} | links) == 6
        db.close()

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
