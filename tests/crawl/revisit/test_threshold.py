"""One threshold for all pages: the sample, the pace of the queue, and the level."""

from random import Random

import pytest

from webcrawl.crawl.revisit.pace import Pace
from webcrawl.crawl.revisit.page_sample import MOST, Sample
from webcrawl.crawl.revisit.policies.steered import FARTHEST, Threshold
from webcrawl.crawl.revisit.policy import PolicyOptions

NOW, DAY = 1.8e9, 86400.0


class Budget:
    """What a test may change while it goes on."""

    def __init__(self, rate=1.0, pages=1000):
        self.rate, self.pages = rate, pages

    def options(self):
        return PolicyOptions(DAY, lambda: self.rate, lambda: self.pages, Random(1))


def by_rate(level, rate, _one, _other):
    return level / rate


class TestSample:
    def test_all_pages_are_alike(self):
        """Pages that are told of a hundred times are no more likely to be in the sample than others."""
        sample, often = Sample(bytes(16)), 0
        for number in range(20_000):
            sample.put(f"http://a/{number}", (float(number % 2), 0.0, 0.0, 0.0))
        for _ in range(100):
            for number in range(1, 2000, 2):
                sample.put(f"http://a/{number}", (1.0, 0.0, 0.0, 0.0))
        often = sum(row[0] for row in sample.rows)

        assert len(sample) == MOST
        assert often / MOST == pytest.approx(0.5, abs=0.03)

    def test_the_latest_counts(self):
        """A page of the sample has one row, which is the latest."""
        sample = Sample(bytes(16))
        for value in (1.0, 2.0):
            sample.put("http://a/", (value, 0.0, 0.0, 0.0))

        assert sample.rows == [(2.0, 0.0, 0.0, 0.0)]

    @pytest.mark.parametrize("slot", [0, 5, 9])
    def test_a_page_may_leave(self, slot):
        """What is dropped is gone, the others stay, and it may come back."""
        sample = Sample(bytes(16))
        rows = [(float(number), 0.0, 0.0, 0.0) for number in range(10)]
        for number, row in enumerate(rows):
            sample.put(f"http://a/{number}", row)
        sample.drop(slot)
        assert sorted(sample.rows) == rows[:slot] + rows[slot + 1 :]

        for number, row in enumerate(rows):
            sample.put(f"http://a/{number}", row)
        assert sorted(sample.rows) == rows

    def test_a_state_comes_back(self):
        """The restored sample has the same pages and lets in the same pages."""
        old, new = Sample(bytes(range(16))), Sample(bytes(16))
        for number in range(MOST + 1000):
            old.put(f"http://a/{number}", (float(number), 1.0, 2.0, NOW))

        new.fill(old.key, old.bar, old.items())
        for number in range(MOST + 2000):
            old.put(f"http://a/{number}", (float(number), 3.0, 2.0, NOW))
            new.put(f"http://a/{number}", (float(number), 3.0, 2.0, NOW))
        assert (new.rows, new.bar) == (old.rows, old.bar)


class TestPace:
    def test_a_wavering_budget_is_averaged(self):
        """A budget that is now nothing and now double is taken as what it is on average."""
        budget = Budget()
        pace = Pace(budget.options())
        pace.round(NOW)
        rounds = []
        for second in range(100_000):
            budget.rate = 2.0 * (second // 100 % 2)
            rounds.append(pace.round(NOW + second))

        assert min(rounds[10_000:]) > 900
        assert max(rounds[10_000:]) < 1100

    def test_no_budget_is_no_end(self):
        """Without a budget a round takes a year: there may be one tomorrow."""
        assert Pace(Budget(0.0).options()).round(NOW) == 365 * DAY


class TestThreshold:
    def test_a_state_comes_back(self):
        """It goes on with the level and the sample of a state; what is no state changes nothing."""
        old, new = Threshold(Budget().options(), by_rate), Threshold(Budget().options(), by_rate)
        for number in range(100):
            old.due(f"http://a/{number}", NOW, 1.0, 0.0, 0.0)
        old.level = 7.0
        new.restore(old.state())
        assert (new.level, new.state()) == (7.0, old.state())
        for wrong in (b"", b"x", old.state()[:60], old.state() + b"x"):
            new.restore(wrong)
        assert new.state() == old.state()

    def run(self, budget, rates, rounds, threshold, now=NOW, due=None):
        """Takes pages in order of their due times, at the budget's rate; the visits of each, and the clock."""
        due = due or {page: threshold.due(str(page), now, rate, 0.0, 0.0) for page, rate in enumerate(rates)}
        visits = [0] * len(rates)
        for _ in range(int(rounds * len(rates))):
            page = min(due, key=due.__getitem__)
            now += 1 / budget.rate
            threshold.pace.took(due[page])
            visits[page] += 1
            due[page] = threshold.due(str(page), now, rates[page], 0.0, 0.0)
        return visits, now, due

    @pytest.mark.parametrize("rate", [1e-4, 1e-2, 1.0])
    def test_the_budget_is_filled(self, rate):
        """Whatever the budget, the intervals that pages get fill it, and pages come in the right proportions."""
        budget, rates = Budget(rate, 200), [one * (1 + 0.001 * at) for at in range(100) for one in (1.0, 2.0)]
        threshold = Threshold(budget.options(), by_rate)
        self.run(budget, rates, 10, threshold)
        visits, _, _ = self.run(budget, rates, 20, threshold, NOW)

        assert threshold.level == pytest.approx(1.5 * 1.05 * 200 / rate, rel=0.2)
        assert sum(visits[1::2]) / sum(visits[::2]) == pytest.approx(2, rel=0.1)

    def test_the_budget_may_change(self):
        """After a change of the budget the level follows within a few rounds."""
        budget, rates = Budget(1.0, 200), [1.0, 2.0] * 100
        threshold = Threshold(budget.options(), by_rate)
        _, now, due = self.run(budget, rates, 10, threshold)
        budget.rate = 0.01
        self.run(budget, rates, 5, threshold, now, due)

        assert threshold.level == pytest.approx(1.5 * 200 / 0.01, rel=0.2)

    def test_a_pause_changes_no_proportions(self):
        """After a month's pause pages come in the proportions that they had before, not each of them once."""
        budget, rates = Budget(1.0, 200), [1.0, 20.0] * 100
        threshold = Threshold(budget.options(), by_rate)
        _, now, due = self.run(budget, rates, 10, threshold)
        visits, _, _ = self.run(budget, rates, 5, threshold, now + 30 * DAY, due)

        assert sum(visits[1::2]) > 5 * sum(visits[::2])

    def test_the_farthest(self):
        """Even a page that is not worth a visit gets one after so many rounds."""
        budget = Budget(1.0, 100)
        threshold = Threshold(budget.options(), lambda level, one, _, __: level / one if one else 1e30)
        _, now, _ = self.run(budget, [1.0] * 100, 5, threshold)
        due = threshold.due("no", now, 0.0, 0.0, 0.0)

        assert due - threshold.pace.place(now) == pytest.approx(FARTHEST * 100, rel=0.01)

    def test_pages_that_are_gone_leave_the_sample(self):
        """Pages that are not kept again count no longer: the level is that of the others."""
        budget, rates = Budget(1.0, 200), [1.0] * 100 + [20.0] * 100
        threshold = Threshold(budget.options(), by_rate)
        _, now, due = self.run(budget, rates, 10, threshold)
        budget.pages = 100
        left = {page: at for page, at in due.items() if page < 100}
        self.run(budget, rates[:100], 150, threshold, now + 2 * DAY, left)

        assert threshold.level == pytest.approx(100, rel=0.2)
