"""The times in an answer's headers: the wait that a host asks for, and validators."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.base.dates import http_date
from webcrawl.net.header_times import Validators, retry_after_of, validators

NOW = 1_790_000_000.0


def wait(*headers, now=NOW):
    return retry_after_of(
        [(name.encode(), value.encode("latin-1")) for name, value in headers], now
    )


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ([], 0),
        ([("Content-Type", "text/html"), ("Referrer-Policy", "x")], 0),
        ([("Retry-After", "120")], 120),
        ([("retry-after", http_date(int(NOW) + 10).decode())], 10),
        ([("Retry-After", "soon")], 0),
        ([("RateLimit", '"default";r=50;t=30')], 0.6),
        ([("RateLimit", '"default";r=0;t=30')], 30),
        ([("RateLimit", '"default";r=1;t=30')], 30),
        ([("RateLimit-Policy", '"day";q=1000;w=86400'), ("RateLimit", '"day";r=432')], 200),
        ([("RateLimit", '"burst";r=10;t=1, "day";r=10;t=1000')], 100),
        ([("RateLimit", '"bytes";qu="content-bytes";r=0;t=1000')], 0),
        ([("RateLimit-Policy", '"a";q=10;w=60')], 0),
        ([("RateLimit", "limit=100, remaining=4, reset=20")], 5),
        ([("RateLimit-Limit", "100"), ("RateLimit-Remaining", "0"), ("RateLimit-Reset", "7")], 7),
        ([("X-RateLimit-Remaining", "2"), ("X-RateLimit-Reset", "1790000060")], 30),
        ([("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "1780000000")], 0),
        ([("X-RateLimit-Remaining", "2"), ("X-RateLimit-Reset", "1790000060000")], 30),
        ([("RateLimit", "limit=9, remaining=2, reset=1790000060000")], 30),
        ([("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "2026-09-21T15:33:20Z")], 0),
        ([("X-RateLimit-Remaining", "0, 5"), ("X-RateLimit-Reset", "7;w=60")], 7),
        ([("X-RateLimit-Remaining", "0")], 0),
        ([("Retry-After", "3"), ("RateLimit", '"a";r=0;t=9')], 9),
        ([("Retry-After", "30"), ("RateLimit", '"a";r=0;t=9')], 30),
        ([("Retry-After", "3"), ("retry-after", "30"), ("X-Retry-After", "")], 30),
        ([("RateLimit", '"burst";r=9;t=9'), ("ratelimit", '"day";r=0;t=60')], 60),
        (
            [
                ("RateLimit-Policy", '"a";q=9;w=9'),
                ("RateLimit-Policy", '"b";q=9;w=60'),
                ("RateLimit", '"b";r=0'),
            ],
            60,
        ),
        ([("RateLimit", '"a";pk=:c2l0ZQ==:;r=0;t=9')], 9),
        ([("RateLimit", '"a";partition-of=site;@;r=0;t=9')], 0),
        ([("RateLimit", '"a";partition-of=site;shared;r=0;t=9')], 9),
        ([("RateLimit", '"a";x-r=0;pk="y;r=0";r=3;t=9')], 3),
        ([("RateLimit", '"a";r=0;t=inf, "b";r=nan;t=9')], 0),
        ([("RateLimit", "default;r=50;t=30")], 0.6),
        ([("RateLimit", "burst;r=9;t=9,day ; r=0; t=60")], 60),
        ([("RateLimit-Policy", "day;q=1000;w=86400"), ("RateLimit", '"day";r=432')], 200),
        ([("RateLimit", 'bytes;qu="content-bytes";r=0;t=1000')], 0),
        ([("RateLimit", '"a, b;r=0;t=99";r=9;t=9')], 1),
        (
            [
                ("RateLimit-Policy", "100;w=60"),
                ("RateLimit", "limit=9;r=0;t=99, remaining=4, reset=20"),
            ],
            5,
        ),
        ([("RateLimit", '"a";r=-1;t=9')], 0),
        ([("RateLimit", "nonsense"), ("RateLimit-Remaining", "x")], 0),
    ],
)
def test_what_is_asked_for(headers, seconds):
    """Retry-After on any status; a limit's rest is spread over its time; the longest of all counts."""
    assert wait(*headers) == pytest.approx(seconds)


@pytest.mark.parametrize("wrong", [-315_360_000, -86_400, 0, 3_600, 315_360_000])
def test_times_are_counted_from_the_answer_s_date(wrong):
    """However far the server's clock and ours are apart, a time is as far away as the server means."""
    theirs = int(NOW) + wrong
    date = ("Date", http_date(theirs).decode())

    assert wait(date, ("Retry-After", http_date(theirs + 60).decode())) == 60
    assert wait(date, ("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", str(theirs + 60))) == 60


@pytest.mark.parametrize("ahead", [60, 86_000])
def test_a_date_that_stands_still_is_no_clock(ahead):
    """One of days ago, in an answer that names a time that lies ahead, is a constant or a cache's:
    ours counts then.
    """
    date, then = ("Date", http_date(int(NOW) - 90_000).decode()), int(NOW) + ahead

    assert wait(date, ("Retry-After", http_date(then).decode())) == ahead
    assert wait(date, ("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", str(then))) == ahead


@pytest.mark.parametrize("date", ["", "yesterday", "Thu, 99 Jan 2026 00:00:00 GMT"])
def test_what_is_no_date_does_not_count(date):
    """Where an answer has no date of its own, a time is counted from when it came."""
    assert wait(("Date", date), ("Retry-After", http_date(int(NOW) + 60).decode())) == 60


@pytest.mark.parametrize("reset", ["1790000060", "1790000060000", "1790000060123"])
def test_a_clock_that_is_between_two_seconds(reset):
    """A time counts however many decimals there are between it and now: an answer may have no date."""
    limit = ("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", reset)

    assert wait(*limit, now=NOW + 0.123456) == pytest.approx(60, abs=0.2)
    assert wait(
        ("Date", http_date(int(NOW)).decode()), *limit, now=NOW + 0.123456
    ) == pytest.approx(60, abs=0.2)


@pytest.mark.parametrize(
    "form", ["%a %b %d %H:%M:%S %Y", "%a, %d %b %Y %H:%M:%S", "%a, %d %b %Y %H:%M:%S -0000"]
)
def test_dates_without_a_zone(form, monkeypatch):
    """They are in UTC, whatever the zone of this machine."""
    date = time.strftime(form, time.gmtime(NOW + 60))
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert wait(("Retry-After", date)) == 60
    finally:
        monkeypatch.undo()
        time.tzset()


NAMES = [
    b"Retry-After",
    b"RateLimit",
    b"ratelimit-policy",
    b"X-RateLimit-Reset",
    b"RateLimit-Remaining",
    b"R",
    b"",
]
PIECES = st.sampled_from(
    [
        '"a"',
        "a",
        ";r=",
        ";t=",
        "9" * 15,
        "0",
        "1.5",
        ", ",
        "reset=",
        "remaining=",
        "-",
        "\xff",
        "qu=",
        ".",
    ]
)


@given(
    st.lists(
        st.tuples(st.sampled_from(NAMES), st.lists(PIECES | st.text(max_size=5)).map("".join)),
        max_size=6,
    )
)
def test_nothing_breaks_it(headers):
    """Whatever a server sends, it is a number of seconds that is not negative."""
    encoded = [(name, value.encode("utf-8", "replace")) for name, value in headers]

    assert 0.0 <= retry_after_of(encoded, NOW) < float("inf")


DATE = b"Mon, 01 Jun 2026 00:00:00 GMT"
AFTER = 1_790_000_000.0  # September 2026


def of(*headers, at=AFTER, longest=128):
    return validators([*headers], at, longest=longest)


def test_they_are_sent_back_as_they_came():
    """Both, if both came, whatever the case of their names."""
    known = of((b"ETAG", b'W/"a"'), (b"Last-Modified", DATE))

    assert known == (b'W/"a"', DATE)
    assert known.headers == [(b"If-None-Match", b'W/"a"'), (b"If-Modified-Since", DATE)]
    assert Validators().headers == []


@pytest.mark.parametrize("etag", [b"abc", b"abc-123:456", b"W/abc"])
def test_an_entity_tag_without_quotes_is_sent_back_as_it_came(etag):
    """Who sends such a one compares bytes."""
    assert of((b"ETag", etag)).etag == etag


@pytest.mark.parametrize(
    "etag", [b"*", b"a,*", b'"a', b'"a b"', b'"a"\x00', b'"' + b"a" * 200 + b'"', b"\xe4", b""]
)
def test_what_is_no_entity_tag_is_none(etag):
    """What would mean any page at all; one with a blank; too long a one."""
    assert of((b"ETag", etag)).etag == b""


@pytest.mark.parametrize("date", [b"Fri, 01 Jan 2100 00:00:00 GMT", b"x" * 65, b"a\x01b", b""])
def test_what_no_server_should_be_asked_by_is_no_date(date):
    """A date that is still to come: until then a server that compares dates would never tell of a
    change.
    """
    assert of((b"Last-Modified", date)).modified == b""


@pytest.mark.parametrize(
    "date", [b"yesterday", b"0", b"Mon, 99 Jun 2026 00:00:00 GMT", DATE[:-3] + b"-0000"]
)
def test_what_cannot_be_read_may_be_compared_as_text(date):
    """Some servers do that."""
    assert of((b"Last-Modified", date)).modified == date
