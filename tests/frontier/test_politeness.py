"""Politeness policies: all keep the contract, and each does what its author describes."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.frontiers import OK, add, make
from webcrawl.frontier.politeness.fixed import Fixed, Weak
from webcrawl.frontier.politeness.mercator import MeanOfFive, Mercator
from webcrawl.store.crawldb import CrawlDB

TIMES = st.lists(st.floats(0, 1e6), max_size=5)


@pytest.mark.parametrize("policy", [Mercator, Fixed, MeanOfFive, Weak])
class TestContract:
    @given(
        times=TIMES, factor=st.floats(0, 1000), minimum=st.floats(0, 100), more=st.floats(0, 1000)
    )
    def test_the_wait_keeps_within_the_bounds(self, policy, times, factor, minimum, more):
        """The wait is always between POLITENESS_MIN_DELAY and POLITENESS_MAX_DELAY."""
        wait = policy(factor, minimum, minimum + more).wait(times)
        assert minimum <= wait <= minimum + more

    @given(times=TIMES)
    def test_the_wait_is_a_number(self, policy, times):
        """Before the first download there is a finite wait, too."""
        assert math.isfinite(policy(10, 1, 300).wait(times))


class TestPolicies:
    def test_mercator_multiplies_the_last_download(self):
        """Mercator waits ten times as long as the last download took."""
        assert Mercator(10, 1, 300).wait([9.0, 0.7]) == 7.0

    def test_nielsen_always_waits_the_same(self):
        """Nielsen waits 70 seconds, however long downloads take."""
        assert Fixed(10, 1, 300).wait([]) == Fixed(10, 1, 300).wait([5.0]) == 70.0

    def test_the_bounds_set_another_fixed_delay(self):
        """If both bounds are equal, they are the fixed delay."""
        assert Fixed(10, 5, 5).wait([1.0]) == 5

    def test_mischel_takes_the_mean_of_the_last_five(self):
        """Mischel waits the mean of the last five times the factor."""
        assert MeanOfFive(10, 1, 300).wait([1.0, 2.0, 3.0, 4.0, 5.0]) == 30.0

    def test_mischel_has_a_floor(self):
        """Fast answers do not make Mischel ask more often than every 15 seconds."""
        assert MeanOfFive(10, 1, 300).wait([0.01] * 5) == 15.0

    def test_mercators_weak_guarantee(self):
        """Without a minimum there is no pause, however long downloads take; with one, it is the
        pause.
        """
        assert Weak(10, 0, 300).wait([]) == Weak(10, 0, 300).wait([5.0]) == 0.0
        assert Weak(10, 2, 300).wait([5.0]) == 2.0

    def test_mischel_begins_with_a_minute(self):
        """An unknown host waits one minute."""
        assert MeanOfFive(10, 1, 300).wait([]) == 60.0


def test_weak_politeness(tmp_path):
    """A host has one request at a time, and its next one as soon as that has ended; a Crawl-delay
    is still kept.
    """
    db = CrawlDB(tmp_path)
    frontier = make(db, politeness=Weak(10, 0, 300))
    add(frontier, *(f"http://a/{number}" for number in range(5)))
    for number in range(3):
        link = frontier.take(number)
        assert frontier.take(number + 0.9) is None
        frontier.done(link, OK, number + 1)
    frontier.crawl_delay("a", 20)
    frontier.done(frontier.take(3), OK, 4)
    assert frontier.take(23.9) is None
    assert frontier.take(24) is not None
    db.close()
