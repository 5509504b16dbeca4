"""The verdicts for the scheduler, from the first request to the next day."""

from contextlib import closing

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.support.examples import examples
from webcrawl.base.model import Status
from webcrawl.frontier.host_rows import RobotsRows
from webcrawl.net import robots_book
from webcrawl.net.robots_book import RobotsBook, RobotsDecision
from webcrawl.net.robots_entry import KEEP, MAX_HOPS, RobotsEffect, follows, meaning
from webcrawl.store.crawldb import CrawlDB

A = "http://a.test"
DAY = 86_400.0
SOME = b"User-agent: *\nDisallow: /x\nCrawl-delay: 3\nSitemap: http://a.test/s.xml"
WITHOUT_ANSWER = [
    Status.DNS_FAILED,
    Status.CONNECT_FAILED,
    Status.CONNECTION_LOST,
    Status.TIMEOUT,
    Status.UNEXPECTED,
]


class Table(dict):
    """RobotsRows' methods; a sweep deletes everything it may at once."""

    reads = 0

    def robots(self, origin):
        self.reads += 1
        return self.get(origin)

    def set_robots(self, origin, until, rules):
        self[origin] = (until, rules)

    def sweep(self, before):
        for origin in [origin for origin, (until, _) in self.items() if until < before]:
            del self[origin]


def _book(table=None, **options):
    return RobotsBook(Table() if table is None else table, "webcrawl", **options)


def _fail(book, status, times, *, now=0.0, path="/"):
    """Fails so often, whenever it is to be fetched: ((verdict before the next time, and then),
    wait) of each.
    """
    steps = []
    for _ in range(times):
        book.record_answer(A, status, b"", now)
        until = book.next_try(A + path)
        steps.append(
            ((book.verdict(A + path, until - 0.5), book.verdict(A + path, until)), until - now)
        )
        now = until
    return steps


class TestMeanings:
    @pytest.mark.parametrize(
        ("statuses", "expected"),
        [
            ([200, 204, 206, 299], RobotsEffect.READ),
            ([301, 304, 308, 399], RobotsEffect.OPEN),
            ([400, 401, 403, 404, 410, 428, 430, 451], RobotsEffect.OPEN),
            ([429, 500, 503, 599, 100, 600, 0, *WITHOUT_ANSWER], RobotsEffect.SHUT),
        ],
    )
    def test_each_status_has_a_meaning(self, statuses, expected):
        """2xx is read, 3xx as a last hop and 4xx but 429 allow everything, after anything else it
        is unreachable.
        """
        assert {meaning(status) for status in statuses} == {expected}

    def test_redirects_are_followed_so_many_times(self):
        """Five hops and no more, and only for redirects."""
        assert [hops for hops in range(9) if follows(301, hops)] == list(range(MAX_HOPS))
        assert [status for status in range(200, 600) if follows(status, 0)] == [
            301,
            302,
            303,
            307,
            308,
        ]


class TestVerdicts:
    @pytest.mark.parametrize("url", [f"{A}/robots.txt", "gopher://a.test/1"])
    def test_some_urls_need_no_robots(self, url):
        """robots.txt itself is allowed, and so are URLs to which RFC 9309 does not apply."""
        assert _book().verdict(url, 0) is RobotsDecision.ALLOWED

    def test_rules_are_obeyed_for_a_day(self):
        """A file's rules are valid for 24 hours, then it is fetched again."""
        book = _book()
        heard = book.record_answer(A, 200, SOME, 1000.0)

        assert (heard.meaning, heard.crawl_delay, heard.sitemaps) == (
            RobotsEffect.READ,
            3.0,
            ["http://a.test/s.xml"],
        )
        assert book.verdict(f"{A}/x", 1000.0) is RobotsDecision.FORBIDDEN
        assert book.verdict(f"{A}/y", 1000.0 + KEEP - 1) is RobotsDecision.ALLOWED
        assert book.verdict(f"{A}/y", 1000.0 + KEEP) is RobotsDecision.FETCH

    @pytest.mark.parametrize("status", [404, 403, 301])
    def test_the_body_of_an_error_page_is_no_robots(self, status):
        """Without a robots.txt everything is allowed, whatever the error page says."""
        book = _book()
        heard = book.record_answer(A, status, b"User-agent: *\nDisallow: /\nSitemap: /s", 0)

        assert book.verdict(f"{A}/x", 1) is RobotsDecision.ALLOWED
        assert heard.sitemaps == []


class TestUnreachable:
    @pytest.mark.parametrize("status", [429, 503, *WITHOUT_ANSWER])
    def test_without_rules_nothing_is_allowed_and_the_waits_double(self, status):
        """A robots.txt that was never had is requested again later and later, once a day in the
        end.
        """
        steps = _fail(_book(retry_wait=60, patience=10 * DAY), status, 13)

        assert [verdicts for verdicts, _ in steps] == [
            (RobotsDecision.WAIT, RobotsDecision.FETCH)
        ] * 13
        assert [wait for _, wait in steps] == [60 * 2**doubled for doubled in range(11)] + [
            DAY,
            DAY,
        ]

    def test_it_is_given_up_when_patience_is_over(self):
        """The last try is made when HOST_PATIENCE ends; then the host's URLs end, for a day."""
        steps = _fail(_book(retry_wait=60, patience=3 * DAY), 503, 14)

        assert sum(wait for _, wait in steps[:-1]) == 3 * DAY
        assert [verdicts[0] for verdicts, _ in steps] == [RobotsDecision.WAIT] * 13 + [
            RobotsDecision.UNREACHABLE
        ]
        assert steps[-1] == ((RobotsDecision.UNREACHABLE, RobotsDecision.FETCH), DAY)

    def test_without_patience_it_is_given_up_after_three_tries(self):
        """However short HOST_PATIENCE is, three tries are made."""
        steps = _fail(_book(retry_wait=60, patience=0), 503, 3)

        assert [(verdicts[0], wait) for verdicts, wait in steps] == [
            (RobotsDecision.WAIT, 60),
            (RobotsDecision.WAIT, 120),
            (RobotsDecision.UNREACHABLE, DAY),
        ]

    def test_what_was_given_up_gets_as_much_patience_again(self):
        """A failure after the day for which an origin is given up is the first of a new series."""
        book = _book(retry_wait=60, patience=0)
        _fail(book, 503, 3)
        book.record_answer(A, 503, b"", 180 + DAY)

        assert book.verdict(f"{A}/", 181 + DAY) is RobotsDecision.WAIT
        assert book.next_try(f"{A}/") == 240 + DAY

    @pytest.mark.parametrize("status", [429, 503, *WITHOUT_ANSWER])
    def test_rules_stay_in_force(self, status):
        """If the daily request fails, the rules known before decide (RFC 9309 2.4), with a new try
        later and later.
        """
        book = _book(retry_wait=60, patience=3 * DAY)
        book.record_answer(A, 200, SOME, 0)
        steps = _fail(book, status, 14, now=DAY, path="/y")

        assert [verdicts[0] for verdicts, _ in steps] == [RobotsDecision.ALLOWED] * 13 + [
            RobotsDecision.UNREACHABLE
        ]
        assert [wait for _, wait in steps[:3]] == [60, 120, 240]
        assert sum(wait for _, wait in steps[:13]) == 3 * DAY

    def test_a_url_goes_before_each_new_try(self):
        """However late the host has its next turn, up to a day, one URL that the rules allow
        precedes the next try.
        """
        for late, verdicts in (
            (0, [RobotsDecision.ALLOWED, RobotsDecision.FETCH]),
            (DAY, [RobotsDecision.FETCH, RobotsDecision.FETCH]),
        ):
            book = _book()
            book.record_answer(A, 200, SOME, 0)
            book.record_answer(A, 503, b"", DAY)
            now = book.next_try(f"{A}/y") + late

            assert [book.verdict(f"{A}/y", now) for _ in range(2)] == verdicts

    def test_old_rules_come_into_force_for_some_days(self):
        """Rules that expired longer ago than HOST_PATIENCE count no more, whether their row is
        still there or not.
        """
        for late, verdict in ((0, RobotsDecision.ALLOWED), (1, RobotsDecision.WAIT)):
            book = _book(patience=3 * DAY)
            book.record_answer(A, 200, SOME, 0)
            now = 4 * DAY + late
            book.record_answer(A, 503, b"", now)

            assert book.verdict(f"{A}/y", now + 1) is verdict

    def test_who_is_asked_seldom_is_not_away_in_between(self):
        """A host whose URLs are far apart may meet one bad hour after the other, and was not away
        all the time.
        """
        book, now = _book(retry_wait=60, patience=3 * DAY), 0.0
        for _ in range(6):
            book.record_answer(A, 503, b"", now)
            now += 1.2 * DAY

        assert book.tries(A) == 6

    @pytest.mark.parametrize("stopped", [2.5 * DAY, 7 * DAY])
    def test_time_in_which_nobody_asked_is_no_absence(self, stopped):
        """A crawl that was stopped for days asks again, before it gives up what was away then."""
        book = _book(retry_wait=60, patience=3 * DAY)
        now = sum(wait for _, wait in _fail(book, 503, 11)) + stopped
        steps = _fail(book, 503, 14, now=now)

        given_up = [verdicts[0] for verdicts, _ in steps].index(RobotsDecision.UNREACHABLE)
        assert sum(wait for _, wait in steps[:given_up]) > DAY / 2

    def test_somebody_who_awaits_an_answer_is_told_sooner(self):
        """After the third failure without rules nobody should await a URL of the origin."""
        book, known = _book(), _book()
        known.record_answer(A, 404, b"", 0)
        gone = []
        for now in range(3):
            gone.append(book.is_gone(f"{A}/"))
            for one in (book, known):
                one.record_answer(A, 503, b"", now)

        assert (gone, book.is_gone(f"{A}/"), known.is_gone(f"{A}/")) == ([False] * 3, True, False)


class TestCrawlDelay:
    def test_it_is_withdrawn_with_the_file_that_names_it(self):
        """Each answer says what the Crawl-delay is now: 0 if it names none, or if there is no
        robots.txt any more.
        """
        book = _book()

        assert [
            book.record_answer(A, *answer, now).crawl_delay
            for now, answer in enumerate([(200, SOME), (200, b"")])
        ] == [
            3.0,
            0.0,
        ]
        assert book.record_answer(A, 200, SOME, 2).crawl_delay == 3.0
        assert book.record_answer(A, 404, b"", 3).crawl_delay == 0.0

    def test_a_failure_says_nothing_of_it(self):
        """While robots.txt is unreachable the host's Crawl-delay stays as it is."""
        book = _book()
        book.record_answer(A, 200, SOME, 0)

        assert book.record_answer(A, 503, b"", DAY).crawl_delay is None

    def test_http_and_https_share_the_longer_one(self):
        """The host has one turn for both, so what one of them asks for holds while its rules are
        valid.
        """
        book, secure = _book(), A.replace("http", "https")
        book.record_answer(A, 200, SOME, 0)

        assert book.record_answer(secure, 200, b"", 1).crawl_delay == 3.0
        assert book.record_answer(secure, 200, SOME.replace(b"3", b"7"), 2).crawl_delay == 7.0
        assert book.record_answer(A, 200, b"", 3).crawl_delay == 7.0
        assert book.record_answer(secure, 200, b"", 4).crawl_delay == 0.0
        assert book.record_answer("http://b.test", 200, b"", 5).crawl_delay == 0.0


class TestKept:
    def test_rules_for_another_name_are_not_in_force(self):
        """A crawler with another name has no rules at hand, but knows that robots.txt is
        unreachable.
        """
        table = Table()
        for status, now in ((200, 0), (500, DAY)):
            _book(table).record_answer(A, status, SOME, now)

        assert RobotsBook(table, "other").verdict(f"{A}/y", DAY + 1) is RobotsDecision.WAIT

    def test_a_crawler_with_another_name_asks_again(self):
        """Rules that were read for another product token are not used."""
        table = Table()
        _book(table).record_answer(A, 200, SOME, 0)

        assert RobotsBook(table, "other").verdict(f"{A}/x", 1) is RobotsDecision.FETCH

    def test_rules_in_use_are_not_read_again(self):
        """While an origin is in memory the table is not read."""
        table = Table()
        _book(table).record_answer(A, 200, SOME, 0)
        table.reads = 0
        book = _book(table)
        for _ in range(5):
            book.verdict(f"{A}/x", 1)

        assert (table.reads, book.counters["loaded"]) == (1, 1)

    def test_a_new_host_is_looked_for_once(self):
        """That nothing is stored of an origin, or of the other scheme of its host, is remembered
        until that changes.
        """
        table = Table()
        book = _book(table)
        for _ in range(3):
            assert book.verdict(f"{A}/x", 1) is RobotsDecision.FETCH
            assert (book.tries(A), any(book.validators(A))) == (0, False)
        book.record_answer(A, 200, SOME, 1)
        book.record_answer(A, 200, SOME, 1)

        assert table.reads == 2
        assert book.verdict(f"{A}/x", 2) is RobotsDecision.FORBIDDEN

    def test_what_is_restored_is_read(self):
        """A row that is put back is found, though nothing was stored before."""
        table = Table()
        _book(table).record_answer(A, 200, SOME, 0)
        row, book = table.pop(A), _book(table)
        assert book.verdict(f"{A}/x", 1) is RobotsDecision.FETCH
        book.restore(A, row)

        assert book.verdict(f"{A}/x", 1) is RobotsDecision.FORBIDDEN

    def test_what_is_not_stored_is_remembered_in_bounds(self, monkeypatch):
        """However many hosts have no row, few are remembered, and each verdict is right."""
        monkeypatch.setattr(robots_book, "ABSENT_ORIGINS_KEPT", 3)
        table = Table()
        book = _book(table)
        for number in (*range(10), 9, 0):
            assert book.verdict(f"http://h{number}.test/", 1) is RobotsDecision.FETCH

        assert table.reads == 11

    def test_the_frontiers_table_keeps_them(self, tmp_path):
        """Rules are stored in the crawl's database, and are still there after a checkpoint."""
        for checkpoint in (True, False):
            with closing(CrawlDB(tmp_path)) as db:
                book = _book(RobotsRows(db))
                if checkpoint:
                    book.record_answer(A, 200, SOME, 0)
                    db.checkpoint()
                assert book.verdict(f"{A}/x", 1) is RobotsDecision.FORBIDDEN


class TestMemory:
    def test_memory_is_bounded_by_weight(self):
        """However many rules there are, those in memory stay within the budget, and no verdict
        changes.
        """
        book = _book(memory=20_000)
        origins = [f"http://h{number}.test" for number in range(200)]
        for origin in origins:
            book.record_answer(origin, 200, SOME, 0)

        assert 0 < len(book) < 40
        assert {book.verdict(f"{origin}/x", 1) for origin in origins} == {RobotsDecision.FORBIDDEN}
        assert 0 < len(book) < 40

    def test_memory_is_bounded_by_number(self, monkeypatch):
        """At most HOSTS origins are in memory, the most recently used ones."""
        monkeypatch.setattr(robots_book, "HOSTS", 3)
        table = Table()
        book = _book(table)
        for name in "abcd":
            book.record_answer(f"http://{name}.test", 404, b"", 0)
        table.reads = 0
        for name in "bcd":
            book.verdict(f"http://{name}.test/", 1)

        assert (len(book), table.reads) == (3, 0)

    def test_what_is_used_stays(self, monkeypatch):
        """The least recently used origin is evicted."""
        monkeypatch.setattr(robots_book, "HOSTS", 2)
        table = Table()
        book = _book(table)
        book.record_answer("http://a.test", 404, b"", 0)
        book.record_answer("http://b.test", 404, b"", 0)
        book.verdict("http://a.test/", 1)
        book.record_answer("http://c.test", 404, b"", 0)
        table.reads = 0
        book.verdict("http://a.test/", 1)

        assert table.reads == 0


class Twin(RuleBasedStateMachine):
    """The book against a dict that forgets nothing, reopened at any moment, with a table that
    forgets at once.
    """

    def __init__(self):
        super().__init__()
        self.table, self.now, self.known, self.owed = Table(), 0.0, {}, set()
        self.reopen()

    @rule()
    def reopen(self):
        self.book = _book(self.table, retry_wait=60, patience=DAY)
        self.owed.clear()

    @rule(seconds=st.sampled_from([1, 59, 61, 121, 50_000, DAY]))
    def wait(self, seconds):
        self.now += seconds

    @rule(
        name=st.sampled_from("abcde"), status=st.sampled_from([200, 404, 429, 500, Status.TIMEOUT])
    )
    def answer(self, name, status):
        now = self.now
        until, rules, tries, since = self._known(name)
        self.owed.discard(name)
        if status in (200, 404):
            self.known[name] = (now + DAY, status, 0, 0.0)
        else:
            since = (
                since + max(0.0, now - until - min(60 * 2 ** (tries - 1), DAY)) if tries else now
            )
            tries += 1
            left = since + DAY - now
            if left <= 0 and tries >= 3:
                self.known[name] = (now + DAY, None, 0, 0.0)
            else:
                wait = min(60 * 2 ** (tries - 1), DAY)
                self.known[name] = (
                    now + (min(wait, left) if left > 0 else wait),
                    rules,
                    tries,
                    since,
                )
                self.owed |= {name} if rules else set()
        self.book.record_answer(f"http://{name}.test", status, SOME, now)

    def _known(self, name):
        known = self.known.get(name)
        # its row may be swept; this table does so at once
        if known is None or known[0] < self.now - DAY:
            return (0.0, None, 0, 0.0)
        return known

    @invariant()
    def verdicts_agree(self):
        for name in "abcde":
            until, rules, tries, _ = self.known.get(name, (0.0, None, 0, 0.0))
            if until <= self.now and not (name in self.owed and self.now < until + DAY):
                expected = RobotsDecision.FETCH
            elif rules is None:
                expected = RobotsDecision.WAIT if tries else RobotsDecision.UNREACHABLE
            else:
                expected = RobotsDecision.FORBIDDEN if rules == 200 else RobotsDecision.ALLOWED
                if rules == 404:
                    self.owed.discard(name)
            assert self.book.verdict(f"http://{name}.test/x", self.now) is expected


TestTwin = Twin.TestCase
TestTwin.settings = examples(60, stateful_step_count=30)
