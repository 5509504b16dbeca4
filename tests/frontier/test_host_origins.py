"""What is wrong with one origin (scheme, host and port) makes only that origin wait."""

from contextlib import closing
from itertools import pairwise

import msgpack
import pytest

from tests.support.frontiers import OK, add, make
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.crawl.admission import RobotsAdmission
from webcrawl.crawl.hive.batch import Kind
from webcrawl.crawl.hive.batch_check import BatchCheck
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.host_origins import MAX_ORIGINS
from webcrawl.frontier.host_rows import RobotsRows
from webcrawl.net.robots_book import RobotsBook
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.host_row import Health

DEAD = "https://a:8443"
HOUR, DAY = 3600.0, 86_400.0
REFUSED = Outcome(Status.CONNECT_FAILED, 0.1, doubtful=True)


class Web:
    """A frontier with the rules of robots.txt, and a web of which `answers` says what a URL gets at
    a time.
    """

    def __init__(self, db, answers, *, now=0.0, patience=3 * DAY, **more):
        self.answers, self.now, self.ended, self.requested = answers, now, {}, []
        retry_wait = more.get("retry_wait", 60.0)
        book = RobotsBook(RobotsRows(db), "webcrawl", retry_wait=retry_wait, patience=patience)
        self.admission = RobotsAdmission(book)
        limits = Limits(**{"queues": 2, "max_queues": 100, "patience": patience, **more})
        self.frontier = make(db, limits, admission=self.admission.decide, now=now, dropped=self.end)

    def end(self, link, status):
        """A URL has ended without having been requested."""
        self.ended[link.url] = status

    def until(self, until):
        """Asks for what is due until then."""
        while self.now < until:
            link = self.frontier.take(self.now)
            if link is None:
                ready = self.frontier.next_ready()
                if ready is None:
                    break
                self.now = max(self.now, ready)
                continue
            self.ask(link)
        self.now = max(self.now, until)

    def ask(self, link):
        self.requested.append((self.now, link.url))
        outcome = self.answers(link.url, self.now)
        if isinstance(outcome, int):
            outcome = Outcome(outcome, 0.1)
        if link.is_prerequisite:
            self.admission.record_answer(
                link, outcome.status, b"", None, self.now, self.frontier.expedite
            )
        if self.frontier.done(link, outcome, self.now) and not link.is_prerequisite:
            self.ended[link.url] = outcome.status

    def seconds(self, origin):
        """When an origin was asked for anything."""
        return [now for now, url in self.requested if url.startswith(f"{origin}/")]


def dead(*origins, outcome=REFUSED, until=float("inf")):
    """A web in which these origins give no answer, and all others do; a robots.txt is a 404."""

    def answers(url, now):
        if url.startswith(tuple(f"{origin}/" for origin in origins)) and now < until:
            return outcome
        return 404 if url.endswith("/robots.txt") else OK

    return answers


def pages(origin, count):
    return [f"{origin}/{number}" for number in range(count)]


class TestOneOriginIsDead:
    def test_the_pages_of_the_other_do_not_wait_for_it(self, db):
        """A link to a closed port of a host holds up none of its pages, and waits for its own
        origin.

        A front page that linked to https://HOST:closed/login had 8 of 60 pages fetched after 853
        seconds.
        """
        web = Web(db, dead(DEAD))
        add(web.frontier, "http://a/", f"{DEAD}/login", *pages("http://a", 60))
        web.until(300)

        assert {url for url, status in web.ended.items() if status == 200} == {
            "http://a/",
            *pages("http://a", 60),
        }
        assert all(later - before >= 1 for (before, _), (later, _) in pairwise(web.requested))
        assert len(web.frontier) == 1
        gaps = [round(later - before) for before, later in pairwise(web.seconds(DEAD))]
        # A page goes first if both are due.
        assert gaps == pytest.approx([60, 120][: len(gaps)], abs=2)

    @pytest.mark.parametrize("first", [DEAD, "http://a"])
    @pytest.mark.parametrize(
        "outcome", [REFUSED, Outcome(Status.TIMEOUT, 30.0, doubtful=True), Outcome(503, 0.1)]
    )
    def test_whatever_fails_and_whichever_is_dead(self, db, first, outcome):
        """It may be http or https, refuse, be silent or be out of order, and have most URLs of the
        host.
        """
        other = "http://a" if first == DEAD else DEAD
        web = Web(db, dead(first, outcome=outcome))
        add(web.frontier, *pages(first, 40), *pages(other, 40))
        web.until(2 * HOUR)

        assert {url for url, status in web.ended.items() if status == 200} == {*pages(other, 40)}
        assert len(web.frontier) == 40

    def test_two_ports(self, db):
        """Two ports of one host are two origins."""
        web = Web(db, dead("http://a:81"))
        add(web.frontier, *pages("http://a:81", 20), *pages("http://a:82", 20))
        web.until(300)

        assert sorted(web.ended) == sorted(pages("http://a:82", 20))

    def test_only_its_robots_txt_is_out_of_order(self, db):
        """An https whose robots.txt gives 503 waits for it; the http beside it, whose robots.txt is
        fine, does not.
        """
        web = Web(db, lambda url, now: 503 if url == f"{DEAD}/robots.txt" else OK)
        add(
            web.frontier,
            *(
                url
                for pair in zip(pages("http://a", 30), pages(DEAD, 30), strict=True)
                for url in pair
            ),
        )
        web.until(300)

        assert sorted(web.ended) == sorted(pages("http://a", 30))

    def test_a_url_that_comes_later(self, db):
        """A host that has failed with its only origin is asked for a URL of another one as soon as
        it comes.
        """
        web = Web(db, dead(DEAD))
        add(web.frontier, *pages(DEAD, 3))
        web.until(4 * HOUR)
        assert web.ended == {}
        add(web.frontier, "http://a/")
        web.until(web.now + 10)

        assert web.ended == {"http://a/": 200}

    def test_it_comes_back(self, db):
        """Once the origin answers again, all its URLs are fetched."""
        web = Web(db, dead(DEAD, until=HOUR))
        add(web.frontier, *pages("http://a", 10), *pages(DEAD, 10))
        web.until(3 * HOUR)

        assert sorted(web.ended) == sorted(pages("http://a", 10) + pages(DEAD, 10))
        assert set(web.ended.values()) == {200}
        assert len(web.frontier) == 0
        assert web.frontier.core.hosts.get("a").origins is None

    def test_its_patience_ends(self, db):
        """After HOST_PATIENCE its URLs end, and those of the other origin go on."""
        web = Web(db, dead(DEAD), patience=HOUR)
        add(web.frontier, "http://a/0", *pages(DEAD, 5))
        web.until(6 * HOUR)
        add(web.frontier, "http://a/1")
        web.until(7 * HOUR)

        assert {url: web.ended.pop(url) for url in ("http://a/0", "http://a/1")} == dict.fromkeys(
            ("http://a/0", "http://a/1"), 200
        )
        assert sorted(web.ended) == pages(DEAD, 5)
        assert set(web.ended.values()) <= {Status.ROBOTS_UNREACHABLE, Status.CONNECT_FAILED}

    def test_a_name_is_that_of_all_origins(self, db):
        """A host without an address waits with all its origins."""
        web = Web(db, dead(DEAD, outcome=Outcome(Status.DNS_FAILED, 0.1)))
        add(web.frontier, f"{DEAD}/0", *pages("http://a", 3))
        web.until(1)
        web.answers = dead(DEAD, "http://a", outcome=Outcome(Status.DNS_FAILED, 0.1))
        web.until(50)

        assert web.frontier.core.back.active["a"].failures == 1
        assert web.frontier.core.back.active["a"].origins is None

    def test_its_errors_are_not_made_good_by_the_other(self, db):
        """An origin whose pages are 503s for an hour waits for that hour, and all its pages come
        afterwards.

        Good answers of the other origin in between said each time that the host is well, so that
        every page ended after its last attempt.
        """

        def answers(url, now):
            if url.endswith("/robots.txt"):
                return 404
            return Outcome(503, 0.1) if url.startswith(DEAD) and now < HOUR else OK

        web = Web(db, answers)
        add(
            web.frontier,
            *(
                one
                for both in zip(pages("http://a", 40), pages(DEAD, 40), strict=True)
                for one in both
            ),
        )
        web.until(3 * HOUR)

        assert [url for url, status in web.ended.items() if status != 200] == []
        assert len(web.ended) == 80
        assert sum(at < HOUR for at in web.seconds(DEAD)) < 20

    def test_too_many_requests_is_said_to_the_crawler(self, db):
        """A 429 makes the host wait, whichever origin says it."""
        web = Web(db, dead(DEAD, outcome=Outcome(429, 0.1)))
        add(web.frontier, f"{DEAD}/0", *pages("http://a", 3))
        web.until(50)

        assert len(web.requested) == 1


class TestAllAreDead:
    def test_the_host_is_deferred(self, db):
        """A host all of whose origins fail is deferred after HOST_MAX_FAILURES of each."""
        web = Web(db, dead(DEAD, "http://a"), retry_wait=1.0)
        add(web.frontier, *pages("http://a", 3), *pages(DEAD, 3))
        web.until(40)

        figures = web.frontier.look.figures()
        assert (figures["deferred"], figures["hosts_deferred"]) == (6, 1)
        assert web.frontier.resting()

    def test_one_that_comes_back_is_served(self, db):
        """The first origin that answers again does not wait for the other one."""
        web = Web(db, dead(DEAD, "http://a"))
        add(web.frontier, *pages("http://a", 30), *pages(DEAD, 30))
        web.until(HOUR)
        web.answers = dead("http://a")
        web.until(3 * HOUR)

        assert sorted(web.ended) == sorted(pages(DEAD, 30))


class TestManyPorts:
    def test_their_records_are_bounded(self, db):
        """A host with links to very many closed ports has a bounded number of records, and its
        pages are fetched.
        """
        ports = [f"http://a:{port}" for port in range(1000, 1300)]
        web = Web(db, dead(*ports))
        add(web.frontier, "http://a/", *(f"{port}/" for port in ports), *pages("http://a", 20))
        web.until(HOUR)

        assert {url for url, status in web.ended.items() if status == 200} == {
            "http://a/",
            *pages("http://a", 20),
        }
        with web.frontier.core.opened("a") as host:
            assert len(host.origins) == MAX_ORIGINS + 1
            assert host.waiting() == len(web.frontier) == 300

    def test_pages_have_every_second_turn(self, db):
        """Ports that are tried in vain for 15 seconds each, and again and again, hold up no page for
        longer than one of them takes, however many there are and although they are found first.
        """
        ports = [f"http://a:{port}" for port in range(1000, 1200)]
        unreachable = dead(*ports)

        def answers(url, now):
            outcome = unreachable(url, now)
            web.now += 15 if outcome is REFUSED else 0
            return outcome

        web = Web(db, answers)
        add(web.frontier, "http://a/")
        web.until(5)
        add(web.frontier, *(f"{port}/" for port in ports), *pages("http://a", 30))
        web.until(600)

        assert {*pages("http://a", 30)} <= {*web.ended}

    def test_one_of_them_that_answers_is_fetched(self, db):
        """What waits together with others is tried in turns, and fetched once it answers."""
        ports = [f"http://a:{port}" for port in range(1000, 1040)]
        web = Web(db, dead(*ports, until=10 * HOUR))
        add(web.frontier, *(f"{port}/" for port in ports))
        web.until(3 * DAY)

        assert sorted(web.ended) == sorted(f"{port}/" for port in ports)
        assert set(web.ended.values()) == {200}


class TestState:
    def test_a_crash_and_a_resume(self, tmp_path):
        """After a kill each URL is where it was: those of the dead origin wait, those of the other
        one go on.
        """
        path = tmp_path / "crawl.db"
        with closing(CrawlDB(path)) as db:
            web = Web(db, dead(DEAD))
            add(web.frontier, *pages(DEAD, 5), *pages("http://a", 30))
            web.until(45)
            db.checkpoint()
            done = set(web.ended)
            web.until(47)  # is lost
        with closing(CrawlDB(path)) as db:
            again = Web(db, dead(DEAD), now=50.0)
            again.until(200)
            assert done | set(again.ended) == {*pages("http://a", 30)}
            assert len(again.frontier) == 5
            assert min(again.seconds(DEAD), default=999) > 55
            again.answers = dead()
            again.until(4 * HOUR)
            assert {*pages(DEAD, 5)} <= set(again.ended)

    def test_priorities_are_kept(self, db):
        """URLs that wait for their origin keep their order by priority."""
        web = Web(db, dead(DEAD, until=HOUR))
        add(web.frontier, *pages("http://a", 3))
        web.frontier.add(
            [Link(f"{DEAD}/{number}", request=f"{number % 2}.1").pack() for number in range(10)]
        )
        web.until(4 * HOUR)

        order = [
            url
            for _, url in web.requested
            if url.startswith(DEAD) and not url.endswith("robots.txt")
        ]
        assert [int(url[-1]) % 2 for url in order] == [1] * 5 + [0] * 5


def test_an_outage_of_our_own_is_taken_back(db):
    """What our own network's outage has charged to an origin is forgiven."""
    web = Web(db, dead(DEAD))
    add(web.frontier, f"{DEAD}/0", *pages("http://a", 3))
    web.until(1)
    assert web.frontier.core.back.active["a"].origins
    web.frontier.outage.pardon(0.0)

    assert all(one.failures == 0 for one in web.frontier.core.back.active["a"].origins.values())


def test_the_wait_names_its_origin(db):
    """Scheme, host and port of what is waited for are named, and why."""
    web = Web(db, dead(DEAD))
    add(web.frontier, f"{DEAD}/0", *pages("http://a", 3))
    web.until(30)

    assert str(web.frontier.look.waits(30)).endswith(f"after no connection from {DEAD}/robots.txt")
    (origin,) = web.frontier.look.facts("a").origins
    assert (origin.origin, origin.health, origin.queued) == (DEAD, Health.FAILING, 1)


def test_a_dead_origin_is_no_sign_of_an_outage_of_our_own(db):
    """While an origin that has failed is requested again, its host counts as one that fails."""
    web = Web(db, dead(DEAD))
    add(web.frontier, f"{DEAD}/0", *pages("http://a", 3))
    web.until(59)
    while (link := web.frontier.take(web.now)) is None:
        web.now = max(web.now, web.frontier.next_ready())

    assert link.url == f"{DEAD}/robots.txt"
    assert web.frontier.look.record("a")[0] == 1


def test_an_awaited_download_is_its_origins_too(db):
    """What is lent for a URL of a dead origin makes that origin wait, and pages of the other one go
    on.
    """
    web = Web(db, dead(DEAD))
    web.admission.decide = lambda link, now: None
    web.frontier.core.admission = None
    add(web.frontier, *pages("http://a", 10))
    link, lending = Link(f"{DEAD}/0"), web.frontier.lending
    assert lending.lend(link, 0.0, lambda record: None) is None
    lending.give_back("a", REFUSED, 0.1)
    lending.release("a", 0.1)
    web.until(30)

    assert sorted(web.ended) == sorted(pages("http://a", 10))
    assert lending.lend(link, 30.0, lambda record: None) == pytest.approx(60.1)


def test_it_goes_to_another_drone_with_its_host(tmp_path):
    """A host that moves to another crawl of the hive takes its dead origin along, and all of its
    URLs.
    """
    with (
        closing(CrawlDB(tmp_path / "here.db")) as here,
        closing(CrawlDB(tmp_path / "there.db")) as there,
    ):
        web = Web(here, dead(DEAD))
        add(web.frontier, *pages(DEAD, 5), *pages("http://a", 30))
        web.until(45)
        left = len(web.frontier)
        web.frontier.moves.guard(lambda name: True, lambda record: None)
        web.frontier.moves.freeze()
        pieces = [
            piece
            for slice_ in web.frontier.moves.hosts(lambda name: True, lambda: 45.0)
            for piece in slice_
        ]
        assert len(web.frontier) == 0

        other = Web(there, dead(DEAD), now=50.0)
        items = msgpack.unpackb(msgpack.packb([[0, *piece] for piece in pieces]))
        sound = BatchCheck().sound_items(Kind.SLOT, items, 1)
        assert len(sound) == len(pieces)
        for _, kind, name, value in sound:
            if kind == "urls":
                other.frontier.moves.urls(name, value)
            elif kind == "later":
                other.frontier.moves.later(name, value, 50.0)
            else:
                other.frontier.moves.host(value, 50.0)
        other.frontier.moves.arrive("a", 50.0)
        assert len(other.frontier) == left
        with other.frontier.core.opened("a") as host:
            (one,) = host.origins.values()
            assert (one.origin, one.failures) == (DEAD, 1)
        other.until(100)

        assert sorted({*web.ended, *other.ended}) == sorted(pages("http://a", 30))
        assert len(other.frontier) == 5
