"""The figures of a crawl that fetches pages again, written, read and summed."""

import pytest

from webcrawl.store.jobdir.revisit_figures import EDGES, RevisitFigures, together


def test_they_can_be_written_and_read():
    """As numbers and histograms, which stats.json has; of another version what is known by name is taken."""
    figures = RevisitFigures(records=7, taken=3, freshness=0.25, rates=[1] * len(EDGES) + [2])
    again = RevisitFigures.of({**figures.numbers(), **figures.histograms(), "new": 1})

    assert again == figures
    assert RevisitFigures.of({"rates": [1]}).rates == [1] + [0] * len(EDGES)


def test_of_several_crawls():
    """Numbers are sums, estimates means by the number of records."""
    some = RevisitFigures(records=100, taken=1, budget=0.5, freshness=0.5, age=10.0)
    others = RevisitFigures(records=300, taken=2, budget=1.0, freshness=0.9, age=30.0)
    whole = together([some, others])

    assert (whole.records, whole.taken, whole.budget) == (400, 3, 1.5)
    assert (whole.freshness, whole.age) == (pytest.approx(0.8), pytest.approx(25.0))
    assert together([]) == RevisitFigures()
