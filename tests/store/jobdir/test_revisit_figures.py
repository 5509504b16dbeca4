"""The figures of a crawl that fetches pages again, written, read and summed."""

import pytest

from webcrawl.store.jobdir.revisit_figures import (
    EDGES,
    RevisitFigures,
    figures_of,
    fresh,
    in_words,
    together,
)


def test_they_can_be_written_and_read():
    """As numbers and histograms, which stats.json has; of another version what is known by name is
    taken.
    """
    figures = RevisitFigures(records=7, taken=3, freshness=0.25, rates=[1] * len(EDGES) + [2])
    again = RevisitFigures.of({**figures.numbers(), **figures.histograms(), "new": 1})

    assert again == figures
    assert RevisitFigures.of({"rates": [1]}).rates == [1] + [0] * len(EDGES)


def test_of_several_crawls():
    """Numbers are sums, estimates means by the number of records."""
    some = RevisitFigures(records=100, taken=1, budget=0.5, freshness=0.5, age=10.0, sampled=9)
    others = RevisitFigures(records=300, taken=2, budget=1.0, freshness=0.9, age=30.0, sampled=9)
    whole = together([some, others])

    assert (whole.records, whole.taken, whole.budget) == (400, 3, 1.5)
    assert (whole.freshness, whole.age) == (pytest.approx(0.8), pytest.approx(25.0))
    assert together([]) == RevisitFigures()


FIGURES = RevisitFigures(
    records=500, taken=30, unchanged_304=12, unchanged_digest=8, changed_text=7, gone=3, sampled=9
)


def test_what_came_of_them():
    """One line has the numbers that matter."""
    FIGURES.freshness = 0.837
    assert in_words(FIGURES) == (
        "30 revisits of 500 pages (20 unchanged, 7 changed, 3 gone), about 84% of all copies fresh"
    )


def test_nothing_is_estimated_of_nothing():
    """While no page is sampled there is a dash."""
    assert fresh(RevisitFigures()) == "-"


def test_of_a_crawl_without_revisits():
    """It has no such figures, and nothing is said."""
    assert figures_of({"pages": 5}) is None
    assert (
        figures_of({f"revisit/{name}": value for name, value in FIGURES.numbers().items()})
        == FIGURES
    )


def test_in_words():
    """What came of revisits is said by what was found, however it was known; nothing is said of
    copies unseen.
    """
    found = {
        "unchanged_304": 3,
        "unchanged_digest": 4,
        "changed_digest": 5,
        "changed_text": 6,
        "gone": 7,
    }
    said = in_words(RevisitFigures(taken=25, records=9, **found))

    assert "25 revisits of 9 pages" in said
    assert "7 unchanged, 11 changed, 7 gone" in said
    assert "fresh" not in said
    assert "80%" in in_words(RevisitFigures(taken=1, records=9, sampled=9, freshness=0.8))
