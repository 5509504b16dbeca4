"""robots.txt in the hosts' turns: what a queue of URLs sees while a robots.txt is unreachable."""

from collections import Counter
from contextlib import closing
from types import SimpleNamespace

import pytest

from tests.support.frontiers import OK, add, make
from webcrawl.base.model import Link, Outcome, Status, unpack
from webcrawl.crawl import admission
from webcrawl.crawl.admission import REDIRECTED_ROBOTS_WAIT, RobotsAdmission, RobotsAnswers
from webcrawl.crawl.inline import InlineDownloads
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.host_rows import RobotsRows
from webcrawl.frontier.politeness.mercator import Mercator
from webcrawl.net.robots_book import RobotsBook
from webcrawl.store.crawldb import CrawlDB

DAY = 86_400.0
MOVED = "http://other/robots.txt"


class Web:
    """A frontier with its robots rules; `answers` says what a robots.txt request of a URL gets at a
    time.
    """

    def __init__(self, db, answers, *, patience=3 * DAY, politeness=None):
        self.db, self.answers = db, answers
        self.dropped, self.pages, self.requested, self.now = [], [], [], 0.0
        self.admission = RobotsAdmission(RobotsBook(RobotsRows(db), "webcrawl", patience=patience))
        limits = Limits(queues=10, max_queues=100, patience=patience)
        self.frontier = make(
            db,
            limits,
            politeness=politeness,
            admission=self.admission.decide,
            dropped=self._dropped,
        )
        uplink = SimpleNamespace(
            robots_fails=lambda origin, status, now: True,
            may_await=lambda now: True,
            awaited=lambda now: None,
        )
        self.answers_to = RobotsAnswers(self.admission, uplink, self.frontier, None)
        self.inline = InlineDownloads(
            self.frontier.lending,
            self.admission,
            lambda: self.now,
            log=None,
            counters=Counter(),
            halfway=None,
            uplink=uplink,
            rests=lambda: False,
            excludes=None,
        )

    def _dropped(self, link, status):
        self.dropped.append(status)
        self.admission.dropped(link)

    def run(self, now, until):
        """Fetches what is due until then; returns the time."""
        while now < until:
            link = self.frontier.take(now)
            if link is None:
                ready = self.frontier.next_ready()
                if ready is None:
                    return until
                now = max(now, ready)
                continue
            if not link.path.endswith("P"):
                self.pages.append(link)
                outcome = OK
            else:
                self.requested.append((now, link.url))
                status, body, location = self.answers(link.url, now)
                outcome = Outcome(status, 0.2)
                self.answers_to.record_answer(link, status, body, location, now + 0.2)
            self.frontier.done(link, outcome, now + 0.2)
        return until


def fails(before, status=500, then=b"", location=None):
    """Fails with this status before that time, then has this robots.txt."""

    def answers(url, now):
        if location and now < before:
            return (301, b"", location) if url != location else (status, b"", None)
        return (status, b"", None) if now < before else (200, then, None)

    return answers


class TestBusyHosts:
    def test_a_file_that_changed_is_requested_again_within_hours(self, db):
        """Of a host with many URLs: after an hour, two, four, while all its URLs are fetched in
        their turns.
        """
        rules = (b"User-agent: *\nDisallow: /before", b"User-agent: *\nDisallow: /after")
        web = Web(
            db, lambda _, now: (200, rules[now >= DAY], None), politeness=Mercator(10, 30, 300)
        )
        add(web.frontier, *(f"http://a/{number}" for number in range(5000)))
        web.run(0, 3 * DAY)

        assert [int(now / 3600) for now, _ in web.requested] == [0, 24, 25, 27, 31, 39]
        assert len(web.pages) == 5000


class TestUnreachable:
    @pytest.mark.parametrize(
        "status", [429, 500, 503, Status.CONNECT_FAILED, Status.TIMEOUT, Status.DNS_FAILED]
    )
    @pytest.mark.parametrize("before", [300, DAY, 2.9 * DAY])
    def test_no_url_is_lost_if_it_comes_within_patience(self, db, status, before):
        """The URLs of a host stay queued, without an attempt used up, and are all fetched once
        robots.txt is there.
        """
        web = Web(db, fails(before, status))
        add(web.frontier, *(f"http://a/{number}" for number in range(100)))
        web.run(0, 4 * DAY)

        assert {(link.url, link.attempt) for link in web.pages} == {
            (f"http://a/{number}", 0) for number in range(100)
        }
        assert (web.dropped, len(web.frontier)) == ([], 0)
        assert len(web.requested) < 15

    def test_they_end_as_unreachable_when_patience_is_over(self, db):
        """When HOST_PATIENCE is over all URLs of the host end, each with its outcome."""
        web = Web(db, fails(100 * DAY))
        add(web.frontier, *(f"http://a/{number}" for number in range(100)))
        web.run(0, 3 * DAY)
        assert (web.dropped, len(web.frontier)) == ([], 100)
        web.run(3 * DAY, 5 * DAY)

        assert (web.dropped, len(web.frontier), web.pages) == (
            [Status.ROBOTS_UNREACHABLE] * 100,
            0,
            [],
        )

    @pytest.mark.parametrize("status", [429, 500, 503, Status.CONNECT_FAILED, Status.TIMEOUT])
    def test_pages_go_on_while_known_rules_are_in_force(self, db, status):
        """If the daily request fails, the host's URLs are fetched or forbidden by the rules known
        before.
        """
        rules = b"User-agent: *\nDisallow: /no"

        def answers(url, now):
            return (200, rules, None) if now < DAY else (status, b"", None)

        web = Web(db, answers)
        add(web.frontier, "http://a/1")
        web.run(0, DAY)
        add(web.frontier, *(f"http://a/{number}" for number in range(2, 100)), "http://a/no")
        web.run(DAY + 1, 1.5 * DAY)

        assert (len(web.pages), web.dropped) == (99, [Status.ROBOTS_FORBIDDEN])

    def test_a_resumed_crawl_goes_on_with_the_same_waits(self, db, tmp_path):
        """Failures and rules in force are part of the checkpoint: after a crash no series begins
        again.
        """
        web = Web(db, fails(100 * DAY))
        add(web.frontier, "http://a/1")
        web.run(0, 0.9 * DAY)
        db.checkpoint()
        db.close()
        with closing(CrawlDB(tmp_path)) as again:
            resumed = Web(again, fails(100 * DAY))
            resumed.run(0.9 * DAY, 5 * DAY)

        assert (len(web.requested), resumed.dropped) == (11, [Status.ROBOTS_UNREACHABLE])
        assert len(resumed.requested) == 3


class TestAwaited:
    def test_nobody_awaits_it_for_long(self, db):
        """A download that somebody awaits is refused after the third failure, and asks again when
        that is due.
        """
        web, link, got = Web(db, fails(DAY)), Link("http://a/1", "E"), []
        for _ in range(4):
            got.append(web.inline.lend(link, lambda _: None))
            if isinstance(got[-1], Link):
                web.answers_to.record_answer(got[-1], 503, b"", None, web.now)
                web.inline.give_back(got[-1], Outcome(503, 0.2, ended=0.0))
            web.now = max(web.frontier.lending.ready_at("a"), web.admission.book.next_try(link.url))
        web.now -= 1

        assert [one.url for one in got[:3]] == ["http://a/robots.txt"] * 3
        assert web.inline.lend(link, lambda _: None) == Status.ROBOTS_UNREACHABLE


class TestOrigins:
    @pytest.mark.parametrize("down", ["http", "https"])
    def test_another_scheme_of_the_host_does_not_wait_with_it(self, db, down):
        """Where only http or only https is up, its URLs are fetched within minutes, wherever in the
        queue they are.
        """
        up = {"http": "https", "https": "http"}[down]
        web = Web(
            db,
            lambda url, now: (
                (Status.CONNECT_FAILED, b"", None) if url.startswith(f"{down}:") else OPEN
            ),
        )
        add(web.frontier, *(f"{down}://a/{number}" for number in range(100)))
        add(web.frontier, *(f"{up}://a/{number}" for number in range(100)))
        web.run(0, 3600)

        assert {link.url for link in web.pages} == {f"{up}://a/{number}" for number in range(100)}
        assert (web.dropped, len(web.frontier)) == ([], 100)

    def test_urls_of_one_origin_keep_their_order(self, db):
        """Those that waited are fetched in the order in which they came."""
        web = Web(db, fails(3600))
        add(web.frontier, *(f"http://a/{number}" for number in range(20)))
        web.run(0, DAY)

        numbers = [int(link.url[9:]) for link in web.pages]
        first = numbers.index(0)
        assert numbers[first:] + numbers[:first] == list(range(20))


OPEN = (404, b"", None)


class TestElsewhere:
    @pytest.mark.parametrize("before", [3600, 2 * DAY])
    def test_a_redirect_to_an_unreachable_host_waits_too(self, db, before):
        """If the host that robots.txt is redirected to is away, the URLs wait for it as for their
        own.
        """
        web = Web(db, fails(before, Status.CONNECT_FAILED, location=MOVED))
        add(web.frontier, *(f"http://a/{number}" for number in range(10)))
        web.run(0, 4 * DAY)

        assert (len(web.pages), web.dropped) == (10, [])

    @pytest.mark.parametrize("port", [0, 1, 25, 6667])
    def test_a_redirect_to_a_port_of_another_service_leads_nowhere(self, db, port):
        """Such a port is never requested, so the file cannot be had: everything is allowed, at once
        (RFC 9309 2.3.1.3).
        """
        web = Web(db, lambda url, now: (301, b"", f"http://other:{port}/robots.txt"))
        add(web.frontier, "http://a/1")
        web.run(0, 60)

        assert [url for _, url in web.requested] == ["http://a/robots.txt"]
        assert [link.url for link in web.pages] == ["http://a/1"]

    def test_another_host_that_is_given_up_keeps_nobody_waiting(self, db):
        """If the request to the other host is dropped, the try has failed, and its URLs need not
        wait for it.
        """
        web, link = Web(db, lambda url, now: OPEN), Link("http://a/1")
        chased = []
        web.admission.record_answer(
            web.admission.decide(link, 0), 301, b"", MOVED, 0, chased.append
        )
        assert web.admission.decide(link, 1) == 6.0
        web.admission.dropped(unpack(chased[0]))

        assert web.admission.decide(link, 6) == 66.0

    def test_rules_are_in_force_when_the_other_host_does_not_answer(self, db):
        """After REDIRECTED_ROBOTS_WAIT seconds without an answer from there, what was known before decides."""
        web = Web(db, lambda url, now: OPEN)
        link = Link("http://a/1")
        for now, answer in ((0, (404, b"", None)), (DAY, (301, b"", MOVED))):
            requested = web.admission.decide(link, now)
            web.admission.record_answer(requested, *answer, now, lambda _: None)

        assert isinstance(web.admission.decide(link, DAY + 1), float)
        assert web.admission.decide(link, DAY + REDIRECTED_ROBOTS_WAIT) is None

    def test_too_many_redirects_at_once_allow_nothing(self, db, monkeypatch):
        """A redirect that cannot be followed for lack of room is tried again later."""
        monkeypatch.setattr(admission, "MOST_CHASES", 2)
        web = Web(db, lambda url, now: OPEN)
        links = [Link(f"http://{name}/1") for name in "abcd"]
        for now, link in zip((0, 0, 1, REDIRECTED_ROBOTS_WAIT), links, strict=True):
            web.admission.record_answer(
                web.admission.decide(link, now), 301, b"", MOVED, now, lambda _: None
            )

        assert [web.admission.book.tries(f"http://{name}") for name in "abcd"] == [0, 0, 1, 0]
        assert web.admission.decide(links[2], 2) == 61.0


class TestCrawlDelay:
    def test_it_is_withdrawn_when_robots_txt_drops_it(self, db):
        """The host's record follows the file: the next day's waits are the usual ones again."""
        web = Web(
            db,
            lambda url, now: (200, b"User-agent: *\nCrawl-delay: 50" if now < DAY else b"", None),
        )
        add(web.frontier, "http://a/1", "http://a/2")
        web.run(0, DAY)
        slow = web.frontier.lending.wait("a")
        add(web.frontier, "http://a/3")
        web.run(DAY + 1, 2 * DAY)

        assert (slow, web.frontier.lending.wait("a")) == (50.0, 2.0)
