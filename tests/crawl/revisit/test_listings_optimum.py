"""What is possible with honest listings that are paid for: benchmarks/support/listings.py."""

import numpy as np
import pytest

from benchmarks.support.copy_freshness import optimum
from benchmarks.support.listings import told


def web(pages):
    chance = np.random.default_rng(1)
    return np.exp(chance.standard_normal(pages)), 1 / np.arange(1, pages + 1) ** 0.8


def found(pages, each, budget=0.2):
    """With so many pages on each host, and so many fetches as a share of all changes; and the
    optimum without.
    """
    rates, weights = web(pages)
    allowed = budget * float(rates.sum())
    return told(rates, weights, np.arange(pages) // each, allowed), optimum(
        [*rates], [*weights], allowed
    )


@pytest.mark.campaign
def test_a_listing_of_one_page_is_of_no_use():
    """To read it costs as much as to fetch the page."""
    got, without = found(60, 1)
    assert got.fresh == pytest.approx(without, abs=1e-3)
    assert got.readings == 0


@pytest.mark.campaign
def test_a_listing_of_many_pages_costs_next_to_nothing():
    """What is possible comes near to what would be if changes were known at once, and for nothing."""
    got, without = found(3000, 3000)
    assert without < 0.95 * got.free
    assert 0.98 * got.free < got.fresh <= got.free


@pytest.mark.campaign
def test_the_more_pages_a_listing_has_the_better():
    """Each reading is of more of them."""
    fresh = [found(60, each)[0].fresh for each in (1, 10, 60)]
    assert fresh == sorted(fresh)
    assert fresh[-1] > 1.05 * fresh[0]
