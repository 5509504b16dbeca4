"""How soon a listing is read again, and what all readings may have of the budget."""

import pytest

from tests.support.revisits import DAY, NOW, Told, made, page
from webcrawl.crawl.revisit.listing_schedule import HOUR, LONGEST, WEEK, learn, wait
from webcrawl.crawl.revisit.record import PageRecord


def settled(brought, a_round=2 * DAY):
    """The wait of a listing whose every reading brings so much."""
    record, seconds = PageRecord("http://h/sitemap.xml"), DAY
    for _ in range(60):
        learn(record, seconds, brought(seconds), changed=True)
        seconds = wait(record, a_round)
    return seconds


def test_a_listing_that_brings_nothing():
    """It is read once a week, or once a round if that is longer; after a month in any case."""
    assert settled(lambda _: 0) == WEEK
    assert settled(lambda _: 0, 20 * DAY) == 20 * DAY
    assert settled(lambda _: 0, 400 * DAY) == LONGEST


def test_the_more_it_brings_the_sooner_it_is_read():
    """In proportion to the root of what it brings per day."""
    few, many = (settled(lambda seconds, per=per: per * seconds / DAY) for per in (1, 16))
    assert few / many == pytest.approx(4, rel=0.2)


def test_an_hour_at_least():
    """However much it brings."""
    assert settled(lambda _: 10_000) == HOUR


def listing(number):
    """One that is to be read every hour."""
    return PageRecord(f"http://h/map{number}", "L", NOW - DAY, shape=1e9, span=1.0)


def crawl(revisits, hours, step=10.0):
    """How often listings and pages were fetched, if all that is taken comes back at once."""
    listings = pages = 0
    for at in range(int(hours * HOUR / step)):
        now = NOW + at * step
        for record in revisits.take(now, 10):
            record.fetched = now
            if "map" in record.url:
                listings += 1
                revisits.keep_listing(record, now)
            else:
                pages += 1
                revisits.keep(record, now)
    return listings, pages


def test_readings_have_a_quarter_of_the_budget(db):
    """However many listings want to be read."""
    revisits = made(db, Told(after=DAY), rate=0.1)
    for number in range(100):
        revisits.keep_listing(listing(number), NOW)
        revisits.keep(page(number), NOW)
    listings, pages = crawl(revisits, 48)
    assert listings + pages == pytest.approx(0.1 * 48 * HOUR, rel=0.01)
    assert listings == pytest.approx(0.025 * 48 * HOUR, rel=0.1)


@pytest.mark.campaign
def test_listings_that_must_wait_stop_nobody(db):
    """All pages are due much later than listings that are not allowed: these are passed, and the queue goes on."""
    revisits = made(db, Told(after=20 * DAY), rate=0.02)
    for number in range(10):
        revisits.keep_listing(listing(number), NOW)
        revisits.keep(page(number), NOW)
    listings, pages = crawl(revisits, 30 * 24, 25.0)
    assert pages > 0.7 * 0.02 * 30 * DAY
    assert listings < 0.26 * 0.02 * 30 * DAY


def test_with_fixed_times_a_listing_is_a_page(db):
    """Where no page is taken early, it has its due time from the policy."""
    revisits = made(db, Told(after=2 * HOUR, early=False), rate=1.0)
    revisits.keep_listing(listing(1), NOW)
    assert revisits.next_take(NOW) == NOW + 2 * HOUR


def test_it_stays_a_listing(db):
    """What waits in a checkpoint is one afterwards."""
    revisits = made(db, Told(), rate=0.1)
    revisits.keep_listing(listing(1), NOW)
    revisits.keep(page(1), NOW)
    revisits.save()
    again = made(db, Told(), rate=0.1)
    taken = [record for at in range(100) for record in again.take(NOW + 25 * HOUR + 10 * at, 9)]
    assert {record.url: record.listing for record in taken} == {"http://h/1": False, "http://h/map1": True}
