"""A sample of the pages that are fetched again, and what a crawl says of all by it."""

from math import exp
from random import Random

import pytest

from webcrawl.crawl.revisit.change_rate import Prior, observe
from webcrawl.crawl.revisit.record import PageRecord
from webcrawl.crawl.revisit.sample import MOST, Sample
from webcrawl.crawl.revisit_counts import estimate
from webcrawl.store.jobdir.revisit_figures import DAY, EDGES, HOUR, RevisitFigures

NOW = 1_000_000_000.0


def record(number, **values):
    return PageRecord(f"http://a.test/{number}", **{"fetched": float(number), **values})


def numbers(sample):
    return {page.fetched for page in sample}


class TestSample:
    def test_any_page_is_as_likely(self):
        """However often a page is fetched: those of one page in ten are a tenth of the sample."""
        sample, random = Sample(most=500), Random(1)
        for number in range(5000):
            for _ in range(random.choice((1, 20))):
                sample.put(record(number), 0.0)

        assert len(sample) == 500
        assert sum(number % 10 == 0 for number in numbers(sample)) == pytest.approx(50, abs=20)
        assert sum(number < 2500 for number in numbers(sample)) == pytest.approx(250, abs=60)

    def test_the_last_fetch_counts(self):
        """A page that is fetched again is as its last fetch left it."""
        sample = Sample()
        sample.put(record(1), 0.0)
        sample.put(record(1, weight=3.0, shape=2.0, span=5.0, visits=4, changes=2), 9.0)

        (page,) = sample
        assert (page.weight, page.interval, page.shape, page.span, page.visits, page.changes) == (3, 9, 2, 5, 4, 2)
        assert sample.find(record(1).url) is page
        assert sample.find(record(2).url) is None

    def test_a_page_that_is_gone(self):
        """It leaves the sample, and its place is not taken by one that was not small enough before."""
        sample = Sample(most=10)
        for number in range(100):
            sample.put(record(number), 0.0)
        gone = int(min(numbers(sample)))
        sample.drop(record(gone).url)
        for number in range(100):
            if number != gone:
                sample.put(record(number), 0.0)
        assert len(sample) == 9
        for number in range(100, 300):
            sample.put(record(number), 0.0)

        assert len(sample) == 10
        sample.drop("http://never.test/")

    def test_a_state_comes_back(self):
        """The restored sample has the same pages and lets in the same pages."""
        old, new = Sample(bytes(range(16))), Sample(bytes(range(16)))
        for number in range(MOST + 1000):
            old.put(record(number, shape=0.5, visits=3), 8.0)
        old.prior.learn(old)
        new.restore(old.save())
        assert (new.save(), new.prior.mean) == (old.save(), old.prior.mean)
        for number in range(MOST + 2000):
            for one in (old, new):
                one.put(record(number), 8.0)
        assert numbers(new) == numbers(old)


def figures(*records, interval=0.0):
    found, sample = RevisitFigures(records=len(records)), Sample()
    for number, one in enumerate(records):
        one.url = str(number)
        sample.put(one, interval)
    estimate(found, sample, NOW)
    return found


def seen(visits, **values):
    page = record(0, **{"fetched": NOW, **values})
    for seconds, changed in visits:
        observe(page, seconds, Prior(), changed=changed)
    return page


class TestEstimates:
    def test_of_a_known_rate(self):
        """A page that changes once a day on average is fresh after a day with probability 1 / e."""
        visits = ([(DAY / 50, False)] * 49 + [(DAY / 50, True)]) * 40
        found = figures(seen(visits, fetched=NOW - DAY))

        assert found.freshness == pytest.approx(exp(-1), abs=0.05)
        assert found.age == pytest.approx(DAY * exp(-1), rel=0.15)

    def test_pages_count_by_their_weight(self):
        """A page that matters three times as much counts three times."""
        stale = seen([(60.0, True)] * 9, fetched=NOW - 1000 * DAY)
        found = figures(record(0, fetched=NOW, weight=3.0), stale)

        assert found.freshness == pytest.approx(0.75, abs=1e-3)
        assert (found.sampled, found.let_go) == (2, 1)

    def test_histograms(self):
        """Pages by the time between two changes, and between two fetches, which one that was fetched once has not."""
        found = figures(seen([(60.0, True)] * 50), seen([(1000 * DAY, False)] * 9), interval=HOUR - 1)

        assert sum(found.rates) == 2
        assert found.rates[-1] == 1
        assert sum(found.rates[: EDGES.index(HOUR)]) == 1
        assert (sum(found.intervals), found.intervals[EDGES.index(HOUR)]) == (2, 2)
        assert sum(figures(record(0)).intervals) == 0

    def test_a_clock_that_was_set_back(self):
        """A page that was fetched in the future is fresh."""
        found = figures(record(0, fetched=NOW + 100))

        assert (found.freshness, found.age) == (1.0, 0.0)

    @pytest.mark.parametrize("records", [[], [record(0, fetched=NOW, weight=0.0)]])
    def test_of_no_pages(self, records):
        """Nothing is said of nothing."""
        found = figures(*records)

        assert (found.freshness, found.age, found.let_go) == (0.0, 0.0, 0)
