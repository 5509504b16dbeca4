"""Endless URL spaces, each stopped after a bounded number of pages."""

from collections import Counter
from itertools import count, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.url_settings import url_settings
from webcrawl.urls.filters.filter_protocol import Origin
from webcrawl.urls.filters.traps import (
    BoundedSets,
    CalendarFilter,
    GrowthFilter,
    RepeatsFilter,
    path_repeats,
    years,
)
from webcrawl.urls.link_pipeline import build_filters

NOW = 1_700_000_000  # November 2023
HOST, PAGE, KEY = "http://h.example", Origin("http://h.example/", 1), bytes(16)
LIMIT = 20


def chain(**changed):
    return build_filters(url_settings(TRAP_MAX_PAGES=LIMIT, **changed), clock=lambda: NOW)


def passes(one, tail):
    return one.keep([HOST + tail], PAGE) == [HOST + tail]


class TestRepeats:
    @pytest.mark.parametrize(
        "path",
        [
            "/css/css/css/",
            "/a/css/b/css/css/x",
            "/a/b/a/b/a/b/",
            "/a/x/a/y/a/z/a/",
            "/a/b/c/a/b/c/a/b/c",
        ],
    )
    def test_a_path_that_repeats_is_a_trap(self, path):
        """A third occurrence with two adjacent, a pair's third, or any segment's fourth is a trap."""
        assert path_repeats(HOST + path)
        assert not passes(RepeatsFilter(), path)

    @pytest.mark.parametrize(
        "path",
        [
            "/",
            "/a/b/c/d/e/",
            "/css/css/",
            "/2011/11/11/11/",
            "/0/0/0/0/0/",
            "/a/b/a/c/a/",
            "/x?p=/a/a/a/a/",
            "/a/b/a/b/",
        ],
    )
    def test_fewer_repeats_are_not_a_trap(self, path):
        """Two occurrences pass, and so do repeated numbers, and repeats in the query."""
        assert passes(RepeatsFilter(), path)

    @given(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), st.integers(4, 8))
    def test_every_cycle_ends(self, cycle, times):
        """Any cycle of segments is a trap after four rounds."""
        assert not passes(RepeatsFilter(), "".join(f"/{part}" for part in cycle * times) + "/")


class TestGrowth:
    @pytest.mark.parametrize(
        "tail", ["/x" * 31, "/a%25252525b", "/?a=1&amp;amp;amp;amp;b=2", "/?a=1&a=1&b=2&a=1"]
    )
    def test_urls_that_grow_are_a_trap(self, tail):
        """More than 30 segments, escapes of escapes, or a parameter repeated three times are a
        trap.
        """
        assert not passes(GrowthFilter(), tail)

    @pytest.mark.parametrize(
        "tail",
        ["/x" * 30, "/a%2525b", "/?a=1&amp;amp;amp;b=2", "/?a=1&a=2&a=3", "/?a=1&a=1", "/?&&&&"],
    )
    def test_long_urls_alone_are_not(self, tail):
        """Thirty segments, a parameter with many values, and empty parameters pass."""
        assert passes(GrowthFilter(), tail)


class TestCalendar:
    @pytest.mark.parametrize(
        "tail",
        [
            "/2026/05/",
            "/cal/2031-05-06",
            "/?date=20300501",
            "/?year=2099&x=1",
            "/?from=2033-01",
            "/cal?m=3&y=2031",
            "/cal?y=2031&view=a&d=4",
            "/cal?d=4&m=3&y=2031",
        ],
    )
    def test_the_far_future_is_a_trap(self, tail):
        """Calendar pages more than two years ahead are dropped."""
        assert not passes(CalendarFilter(lambda: NOW), tail)

    @pytest.mark.parametrize(
        "tail",
        [
            "/2025/12/",
            "/1850-05-06",
            "/2031/05/06/title",
            "/8123/45/",
            "/4711/5/",
            "/2210/5",
            "/2229-2",
            "/?start=2031",
            "/?from=22233509",
            "/map?x=7&y=2048",
            "/cal?m=3&y=2020",
            "/show?m=3&y=2248",
        ],
    )
    def test_the_past_and_other_numbers_are_not(self, tail):
        """Old newspapers, articles under a date, and numbers that are not dates pass."""
        assert passes(CalendarFilter(lambda: NOW), tail)

    def test_all_years_of_a_url_count(self):
        """Both ends of a date range are found."""
        assert years(f"{HOST}/2001/02/?from_date=2003-04-05&until=2031-01") == [2001, 2003, 2031]


def calendar():
    return (
        f"/events/{2023 - i // 336}-{i // 28 % 12 + 1:02}-{i % 28 + 1:02}/"
        for i in range(28 * 12 * 400)
    )


def months():
    return (f"/cal?year={2023 - i // 12}&month={i % 12 + 1}" for i in range(12 * 1000))


def months_first():
    return (
        f"/cal?view=list&month={i % 12 + 1}&tag=a&year={2023 - i // 12}" for i in range(12 * 1000)
    )


def sessions():
    return (f"/page{i % 7}?PHPSESSID={i:032x}" for i in count())


def java_sessions():
    return (f"/page{i % 7};jsessionid={i:X}" for i in count())


def combinations():
    return (f"/shop?a={i}&b={i % 7}&c=1&d=2&e=3" for i in count())


def deep_paths():
    return ("".join(f"/{(i >> bit) & 1}x{bit}" for bit in range(12)) for i in range(4096))


TRAPS = (calendar, months, months_first, sessions, java_sessions, combinations, deep_paths)


class TestFamilies:
    @pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.__name__)
    def test_an_endless_family_is_bounded_per_host(self, trap):
        """Of thousands of pages of one host, exactly TRAP_MAX_PAGES pass, now and when offered
        again.
        """
        filters, passed, filtered = chain(), [], Counter()
        offered = [HOST + tail for tail in islice(trap(), 3000)]

        for start in range(0, len(offered), 40):
            passed += filters.keep(offered[start : start + 40], PAGE, filtered)

        assert len(passed) == LIMIT
        assert filtered["trap_family"] + filtered["trap_calendar"] == len(offered) - LIMIT
        assert filters.keep(passed, PAGE, filtered) == passed

    def test_days_by_their_initials_are_bounded(self):
        """A calendar without end in the past, by `m`, `y` and `d`, is one family of its host.

        It was none, as only whole names of parameters counted, and went back for as long as it was
        asked.
        """
        filters, filtered = chain(), Counter()
        batch = [f"{HOST}/cal.php?m={at % 12 + 1}&y={1900 + at // 12}&d=1" for at in range(1200)]

        assert len(filters.keep(batch, PAGE, filtered)) == LIMIT
        assert filtered["trap_family"] == 1200 - LIMIT

    @pytest.mark.parametrize(
        "query", ["id={}&year=2022", "archive_year=2022&id={}", "date=2019&x={}"]
    )
    def test_a_year_alone_is_no_calendar_page(self, query):
        """Pages with a parameter that names a year and nothing closer are not bounded: years are
        few.
        """
        filters, filtered = chain(), Counter()
        batch = [f"{HOST}/seminars?{query.format(i)}" for i in range(100)]

        assert filters.keep(batch, PAGE, filtered) == batch

    def test_ordinary_pages_are_not_counted(self):
        """Articles under dates, short queries and numbered pages are not bounded."""
        filters, filtered = chain(), Counter()
        batch = [f"{HOST}/2020/05/06/story-{i}?page={i}&x=1&y=2" for i in range(500)]

        assert filters.keep(batch, PAGE, filtered) == batch

    def test_folded_sessions_are_not_counted(self):
        """If the comparison form removes session ids, pages with one are not bounded."""
        filters = chain(URL_FOLDINGS=["webcrawl.urls.foldings.no_session_ids"])
        batch = [HOST + tail for tail in islice(sessions(), 100)]

        assert filters.keep(batch, PAGE, Counter()) == batch

    def test_trap_filters_can_be_disabled(self):
        """With TRAP_RULES off, no trap filter is in the chain."""
        assert not [
            one.name for one in chain(TRAP_RULES=False).filters if one.name.startswith("trap_")
        ]


class TestBoundedSets:
    @given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), max_size=60))
    def test_it_is_a_dictionary_of_sets_with_a_bound(self, asked):
        """A name admits its first members and no later ones, like a plain set with a bound."""
        bounded, plain = BoundedSets(3, KEY), {}
        for name, number in asked:
            twin = plain.setdefault(name, set())
            expected = number in twin or len(twin) < 3
            if expected:
                twin.add(number)

            assert bounded.admit(name, str(number)) == expected
        assert len(bounded) == sum(map(len, plain.values()))

    def test_a_bound_below_one_is_an_error(self):
        """A bound below 1 raises ValueError with the name of the setting."""
        with pytest.raises(ValueError, match="TRAP_MAX_PAGES: 0"):
            BoundedSets(0, KEY)
