"""Turns of pages whose hosts would have announced a change: they pass without a fetch, for as long as that is so."""

import pytest

from tests.support.revisits import DAY, NOW, Told, made, page
from webcrawl.crawl.revisit.record import record_of


class Rare(Told):
    """A page is due a day after its fetch; ten days after it if one change of ten is not announced."""

    def due(self, record, now, missed=1.0):
        return now + DAY / missed


@pytest.fixture(name="missed")
def _missed():
    """What hosts miss; a test may change it."""
    return [0.1]


@pytest.fixture(name="revisits")
def _revisits(db, missed):
    return made(db, Rare(early=False), missed=lambda url: missed[0])


def test_a_turn_that_takes_over_what_a_signal_found(db):
    """It spares a tenth of a fetch: the page would have been due after ten days, of which one has passed."""
    policy = Rare(early=False)
    revisits = made(db, policy, missed=lambda url: 0.1)
    revisits.keep(page(1, NOW, listed=True, digest=1), NOW)
    ahead = record_of(revisits.foretold.announce(page(1).url, NOW + DAY / 2))
    ahead.fetched, ahead.digest = NOW + DAY / 2, 2
    revisits.foretold.ahead.found(ahead)
    assert revisits.take(NOW + DAY + 1, 9) == []
    assert policy.spares == [pytest.approx(0.1, rel=0.01)]


def day_of(revisits, until=20):
    """The day on which the page is fetched."""
    return next((day for day in range(1, until) if revisits.take(NOW + day * DAY + 1, 9)), None)


def test_the_turns_of_a_listed_page_pass(revisits):
    """It is fetched when a change may have been missed."""
    revisits.keep(page(1, NOW, listed=True), NOW)
    assert day_of(revisits) == pytest.approx(10, abs=1)


def test_a_host_that_fell_silent(revisits, missed):
    """The next turn of each of its pages counts, though it was filed when the host was believed."""
    revisits.keep(page(1, NOW, listed=True), NOW)
    assert day_of(revisits, until=4) is None
    missed[0] = 1.0
    assert len(revisits.take(NOW + 5 * DAY, 9)) == 1


@pytest.mark.parametrize("others", [{"listed": False}, {"listed": True, "gone": 1}])
def test_turns_that_do_not_pass(revisits, others):
    """Those of pages that no listing names, or that are looked for because they are gone."""
    revisits.keep(page(1, NOW, **others), NOW)
    assert day_of(revisits) == 1


def test_the_queue_goes_on(db):
    """Where turns are taken early, one that passes does not come again before those of all others."""
    policy = Rare()
    revisits = made(db, policy, rate=0.01, missed=lambda url: 0.1)
    for number in range(50):
        revisits.keep(page(number, NOW, listed=number < 25), NOW)
    found = []
    for step in range(1, 60):
        now = NOW + 100.0 * step
        for record in revisits.take(now, 9):
            found.append(record.url)
            record.fetched = now
            revisits.keep(record, now)
    assert len(found) == pytest.approx(59, abs=2)
    assert {page(number).url for number in range(25, 50)} <= set(found)
