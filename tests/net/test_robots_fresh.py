"""How soon a robots.txt is looked at again, and what a 304 says of it; by a clock of the test's
own.
"""

import pytest

from tests.net.test_robots_book import SOME, A, Table
from tests.support.warc_crawl import exchange
from webcrawl.net.header_times import Validators
from webcrawl.net.robots_book import NO_HEAD, RobotsBook, RobotsDecision
from webcrawl.net.robots_entry import (
    BUSY,
    DAY,
    HOUR,
    RobotsEffect,
    RobotsHead,
    RobotsOutage,
    head_of,
    pack_away,
    pack_fresh,
    split,
)

OTHER = b"User-agent: *\nDisallow: /other"
TAGGED = RobotsHead(Validators(b'"1"', b""))


@pytest.fixture(name="table")
def _table():
    return Table()


@pytest.fixture(name="book")
def _book(table):
    return RobotsBook(table, "webcrawl")


def asks(book, now, urls=BUSY):
    """Whether robots.txt is fetched after so many URLs at this time."""
    return RobotsDecision.FETCH in [book.verdict(f"{A}/y", now) for _ in range(urls + 1)]


def looks(book, bodies, *, urls=BUSY, until=3 * DAY):
    """The hours at which a host that is always busy is asked for its robots.txt, which
    `bodies(hour)` gives.
    """
    book.record_answer(A, 200, bodies(0), 0.0)
    hours = []
    for minute in range(1, int(until / 60)):
        if asks(book, minute * 60.0, urls):
            hours.append(minute / 60)
            book.record_answer(A, 200, bodies(hours[-1]), minute * 60.0)
    return hours


class TestInterval:
    def test_a_file_that_never_changed_is_requested_once_a_day(self, book):
        """However busy its host is."""
        assert looks(book, lambda hour: SOME) == [24, 48]

    def test_a_file_that_changed_is_requested_after_an_hour(self, book):
        """And then at intervals that double, up to a day."""
        assert looks(book, lambda hour: SOME if hour < 24 else OTHER) == [24, 25, 27, 31, 39, 55]

    def test_a_file_that_always_changes_is_requested_every_hour(self, book):
        """No sooner than that."""
        hours = looks(
            book, lambda hour: f"User-agent: *\nDisallow: /{hour}".encode(), until=1.5 * DAY
        )

        assert hours == [24, *range(25, 36)]

    def test_what_does_not_matter_to_us_is_no_change(self, book):
        """A comment, or other crawlers' rules."""
        assert looks(
            book, lambda hour: SOME + f"\n# at {hour}\nUser-agent: x\nDisallow: /{hour}".encode()
        ) == [24, 48]

    @pytest.mark.parametrize("urls", [0, 1])
    def test_a_host_with_little_traffic_is_requested_when_its_rules_expire(self, table, urls):
        """One look costs at most a hundredth of the requests since the last one."""
        book = RobotsBook(table, "webcrawl")
        book.record_answer(A, 200, SOME, 0.0)
        book.record_answer(A, 200, OTHER, 10.0)

        assert not asks(book, 10.0 + DAY - 60, urls)
        assert asks(book, 10.0 + DAY, urls)

    def test_a_host_without_traffic_is_not_requested_at_all(self, book, table):
        """Only a URL that is due asks for rules."""
        book.record_answer(A, 200, SOME, 0.0)

        assert table.keys() == {A}

    @pytest.mark.parametrize(
        ("age", "hours"), [(0, 1), (1800, 1), (7200, 2), (DAY, 24), (30 * DAY, 24)]
    )
    def test_what_the_server_says_counts_within_the_same_bounds(self, book, age, hours):
        """max-age, from an hour to a day."""
        book.record_answer(A, 200, SOME, 0.0, RobotsHead(max_age=age))

        assert not asks(book, hours * HOUR - 1)
        assert asks(book, hours * HOUR)

    def test_a_glance_is_no_traffic(self, book):
        """Whoever looks at the crawl does not count as traffic."""
        book.record_answer(A, 200, SOME, 0.0, RobotsHead(max_age=0))
        for _ in range(2 * BUSY):
            book.would_say(f"{A}/y", HOUR)

        assert book.verdict(f"{A}/y", HOUR) is RobotsDecision.ALLOWED

    @pytest.mark.parametrize("status", [500, 429, -2, 0])
    def test_an_early_look_that_fails_changes_nothing(self, book, status):
        """The rules are valid as long as they were; it is tried again an hour later."""
        book.record_answer(A, 200, SOME, 0.0, RobotsHead(max_age=0))
        assert asks(book, HOUR)
        book.record_answer(A, status, b"", HOUR)

        assert not asks(book, 2 * HOUR - 1)
        assert book.verdict(f"{A}/x", HOUR + 1) is RobotsDecision.FORBIDDEN
        assert asks(book, 2 * HOUR)
        assert book.in_force(A).until == DAY


class TestConditions:
    def test_rules_are_asked_about_by_what_the_server_sent(self, book):
        """The validators of the rules at hand; none without rules."""
        assert book.validators(A) == (b"", b"")
        book.record_answer(A, 200, SOME, 0.0, TAGGED)

        assert book.validators(A) == (b'"1"', b"")

    def test_a_304_renews_the_rules(self, book):
        """For a day; its validators count, and what it does not repeat still holds."""
        book.record_answer(A, 200, SOME, 0.0, RobotsHead(Validators(b'"1"', b"then")))
        heard = book.record_answer(A, 304, b"", DAY, RobotsHead(Validators(b'"2"', b"")))

        assert (heard.meaning, heard.crawl_delay) == (RobotsEffect.SAME, 3.0)
        assert book.verdict(f"{A}/x", 2 * DAY - 1) is RobotsDecision.FORBIDDEN
        assert book.verdict(f"{A}/x", 2 * DAY) is RobotsDecision.FETCH
        assert book.validators(A) == (b'"2"', b"then")

    def test_a_304_without_rules_is_as_any_redirect_that_leads_nowhere(self, book):
        """Nobody requested with a condition then."""
        assert book.record_answer(A, 304, b"", 0.0).meaning is RobotsEffect.OPEN

    def test_a_304_ends_a_failure(self, book):
        """Validators outlast an outage, as the rules do."""
        book.record_answer(A, 200, SOME, 0.0, TAGGED)
        book.record_answer(A, 500, b"", DAY)
        assert book.validators(A).etag == b'"1"'
        book.record_answer(A, 304, b"", DAY + 60)

        assert book.in_force(A).tries == 0
        assert book.verdict(f"{A}/x", DAY + 61) is RobotsDecision.FORBIDDEN

    def test_no_file_at_all_may_be_the_same_too(self, book):
        """A 404 has no validators, so the next request has no condition."""
        book.record_answer(
            A, 404, b"", 0.0, head_of(exchange(status=404, headers=[(b"ETag", b'"1"')]))
        )

        assert book.validators(A) == (b"", b"")

    def test_sitemaps_that_were_not_read_are_requested(self, table):
        """A crawl that comes to want them gets the whole file: a 304 would not name them."""
        RobotsBook(table, "webcrawl").record_answer(A, 200, SOME, 0.0, TAGGED)
        book = RobotsBook(table, "webcrawl", sitemaps=True)
        assert book.validators(A) == (b"", b"")
        book.record_answer(A, 200, SOME, DAY, TAGGED)
        assert book.validators(A).etag == b'"1"'
        book.record_answer(A, 304, b"", 2 * DAY)

        assert book.validators(A).etag == b'"1"'


class TestHead:
    @pytest.mark.parametrize(
        ("said", "age"),
        [
            (b"max-age=7200", 7200),
            (b"public, Max-Age=60", 60),
            (b'max-age="60"', 60),
            (b"no-cache", 0),
            (b"no-store, max-age=60", 0),
            (b"max-age=60, max-age=30", 30),
            (b"private", None),
            (b"s-maxage=9", None),
            (b"max-age=-1", None),
            (b"max-age=99999999999999", 99999999999999),
            (b"", None),
        ],
    )
    def test_cache_control(self, said, age):
        """max-age in seconds, no-cache and no-store as none; what cannot be read says nothing."""
        assert head_of(exchange(headers=[(b"Cache-Control", said)])).max_age == age

    def test_what_a_cache_on_the_way_kept_is_older(self):
        """Age is what has passed of max-age."""
        headers = [(b"Cache-Control", b"max-age=60"), (b"Age", b"50")]

        assert head_of(exchange(headers=headers)).max_age == 10

    @pytest.mark.parametrize(
        ("changes", "kept"),
        [
            ({}, True),
            ({"truncated": "length"}, True),
            ({"truncated": "disconnect"}, False),
            ({"status": 503}, False),
        ],
    )
    def test_only_a_whole_file_has_validators(self, changes, kept):
        """Of one that broke off, a 304 would keep rules that are not all."""
        assert (
            bool(head_of(exchange(headers=[(b"ETag", b'"1"')], **changes)).validators.etag) is kept
        )


class TestRows:
    def test_what_is_known_survives_a_restart(self, table, book):
        """When to look again and by what; older rows have only the rules."""
        book.record_answer(A, 200, SOME, 0.0, RobotsHead(Validators(b'"1"', b"then"), HOUR))
        again = RobotsBook(table, "webcrawl")

        assert again.validators(A) == (b'"1"', b"then")
        assert asks(again, HOUR)

    def test_a_row_of_which_nothing_more_is_known_is_as_before(self, table, book):
        """The rules alone; nothing for a file that is missing."""
        book.record_answer(A, 404, b"", 0.0, NO_HEAD)

        assert table[A] == (DAY, b"")

    @pytest.mark.parametrize("rules", [b"", b"packed"])
    @pytest.mark.parametrize("away", [None, RobotsOutage(2, 5.0)])
    def test_all_parts_come_back(self, table, book, rules, away):
        """Also of an origin that is away."""
        book.record_answer(A, 200, SOME, 0.0, TAGGED)
        _, _, fresh = split(table[A][1])
        row = pack_fresh(fresh, rules)
        row = row if away is None else pack_away(away, row)

        assert split(row) == (away, rules, fresh)

    @pytest.mark.parametrize(
        "row", [b"@", b"?", b"@\x05", b"@\xc1", b"@\x96\xc0\xc0\xc0\xc0\xc0\xc0", b"@\x91\x01"]
    )
    def test_what_nobody_wrote_is_a_value_error(self, row):
        """A row of another form is damage, not a crash."""
        with pytest.raises(ValueError, match="not valid data about the next check"):
            split(row)
