"""Numbers for people."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.base.readable import count, pace, short


class TestShort:
    @pytest.mark.parametrize(
        ("number", "text"),
        [
            (0, "0"),
            (9_999, "9999"),
            (10_000, "10k"),
            (999_499, "999k"),
            (999_500, "1.0M"),
            (9_940_000, "9.9M"),
        ],
    )
    def test_two_digits_and_a_unit(self, number, text):
        """Up to four digits are written out; larger numbers are rounded and get a unit."""
        assert short(number) == text

    @given(st.floats(0, 9e14))
    def test_the_width(self, number):
        """No number needs more than four characters."""
        assert len(short(number)) <= 4


def test_a_number_and_its_noun():
    """One is singular, all others are plural; a plural behind `ch` has an e."""
    assert [count(number, "page") for number in (0, 1, 2)] == ["0 pages", "1 page", "2 pages"]
    assert [count(number, "batch") for number in (0, 1, 2)] == ["0 batches", "1 batch", "2 batches"]


@pytest.mark.parametrize(
    ("pages", "seconds", "text"),
    [
        (15, 29, "0.5"),
        (3, 40, "0.1"),
        (99, 10, "9.9"),
        (199, 20, "10"),
        (0, 0, "0.0"),
        (2, 0, "20"),
        (19, 417, "<0.1"),
    ],
)
def test_a_slow_pace_has_a_decimal(pages, seconds, text):
    """Half a page per second is neither none nor one, nor are a few per minute; from ten on whole
    numbers do.
    """
    assert pace(pages, seconds) == text
