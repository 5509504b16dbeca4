"""A sample of the pages that are fetched again."""

from random import Random

import pytest

from webcrawl.crawl.revisit.record import PageRecord
from webcrawl.crawl.revisit.sampled_rates import Sampled
from webcrawl.crawl.revisit_counts import Watched
from webcrawl.store.crawldb import CrawlDB

KEY = bytes(16)


@pytest.fixture(name="db")
def _db(tmp_path):
    db = CrawlDB(tmp_path / "state")
    yield db
    db.close()


def record(number, **values):
    return PageRecord(f"http://a.test/{number}", fetched=float(number), **values)


def numbers(watched):
    return {page.fetched for page in watched}


def test_any_page_is_as_likely(db):
    """However often a page is fetched: those of one page in ten are a tenth of the sample."""
    watched, random = Watched(db, KEY, 500), Random(1)
    for number in range(5000):
        for _ in range(random.choice((1, 20))):
            watched.put(record(number), 0.0, None)

    assert len(watched) == 500
    assert sum(number % 10 == 0 for number in numbers(watched)) == pytest.approx(50, abs=20)
    assert sum(number < 2500 for number in numbers(watched)) == pytest.approx(250, abs=60)


def test_the_last_fetch_counts(db):
    """A page that is fetched again has its new row, with what all its visits have said."""
    watched = Watched(db, KEY)
    watched.put(record(1), 0.0, None)
    watched.put(record(1), 7.0, False)
    watched.put(record(1, weight=3.0), 9.0, True)

    assert [*watched] == [Sampled(1.0, 3.0, 9.0, quiet=7.0).after(9.0, changed=True)]


def test_a_page_that_was_fetched_ahead(db):
    """What its record does not know yet is known of the sample; other pages do not come into it so."""
    watched = Watched(db, KEY)
    watched.put(record(1), 7.0, False)
    watched.renew(record(1).url, 9.0, changed=True)
    watched.renew(record(2).url, 9.0, changed=True)

    assert [*watched] == [Sampled(9.0, 1.0, 7.0, quiet=7.0).after(8.0, changed=True)]


def test_a_page_that_is_gone(db):
    """It leaves the sample, and its place is not taken by one that was not small enough before."""
    watched = Watched(db, KEY, 10)
    for number in range(100):
        watched.put(record(number), 0.0, None)
    gone = int(min(numbers(watched)))
    watched.drop(record(gone).url)
    for number in range(100):
        if number != gone:
            watched.put(record(number), 0.0, None)
    assert len(watched) == 9
    for number in range(100, 300):
        watched.put(record(number), 0.0, None)

    assert len(watched) == 10
    watched.drop("http://never.test/")


def test_a_checkpoint_keeps_it(db):
    """A run goes on with the sample of the last one."""
    watched = Watched(db, KEY, 10)
    for number in range(100):
        watched.put(record(number), 8.0, number % 2 == 0)
    watched.save()
    again = Watched(db, KEY, 10)
    assert [*again] == [*watched]
    for number in range(300):
        for one in (watched, again):
            one.put(record(number), 8.0, True)

    assert sorted(again) == sorted(watched)
