"""What every frontier has to do, whichever the crawl has: ours, a plain FIFO, that of random walks.

Add yours to KINDS.
"""

import inspect
from random import Random

import pytest

from tests.support.examples_of_docs import module_of
from tests.support.walks import KEY, impolite
from webcrawl.base.model import Link, Outcome, Status, unpack
from webcrawl.base.url_text import host_of
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.core import Hooks, Rules, Shape
from webcrawl.frontier.politeness.mercator import Mercator
from webcrawl.frontier.prioritizers.depth import ByDepth
from webcrawl.frontier.protocol import Frontier
from webcrawl.frontier.state import open_frontier
from webcrawl.lab.walks.spider import WalkFrontier
from webcrawl.lab.walks.walkers import Walkers, WalkRules
from webcrawl.store.crawldb import CrawlDB

OK = Outcome(200, 0.2)  # a wait of two seconds
WALKERS = 6


def ours(db, *args, **more):
    return open_frontier(db, *args, **more)


def walk(db, *args, **more):
    walkers = Walkers(
        db, WalkRules(WALKERS, 0.2, "seeds"), Random(1), KEY, lambda _: None, lambda: 0.0
    )
    return open_frontier(
        db, *args, **more, kind=lambda *a, **m: WalkFrontier(*a, **m, walkers=walkers)
    )


KINDS = {"ours": ours, "fifo": module_of("frontier/fifo_frontier.py").FifoFrontier, "walk": walk}
ENDLESS = frozenset(("walk",))  # what is done is followed by more


@pytest.fixture(name="kind", params=KINDS)
def _kind(request):
    return request.param


@pytest.fixture(name="opened")
def _opened(kind, tmp_path):
    """Opens the frontier of this folder, again and again."""
    databases = []

    def open_it(*, now=0.0, limits=None, **hooks):
        if databases:
            databases[-1].close()
        db = CrawlDB(tmp_path)
        databases.append(db)
        rules = Rules(ByDepth(3), Mercator(10, 1, 300), limits or Limits(queues=20, max_queues=100))
        found = KINDS[kind](
            db, Shape(3, 2.0, 1 << 20), rules, Hooks(**hooks), random=Random(1), now=now
        )
        return db, found

    yield open_it
    for db in databases:
        db.close()


@pytest.fixture(name="frontier")
def _frontier(opened):
    return opened()[1]


def add(frontier, *urls):
    frontier.add([Link(url, seed=url).pack() for url in urls])


def later(frontier, now):
    """The next link, and when it came."""
    for _ in range(100):
        link = frontier.take(now)
        if link is not None:
            return now, link
        ready = frontier.next_ready()
        assert ready is not None
        now = max(now, ready)
    raise AssertionError("next_ready promises what take does not give")


def test_it_has_all_that_the_crawl_asks_for(frontier):
    """Every name of the Protocol is there, and every method takes its arguments."""
    names = {
        name
        for kind in Frontier.__mro__
        for name in (*vars(kind), *getattr(kind, "__annotations__", ()))
    }

    for name in names - {"__init__"}:
        if name.startswith("__") and name != "__len__":
            continue
        if name.startswith("_"):
            continue
        requested = inspect.getattr_static(Frontier, name, None)
        found = getattr(frontier, name)
        if inspect.isfunction(requested) and name != "__len__":
            mine = [one.name.lstrip("_") for one in inspect.signature(found).parameters.values()]
            assert mine == [*inspect.signature(requested).parameters][1:], name


class TestPoliteness:
    def test_a_host_is_asked_once_at_a_time(self, frontier):
        """While a URL of a host is out, no other one of that host comes out."""
        add(frontier, "http://a/1", "http://a/2", "https://a:8443/3")

        assert frontier.take(0) is not None
        assert frontier.take(1e9) is None

    def test_it_rests_after_an_answer(self, frontier):
        """The wait of the policy counts from the end of the download, and `next_ready` says when it
        is over.
        """
        add(frontier, "http://a/1", "http://a/2")
        frontier.done(frontier.take(100), Outcome(200, 0.5), 100.5)

        assert frontier.take(105.4) is None
        assert frontier.take(105.5) is not None

    def test_hosts_do_not_wait_for_each_other(self, frontier):
        """Each host has its own turns."""
        add(frontier, *(f"http://{name}/" for name in "abcdefghijkl"))

        hosts = {host_of(frontier.take(0).url) for _ in range(3)}

        assert len(hosts) == 3

    def test_crawl_delay_raises_the_wait(self, frontier):
        """What robots.txt asks for counts if it is longer than the policy's wait, up to the limit."""
        add(frontier, "http://a/1", "http://a/2")
        link = frontier.take(0)
        frontier.crawl_delay("a", 30)
        frontier.done(link, OK, 0.2)

        assert later(frontier, 0.2)[0] == pytest.approx(30.2)

    def test_retry_after_is_kept(self, frontier):
        """A host that asks for ten minutes by Retry-After gets them."""
        add(frontier, "http://a/1", "http://a/2")
        frontier.done(frontier.take(0), Outcome(503, 0.2, wait=600), 0.2)

        assert later(frontier, 0.2)[0] >= 600.2

    def test_retry_after_outlives_a_kill(self, opened):
        """It is kept although no checkpoint has it."""
        db, frontier = opened()
        add(frontier, "http://a/1", "http://a/2")
        link = frontier.take(0)
        db.checkpoint()
        frontier.done(link, Outcome(503, 0.2, wait=600), 0.2)

        _, again = opened(now=1.0)

        assert later(again, 1.0)[0] >= 600

    def test_a_host_that_fails_waits_longer_each_time(self, frontier):
        """The wait is HOST_RETRY_WAIT, doubled for each failure in a row."""
        add(frontier, *(f"http://a/{number}" for number in range(10)))
        now, waits = 0.0, []
        for _ in range(4):
            at, link = later(frontier, now)
            waits.append(at - now)
            now = at
            frontier.done(link, Outcome(Status.CONNECT_FAILED), now)

        assert waits == [0, 60, 120, 240]

    def test_after_a_run_that_was_killed_hosts_wait_their_turn(self, opened):
        """What was requested since the last checkpoint is not known."""
        db, frontier = opened()
        add(frontier, "http://a/1", "http://a/2")
        frontier.done(frontier.take(0), Outcome(200, 1.0), 1.0)
        db.checkpoint()

        _, again = opened(now=50.0)

        assert again.take(55.0) is None
        assert later(again, 50.0)[0] == 60.0


class TestEnds:
    @pytest.mark.parametrize(
        "status", [200, 301, 404, 408, 500, 503, *map(int, (Status.TIMEOUT, Status.DNS_FAILED))]
    )
    def test_it_is_known_whether_a_link_comes_again(self, frontier, status):
        """`will_retry` says what `done` is going to return, and changes nothing."""
        add(frontier, "http://a/1", "http://a/2")
        link, outcome = frontier.take(0), Outcome(status, 0.2)

        said = [frontier.will_retry(link, outcome, 0.2) for _ in range(2)]

        assert said == [not frontier.done(link, outcome, 0.2)] * 2

    def test_a_bad_url_is_not_tried_for_ever(self, frontier, kind):
        """A URL that always fails ends after its attempts."""
        add(frontier, "http://a/1")
        now, tries = later(frontier, 0.0), 1
        while not frontier.done(now[1], Outcome(501, 0.2), now[0] + 0.2):
            now, tries = later(frontier, now[0] + 0.2), tries + 1

        assert tries == 3 or (kind in ENDLESS and 3 < tries <= 3 * WALKERS)  # each of them tries it

    def test_a_spiders_own_number_of_retries_counts(self, frontier):
        """`Outcome.retries` 0 means that it is not tried again."""
        add(frontier, "http://a/1")

        assert frontier.done(frontier.take(0), Outcome(500, 0.2, retries=0), 0.2)

    def test_what_is_put_back_comes_first_and_as_it_was(self, frontier):
        """A lack of ours is charged to nobody: neither attempts nor waits change."""
        add(frontier, "http://a/1", "http://a/2")
        link = frontier.take(0)
        for _ in range(20):
            frontier.put_back(link, 0)
            assert frontier.take(0) == link

        frontier.put_back(link, 0, 30.0)

        assert later(frontier, 0.0) == (30.0, link)

    def test_what_is_cancelled_comes_again_later(self, frontier):
        """The same link, after a wait, without a failure."""
        add(frontier, "http://a/1")
        link = frontier.take(0)

        frontier.cancelled(link, 20.0, 20.0)

        assert later(frontier, 20.0) == (220.0, link)

    def test_what_no_host_was_asked_for_costs_no_wait(self, frontier):
        """A middleware had the answer: the host may be requested at once."""
        add(frontier, "http://a/1", "http://a/2")

        frontier.end_without_request(frontier.take(0), 0)

        assert frontier.take(0) is not None

    def test_a_host_that_is_asked_again(self, frontier):
        """Of a link just taken it is known about when the host may be requested again, if something
        waits there for it.
        """
        add(frontier, "http://a/1")
        link = frontier.take(0)
        frontier.expedite(Link("http://a/robots.txt", "P", history="http://b").pack())

        assert frontier.look.next_turn(link) >= 0

    def test_a_host_that_has_nothing_else(self, frontier):
        """Of a link just taken it is known that nothing else waits for its host."""
        add(frontier, "http://a/1")

        assert frontier.look.next_turn(frontier.take(0)) is None

    def test_what_is_not_out_cannot_end(self, frontier):
        """A second end of the same download is a mistake of the caller's, and is told."""
        add(frontier, "http://a/1", "http://a/2")
        link = frontier.take(0)
        frontier.done(link, OK, 0.2)

        with pytest.raises((ValueError, KeyError)):
            frontier.done(link, OK, 0.2)


class TestAdmission:
    def test_what_is_refused_ends_without_a_request(self, opened, kind):
        """A Status ends the URL, and whoever wants to know is told."""
        told = []
        _, frontier = opened(
            admission=lambda link, _: Status.ROBOTS_FORBIDDEN if "bad" in link.url else None,
            dropped=lambda link, status: told.append((link.url, status)),
        )
        add(frontier, "http://a/bad", "http://b/good")

        taken = [link.url for link in (frontier.take(0) for _ in range(8)) if link is not None]

        assert set(taken) == {"http://b/good"}
        assert set(told) == {("http://a/bad", Status.ROBOTS_FORBIDDEN)}
        assert len(frontier) == (1 if kind not in ENDLESS else WALKERS)

    def test_what_has_to_wait_waits(self, opened):
        """A time keeps the URL until then."""
        _, frontier = opened(admission=lambda _, now: 40.0 if now < 40.0 else None)
        add(frontier, "http://a/1")

        assert frontier.take(0) is None
        assert later(frontier, 0.0)[0] == 40.0

    def test_a_link_that_is_needed_first_comes_first(self, opened):
        """The URL keeps its place while its robots.txt is out."""
        known = []

        def admission(link, _now):
            if link.path.endswith("P") or known:
                return None
            return Link("http://a/robots.txt", link.path + "P", link.url, history="http://a")

        _, frontier = opened(admission=admission)
        add(frontier, "http://a/1")
        before = len(frontier)
        robots = frontier.take(0)
        known.append(True)
        frontier.done(robots, OK, 0.2)

        assert robots.url == "http://a/robots.txt"
        assert len(frontier) == max(before, 1)
        assert later(frontier, 0.2)[1].url == "http://a/1"

    def test_what_others_wait_for_goes_first(self, frontier):
        """An expedited link comes before all others of its host."""
        add(frontier, "http://a/1", "http://a/2")
        frontier.done(frontier.take(0), OK, 0.2)
        frontier.expedite(Link("http://a/robots.txt", "P", history="http://b").pack())

        assert later(frontier, 0.2)[1].url == "http://a/robots.txt"

    def test_what_others_wait_for_goes_before_what_waits(self, opened, kind):
        """An expedited link comes before a URL that was put back for its robots.txt, and has to
        wait for it now.
        """
        if kind in ENDLESS:
            pytest.skip("its walkers wait, not its URLs")
        decisions = iter((Link("http://a/robots.txt", "P", history="http://a"),))
        _, frontier = opened(
            admission=lambda link, now: None if link.is_prerequisite else next(decisions, now + 5.0)
        )
        add(frontier, "http://a/1")
        frontier.done(frontier.take(0), OK, 0.2)
        frontier.expedite(Link("http://a/robots.txt", "P", history="http://b").pack())

        assert later(frontier, 0.2)[1].history == "http://b"


class TestCounts:
    def test_urls_are_counted(self, frontier, kind):
        """What waits and what is out make up the length; all are in the figures."""
        add(frontier, "http://a/1", "http://a/2", "http://b/1")
        frontier.take(0)

        assert frontier.in_flight == 1
        assert len(frontier) == (3 if kind not in ENDLESS else WALKERS)
        assert frontier.look.figures()["queued"] == frontier.queued
        assert {
            "over_budget",
            "hosts",
            "deferred",
            "hosts_deferred",
            "hosts_paused",
            "deferred_due",
        } <= {*frontier.look.figures()}
        assert frontier.counters["taken"] == 1

    def test_an_empty_one_has_nothing_to_say(self, frontier):
        """Without URLs there is nothing to take, ever."""
        assert (len(frontier), frontier.take(0), frontier.next_ready()) == (0, None, None)


class TestCheckpoint:
    def test_what_was_out_comes_out_again(self, opened, kind):
        """A kill brings the frontier back as of the last checkpoint, and loses nothing that was out
        by then.
        """
        db, frontier = opened()
        add(frontier, *(f"http://{name}/1" for name in "abcd"))
        out = [frontier.take(0) for _ in range(3)]
        db.checkpoint()
        for link in out:
            frontier.done(link, OK, 0.2)

        _, again = opened(now=1.0)

        assert len(again) == (4 if kind not in ENDLESS else WALKERS)
        urls, now = set(), 1.0
        for _ in range(4):
            now, link = later(again, now)
            urls.add(link.url)
            again.done(link, OK, now)
        assert {link.url for link in out} <= urls

    def test_what_was_done_by_a_checkpoint_does_not_come_again(self, opened, kind):
        """Each URL is out once, over all runs, unless it is a walker's."""
        if kind in ENDLESS:
            pytest.skip("walkers come back to their pages")
        urls = {f"http://{name}/{number}" for name in "abc" for number in range(4)}
        db, frontier = opened()
        add(frontier, *urls)
        found, now = [], 0.0
        for _ in range(12):
            now, link = later(frontier, now)
            found.append(link.url)
            frontier.done(link, OK, now + 0.2)
            db.checkpoint()
            db, frontier = opened()

        assert sorted(found) == sorted(urls)
        assert len(frontier) == 0

    def test_order_of_a_host_outlives_a_restart(self, opened, kind):
        """URLs of one host and level come out in the order in which they came."""
        if kind in ENDLESS:
            pytest.skip("walkers choose")
        db, frontier = opened()
        add(frontier, *(f"http://a/{number}" for number in range(6)))
        now, found = 0.0, []
        for number in range(6):
            if number == 3:
                db.checkpoint()
                db, frontier = opened()
            now, link = later(frontier, now)
            found.append(link.url)
            frontier.done(link, OK, now + 0.2)

        assert found == [f"http://a/{number}" for number in range(6)]


class History:
    """A frontier to which all that may happen happens at random."""

    def __init__(self, opened, urls, seed):
        self.opened, self.random, self.now = opened, Random(seed), 0.0
        self.limits = Limits(queues=20, max_queues=100, retry_wait=5.0, host_failures=50)
        self.out, self.requested, self.ended, self.kept = [], [], [], []
        self.db, self.frontier = opened(limits=self.limits)
        add(self.frontier, *urls)
        self.checkpoint()

    def step(self):
        self.now += self.random.random()
        (step,) = self.random.choices(
            [self.take, self.end, self.checkpoint, self.kill], [50, 45, 5, 1]
        )
        step()

    def take(self):
        link = self.frontier.take(self.now)
        if link is not None:
            assert host_of(link.url) not in {host_of(other.url) for other in self.out}
            self.out.append(link)
            self.requested.append((self.now, link.url))

    def end(self):
        if not self.out:
            return
        link = self.out.pop(self.random.randrange(len(self.out)))
        what = self.random.random()
        if what < 0.1:
            self.frontier.put_back(link, self.now)
            self.requested = [one for one in self.requested if one[1] != link.url]  # it was not
        elif what < 0.2:
            self.frontier.cancelled(link, 0.1, self.now)
        else:
            self.done(
                link, self.random.choice([200, 200, 200, 404, 500, int(Status.CONNECT_FAILED)])
            )

    def done(self, link, status):
        if self.frontier.done(link, Outcome(status, 0.1), self.now):
            self.ended.append(link.url)

    def checkpoint(self):
        self.db.checkpoint()
        self.kept = [*self.ended]

    def kill(self):
        self.db, self.frontier = self.opened(now=self.now, limits=self.limits)
        self.out, self.ended = [], [*self.kept]

    def finish(self):
        """Fetches all that is left."""
        for link in self.out:
            self.done(link, 200)
        while len(self.frontier):
            self.now, link = later(self.frontier, self.now)
            self.done(link, 200)


@pytest.mark.parametrize("seed", range(6))
def test_any_history_is_polite_and_loses_nothing(opened, kind, seed):
    """Through answers, failures, kills, cancellations and returns hosts are requested one at a
    time, and every URL ends once.
    """
    urls = [f"http://{name}/{number}" for name in "abcdef" for number in range(8)]
    history = History(opened, urls, seed)

    for _ in range(700):
        history.step()

    assert impolite(history.requested, 1.0) == []
    if kind in ENDLESS:
        assert len(history.frontier) == WALKERS
    else:
        history.finish()
        assert sorted(history.ended) == sorted(urls)


def test_a_packed_link_is_what_comes_out(frontier):
    """All that a link brings is there when it comes out, with its host's turn."""
    link = Link("http://a/1", "L", "http://b/", "http://c/", history="", chain="", request="")
    frontier.add([link.pack()])

    found = frontier.take(0)

    # a walk begins there
    assert found == link or found.seed == found.url == unpack(link.pack()).url
