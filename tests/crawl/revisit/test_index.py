"""What a visit is worth, and when it is worth so much."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.crawl.revisit.optimal import LONGEST_LOG_INTERVAL, interval, value

SHAPES = st.floats(0.05, 300)
SPANS = st.floats(60, 1e9)


def known(rate, seconds):
    """Azar's index of a page of weight 1 whose rate is known."""
    return (1 - (1 + rate * seconds) * np.exp(-rate * seconds)) / rate


@pytest.mark.parametrize(
    ("shape", "span", "seconds"),
    [(0.35, 1e6, 1e6), (1.0, 1e6, 3e5), (2.5, 1e5, 4e6), (40, 1e7, 1e6)],
)
def test_the_value_is_the_expected_index(shape, span, seconds):
    """The value is the mean of Azar's index over the rates that are possible."""
    rates = np.random.default_rng(1).gamma(shape, 1 / span, 1_000_000)

    assert value(shape, span, seconds) == pytest.approx(known(rates, seconds).mean(), rel=0.01)


@given(shape=SHAPES, span=SPANS, rounds=st.floats(1e-4, 1e3))
def test_the_interval_is_the_inverse(shape, span, rounds):
    """After the interval the value is what was asked for."""
    seconds = rounds * span
    worth = value(shape, span, seconds)
    limit = span / (shape - 1) if shape > 1 else float("inf")

    if worth < 0.999 * limit:
        assert value(shape, span, interval(shape, span, worth)) == pytest.approx(worth, rel=0.02)


@given(shape=SHAPES, span=SPANS, worth=st.floats(1e-6, 1e12))
def test_an_interval_is_a_time(shape, span, worth):
    """Every value gives an interval, longer for a larger value; what is never reached is longer
    than any crawl.
    """
    shorter, longer = interval(shape, span, worth), interval(shape, span, 1.5 * worth)

    assert 0 < shorter <= longer * 1.02
    if shape > 1 and worth * (shape - 1) >= span:
        assert shorter == pytest.approx(span * np.expm1(LONGEST_LOG_INTERVAL))
