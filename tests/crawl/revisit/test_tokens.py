"""The budget of revisits: a rate, without a rush after a pause."""

import pytest

from webcrawl.crawl.revisit_budget import SAVED, Tokens


def test_it_begins_with_one():
    """The first page needs no wait, at whatever time the clock begins."""
    assert [Tokens(lambda: 10.0).whole(now) for now in (0.0, 1.8e9)] == [1, 1]


def test_tokens_come_at_the_rate_in_force():
    """A changed rate counts from the next look on."""
    rate = [2.0]
    tokens = Tokens(lambda: rate[0])
    tokens.spend(tokens.whole(0.0))
    assert tokens.whole(1.0) == 2
    rate[0] = 0.0
    assert tokens.whole(2.0) == 1  # as many as may be kept without a rate
    tokens.spend(1)
    assert (tokens.whole(100.0), tokens.next(100.0)) == (0, None)
    rate[0] = -1.0
    assert (tokens.whole(200.0), tokens.next(200.0)) == (0, None)


def test_few_are_saved():
    """After a pause there are some seconds' worth."""
    tokens = Tokens(lambda: 10.0)
    tokens.whole(0.0)
    assert tokens.whole(3600.0) == 10 * SAVED


def test_a_clock_that_goes_back_gives_nothing():
    """Tokens of a time are given once."""
    tokens = Tokens(lambda: 1.0)
    tokens.spend(tokens.whole(100.0))
    tokens.spend(tokens.whole(102.0))
    assert [tokens.whole(now) for now in (50.0, 101.0, 102.0, 103.0)] == [0, 0, 0, 1]


def test_when_there_is_one_again():
    """`next` says when."""
    tokens = Tokens(lambda: 10.0)
    tokens.spend(tokens.whole(0.0))
    assert tokens.next(0.0) == pytest.approx(0.1)
    assert (tokens.whole(0.099), tokens.whole(0.101)) == (0, 1)


def test_a_rate_that_wavers_takes_back_little():
    """What was saved while the rate was higher is forgotten slowly; nothing is added meanwhile."""
    rate = [10.0]
    tokens = Tokens(lambda: rate[0])
    for now in range(60):
        tokens.whole(float(now))
    rate[0] = 0.0
    assert 40 < tokens.whole(60.0) < 50
    assert tokens.whole(120.0) == 1
