"""What a fetch says beside the one before: whose 304 is believed, and which answer goes with the
archived head.
"""

import gzip
from random import Random

import pytest

from tests.support.warc_crawl import exchange
from webcrawl.base.page_values import By, Change, PageJudgement
from webcrawl.crawl.revisit.page_judgement import (
    CHANGES_UNTIL_SURE,
    CHECK,
    HOSTS_REMEMBERED,
    LONG,
    Honesty,
    judged,
)
from webcrawl.crawl.revisit.record import PageRecord

CHANGED, SAME = PageJudgement(Change.CHANGED, By.TEXT), PageJudgement(Change.UNCHANGED, By.STATUS)
PAGE = PageRecord("http://a.test/", etag=b'"1"', visits=3)


@pytest.fixture(name="honesty")
def _honesty():
    return Honesty(Random(1))


def plainly(honesty, host="http://a.test/", now=0.0, times=1000):
    """The share of requests without a condition."""
    return sum(honesty.asks_plainly(host, PAGE, now) for _ in range(times)) / times


def test_a_few_requests_have_no_condition(honesty):
    """One in CHECK, of pages that were fetched again before."""
    assert plainly(honesty) == pytest.approx(1 / CHECK, abs=0.02)
    assert not any(
        honesty.asks_plainly("http://a.test/", PageRecord("http://a.test/"), 0.0)
        for _ in range(100)
    )


def test_the_same_etag_with_other_bytes(honesty):
    """A host whose strong ETag stays while the page changes is not believed for LONG; others are."""
    honesty.update_trust("http://a.test/", PAGE, CHANGED, b'"1"', 0.0, plainly=True)

    assert plainly(honesty) == 1.0
    assert plainly(honesty, "http://b.test/") < 0.1
    assert plainly(honesty, now=LONG + 1) < 0.1


@pytest.mark.parametrize("etag", [b'"2"', b""])
def test_checks_that_find_changes(honesty, etag):
    """After CHANGES_UNTIL_SURE of them in a row the host is not believed."""
    for number in range(CHANGES_UNTIL_SURE):
        assert plainly(honesty) < 0.1, number
        honesty.update_trust("http://a.test/", PAGE, CHANGED, etag, 0.0, plainly=True)
        honesty.update_trust("http://a.test/", PAGE, SAME, etag, 0.0, plainly=False)

    assert plainly(honesty) == 1.0


def test_a_change_told_in_time(honesty):
    """A host that answers a conditional request with a changed page is beyond suspicion."""
    for _ in range(10):
        honesty.update_trust("http://a.test/", PAGE, CHANGED, b'"2"', 0.0, plainly=True)
        honesty.update_trust("http://a.test/", PAGE, CHANGED, b'"3"', 0.0, plainly=False)

    assert plainly(honesty) < 0.1


def test_a_weak_etag_may_stay(honesty):
    """It stands for pages that mean the same."""
    weak = PageRecord("http://a.test/", etag=b'W/"1"', visits=3)
    honesty.update_trust("http://a.test/", weak, CHANGED, b'W/"1"', 0.0, plainly=True)

    assert plainly(honesty) < 0.1


def test_it_is_kept(honesty):
    """What is known goes on after a restart, and takes bounded room."""
    for number in range(HOSTS_REMEMBERED + 10):
        honesty.update_trust(f"http://h{number}.test/", PAGE, CHANGED, b'"1"', 0.0, plainly=True)
    again = Honesty(Random(1), honesty.save())

    assert plainly(again, f"http://h{HOSTS_REMEMBERED}.test/") == 1.0
    assert plainly(again, "http://h0.test/") < 0.1


BODY, STORED = b"<p>text", 1.7e9


def answer(*, plain):
    found = exchange("http://a.test/", BODY)
    if not plain:
        found.payload = gzip.compress(BODY)
    return found


@pytest.mark.parametrize(
    ("was_plain", "is_plain", "stored"),
    [(True, True, STORED), (False, False, STORED), (True, False, STORED), (False, True, 0.0)],
)
def test_it_is_archived_anew_where_nobody_could_read_it(was_plain, is_plain, stored):
    """The head of a plain answer would go with a coded payload.

    Else the earlier answer is referred to.
    """
    record = PageRecord(
        "http://a.test/", digest=7, stored=STORED, copy_of="http://b.test/", plain=was_plain
    )
    found = judged(record, answer(plain=is_plain), 7, lambda: None)

    assert (found.change, found.by) == (Change.UNCHANGED, By.DIGEST)
    assert (found.stored, found.copy_of) == (stored, "http://b.test/" if stored else "")
