"""How fresh copies truly were, and how fresh they could have been."""

from collections import defaultdict
from math import exp
from random import Random
from statistics import NormalDist

import pytest

from benchmarks.support.copy_freshness import (
    fetches,
    freshness,
    optimum,
    proportional,
    spans,
    uniform,
)
from tests.support.examples import in_campaign
from webcrawl.lab.simweb import Hit, World
from webcrawl.lab.simweb.changing_pages import GONE
from webcrawl.lab.simweb.random_content import path
from webcrawl.lab.simweb.web_answers import WebRequest

START = 1_700_000_000.0
DAY = 86_400.0
DAYS = 40


class Visits:
    """Fetches pages at the times that a test names, and logs what it gets as a server would."""

    def __init__(self, **options):
        self.now = START
        self.world = World(
            1, 60, clock=lambda: self.now, size=(0, 0), **{"changes": 1.0, **options}
        )
        self.hits = []

    def fetch(self, at, page, **more):
        self.now = at
        url = self.world.origin(0) + path(page)
        answer = self.world.answer(WebRequest(0, path(page), **more))
        self.hits.append(
            Hit(at, at, url, "", 0, status=answer.status, edition=answer.edition, outcome="sent")
        )
        return answer

    def truth(self, begin=START, end=START + DAYS * DAY, **more):
        return freshness(self.world, fetches(self.world, self.hits), begin, end, **more)


def sampled(visits, end, steps=20_000):
    """The same by brute force: looks at many moments whether the copies are the live editions."""
    copies, order = {}, iter([*sorted(visits.hits, key=lambda hit: hit.wall), None])
    upcoming, fresh, seen = next(order), 0, 0
    for step in range(steps):
        now = START + (end - START) * (step + 0.5) / steps
        while upcoming is not None and upcoming.wall <= now:
            page = visits.world.changing_pages.page_at(0, upcoming.path)
            copies[page] = upcoming.edition or copies.get(page)
            upcoming = next(order)
        for page, copy in copies.items():
            fresh += copy == visits.world.changing_pages.edition(0, page, now)
            seen += 1
    return fresh / seen


class TestFreshness:
    @pytest.mark.parametrize(
        "kind",
        [
            "change_poisson",
            *in_campaign("change_daily", "change_bursts", "change_returns"),
            "change_gone_404",
            "change_never",
        ],
    )
    def test_the_integral_agrees_with_samples(self, kind):
        """The share of time in which copies are fresh is what looking at many moments finds."""
        visits, chance = Visits(mix={kind: 1.0}), Random(1)
        for _ in range(60):
            visits.fetch(START + chance.random() * DAYS * DAY, chance.randrange(1, 4))

        assert visits.truth().fresh == pytest.approx(sampled(visits, START + DAYS * DAY), abs=2e-3)

    def test_a_304_leaves_the_copy_as_it_is(self):
        """A 304 of a server that lies does not make a stale copy fresh."""
        visits = Visits(mix={"odd_304_conditional": 1.0, "change_daily": 1.0})
        visits.fetch(START, 1)
        for day in range(1, DAYS):
            assert visits.fetch(START + day * DAY, 1, etag='"x"').status == 304

        assert visits.truth(START + DAY).fresh == 0.0

    def test_copies_age(self):
        """The age of a copy is the time since the live page became another one."""
        visits = Visits(mix={"change_weekly": 1.0})
        visits.fetch(START, 1)
        (first, *_) = visits.world.changing_pages.change_times(0, 1, START, START + DAYS * DAY)

        assert visits.truth(first, first + 10 * DAY).age == pytest.approx(5 * DAY, rel=1e-6)
        assert visits.truth(START, first).age == 0.0

    def test_known_to_be_gone_is_fresh(self):
        """A copy of a page that is gone is fresh once the crawl has been told so."""
        visits = Visits(mix={"change_gone_410": 1.0})
        visits.fetch(START, 1)
        visits.fetch(START + 11 * DAY, 1)

        assert visits.hits[-1].edition == GONE
        assert visits.truth(START + 11 * DAY).fresh == 1.0

    def test_pages_count_by_weight_and_from_their_first_fetch(self):
        """A page that was never fetched does not count; the others by their weights."""
        visits = Visits(mix={"change_never": 0.5, "change_daily": 0.5})
        kinds = defaultdict(list)
        for page in range(1, 60):
            kinds[visits.world.changing_pages.kind(0, page)].append(page)
        still, daily = kinds["change_never"][0], kinds["change_daily"][0]
        visits.fetch(START, still)
        visits.fetch(START, daily)
        heavy = visits.world.origin(0) + path(daily)

        found = visits.truth(START + DAY, weight=lambda url: 3.0 if url == heavy else 1.0)

        assert (found.fresh, found.pages) == (0.25, 2)

    def test_the_curve_is_of_equal_parts_of_the_time(self):
        """A page that is fetched once, halfway, is fresh in the second half if it never changes."""
        visits = Visits(mix={"change_daily": 1.0})
        visits.fetch(START, 1)
        visits.fetch(START + 20 * DAY, 1)

        curve = visits.truth(parts=DAYS).curve

        assert curve[0] > 0 < curve[20]
        assert curve[2:20] == [0.0] * 18
        assert curve[22:] == [0.0] * 18

    def test_spans_leave_no_gap(self):
        """The spans of a copy follow each other from the first fetch to the end."""
        visits = Visits()
        for day in (0, 3, 3.5, 9):
            visits.fetch(START + day * DAY, 2)
        sent = fetches(visits.world, visits.hits)

        found = [*spans(visits.world, (0, 2), sent[0, 2], START + 20 * DAY)]

        assert [span.begin for span in found[1:]] == [span.end for span in found[:-1]]
        assert (found[0].begin, found[-1].end) == (START, START + 20 * DAY)


class TestOptimum:
    def test_equal_pages_share_the_budget(self):
        """Pages of one rate are all fetched equally often."""
        fresh = (1 - exp(-2.0)) / 2.0

        for policy in (optimum, uniform, proportional):
            assert policy([1.0] * 10, [1.0] * 10, 5.0) == pytest.approx(fresh)

    def test_nothing_does_better(self):
        """Moving a little of the budget from any page to another makes it no fresher."""
        chance = Random(2)
        rates = [chance.lognormvariate(0, 2) for _ in range(50)]
        weights = [1 / (rank + 1) for rank in range(50)]
        best = optimum(rates, weights, 20.0)

        for _ in range(200):
            shares = [chance.random() ** 4 for _ in rates]
            visits = [20.0 * share / sum(shares) for share in shares]
            other = sum(
                w * v / d * (1 - exp(-d / v))
                for d, w, v in zip(rates, weights, visits, strict=True)
                if v
            )
            assert other / sum(weights) <= best

    @pytest.mark.parametrize(
        ("share", "figures"), [*in_campaign((0.05, (0.64, 0.41, 0.05))), (0.2, (0.79, 0.63, 0.20))]
    )
    def test_it_agrees_with_published_figures(self, share, figures):
        """Log-normal rates and Zipf's weights: the optimum, every page at one interval, in
        proportion to the rate.
        """
        chance = Random(3)
        rates = [0.1 * exp(2 * NormalDist().inv_cdf((at + 0.5) / 20_000)) for at in range(20_000)]
        weights = [(rank + 1) ** -0.8 for rank in range(20_000)]
        chance.shuffle(weights)

        found = [
            policy(rates, weights, share * sum(rates))
            for policy in (optimum, uniform, proportional)
        ]

        assert found == pytest.approx(figures, abs=0.02)

    def test_pages_that_never_change_are_always_fresh(self):
        """They cost nothing at the optimum."""
        assert optimum([0.0, 1.0], [1.0, 1.0], 1.0) == pytest.approx((1 + 1 - exp(-1)) / 2)
        assert optimum([0.0, 0.0], [1.0, 1.0], 1.0) == 1.0
        assert optimum([0.0, 1.0], [1.0, 3.0], 0.0) == 0.25
