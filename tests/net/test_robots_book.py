"""The verdicts for the scheduler, from the first request to the next day."""

from contextlib import closing

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from webcrawl.frontier.robots_rows import RobotsRows
from webcrawl.model import Status
from webcrawl.net import robots_book
from webcrawl.net.robots_book import KEEP, RobotsBook, Verdict, origin_of, robots_url
from webcrawl.net.robots_policy import MAX_HOPS, Meaning, follows, meaning
from webcrawl.store.crawldb import CrawlDB

A = "http://a.test"
SOME = b"User-agent: *\nDisallow: /x\nCrawl-delay: 3\nSitemap: http://a.test/s.xml"
WITHOUT_ANSWER = [Status.DNS_FAILED, Status.CONNECT_FAILED, Status.CONNECTION_LOST, Status.TIMEOUT, Status.UNEXPECTED]


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


class TestMeanings:
    @pytest.mark.parametrize(
        ("statuses", "expected"),
        [
            ([200, 204, 206, 299], Meaning.READ),
            ([301, 304, 308, 399], Meaning.OPEN),
            ([400, 401, 403, 404, 410, 429, 451], Meaning.OPEN),
            ([500, 503, 599, 100, 600, 0, *WITHOUT_ANSWER], Meaning.SHUT),
        ],
    )
    def test_each_status_has_a_meaning(self, statuses, expected):
        """2xx is read, 3xx as a last hop and 4xx allow everything, anything else shuts the host."""
        assert {meaning(status) for status in statuses} == {expected}

    def test_redirects_are_followed_so_many_times(self):
        """Five hops and no more, and only for redirects."""
        assert [hops for hops in range(9) if follows(301, hops)] == list(range(MAX_HOPS))
        assert [status for status in range(200, 600) if follows(status, 0)] == [301, 302, 303, 307, 308]


class TestVerdicts:
    def test_robots_comes_first(self):
        """For an unknown host, robots.txt is fetched first."""
        assert _book().verdict(f"{A}/", 0) is Verdict.FETCH

    @pytest.mark.parametrize("url", [f"{A}/robots.txt", "gopher://a.test/1"])
    def test_some_urls_need_no_robots(self, url):
        """robots.txt itself is allowed, and so are URLs to which RFC 9309 does not apply."""
        assert _book().verdict(url, 0) is Verdict.ALLOWED

    def test_rules_are_obeyed_for_a_day(self):
        """A file's rules are valid for 24 hours, then it is fetched again."""
        book = _book()
        heard = book.answered(A, 200, SOME, 1000.0)

        assert (heard.meaning, heard.crawl_delay, heard.sitemaps) == (Meaning.READ, 3.0, ["http://a.test/s.xml"])
        assert book.verdict(f"{A}/x", 1000.0) is Verdict.FORBIDDEN
        assert book.verdict(f"{A}/y", 1000.0 + KEEP - 1) is Verdict.ALLOWED
        assert book.verdict(f"{A}/y", 1000.0 + KEEP) is Verdict.FETCH

    @pytest.mark.parametrize("status", [404, 403, 301])
    def test_the_body_of_an_error_page_is_no_robots(self, status):
        """Without a robots.txt everything is allowed, whatever the error page says."""
        book = _book()
        heard = book.answered(A, status, b"User-agent: *\nDisallow: /\nSitemap: /s", 0)

        assert book.verdict(f"{A}/x", 1) is Verdict.ALLOWED
        assert heard.sitemaps == []

    @pytest.mark.parametrize("status", [503, *WITHOUT_ANSWER])
    def test_what_cannot_be_had_is_tried_three_times(self, status):
        """Nothing is allowed, the waits double, and after the third failure the host's URLs end."""
        book, now, steps = _book(retry_wait=60), 0.0, []
        for _ in range(3):
            book.answered(A, status, b"", now)
            until = book.next_try(f"{A}/")
            steps.append((book.verdict(f"{A}/", until - 1), until - now, book.verdict(f"{A}/", until)))
            now = until

        assert steps == [
            (Verdict.WAIT, 60, Verdict.FETCH),
            (Verdict.WAIT, 120, Verdict.FETCH),
            (Verdict.UNREACHABLE, KEEP, Verdict.FETCH),
        ]

    def test_an_unreachable_host_gets_new_tries_after_a_day(self):
        """A day later the count starts again."""
        book = _book(retry_wait=60)
        for _ in range(4):
            book.answered(A, 500, b"", 0)

        assert book.verdict(f"{A}/", 1) is Verdict.WAIT

    def test_a_failure_counts_for_a_day_beyond_its_wait(self):
        """After that the count starts again, whether the row is still there or not."""
        for late, until in ((0, 120), (1, 60)):
            book = _book(retry_wait=60)
            book.answered(A, 500, b"", 0)
            now = 60 + KEEP + late
            book.answered(A, 500, b"", now)

            assert book.next_try(f"{A}/") == now + until

    def test_an_answer_ends_the_failures(self):
        """After a success the next failure is the first again, and the old rules no longer count."""
        book = _book(retry_wait=60)
        for status in (500, 500, 200, 500):
            book.answered(A, status, SOME, 0)

        assert book.verdict(f"{A}/y", 1) is Verdict.WAIT
        assert book.next_try(f"{A}/y") == 60

    def test_every_origin_has_its_own(self):
        """Another scheme or port is another origin (RFC 9309 2.3)."""
        book = _book()
        book.answered(A, 200, SOME, 0)
        others = ("https://a.test/x", "http://a.test:81/x", "http://b.test/x", "http://[::1]:8080/x")

        assert {book.verdict(url, 1) for url in others} == {Verdict.FETCH}
        assert [robots_url(origin_of(url)) for url in others[1::2]] == [
            "http://a.test:81/robots.txt",
            "http://[::1]:8080/robots.txt",
        ]


class TestKept:
    @pytest.mark.parametrize(
        ("status", "verdict"), [(200, Verdict.FORBIDDEN), (404, Verdict.ALLOWED), (500, Verdict.WAIT)]
    )
    def test_another_run_knows_what_this_one_heard(self, status, verdict):
        """Rules are stored in the table, with their time."""
        table = Table()
        _book(table).answered(A, status, SOME, 0)

        assert _book(table).verdict(f"{A}/x", 1) is verdict
        assert _book(table).verdict(f"{A}/x", KEEP + 1) is Verdict.FETCH

    def test_tries_are_counted_across_runs(self):
        """Three runs with one failure each make an unreachable host."""
        table = Table()
        for _ in range(3):
            _book(table).answered(A, 500, b"", 0)

        assert _book(table).verdict(f"{A}/", 1) is Verdict.UNREACHABLE

    def test_a_crawler_with_another_name_asks_again(self):
        """Rules that were read for another product token are not used."""
        table = Table()
        _book(table).answered(A, 200, SOME, 0)

        assert RobotsBook(table, "other").verdict(f"{A}/x", 1) is Verdict.FETCH

    def test_rules_in_use_are_not_read_again(self):
        """While an origin is in memory the table is not read."""
        table = Table()
        _book(table).answered(A, 200, SOME, 0)
        table.reads = 0
        book = _book(table)
        for _ in range(5):
            book.verdict(f"{A}/x", 1)

        assert (table.reads, book.counters["loaded"]) == (1, 1)

    def test_the_frontiers_table_keeps_them(self, tmp_path):
        """Rules are stored in the crawl's database, and are still there after a checkpoint."""
        for checkpoint in (True, False):
            with closing(CrawlDB(tmp_path)) as db:
                book = _book(RobotsRows(db))
                if checkpoint:
                    book.answered(A, 200, SOME, 0)
                    db.checkpoint()
                assert book.verdict(f"{A}/x", 1) is Verdict.FORBIDDEN


class TestMemory:
    def test_memory_is_bounded_by_weight(self):
        """However many rules there are, those in memory stay within the budget, and no verdict changes."""
        book = _book(memory=20_000)
        origins = [f"http://h{number}.test" for number in range(200)]
        for origin in origins:
            book.answered(origin, 200, SOME, 0)

        assert 0 < len(book) < 40
        assert {book.verdict(f"{origin}/x", 1) for origin in origins} == {Verdict.FORBIDDEN}
        assert book._weight == sum(entry.rules.weight for entry in book._entries.values()) <= 20_000

    def test_memory_is_bounded_by_number(self, monkeypatch):
        """At most HOSTS origins are in memory, the most recently used ones."""
        monkeypatch.setattr(robots_book, "HOSTS", 3)
        table = Table()
        book = _book(table)
        for name in "abcd":
            book.answered(f"http://{name}.test", 404, b"", 0)
        table.reads = 0
        for name in "bcd":
            book.verdict(f"http://{name}.test/", 1)

        assert (len(book), table.reads) == (3, 0)

    def test_what_is_used_stays(self, monkeypatch):
        """The least recently used origin is evicted."""
        monkeypatch.setattr(robots_book, "HOSTS", 2)
        table = Table()
        book = _book(table)
        book.answered("http://a.test", 404, b"", 0)
        book.answered("http://b.test", 404, b"", 0)
        book.verdict("http://a.test/", 1)
        book.answered("http://c.test", 404, b"", 0)
        table.reads = 0
        book.verdict("http://a.test/", 1)

        assert table.reads == 0

    def test_one_file_larger_than_the_budget_still_works(self):
        """Rules that do not fit are read from the table each time."""
        book = _book(memory=1)
        book.answered(A, 200, SOME, 0)

        assert [book.verdict(f"{A}{path}", 1) for path in ("/x", "/y")] == [Verdict.FORBIDDEN, Verdict.ALLOWED]
        assert len(book) == 0


class Twin(RuleBasedStateMachine):
    """The book against a dict that forgets nothing, reopened at any moment, with a table that forgets at once."""

    def __init__(self):
        super().__init__()
        self.table, self.now, self.known = Table(), 0.0, {}
        self.reopen()

    @rule()
    def reopen(self):
        self.book = _book(self.table, memory=2000, retry_wait=60)

    @rule(seconds=st.sampled_from([1, 59, 61, 121, 50_000, KEEP]))
    def wait(self, seconds):
        self.now += seconds

    @rule(name=st.sampled_from("abcde"), status=st.sampled_from([200, 404, 500, Status.TIMEOUT]))
    def answer(self, name, status):
        until, tries, _ = self.known.get(name, (0, 0, 0))
        tries = tries % 3 if until >= self.now - KEEP else 0
        if status in (200, 404):
            self.known[name] = (self.now + KEEP, 0, status)
        else:
            self.known[name] = (self.now + (60, 120, KEEP)[tries], tries + 1, status)
        self.book.answered(f"http://{name}.test", status, SOME, self.now)

    @invariant()
    def verdicts_agree(self):
        for name in "abcde":
            until, tries, status = self.known.get(name, (0, 0, 0))
            if until <= self.now:
                expected = Verdict.FETCH
            elif tries:
                expected = Verdict.UNREACHABLE if tries == 3 else Verdict.WAIT
            else:
                expected = Verdict.FORBIDDEN if status == 200 else Verdict.ALLOWED
            assert self.book.verdict(f"http://{name}.test/x", self.now) is expected


TestTwin = Twin.TestCase
TestTwin.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
