"""Revisits in a few words."""

from webcrawl.store.jobdir.revisit_figures import RevisitFigures, figures_of, fresh, in_words

FIGURES = RevisitFigures(records=500, taken=30, unchanged_304=12, unchanged_digest=8, changed_text=7, gone=3, sampled=9)


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
    assert figures_of({f"revisit/{name}": value for name, value in FIGURES.numbers().items()}) == FIGURES
