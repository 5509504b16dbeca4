"""Policies of revisiting: all keep the contract, and each does what it says."""

from math import isnan
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.base.loading import load
from webcrawl.crawl.revisit.policies.optimal import APART, Optimal
from webcrawl.crawl.revisit.policy import POLICIES, PolicyOptions
from webcrawl.crawl.revisit.record import PageRecord

NOW = 1.8e9
DAY = 86400.0


def options(rate=1.0, pages=1000, age=DAY, random=None):
    return PolicyOptions(age, lambda: rate, lambda: pages, random or Random(1))


VISITS = st.lists(st.tuples(st.floats(0, 1e9), st.booleans()), max_size=30)
SITUATIONS = {"rate": st.sampled_from([0.0, 1e-6, 1.0, 1e4]), "pages": st.sampled_from([0, 1, 1000, 10**8])}


@pytest.mark.parametrize("make", [load(path) for path in POLICIES.values()], ids=list(POLICIES))
class TestContract:
    @given(visits=VISITS, weight=st.floats(1e-6, 1e6), missed=st.floats(0, 1), **SITUATIONS)
    def test_a_due_time_is_a_time(self, make, visits, weight, missed, rate, pages):
        """Whatever a page did and whatever the budget is, it is due after its fetch, if the queue is on time."""
        policy, record, now = make(options(rate, pages)), PageRecord("http://a/", weight=weight), NOW

        for seconds, changed in visits:
            due = policy.due(record, now, missed)
            assert due > now
            assert not isnan(due)
            now += seconds
            policy.took(record, now, now)
            policy.observe(record, seconds, changed)

    @given(visits=VISITS)
    def test_visits_are_counted(self, make, visits):
        """Visits, and those that found a change, are counted, and what they say of the rate, whatever the policy."""
        policy, record = make(options()), PageRecord("http://a/")

        for seconds, changed in visits:
            policy.observe(record, seconds, changed)

        assert (record.visits, record.changes) == (len(visits), sum(changed for _, changed in visits))
        assert (record.shape > 0) == any(changed for _, changed in visits)
        assert (record.span > 0) == bool(visits)

    def test_the_first_signal_is_worth_a_fetch(self, make):
        """A page that has not said before that it has changed is fetched when it does."""
        assert make(options()).worth(1.0, None, NOW)

    def test_a_turn_that_needs_no_fetch(self, make):
        """A fetch at a signal was in its place: together they cost no more than a turn."""
        policy = make(options())
        policy.worth(1.0, None, NOW)
        policy.spared(1.0)
        pace = getattr(policy, "pace", None) or getattr(getattr(policy, "threshold", None), "pace", None)
        assert pace is None or pace.ahead == 0

    def test_signals_of_which_there_are_too_many(self, make):
        """If all pages say again and again that they have changed, `optimal` does not want all; the others do."""
        policy, told = make(options()), []
        for at in range(60_000):
            if at % 100 == 0:
                policy.due(PageRecord(f"http://a/{at % 1000}"), NOW + at / 10)
            told.append(policy.worth(1.0, 1.0, NOW + at / 10))

        assert any(told)
        assert all(told) == (not isinstance(policy, Optimal))

    def test_counts_saturate(self, make):
        """A page may be visited for ever: its counts stay below 256."""
        policy, record = make(options()), PageRecord("http://a/")

        for _ in range(1000):
            policy.observe(record, DAY, changed=True)

        assert 100 < record.changes == record.visits < 256

    def test_a_state_comes_back(self, make):
        """A restored policy says what the one before would have said; no state, or a foreign one, breaks nothing."""
        random = Random(1)
        old, record = make(options(random=random)), PageRecord("http://a/", shape=2.0, span=DAY)
        for at in range(50):
            old.took(record, NOW + at, NOW + at - 5 * DAY)
            old.due(record, NOW + at)
        new = make(options(random=random))
        new.restore(b"")
        new.restore(b"\xff" * 7)
        new.restore(old.state())

        random.seed(1)
        expected = old.due(record, NOW + 100)
        random.seed(1)

        assert new.due(record, NOW + 100) == expected


class TestFixed:
    def test_the_age(self):
        """A page is due REVISIT_AGE seconds after its last fetch, late or not, and not before."""
        policy = load(POLICIES["fixed"])(options())
        record = PageRecord("http://a/")
        policy.took(record, NOW, NOW - 1000)

        assert policy.due(record, NOW) == NOW + DAY
        assert not policy.early


class TestUniform:
    def test_the_budget_is_shared(self):
        """With 1,000 pages and one visit per second each page is due after 1,000 seconds."""
        assert load(POLICIES["uniform"])(options()).due(PageRecord("http://a/"), NOW) == NOW + 1000

    def test_a_late_queue_keeps_its_order(self):
        """If the queue is a month behind, a page goes to its end, which is a month back too."""
        policy = load(POLICIES["uniform"])(options())
        for _ in range(1000):
            policy.took(PageRecord("http://a/"), NOW, NOW - 30 * DAY)

        assert policy.due(PageRecord("http://a/"), NOW) == pytest.approx(NOW - 30 * DAY + 1000, abs=1)


class TestLearning:
    """The optimal policy visits a page early while it is in doubt whether it is worth visits."""

    def due(self, *, since=0.0, mean=1 / (30 * DAY), **record):
        """Seconds until the due page of a policy whose threshold is a day, before and after it has saved a visit."""
        policy = Optimal(options(rate=1e-3))
        policy.threshold.level, policy.threshold.look = DAY, lambda _: None  # it stays there
        policy.rates.given = lambda *record: record  # nothing is known of other pages
        policy.rates.mean = mean
        page = PageRecord("http://a/", fetched=NOW - since, **{"visits": 1, "shape": 1.0, "span": DAY} | record)
        usual = policy.due(page, NOW)
        policy._learning = 1.0
        return policy.due(page, NOW) - NOW, usual - NOW

    def test_a_page_in_doubt(self):
        """It is visited soon after a page that is just worth visits would have changed."""
        early, usual = self.due()
        assert early == pytest.approx(APART * DAY)
        assert usual > 2 * DAY

    @pytest.mark.parametrize("known", [{"shape": 1e6, "span": 1e6 * DAY / 3}, {"shape": 9.0}, {"since": 2 * DAY}])
    def test_a_page_that_is_known(self, known):
        """Where its rate is known, or it is too late for an early visit, it has its usual turn."""
        early, usual = self.due(**known)
        assert early == usual

    def test_a_page_that_always_changed(self):
        """One that is too fast to be worth visits is visited before its next change, which tells how fast it is."""
        early, usual = self.due(visits=9, changes=9, shape=9.0)
        assert DAY / 9 / 8 <= early <= DAY / 9
        assert usual > DAY

    @pytest.mark.parametrize("unlike", [{"changes": 8}, {"mean": 1e9 / DAY}])
    def test_fast_pages_that_need_no_look(self, unlike):
        """One that was found unchanged is known, and of those that are slow beside others few matter to their sum."""
        early, usual = self.due(**{"visits": 9, "changes": 9, "shape": 9.0} | unlike)
        assert early == usual

    def test_early_visits_are_half_of_all(self):
        """Each visit saves half of one, once pages have had eight, and the first visits save less."""
        policy = Optimal(options())
        for _ in range(10):
            policy.took(PageRecord("http://a/", visits=8), NOW, NOW)
        assert policy._learning == 5.0
        policy.took(PageRecord("http://a/", visits=2), NOW, NOW)
        assert policy._learning == 5.125
        policy.took(PageRecord("http://a/", visits=0), NOW, NOW)
        assert policy._learning == 5.125
