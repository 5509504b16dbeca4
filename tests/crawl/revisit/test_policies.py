"""Policies: when pages are fetched again, and what a page is worth beside others."""

import logging
from math import inf, isnan, nan
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.base.loading import load
from webcrawl.base.model import Link
from webcrawl.crawl.revisit.change_rate import MAX_SAMPLED
from webcrawl.crawl.revisit.optimal import EARLY_VISIT_SPACING, Optimal
from webcrawl.crawl.revisit.policies import (
    FARTHEST,
    MAX_WEIGHT,
    MIN_WEIGHT,
    POLICIES,
    PolicyOptions,
    Steered,
    Weighed,
    by_depth,
)
from webcrawl.crawl.revisit.record import PageRecord

NOW = 1.8e9
DAY = 86400.0


def options(rate=1.0, pages=1000, age=DAY, random=None):
    return PolicyOptions(age, lambda: rate, lambda: pages, random or Random(1))


VISITS = st.lists(st.tuples(st.floats(0, 1e9), st.booleans()), max_size=30)
SITUATIONS = {
    "rate": st.sampled_from([0.0, 1e-6, 1.0, 1e4]),
    "pages": st.sampled_from([0, 1, 1000, 10**8]),
}


@pytest.mark.parametrize("make", [load(path) for path in POLICIES.values()], ids=list(POLICIES))
class TestContract:
    @given(visits=VISITS, weight=st.floats(1e-6, 1e6), **SITUATIONS)
    def test_a_due_time_is_a_time(self, make, visits, weight, rate, pages):
        """Whatever a page did and whatever the budget is, it is due after its fetch, if the queue
        is on time.
        """
        policy_options = options(rate, pages)
        policy, record, now = make(policy_options), PageRecord("http://a/", weight=weight), NOW

        for seconds, changed in visits:
            policy_options.sample.put(record, 0.0)
            due = policy.due(record, now, now)
            assert due > now
            assert not isnan(due)
            now += seconds
            policy.observe(record, seconds, changed)

    @given(visits=VISITS)
    def test_visits_are_counted(self, make, visits):
        """Visits, and those that found a change, are counted, and what they say of the rate,
        whatever the policy.
        """
        policy, record = make(options()), PageRecord("http://a/")

        for seconds, changed in visits:
            policy.observe(record, seconds, changed)

        assert (record.visits, record.changes) == (
            len(visits),
            sum(changed for _, changed in visits),
        )
        assert (record.shape > 0) == any(changed for _, changed in visits)
        assert (record.span > 0) == bool(visits)

    def test_counts_saturate(self, make):
        """A page may be visited for ever: its counts stay below 256."""
        policy, record = make(options()), PageRecord("http://a/")

        for _ in range(1000):
            policy.observe(record, DAY, changed=True)

        assert 100 < record.changes == record.visits < 256

    def test_a_state_comes_back(self, make):
        """A restored policy says what the one before would have said; no state, or a foreign one,
        breaks nothing.
        """
        shared = options(random=Random(1))
        old, record = make(shared), PageRecord("http://a/", shape=2.0, span=DAY)
        shared.sample.put(record, 0.0)
        for at in range(50):
            old.due(record, NOW + at, NOW + at - 5 * DAY)
        new = make(shared)
        new.restore(b"")
        new.restore(b"\xff" * 7)
        new.restore(old.state())

        shared.random.seed(1)
        expected = old.due(record, NOW + 100, NOW)
        shared.random.seed(1)

        assert new.due(record, NOW + 100, NOW) == pytest.approx(expected)


class TestFixed:
    def test_the_age(self):
        """A page is due REVISIT_AGE seconds after its last fetch, late or not, and not before."""
        policy = load(POLICIES["fixed"])(options())

        assert policy.due(PageRecord("http://a/"), NOW, NOW - 1000) == NOW + DAY
        assert not policy.early


class TestUniform:
    def test_the_budget_is_shared(self):
        """With 1,000 pages and one visit per second each page is due after 1,000 seconds."""
        assert (
            load(POLICIES["uniform"])(options()).due(PageRecord("http://a/"), NOW, NOW)
            == NOW + 1000
        )

    def test_a_late_queue_keeps_its_order(self):
        """If the queue is a month behind, a page goes to its end, which is a month back too."""
        policy = load(POLICIES["uniform"])(options())

        assert policy.due(PageRecord("http://a/"), NOW, NOW - 30 * DAY) == NOW - 30 * DAY + 1000

    def test_a_wavering_budget_is_averaged(self):
        """A budget that is now nothing and now double is taken as what it is on average."""
        rate = [0.0]
        shared = PolicyOptions(DAY, lambda: rate[0], lambda: 1000, Random(1))
        rounds = []
        for second in range(100_000):
            rate[0] = 2.0 * (second // 100 % 2)
            rounds.append(shared.round(NOW + second))

        assert min(rounds[10_000:]) > 900
        assert max(rounds[10_000:]) < 1100


class ByShape(Steered):
    """A page is visited in proportion to its shape; never, if that is 0."""

    def interval(self, page, level):
        return level / page.shape if page.shape else 1e30


class Run:
    """Takes pages in order of their due times, at the budget's rate."""

    def __init__(self, shapes, rate):
        self.rate, self.now, self.place = rate, NOW, NOW
        self.records = [PageRecord(str(page), shape=shape) for page, shape in enumerate(shapes)]
        self.options = PolicyOptions(DAY, lambda: self.rate, lambda: len(self.due), Random(1))
        self.policy, self.due = ByShape(self.options), {}
        for page in range(len(shapes)):
            self.keep(page)

    def keep(self, page):
        self.options.sample.put(self.records[page], 0.0)
        self.due[page] = self.policy.due(self.records[page], self.now, self.place)

    def rounds(self, number):
        """Visits per page."""
        visits = [0] * len(self.records)
        for _ in range(int(number * len(self.due))):
            page = min(self.due, key=self.due.__getitem__)
            self.now += 1 / self.rate
            self.place = self.due[page]
            visits[page] += 1
            self.keep(page)
        return visits


class TestSteered:
    @pytest.mark.parametrize("rate", [1e-4, 1e-2, 1.0])
    def test_the_budget_is_filled(self, rate):
        """Whatever the budget, the intervals that pages get fill it, and pages come in the right
        proportions.
        """
        run = Run([one * (1 + 0.001 * at) for at in range(100) for one in (1.0, 2.0)], rate)
        run.rounds(10)
        visits = run.rounds(20)

        assert run.policy.level == pytest.approx(1.5 * 1.05 * 200 / rate, rel=0.2)
        assert sum(visits[1::2]) / sum(visits[::2]) == pytest.approx(2, rel=0.1)

    def test_the_budget_may_change(self):
        """After a change of the budget the level follows within a few rounds."""
        run = Run([1.0, 2.0] * 100, 1.0)
        run.rounds(10)
        run.rate = 0.01
        run.rounds(5)

        assert run.policy.level == pytest.approx(1.5 * 200 / 0.01, rel=0.2)

    def test_a_pause_changes_no_proportions(self):
        """After a month's pause pages come in the proportions that they had before, not each of
        them once.
        """
        run = Run([1.0, 20.0] * 100, 1.0)
        run.rounds(10)
        run.now += 30 * DAY
        visits = run.rounds(5)

        assert sum(visits[1::2]) > 5 * sum(visits[::2])

    def test_the_farthest(self):
        """Even a page that is not worth a visit gets one after so many rounds."""
        run = Run([1.0] * 100, 1.0)
        run.rounds(5)
        due = run.policy.due(PageRecord("no"), run.now, run.place)

        assert due - run.place == pytest.approx(FARTHEST * 100, rel=0.01)


class TestDeclining:
    """With `optimal` a page that a signal names is left to its turn if its copy would soon be out
    of date again.
    """

    def declines(self, *, pages=100, url="http://a/", **record):
        """Whether it is, with a threshold of a day."""
        shared = options(pages=pages)
        policy = Optimal(shared)
        policy.level = DAY
        # nothing is known of other pages
        shared.sample.prior.given = lambda page: (page.shape, page.span)
        shared.sample.put(
            PageRecord("http://a/", **{"shape": 10.0, "span": 1.0, "weight": 1.0} | record), 0.0
        )
        return policy.declines(url)

    @pytest.mark.parametrize(
        ("days", "weight", "declined"), [(2.0, 1.0, False), (0.5, 1.0, True), (0.5, 3.0, False)]
    )
    def test_a_page_that_changes_fast(self, days, weight, declined):
        """Importance times the mean time between changes is compared with the threshold."""
        assert self.declines(span=10.0 * days * DAY, weight=weight) is declined

    def test_a_page_that_is_not_known(self):
        """It is fetched, as is any page of a crawl with more pages than the sample has."""
        assert self.declines()
        assert not self.declines(url="http://b/")
        assert not self.declines(pages=MAX_SAMPLED + 1)


class TestLearning:
    """The optimal policy visits a page early while it is in doubt whether it is worth visits."""

    def policy(self):
        """One whose threshold is a day. It knows of no other pages, by which it would set that."""
        shared = options(rate=1e-3)
        shared.sample.prior.given = lambda page: (page.shape, page.span)
        policy = Optimal(shared)
        policy.level = DAY
        return policy

    def saves(self, policy, count, *, visits=8):
        """So many visits in their turns, to a page that had as many before."""
        for _ in range(count):
            policy.observe(PageRecord("http://b/", visits=visits), DAY, changed=False)

    def page(self, *, since=0.0, **record):
        return PageRecord(
            "http://a/", fetched=NOW - since, **{"visits": 1, "shape": 1.0, "span": DAY} | record
        )

    def due(self, **record):
        """Seconds until the page is due, after the policy has saved a visit and before."""
        policy, page = self.policy(), self.page(**record)
        usual = policy.due(page, NOW, NOW)
        self.saves(policy, 2)
        return policy.due(page, NOW, NOW) - NOW, usual - NOW

    def test_a_page_in_doubt(self):
        """It is visited soon after a page that is just worth visits would have changed."""
        early, usual = self.due()
        assert early == pytest.approx(EARLY_VISIT_SPACING * DAY)
        assert usual > 2 * DAY

    @pytest.mark.parametrize(
        "known", [{"shape": 1e6, "span": 1e6 * DAY / 3}, {"shape": 9.0}, {"since": 2 * DAY}]
    )
    def test_a_page_that_is_known(self, known):
        """Where its rate is known, or it is too late for an early visit, it has its usual turn."""
        early, usual = self.due(**known)
        assert early == usual

    def test_early_visits_are_half_of_all(self):
        """Each visit saves half of one, once pages have had eight, and the first visits save less."""
        policy, page = self.policy(), self.page()
        usual = policy.due(page, NOW, NOW)
        self.saves(policy, 10)
        self.saves(policy, 8, visits=1)
        early = [policy.due(page, NOW, NOW) < usual for _ in range(9)]

        assert early == [True] * 6 + [False] * 3


PAGE = Link("http://a.test/")


def test_by_depth():
    """A seed counts twice as much as what it links to; a redirect is no link."""
    assert [by_depth(Link("http://a.test/", path)) for path in ("", "R", "L", "LL")] == [
        1,
        1,
        1 / 2,
        1 / 3,
    ]


@pytest.mark.parametrize(
    ("said", "weight"),
    [
        (2, 2.0),
        (0, MIN_WEIGHT),
        (-1, MIN_WEIGHT),
        (1e99, MAX_WEIGHT),
        (inf, 1.0),
        (nan, 1.0),
        ("3", 3.0),
    ],
)
def test_a_weight_is_a_number_above_0(said, weight):
    """Whatever somebody's function says."""
    assert Weighed(lambda _: said)(PAGE) == weight


def test_a_function_that_fails(caplog):
    """Its pages count as 1, and the log has its error once."""
    with caplog.at_level(logging.ERROR):
        weighed = Weighed(lambda _: {}["missing"])
        assert [weighed(PAGE), weighed(PAGE)] == [1.0, 1.0]

    assert caplog.messages == [
        (
            f"REVISIT_POLICY: the importance of {PAGE.url} could not be computed, so it counts as 1; "
            "further failures are not logged"
        )
    ]
