"""The health of hosts: whose fault a failure is, how long a host is left alone, what ends its URLs."""

from contextlib import closing
from itertools import pairwise

import pytest

from tests.support.frontiers import OK, add, drain, make
from tests.support.saving import prepared
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.health import DAY, HealthRules
from webcrawl.frontier.hosts import Host
from webcrawl.store.crawldb import CrawlDB

HOUR = 3600.0
REFUSED, LATE, LOST = (
    Outcome(Status.CONNECT_FAILED),
    Outcome(Status.TIMEOUT, 30.0),
    Outcome(Status.CONNECTION_LOST),
)
NO_NAME, NO_ANSWER = (
    Outcome(Status.DNS_FAILED, permanent=True, doubtful=True),
    Outcome(Status.DNS_FAILED),
)
INSIDE = Outcome(Status.EXCLUDED, permanent=True, doubtful=True)  # a name that leads there
BUSY, SLOW_DOWN, BROKEN = Outcome(503, 0.1), Outcome(429, 0.1), Outcome(500, 0.1)
TOLD = Outcome(503, 0.1, wait=1.0)  # with a Retry-After
LIMITS = Limits(2, 10)


def following(frontier, now):
    """The next link, and when it comes."""
    while (link := frontier.take(now)) is None:
        now = max(now, frontier.next_ready())
    return now, link


def fail(frontier, times, outcome=REFUSED, now=0.0):
    """The times of so many requests in a row that all end so."""
    requested = []
    for _ in range(times):
        now, link = following(frontier, now)
        requested.append(now)
        frontier.done(link, outcome, now)
    return requested


def ends(db, limits=LIMITS, **hooks):
    """A frontier, and the statuses with which URLs end that were not asked for, by URL."""
    ended = {}
    return make(
        db, limits, dropped=lambda link, status: ended.__setitem__(link.url, status), **hooks
    ), ended


class TestFault:
    @pytest.mark.parametrize("outcome", [REFUSED, NO_ANSWER, BUSY, SLOW_DOWN])
    def test_the_hosts_fault_uses_up_no_attempt(self, db, outcome):
        """However often its host refuses, is busy or has no address, a URL is tried again with its
        first attempt.
        """
        frontier = make(db)
        add(frontier, "http://a/")
        fail(frontier, 8, outcome)
        assert following(frontier, 0)[1] == Link("http://a/", struck=8)

    @pytest.mark.parametrize("outcome", [Outcome(501), Outcome(505)])
    def test_the_urls_fault_uses_up_an_attempt(self, db, outcome):
        """A URL whose request is answered with an error is tried three times, and its host is
        healthy.
        """
        frontier = make(db)
        add(frontier, "http://a/")
        assert [link.attempt for _, link in drain(frontier, 0, outcome)] == [0, 1, 2]
        assert frontier.counters["hosts deferred"] == 0

    @pytest.mark.parametrize("outcome", [LATE, LOST])
    def test_one_url_that_is_not_answered_is_at_fault(self, db, outcome):
        """A URL without an answer is tried three times, if it is the only one of its host that
        fails.
        """
        frontier = make(db)
        add(frontier, "http://a/good", "http://a/")
        frontier.done(frontier.take(0), OK, 0)
        assert [link.attempt for _, link in drain(frontier, 60, outcome)] == [0, 1, 2]

    @pytest.mark.parametrize("outcome", [LATE, LOST])
    def test_no_url_ends_before_its_host_has_given_a_page(self, db, outcome):
        """While no page of a host is known, nobody can tell its one URL from it: it waits as its
        host does.
        """
        frontier = make(db)
        add(frontier, "http://a/")
        now, link = 0.0, None
        for _ in range(8):
            now, link = following(frontier, now)
            frontier.done(link, outcome, now)
        assert frontier.counters["hosts deferred"] == 1
        now, link = following(frontier, now)
        assert frontier.done(link, OK, now) is True
        assert len(frontier) == 0

    def test_a_url_that_fails_beside_good_ones_ends(self, db):
        """If a host answers others, a URL that it says 503 to is tried twice more; the host does
        not fail.
        """
        frontier = make(db)
        add(frontier, "http://a/bad", *(f"http://a/{number}" for number in range(300)))
        now, requested = 0.0, 0
        while len(frontier):
            now, link = following(frontier, now)
            requested += link.url.endswith("bad")
            frontier.done(link, BUSY if link.url.endswith("bad") else OK, now)
        assert requested == 3
        assert frontier.counters["hosts deferred"] == 0

    def test_it_is_tried_later_each_time(self, db):
        """However its host does meanwhile, each try of a failing URL comes after twice the wait of
        the one before.
        """
        frontier = make(db)
        add(frontier, "http://a/bad", *(f"http://a/{number}" for number in range(300)))
        now, requested = 0.0, []
        while len(frontier):
            now, link = following(frontier, now)
            bad = link.url.endswith("bad")
            requested += [now] * bad
            frontier.done(link, TOLD if bad else OK, now)
        assert all(
            second - first > 59.9 * 2**number
            for number, (first, second) in enumerate(pairwise(requested[:10]))
        )

    def test_a_certificate_is_no_fault_of_the_host(self, db):
        """A URL whose certificate is not accepted ends at once; the host's other URLs do not wait
        for it.
        """
        frontier = make(db)
        add(frontier, "https://a/", "http://a/")
        refused = Outcome(Status.CONNECT_FAILED, permanent=True)
        assert frontier.done(frontier.take(0), refused, 0) is True
        assert frontier.take(1).url == "http://a/"

    @pytest.mark.parametrize("outcome", [BROKEN, Outcome(502), SLOW_DOWN, LATE])
    def test_a_robots_txt_that_cannot_be_read_is_the_hosts_fault(self, db, outcome):
        """Whatever the reason: no URL of the host can be fetched."""
        frontier, ended = ends(
            db,
            Limits(1, 10, patience=HOUR),
            admission=lambda link, now: Link("http://a/robots.txt", "P"),
        )
        add(frontier, "http://a/1", "http://a/2")
        fail(frontier, 5, outcome)
        assert frontier.core.deferred.hosts == 1
        drain(frontier, 1000, outcome)
        assert ended == dict.fromkeys(("http://a/1", "http://a/2"), Status.ROBOTS_UNREACHABLE)

    def test_one_port_that_is_closed_does_not_stop_the_others(self, db):
        """While robots.txt of one origin cannot be had, the URLs of the host's other origins are
        fetched.
        """
        tries = [0.0]

        def admission(link, now):
            if link.url.startswith("http:") or link.path.endswith("P"):
                return None
            return (
                Link("https://a/robots.txt", "P", history="https://a")
                if tries[-1] <= now
                else tries[-1]
            )

        frontier = make(db, admission=admission)
        add(frontier, *(f"http{'s' * (number % 2)}://a/{number}" for number in range(40)))
        now, found = 0.0, []
        for _ in range(80):
            now, link = following(frontier, now)
            if link.path.endswith("P"):
                tries.append(now + 60 * 2 ** len(tries))
                frontier.done(link, REFUSED, now)
            else:
                found.append((now, link.url))
                frontier.done(link, OK, now)
            if len(found) == 20:
                break
        assert {url for _, url in found} == {f"http://a/{number}" for number in range(0, 40, 2)}
        assert found[-1][0] < 3600
        assert len(tries) < 8

    def test_closed_ports_that_anybody_may_link_to_cost_a_wait_each(self, db):
        """After the failure of a new origin the host is asked for a page of a known one: its waits
        do not grow.
        """

        def admission(link, now):
            port = link.url.split("/")[2].partition(":")[2]
            return (
                Link(f"http://a:{port}/robots.txt", "P")
                if port and not link.path.endswith("P")
                else None
            )

        frontier = make(db, admission=admission)
        add(frontier, "http://a/first", *(f"http://a:{8000 + number}/" for number in range(12)))
        add(frontier, *(f"http://a/{number}" for number in range(60)))
        now, found = 0.0, []
        while len(found) < 61:
            now, link = following(frontier, now)
            found += [link.url] if not link.path.endswith("P") else []
            frontier.done(link, REFUSED if link.path.endswith("P") else OK, now)
        assert now < 13 * 70 + 61 * 30


class TestWaits:
    def test_a_retry_after_of_hours_is_waited_for(self, db):
        """Retry-After has a bound of its own, beyond that of a Crawl-delay."""
        frontier = make(db, Limits(1, 10, crawl_delay_max=300))
        add(frontier, "http://a/1", "http://a/2")
        frontier.done(frontier.take(0), Outcome(429, 0.1, wait=3600), 0)
        assert 3600 <= following(frontier, 0)[0] <= 3960

    @pytest.mark.parametrize(("said", "waits"), [(1e8, DAY), (float(10**9), DAY), (5.0, 60.0)])
    def test_retry_after_max_is_the_longest_wait(self, db, said, waits):
        """RETRY_AFTER_MAX is the longest such wait, and what a failed host has to wait the
        shortest.
        """
        frontier = make(db)
        add(frontier, "http://a/1")
        frontier.done(frontier.take(0), Outcome(503, 0.1, wait=said), 0)
        assert waits <= following(frontier, 0)[0] <= 1.1 * waits

    def test_it_outlives_a_kill(self, tmp_path):
        """A crawl that was killed before a checkpoint asks no earlier either, whichever queue its
        host is in.
        """
        with closing(CrawlDB(tmp_path)) as db:
            frontier = make(db)
            add(frontier, "http://a/1", "http://b/1")
            links = [frontier.take(0), frontier.take(0)]
            frontier.done(links[1], OK, 0)
            db.checkpoint()
            frontier.done(links[0], Outcome(429, wait=3600), 0)
            add(frontier, "http://b/2")
            frontier.done(following(frontier, 1)[1], Outcome(503, wait=7200), 5)
        with closing(CrawlDB(tmp_path)) as db:
            frontier = make(db, now=60.0)
            add(frontier, "http://b/2")
            db.checkpoint()
        with closing(CrawlDB(tmp_path)) as db:
            frontier = make(db, now=120.0)
            requested = {link.url: now for now, link in drain(frontier, 120)}
            assert requested["http://a/1"] >= 3600
            assert requested["http://b/2"] >= 7205
        assert not list(tmp_path.glob("told*"))


class TestGivenUp:
    @pytest.mark.parametrize("outcome", [NO_NAME, INSIDE])
    def test_a_host_without_an_address_counts_too(self, db, outcome):
        """A host without an address is given up after its repeat, and counted as given up."""
        frontier, _ = ends(db, Limits(1, 10, patience=HOUR))
        add(frontier, "http://a/1", "http://a/2")
        taken = drain(frontier, 0, outcome)

        assert taken[-1][0] < HOUR
        assert frontier.counters["hosts given up"] == 1

    def test_an_http_status_is_not_that_of_a_url_never_requested(self, db):
        """URLs of a host that only said that it is busy end as those of a host given up."""
        frontier, ended = ends(db, Limits(1, 10, patience=HOUR))
        add(frontier, *(f"http://a/{number}" for number in range(9)))
        drain(frontier, 0, BUSY)
        assert set(ended.values()) == {Status.HOST_RETIRED}

    @pytest.mark.parametrize("waiting", [False, True])
    def test_what_others_wait_for_ends_at_once(self, db, waiting):
        """A URL that others wait for, of a host given up, does not wait for the time when the host
        would be asked.
        """
        frontier, ended = ends(db, Limits(1, 10, patience=HOUR))
        add(frontier, "http://a/1")
        now = drain(frontier, 0, REFUSED)[-1][0]
        frontier.expedite(Link("http://a/robots.txt").pack())
        if waiting:
            frontier.expedite(Link("http://a/other.txt").pack())
        assert frontier.take(now) is None
        assert len(frontier) == 0
        assert ended["http://a/robots.txt"] == Status.CONNECT_FAILED

    def test_a_name_that_does_not_exist_is_requested_twice(self, db):
        """After one repeat, three seconds later, its URLs end."""
        frontier, ended = ends(db)
        add(frontier, "http://a/1", "http://a/2")
        taken = drain(frontier, 0, NO_NAME)
        assert len(taken) == 2
        assert taken[1][0] == 3.0
        assert set(ended.values()) == {Status.DNS_FAILED}

    @pytest.mark.parametrize("outcome", [NO_NAME, INSIDE])
    def test_a_name_that_led_somewhere_before(self, db, outcome):
        """A host that has answered is deferred when its name leads nowhere, and given up after its
        patience only.
        """
        frontier, ended = ends(db, Limits(1, 10, patience=3 * DAY))
        add(frontier, *(f"http://a/{number}" for number in range(20)))
        frontier.done(frontier.take(0), OK, 0)
        now = fail(frontier, 10, outcome, now=10.0)[-1]
        assert (frontier.core.deferred.hosts, len(frontier), ended) == (1, 19, {})
        drain(frontier, now, outcome)
        assert set(ended.values()) == {outcome.status}
        assert frontier.look.facts("a").failed.away >= 3 * DAY

    @pytest.mark.parametrize("outcome", [NO_NAME, INSIDE])
    def test_it_is_still_known_in_the_next_run(self, db, outcome, tmp_path):
        """That a host has been reached is part of its record: a crawl that is resumed does not give
        it up either.
        """
        frontier = make(db)
        add(frontier, "http://a/1", "http://a/2", "http://a/3")
        frontier.done(frontier.take(0), OK, 0)
        now = fail(frontier, 1, outcome, now=10.0)[-1]
        prepared(db)
        db.checkpoint()
        db.close()
        with closing(CrawlDB(tmp_path)) as again:
            frontier, ended = ends(again, now=now + 1)
            assert frontier.look.reached() == ["a"]
            now = fail(frontier, 4, outcome, now=now + 1)[-1]
            assert {link.url for _, link in drain(frontier, now)} == {"http://a/2", "http://a/3"}
        assert not ended

    def test_a_name_that_leads_inside(self, db):
        """A host that was never reached is requested once more after three seconds, then its URLs
        end as excluded.
        """
        frontier, ended = ends(db)
        add(frontier, *(f"http://a/{number}" for number in range(4)))
        taken = drain(frontier, 0, INSIDE)
        assert [at for at, _ in taken] == [0.0, 3.0]
        assert set(ended.values()) == {Status.EXCLUDED}

    def test_an_address_inside(self, db):
        """A URL that names it ends at once, and takes no other with it."""
        frontier, ended = ends(db)
        add(frontier, "http://10.0.0.1/1", "http://10.0.0.1/2")
        taken = drain(frontier, 0, Outcome(Status.EXCLUDED, permanent=True))
        assert (len(taken), taken[1][0] < 60, ended) == (2, True, {})

    def test_a_name_server_that_fails_proves_nothing(self, db):
        """A name that could not be resolved, even right before, is not one that does not exist."""
        frontier, ended = ends(db)
        add(frontier, "http://a/1", "http://a/2")
        fail(frontier, 6, NO_ANSWER)
        fail(frontier, 1, NO_NAME, now=HOUR)
        fail(frontier, 1, NO_ANSWER, now=HOUR)
        assert not ended

    def test_a_stopped_crawl_tries_before_it_gives_up(self, db):
        """Time in which nobody has looked does not count: after a week a host has its chances as
        before.
        """
        frontier = make(db, Limits(1, 10, patience=3 * DAY))
        add(frontier, "http://a/1", "http://a/2")
        now = fail(frontier, 6)[-1]
        requested = fail(frontier, 7, now=now + 7 * DAY)
        assert len(frontier) == 2
        assert requested[-1] - requested[0] > DAY

    def test_a_host_that_asked_for_years(self, db):
        """After a stop, too, no more of its wait counts than RETRY_AFTER_MAX has it left alone."""
        frontier = make(db, Limits(1, 10, host_failures=2, patience=5 * DAY))
        add(frontier, "http://a/1", "http://a/2")
        years = Outcome(503, 0.1, wait=1e8)
        now = fail(frontier, 2, years)[-1]
        fail(frontier, 1, years, now=now + 30 * DAY)
        assert len(frontier) == 2

    def test_what_waits_for_something_else_is_not_away(self):
        """A host that is left alone for two days because its URLs wait is away as long as its
        failure says.
        """
        host, rules = Host("a", None), HealthRules(failures=2, patience=DAY)
        rules.failure(host, Link("http://a/"), REFUSED, 0).apply(host)
        host.ready_at = 2 * DAY
        second = rules.failure(host, Link("http://a/"), REFUSED, 2 * DAY)

        assert second.failed.away <= 120
        assert not second.is_final

    def test_a_page_budget_is_not_forgotten(self, db):
        """A host that has given all its pages does not come back."""
        frontier, ended = ends(db, Limits(1, 10, host_pages=1))
        add(frontier, "http://a/1")
        frontier.done(frontier.take(0), OK, 0)
        add(frontier, "http://a/2")
        assert drain(frontier, 10 * DAY) == []
        assert ended == {"http://a/2": Status.HOST_BUDGET}


class TestResting:
    def test_only_hosts_that_do_not_answer_rest(self, db):
        """A frontier rests while all its URLs are of hosts that have failed since they last
        answered.
        """
        frontier = make(db)
        add(frontier, "http://a/1", "http://a/2")
        assert not frontier.resting()
        now = fail(frontier, 1)[-1]
        assert frontier.resting()  # it fails, and is in its place
        now = fail(frontier, 4, now=now)[-1]
        assert frontier.resting()
        now, link = following(frontier, now)
        assert frontier.resting()
        add(frontier, "http://b/")
        assert not frontier.resting()
        frontier.done(frontier.take(now), OK, now)
        assert frontier.resting()
        frontier.done(link, OK, now)
        assert not frontier.resting()

    def test_a_host_that_is_to_wait_for_hours_is_deferred(self, db):
        """Whatever the reason for which its turn is far away: here its admission says so."""
        frontier = make(db, admission=lambda link, now: None if now >= 5000 else 5000.0)
        add(frontier, "http://a/1")
        assert frontier.take(0) is None
        assert (frontier.core.deferred.urls, len(frontier.core.back), frontier.resting()) == (
            1,
            0,
            True,
        )
        assert 5000 <= following(frontier, 0)[0] <= 5500
