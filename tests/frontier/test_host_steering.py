"""Single hosts by command: paused, requested again at once, given up; never requested earlier than
politeness allows.
"""

from collections import Counter
from contextlib import closing

import pytest

from tests.support.frontiers import OK, add, make
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.base.url_text import host_of
from webcrawl.frontier.addresses import Addresses
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.check_state import check_frontier
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.snapshot import Snapshot

REFUSED, ASKED = Outcome(Status.CONNECT_FAILED), Outcome(503, 0.1, wait=5000.0)
DAY = 86_400.0


@pytest.fixture(name="db")
def _db(tmp_path):
    db = CrawlDB(tmp_path / "state")
    yield db
    db.close()


def damage(folder):
    with Snapshot(folder / "state") as snapshot:
        return list(check_frontier(snapshot, Counter()))


def urls(host, count, start=0):
    return [f"http://{host}/{number}" for number in range(start, start + count)]


def taken(frontier, now, most=100):
    """What can be requested at this time without waiting, none of it answered."""
    found = []
    while len(found) < most and (link := frontier.take(now)) is not None:
        found.append(link.url)
    return found


def drain(frontier, now, most=2000):
    """Takes and finishes URLs for some hours, or until none is left: [(time, link)]."""
    requested, end = [], now + 0.9 * DAY
    while now < end and len(requested) < most:
        link = frontier.take(now)
        if link is None:
            ready = frontier.next_ready()
            now = end if ready is None else max(now + 0.001, ready)
            continue
        requested.append((now, link))
        frontier.done(link, OK, now + OK.seconds)
    return requested


def fail(frontier, times, outcome=REFUSED, now=0.0):
    """When the host was requested last, having failed so often in a row."""
    for _ in range(times):
        while (link := frontier.take(now)) is None:
            now = max(now, frontier.next_ready())
        frontier.done(link, outcome, now)
    return now


class TestPause:
    def test_a_request_under_way_ends(self, db):
        """What is being requested is answered and booked; nothing follows."""
        frontier = make(db)
        add(frontier, *urls("a", 3))
        link = frontier.take(0.0)
        frontier.steering.pause(["a"], 0.1)

        assert frontier.done(link, OK, 0.2)
        assert frontier.take(1000.0) is None
        assert frontier.look.facts("a").state == "paused"

    def test_nobody_borrows_it(self, db):
        """A download that somebody awaits is refused at once."""
        frontier = make(db)
        frontier.steering.pause(["a"], 0.0)

        assert frontier.lending.lend(Link("http://a/x"), 0.0, lambda _: None) == Status.HOST_RETIRED
        frontier.steering.resume("a", 0.0)
        assert frontier.lending.lend(Link("http://a/x"), 0.0, lambda _: None) is None

    def test_what_others_wait_for(self, db):
        """A robots.txt that another host redirects to is not asked of a paused one."""
        frontier = make(db)
        frontier.steering.pause(["a"], 0.0)
        frontier.expedite(Link("http://a/robots.txt", "P", history="http://b").pack())

        assert frontier.take(1000.0) is None

    def test_no_slot_is_kept_for_it(self, db):
        """Hosts that have proven themselves keep no slot from others while they are paused."""
        frontier = make(db, Limits(2, 100, fetchers=2), awaited=lambda: True)
        add(frontier, *urls("a", 5))
        for now in (0.0, 5.0):
            frontier.done(frontier.take(now), OK, now)
        frontier.steering.pause(["a"], 10.0)
        add(frontier, *urls("b", 1), *urls("c", 1))

        assert {host_of(frontier.take(20.0).url) for _ in range(2)} == {"b", "c"}

    def test_sharing_an_address(self, db):
        """A host that waited for its address is not woken while it is paused, and gets its turn
        afterwards.
        """
        frontier = make(db, addresses=Addresses())
        add(frontier, *urls("a", 3), *urls("b", 3))
        for _ in ("a", "b"):
            frontier.done(frontier.take(0.0), Outcome(200, 0.1, ip="1.2.3.4"), 0.1)
        first = frontier.take(50.0)
        assert frontier.take(50.0) is None
        other = "b" if first.url.startswith("http://a") else "a"
        frontier.steering.pause([other], 50.0)
        frontier.done(first, OK, 50.2)

        assert all(other not in link.url for _, link in drain(frontier, 51.0))
        frontier.steering.resume(other, 100.0)
        assert len(drain(frontier, 100.0)) == 2

    def test_the_next_one_of_an_address(self, db):
        """If a host is paused whose turn at its address is the next, those behind it have theirs
        all the same.
        """
        frontier = make(db, Limits(queues=3, max_queues=4), addresses=Addresses())
        add(frontier, *urls("a", 2), *urls("b", 2), *urls("c", 2))
        for link in [frontier.take(0.0) for _ in "abc"]:
            frontier.done(link, Outcome(200, 0.1, ip="1.2.3.4"), 0.1)
        first = frontier.take(150.0)
        assert frontier.take(150.0) is None
        frontier.done(first, OK, 150.0)
        (next_,) = (host.name for host in frontier.core.back.active.values() if host.ticket)
        frontier.steering.pause([next_], 150.0)

        (last,) = {"a", "b", "c"} - {next_, first.url[7]}
        assert [link.url[7] for _, link in drain(frontier, 151.0)] == [last]

    def test_a_checkpoint_in_between(self, tmp_path):
        """The state of a crawl with paused hosts is sound, and holds them again once it is told to."""
        with closing(CrawlDB(tmp_path / "state")) as db:
            frontier = make(db)
            add(frontier, *urls("a", 3), *urls("b", 2))
            frontier.take(0.0)
            frontier.take(0.0)
            frontier.steering.pause(["a"], 0.0)  # in flight: after a kill it is active again
            db.checkpoint()
        assert damage(tmp_path) == []
        with closing(CrawlDB(tmp_path / "state")) as db:
            frontier = make(db, now=10.0)
            frontier.steering.pause(["a"], 10.0)

            assert {link.url[7] for _, link in drain(frontier, 1000.0)} == {"b"}
            assert (frontier.core.deferred.urls, frontier.core.deferred.hosts, len(frontier)) == (
                3,
                1,
                3,
            )
            db.checkpoint()
        assert damage(tmp_path) == []


class TestHive:
    """Hosts change hands among the drones of a hive, each of which knows who is paused."""

    def test_coming(self, db):
        """A paused host that comes from another drone stays paused here."""
        frontier = make(db)
        frontier.steering.pause(["a"], 0.0)
        frontier.moves.urls("a", [Link(url).pack() for url in urls("a", 3)])
        frontier.moves.arrive("a", 0.0)

        assert (
            taken(frontier, 0.0),
            frontier.core.deferred.urls,
            frontier.core.deferred.hosts,
        ) == (
            [],
            3,
            1,
        )
        frontier.steering.resume("a", 0.0)
        assert len(drain(frontier, 0.0)) == 3

    def test_leaving(self, db):
        """It leaves with all its URLs; resumed on its way, nothing of it is requested here."""
        frontier = make(db)
        add(frontier, *urls("a", 3))
        frontier.steering.pause(["a"], 0.0)
        frontier.take(0.0)
        frontier.moves.guard(lambda name: name == "a", lambda _: None)
        frontier.moves.freeze()
        assert frontier.core.is_foreign("a")
        frontier.steering.resume("a", 0.0)
        assert taken(frontier, 10.0) == []

        pieces = [
            piece
            for some in frontier.moves.hosts(lambda name: name == "a", lambda: 0.0)
            for piece in some
        ]
        assert [piece[0] for piece in pieces] == ["urls", "host"]
        assert (frontier.core.deferred.urls, frontier.core.deferred.hosts, len(frontier)) == (
            0,
            0,
            0,
        )


class TestRetry:
    def test_what_it_has_asked_for(self, db):
        """A Retry-After is kept, also one that is shorter than the wait of a host that fails."""
        frontier = make(db)
        add(frontier, *urls("a", 3))
        last = fail(frontier, 9, ASKED)

        assert frontier.steering.retry("a", last + 10.0) == last + 5000.0
        assert [at for at, _ in drain(frontier, last + 10.0, most=1)] == [last + 5000.0]

    def test_what_it_has_asked_for_and_was_dropped(self, db):
        """A Retry-After is kept though the host was dropped meanwhile."""
        frontier = make(db)
        add(frontier, *urls("a", 3))
        last = fail(frontier, 3, ASKED)
        frontier.steering.drop("a", last + 10.0)

        assert frontier.steering.retry("a", last + 20.0) == last + 5000.0

    @pytest.mark.parametrize("outcome", [OK, REFUSED])
    def test_politeness_stays(self, db, outcome):
        """However often it is requested, the host is not requested earlier than its wait after the
        last request allows.
        """
        frontier = make(db, now=0.0)
        frontier.crawl_delay("a", 50.0)
        add(frontier, *urls("a", 3))
        frontier.done(frontier.take(0.0), outcome, 1.0)
        due = [frontier.steering.retry("a", now) for now in (1.0, 2.0, 3.0)]

        assert due == [51.0] * 3
        assert frontier.take(50.9) is None
        assert frontier.take(51.0) is not None

    def test_after_a_crash(self, db):
        """Nobody knows what was requested since the last checkpoint, so a full wait has to pass
        first.
        """
        frontier = make(db)
        add(frontier, *urls("a", 3))
        fail(frontier, 8)
        db.checkpoint()
        frontier = make(db, now=50_000.0)
        frontier.crawl_delay("a", 100.0)

        assert frontier.steering.retry("a", 50_010.0) == 50_100.0

    def test_given_up(self, db):
        """A host that was given up is tried again, with what is found from now on."""
        frontier = make(db)
        add(frontier, *urls("a", 1))
        fail(frontier, 2, Outcome(Status.DNS_FAILED, permanent=True))
        assert frontier.look.facts("a").state == "given up"
        frontier.steering.retry("a", 20_000.0)
        add(frontier, *urls("a", 1, 5))

        assert taken(frontier, 20_000.0) == ["http://a/5"]


class TestDrop:
    def dropping(self, db, **hooks):
        ended = []
        return make(
            db, dropped=lambda link, status: ended.append((link.url, status)), **hooks
        ), ended

    def test_a_host_given_up_then_paused_and_retried(self, db):
        """A host that was paused while its URLs ended is not requested when it is tried again."""
        frontier = make(db, Limits(queues=2, max_queues=100))
        add(frontier, *urls("a", 2))
        frontier.done(frontier.take(0.0), OK, 1.0)
        frontier.steering.drop("a", 1.0)
        frontier.steering.pause(["a"], 1.0)

        frontier.steering.retry("a", 1.0)

        assert (taken(frontier, 1000.0), frontier.core.deferred.hosts) == ([], 1)

    def test_one_that_waits_for_a_place(self, db):
        """Nothing of it is requested any more, and its URLs end when its place comes."""
        frontier, _ = self.dropping(db, limits=Limits(1, 1))
        add(frontier, *urls("a", 1010), *urls("b", 3))
        requested = drain(frontier, 0.0, most=1005)
        parked = "b" if requested[-1][1].url.startswith("http://a") else "a"
        assert frontier.look.facts(parked).state in ("waits for a place", "nothing queued")
        frontier.steering.drop(parked, requested[-1][0])
        after = drain(frontier, requested[-1][0] + 1)

        assert all(parked not in link.url for _, link in after)
        assert len(frontier) == 0

    def test_killed_in_the_middle(self, tmp_path):
        """What had not ended at the last checkpoint ends in the next run; nothing is lost, or ends
        twice.
        """
        with closing(CrawlDB(tmp_path / "state")) as db:
            frontier, ended = self.dropping(db)
            add(frontier, *urls("a", 1000))
            frontier.done(frontier.take(0.0), OK, 0.1)
            frontier.steering.drop("a", 0.1)
            frontier.take(0.2)
            db.checkpoint()
            before = len(ended)
            frontier.take(0.3)
        assert damage(tmp_path) == []
        with closing(CrawlDB(tmp_path / "state")) as db:
            frontier, ended = self.dropping(db, now=10.0)

            assert drain(frontier, 10.0) == []
            assert before + len(ended) == 999


def test_nothing_is_touched_by_a_look(db):
    """A host that nobody knows stays so, and what is looked at is not written again."""
    frontier = make(db)
    add(frontier, *urls("a", 5))
    link = frontier.take(0.0)
    frontier.take(0.0)
    before = repr(frontier.core.hosts)
    found = frontier.look.facts("b")

    assert (found.is_known, found.state) == (False, "nothing queued")
    assert frontier.look.facts("a").in_flight == link.url
    assert [link.url for _, link in frontier.look.first("a", 3, 0.0)] == urls("a", 3, 1)
    assert frontier.queued == 4
    assert repr(frontier.core.hosts) == before
