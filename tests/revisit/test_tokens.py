"""The budget of revisits: a rate, without a rush after a pause."""

from webcrawl.revisit.tokens import DEBT, SAVED, Tokens


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


def test_what_is_owed_is_saved_on_the_next():
    """Pages that are fetched without asking are paid later, but no more than a minute's worth."""
    tokens = Tokens(lambda: 10.0)
    tokens.whole(0.0)
    for _ in range(11):
        tokens.owe()
    assert (tokens.whole(0.0), tokens.next(0.0)) == (0, 1.1)
    for _ in range(10_000):
        tokens.owe()
    assert tokens.next(0.0) <= DEBT + 0.3
