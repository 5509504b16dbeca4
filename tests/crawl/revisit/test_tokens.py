"""The budget of revisits: a rate, without a rush after a pause."""

import pytest

from webcrawl.crawl.revisit.pace import SAVED, Tokens


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


def test_what_is_owed_is_saved_on_half_of_the_next():
    """Pages that are fetched without asking are saved on later ones, of which every other is given all the same."""
    tokens = Tokens(lambda: 1.0)
    tokens.spend(tokens.whole(0.0))
    for _ in range(50):
        tokens.owe()
    given = []
    for now in range(1, 151):
        given.append(tokens.whole(float(now)))
        tokens.spend(given[-1])
    assert (sum(given[:100]), sum(given[100:])) == (50, 50)


@pytest.mark.parametrize(("owed", "wait"), [(0, 0.1), (0.05, 0.105), (50, 0.2)])
def test_when_there_is_one_again(owed, wait):
    """`next` counts what is saved on the way."""
    tokens = Tokens(lambda: 10.0)
    tokens.spend(tokens.whole(0.0))
    tokens._owed = owed
    assert tokens.next(0.0) == pytest.approx(wait)
    assert (tokens.whole(wait - 0.001), tokens.whole(wait + 0.001)) == (0, 1)


def test_a_rate_that_wavers_takes_back_little():
    """What was saved while the rate was higher is forgotten slowly; nothing is added meanwhile."""
    rate = [10.0]
    tokens = Tokens(lambda: rate[0], 3600.0)
    for now in range(3600):
        tokens.whole(float(now))
    rate[0] = 0.0
    assert tokens.whole(3600.0 + 60.0) > 35_000
    assert tokens.whole(3600.0 * 20) == 1


def test_they_are_kept_over_a_restart():
    """The time in between gives nothing."""
    tokens = Tokens(lambda: 1.0, 3600.0)
    assert (tokens.whole(0.0), tokens.whole(100.0)) == (1, 101)
    tokens.owe()
    after = Tokens(lambda: 1.0, 3600.0)
    after.restore(tokens.state())
    assert (after.whole(1e6), after.whole(1e6 + 2)) == (101, 102)
    after.restore(b"")
    assert after.whole(1e6 + 4) == 104
