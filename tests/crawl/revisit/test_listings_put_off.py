"""A sitemap or feed whose fetch has to wait is one still: its turn is a reading, within the budget
of readings.
"""

from dataclasses import replace

import pytest

from tests.support.revisits import DAY, NOW, Told, made, page
from webcrawl.base.model import Link, unpack
from webcrawl.crawl.revisit.listings import HOUR
from webcrawl.crawl.revisit.record import PageRecord, link_of, record_of

MAP = "http://h/map"


@pytest.fixture(name="policy")
def _policy():
    return Told(after=5 * DAY)


@pytest.fixture(name="revisits")
def _revisits(db, policy):
    return made(db, policy, rate=0.1)


def listing():
    """One that is to be read every hour."""
    return PageRecord(MAP, "L", NOW - DAY, digest=1, shape=1e9, span=1.0)


def next_of(revisits, now):
    """The listing, once its turn has come."""
    for at in range(200):
        for record in revisits.pop_due(now + 10 * at, 9):
            if record.url == MAP:
                return record
    raise AssertionError(revisits)


def test_a_fetch_that_failed(revisits):
    """It is tried again at the time that is asked for, as a listing."""
    revisits.keep_listing(listing(), NOW)
    record = next_of(revisits, NOW + HOUR)
    revisits.retry(record, NOW + HOUR, 2 * HOUR)
    assert next_of(revisits, NOW + 3 * HOUR).listing


def test_the_budget_of_readings(db):
    """However often they fail, all of them together have a quarter of the budget at most."""
    revisits = made(db, Told(after=DAY), rate=0.1)
    for number in range(100):
        revisits.keep_listing(replace(listing(), url=f"{MAP}{number}"), NOW)
        revisits.keep(page(number), NOW)
    read = 0
    for at in range(int(24 * HOUR / 10)):
        now = NOW + 10 * at
        for record in revisits.pop_due(now, 10):
            if record.url.startswith(MAP):
                read += 1
                revisits.retry(record, now, 60)
            else:
                revisits.keep(replace(record, fetched=now), now)

    assert read == pytest.approx(0.025 * 24 * HOUR, rel=0.2)


def test_a_signal_has_it_fetched_meanwhile(revisits, policy):
    """While that is under way it waits, and takes over what was found, as a listing."""
    revisits.keep_listing(listing(), NOW)
    assert revisits.announce(MAP, NOW + HOUR / 2)
    (ahead,) = revisits.pop_due(NOW + HOUR / 2, 9)
    assert revisits.pop_due(NOW + HOUR, 9) == []  # it would have been its turn
    revisits.ahead.found(replace(ahead, fetched=NOW + HOUR + 60, digest=2))
    assert revisits.pop_due(NOW + 2 * HOUR, 9) == []

    assert next_of(revisits, NOW + 4 * HOUR).fetched == NOW + HOUR + 60
    assert policy.observed == []


def test_it_travels_in_its_link(revisits):
    """What waits in the frontier is a listing still after a restart, or with another drone."""
    revisits.keep_listing(listing(), NOW)
    link = unpack(link_of(next_of(revisits, NOW + HOUR)).pack())

    assert record_of(link).listing


def test_another_drone_has_it_now(db, policy):
    """It is read there as soon as it would have been here."""
    revisits = made(db, policy, rate=0.1)
    revisits.adopt(replace(listing(), fetched=NOW - HOUR / 2, listing=True), NOW)
    revisits.adopt(page(1, NOW), NOW)
    assert next_of(revisits, NOW + HOUR / 2).listing


def test_it_may_become_a_page(revisits, policy):
    """What is fetched, and is no listing any more, goes the way of pages."""
    revisits.keep_listing(listing(), NOW)
    record = next_of(revisits, NOW + HOUR)
    revisits.keep(replace(record, fetched=NOW + HOUR), NOW + HOUR)
    assert not next_of(revisits, NOW + HOUR + 5 * DAY).listing


def test_a_page_is_none(revisits):
    """A page that is put off, or travels, stays a page."""
    revisits.retry(page(1), NOW, HOUR)
    (record,) = [one for at in range(9) for one in revisits.pop_due(NOW + HOUR + 10 * at, 9)]

    assert not record.listing
    assert record_of(Link(record.url, history=link_of(record).history)) == replace(record, path="")
