"""Which pages are fetched again, and when: in order of due time, within the budget, never too soon."""

from collections import Counter
from contextlib import closing
from itertools import pairwise
from math import inf, nan

import pytest

from tests.support.revisits import DAY, NOW, Told, made, page
from webcrawl.crawl.revisit.revisits import FARTHEST_DUE, FLOOR, NEVER_DUE_RECHECK
from webcrawl.store.crawldb import CrawlDB


def kept(db, dues, *, now=NOW, policy=None, fetched=NOW - DAY, **others):
    """Revisits with one page per due time, in seconds from now."""
    policy = policy or Told()
    policy.when = {page(number).url: now + due for number, due in enumerate(dues)}
    revisits = made(db, policy, **others)
    for number in range(len(dues)):
        revisits.keep(page(number, fetched), now)
    return revisits, policy


def taken(revisits, now, most=1000):
    return [int(record.url.rpartition("/")[2]) for record in revisits.pop_due(now, most)]


def test_the_budget_is_a_rate(db):
    """As many pages are taken as the rate allows in the time, at whatever moments they are asked
    for.
    """
    revisits, _ = kept(db, [-1.0] * 1000, rate=10.0)
    given = sum(len(revisits.pop_due(NOW + step / 7, 1000)) for step in range(7 * 60))
    assert 597 <= given <= 601


def test_unused_budget_is_not_saved_up(db):
    """After an hour in which nothing was taken, only a few seconds of the budget are given at once."""
    revisits, _ = kept(db, [-1.0] * 1000, rate=10.0)
    revisits.pop_due(NOW, 1)
    assert len(revisits.pop_due(NOW + 3600, 1000)) == 50


def test_a_budget_below_one_page_per_second(db):
    """A small rate gives one page whenever it has grown to one."""
    revisits, _ = kept(db, [-1.0] * 10, rate=0.01)
    assert taken(revisits, NOW) == [0]
    assert revisits.next_due(NOW) == NOW + 100
    assert taken(revisits, NOW + 99) == []
    assert taken(revisits, NOW + 100) == [1]


def test_no_budget_no_pages(db):
    """With a rate of nothing no page is taken, and nobody can say when one will be."""
    revisits, _ = kept(db, [-1.0] * 10, rate=lambda: 0.0)
    taken(revisits, NOW)  # the first one is free
    assert taken(revisits, NOW + DAY) == []
    assert revisits.next_due(NOW + DAY) is None


def test_pages_are_taken_early(db):
    """With enough pages the budget is used although nothing is due, in order of due time."""
    revisits, _ = kept(db, [DAY + number for number in range(100)], rate=1.0)
    assert revisits.next_due(NOW) == NOW
    assert taken(revisits, NOW + 3, 3) == [0, 1, 2]


def test_a_policy_may_want_nobody_early(db):
    """With a policy of fixed times, nothing is taken before it is due, however many pages there
    are.
    """
    revisits, _ = kept(
        db, [DAY + number for number in range(100)], policy=Told(early=False), rate=1.0
    )
    assert taken(revisits, NOW + DAY - 1) == []
    assert revisits.next_due(NOW) == NOW + DAY
    assert taken(revisits, NOW + DAY) == [0]


def test_few_pages_wait_until_they_are_due(db):
    """Where the budget would fetch every page each minute, it is left unused; `next_due` says when
    a page is due.
    """
    revisits, _ = kept(db, [600.0 + number for number in range(10)], rate=100.0)
    assert taken(revisits, NOW) == []
    assert revisits.next_due(NOW) == NOW + 600
    assert taken(revisits, NOW + 602) == [0, 1, 2]


def test_a_larger_budget_does_not_stop_a_queue_that_is_ahead(db):
    """Where the queue is ahead of the clock once the budget suffices for all, it goes on from there
    with the clock.
    """
    rates = [1.0]
    revisits, policy = kept(
        db, [DAY + 10.0 * number for number in range(100)], rate=lambda: rates[-1]
    )
    assert taken(revisits, NOW + 2, 1) == [0]
    rates.append(100.0)
    assert taken(revisits, NOW + 3) == []
    assert revisits.next_due(NOW + 3) == NOW + 12
    assert taken(revisits, NOW + 22) == [1, 2]
    revisits.save()
    assert taken(made(db, policy, rate=100.0), NOW + 32) == [3]


def test_no_page_twice_within_the_floor(db):
    """A page that was fetched a moment ago rests, whatever its due time, and others come before it."""
    revisits, _ = kept(db, [-5.0, -4.0], rate=10.0, fetched=NOW - 10)
    revisits.keep(page(2), NOW)
    assert taken(revisits, NOW) == []
    assert revisits.next_due(NOW) == NOW - 10 + FLOOR
    assert len(revisits) == 3
    assert taken(revisits, NOW - 10 + FLOOR) == [0, 1]


def test_a_small_crawl_is_not_hammered(db):
    """Whatever policy and budget say, no page of ten is fetched more than once per minute."""
    policy = Told(after=0.0)
    revisits, times = made(db, policy, rate=100.0), {}
    for number in range(10):
        revisits.keep(page(number, NOW), NOW)
    for step in range(6000):
        now = NOW + step / 10
        for record in revisits.pop_due(now, 100):
            times.setdefault(record.url, []).append(now)
            record.fetched = now
            revisits.keep(record, now)
    assert len(times) == 10
    assert all(
        later - earlier >= FLOOR for each in times.values() for earlier, later in pairwise(each)
    )
    assert all(len(each) == 9 for each in times.values())


def test_a_clock_that_was_set_back_stops_nothing(db):
    """A page that was fetched in the future, by a clock that was wrong, is taken when its turn
    comes.
    """
    revisits, _ = kept(db, [-1.0], fetched=NOW + 30 * DAY)
    assert taken(revisits, NOW) == [0]


@pytest.mark.parametrize("due", [inf, nan, 2 * FARTHEST_DUE])
def test_never_is_asked_about_again(db, due):
    """A page that is never due comes up at long intervals, and is taken once the policy wants it."""
    revisits, policy = kept(db, [], policy=Told(after=due, early=False))
    revisits.keep(page(0), NOW)
    asked = len(policy.places)
    for day in range(1, 400):
        assert taken(revisits, NOW + day * DAY) == []
    assert (
        400 * DAY / (1.2 * NEVER_DUE_RECHECK)
        <= len(policy.places) - asked
        <= 400 * DAY / (0.8 * NEVER_DUE_RECHECK)
    )
    policy.after = -1.0
    assert [taken(revisits, NOW + day * DAY) for day in range(400, 440)].count([0]) == 1


def test_years_are_counted_from_the_fetch(db):
    """However long a page is left, it is taken when that is over: each time that the policy is
    asked, less is left.
    """
    revisits, _ = kept(db, [], policy=Told(after=2 * FARTHEST_DUE, early=False))
    revisits.keep(page(0, NOW), NOW)
    days = [day for day in range(1, 3000) if taken(revisits, NOW + day * DAY)]
    assert days == [2 * FARTHEST_DUE / DAY]


def test_never_is_better_than_nothing(db):
    """Pages that are never due are taken after all others if budget is left."""
    revisits, _ = kept(db, [inf] * 100 + [20 * DAY], rate=1.0)
    found = [one for step in range(101) for one in taken(revisits, NOW + step)]
    assert found[0] == 100
    assert len(found) == 101 - FLOOR  # with so few pages as are left then, nothing is taken early


def test_all_is_overdue_after_a_month_of_rest(db):
    """A crawl that was stopped for a month goes on in the order of due times, at its rate."""
    revisits, _ = kept(db, [number * 60.0 for number in range(2000)], rate=2.0)
    found = []
    for step in range(500):
        found += taken(revisits, NOW + 30 * DAY + step)
    assert found == [*range(len(found))]
    assert 997 <= len(found) <= 1000


def test_an_own_due_time(db):
    """Who keeps a record may say when it is due, instead of the policy."""
    revisits, policy = kept(db, [])
    revisits.retry(page(1), NOW, 5)
    assert policy.places == []
    assert revisits.next_due(NOW) == NOW + 5


def test_it_is_part_of_the_checkpoint(tmp_path):
    """After a kill all is as it was at the checkpoint, with the policy's state; what came since is
    forgotten.
    """
    with closing(CrawlDB(tmp_path)) as db:
        revisits, _ = kept(db, [-3.0, -2.0, -1.0], rate=5.0)
        resting = page(7, NOW)
        revisits.retry(resting, NOW - 9, 0)
        assert taken(revisits, NOW, 1) == [0]
        for _ in db.prepare():
            pass
        db.checkpoint()
        assert taken(revisits, NOW + 1) == [1, 2]
        revisits.keep(page(9), NOW)
    with closing(CrawlDB(tmp_path)) as db:
        policy = Told()
        revisits = made(db, policy, rate=100.0)
        assert policy.restored == b"state"
        assert len(revisits) == 3
        revisits.pop_due(NOW, 0)
        assert taken(revisits, NOW + FLOOR) == [7, 1, 2]


def test_few_records_are_looked_at_in_vain(db):
    """One call looks at a bounded number of records, so that none takes long; the next goes on."""
    revisits, policy = kept(db, [inf] * 2000, policy=Told(early=False), rate=1.0)
    policy.places.clear()
    assert taken(revisits, NOW + 40 * DAY, 1) == []
    assert 0 < len(policy.places) < 200
    assert revisits.next_due(NOW + 40 * DAY) == NOW + 40 * DAY


def test_a_signal_that_the_policy_declines(db):
    """Its page is left to its turn, and announced again it is looked at again; the counter has
    both.
    """
    policy, counters = Told(), Counter()
    policy.declines = lambda url: url == page(0).url
    revisits = made(db, policy, rate=10.0, counters=counters)
    told = [revisits.announce(page(number).url, NOW) for number in (0, 1)]
    found = taken(revisits, NOW + DAY)
    again = revisits.announce(page(0).url, NOW + DAY)
    found += taken(revisits, NOW + 2 * DAY)

    assert (told, again, found) == ([True, True], True, [1])
    assert counters["signals/ignored"] == 2
