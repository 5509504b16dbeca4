"""Signals that come too often are not followed: the policy is asked, by how often they came."""

from contextlib import closing

import pytest

from tests.support.revisits import DAY, NOW, Told, made
from webcrawl.crawl.revisit.record import record_of
from webcrawl.store.crawldb import CrawlDB

URL = "http://h/1"


@pytest.fixture(name="policy")
def _policy():
    return Told()


@pytest.fixture(name="revisits")
def _revisits(tmp_path, policy):
    with closing(CrawlDB(tmp_path)) as db:
        yield made(db, policy)


def tell(revisits, now):
    """A signal, and the fetch that it leads to, if any."""
    link = revisits.foretold.announce(URL, now)
    if link is not None:
        record = record_of(link)
        record.fetched, record.weight = now, 0.5
        revisits.foretold.ahead.found(record)
    return link is not None


def test_the_first_signal_has_no_gap(revisits, policy):
    """Of the first signal of a page nothing is known; later ones come with weight and mean gap."""
    assert [tell(revisits, NOW + days * DAY) for days in (0, 1, 4)] == [True] * 3
    assert policy.gaps == [(1.0, None), (0.5, DAY), (0.5, 2 * DAY)]


def test_declined_signals_count(revisits, policy):
    """A signal that is not followed counts for the mean gap, too, and leaves the page as it was."""
    policy.least = 2 * DAY
    assert [tell(revisits, NOW + days * DAY) for days in (0, 1, 2, 3, 20)] == [True, False, False, False, True]
    assert [gap for _, gap in policy.gaps] == [None, DAY, DAY, DAY, 5 * DAY]


def test_the_latest_signals_count_most(revisits, policy):
    """A page that came daily for years and then monthly is known for it after some ten signals."""
    for days in (*range(1000), *range(1000, 1600, 30)):
        tell(revisits, NOW + days * DAY)
    assert 20 * DAY < policy.gaps[-1][1] < 30 * DAY
