"""What a crawl that fetches pages again says of itself, from its records."""

from math import exp
from random import Random

import pytest

from webcrawl.store.jobdir.revisit_figures import (
    DAY,
    EDGES,
    HOUR,
    RevisitFigures,
    Sampled,
    freshness,
    mean_age,
    together,
)

NOW = 1_000_000_000.0


class TestFreshness:
    @pytest.mark.parametrize("shape", [0.3, 1.0, 2.5, 40.0])
    def test_it_is_that_of_pages_with_such_rates(self, shape):
        """Of many pages whose rates are drawn from the posterior, this share has not changed, and for so long."""
        random, since, span, pages = Random(1), 30_000.0, 50_000.0, 40_000
        fresh, age = 0, 0.0
        for _ in range(pages):
            first = random.expovariate(random.gammavariate(shape, 1 / span))
            fresh += first > since
            age += max(0.0, since - first)

        assert freshness(shape, span, since) == pytest.approx(fresh / pages, abs=0.01)
        assert mean_age(shape, span, since) == pytest.approx(age / pages, rel=0.04)

    def test_a_known_rate(self):
        """A posterior with much behind it is that of a Poisson process."""
        rate = 1 / DAY
        assert freshness(1e6, 1e6 * DAY, DAY) == pytest.approx(exp(-1), rel=1e-4)
        assert mean_age(1e6, 1e6 * DAY, DAY) == pytest.approx(DAY - (1 - exp(-1)) / rate, rel=1e-3)

    @pytest.mark.parametrize("near", [1 - 1e-7, 1.0, 1 + 1e-7])
    def test_near_a_shape_of_one(self, near):
        """The formula has a gap there, which nothing falls into."""
        assert mean_age(near, DAY, DAY) == pytest.approx(mean_age(1.001, DAY, DAY), rel=0.01)

    def test_just_fetched(self):
        """A page is fresh, and not old."""
        assert (freshness(1.0, DAY, 0.0), mean_age(1.0, DAY, 0.0)) == (1.0, 0.0)

    def test_of_nothing_known(self):
        """An empty posterior says that a page has changed as soon as time has passed."""
        assert (freshness(0.0, 0.0, 5.0), mean_age(0.0, 0.0, 5.0), freshness(0.0, 0.0, 0.0)) == (0.0, 5.0, 1.0)


class TestEstimates:
    def test_pages_count_by_their_weight(self):
        """A page that matters three times as much counts three times."""
        figures = RevisitFigures(records=2)
        figures.estimate([Sampled(NOW, 1.0, DAY, 3.0), Sampled(NOW - DAY, 1.0, DAY, 1.0)], NOW)

        assert figures.freshness == pytest.approx((3 * 1.0 + 0.5) / 4)
        assert figures.age == pytest.approx(mean_age(1.0, DAY, DAY) / 4)
        assert figures.sampled == 2

    def test_histograms(self):
        """Pages by the time between two changes, and between two fetches, which one that was fetched once has not."""
        figures = RevisitFigures(records=1000)
        figures.estimate(
            [
                Sampled(NOW, 2.0, DAY, interval=HOUR - 1),
                Sampled(NOW, 1.0, 400 * DAY),
                Sampled(NOW - 400 * DAY, 1.0, HOUR),
            ],
            NOW,
        )

        assert figures.rates[EDGES.index(DAY)] == 1
        assert (figures.rates[-1], figures.rates[EDGES.index(HOUR) + 1]) == (1, 1)
        assert (sum(figures.intervals), figures.intervals[EDGES.index(HOUR)]) == (1, 1)
        assert figures.let_go == 333

    def test_a_clock_that_was_set_back(self):
        """A page that was fetched in the future is fresh."""
        figures = RevisitFigures(records=1)
        figures.estimate([Sampled(NOW + 100, 1.0, DAY)], NOW)

        assert (figures.freshness, figures.age) == (1.0, 0.0)

    @pytest.mark.parametrize("sample", [[], [Sampled(NOW, 1.0, DAY, 0.0)]])
    def test_of_no_pages(self, sample):
        """Nothing is said of nothing."""
        figures = RevisitFigures(records=0)
        figures.estimate(sample, NOW)

        assert (figures.freshness, figures.age, figures.let_go) == (0.0, 0.0, 0)

    def test_one_again_replaces_the_last(self):
        """Estimates do not add up."""
        figures = RevisitFigures(records=1)
        for _ in range(2):
            figures.estimate([Sampled(NOW, 1.0, DAY)], NOW)

        assert (figures.sampled, sum(figures.rates), sum(figures.intervals)) == (1, 1, 0)


class TestKept:
    def test_they_can_be_written_and_read(self):
        """As numbers and histograms, which stats.json has; of another version what is known by name is taken."""
        figures = RevisitFigures(records=7, taken=3, freshness=0.25, rates=[1] * len(EDGES) + [2])
        again = RevisitFigures.of({**figures.numbers(), **figures.histograms(), "new": 1})

        assert again == figures
        assert RevisitFigures.of({"rates": [1]}).rates == [1] + [0] * len(EDGES)

    def test_of_several_crawls(self):
        """Numbers are sums, estimates means by the number of records."""
        some = RevisitFigures(records=100, taken=1, budget=0.5, freshness=0.5, age=10.0)
        others = RevisitFigures(records=300, taken=2, budget=1.0, freshness=0.9, age=30.0)
        whole = together([some, others])

        assert (whole.records, whole.taken, whole.budget) == (400, 3, 1.5)
        assert (whole.freshness, whole.age) == (pytest.approx(0.8), pytest.approx(25.0))
        assert together([]) == RevisitFigures()
