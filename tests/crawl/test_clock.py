"""The crawl's own time: the machine's clock may be set, the crawl's hosts wait as long as they
should.
"""

import pytest

from webcrawl.crawl.clock import CrawlClock
from webcrawl.store.crawldb import CrawlDB

BEGAN = 1_700_000_000.0
HOUR = 3600.0


class Machine:
    """Two clocks: people set one of them."""

    def __init__(self):
        self.passed = self.set = 0.0

    def wall(self):
        return BEGAN + self.passed + self.set

    def steady(self):
        return 5.0 + self.passed


@pytest.fixture(name="machine")
def _machine():
    return Machine()


@pytest.fixture(name="start")
def _start(tmp_path, machine):
    """Starts another run: with a checkpoint before it, or after a crash."""
    open_now = []

    def start():
        if open_now:
            open_now.pop().close()
        db = CrawlDB(tmp_path)
        open_now.append(db)
        return CrawlClock(db, wall=machine.wall, steady=machine.steady), db.checkpoint

    yield start
    open_now.pop().close()


class TestOneRun:
    def test_it_begins_with_the_machines_time(self, start):
        """A new crawl's time is the machine's."""
        assert start()[0]() == BEGAN

    @pytest.mark.parametrize("step", [-HOUR, HOUR])
    def test_a_set_clock_changes_nothing(self, start, machine, step):
        """However the machine's clock is set, the crawl's time goes on evenly."""
        clock, _ = start()
        machine.passed += 10
        machine.set = step

        assert clock() == BEGAN + 10

    def test_an_instant_has_its_time(self, start, machine):
        """The time of a monotonic instant is the crawl's time then."""
        clock, _ = start()
        ended = machine.steady()
        machine.passed += 10
        machine.set = HOUR

        assert clock.at(ended) == BEGAN

    @pytest.mark.parametrize(
        ("step", "word"),
        [
            (-HOUR, "jumped back by 3600"),
            (HOUR, "jumped forward by 3600"),
            (61, "jumped forward by 61"),
        ],
    )
    def test_a_step_is_reported_once(self, start, machine, caplog, step, word):
        """One warning per step, which says how far and which way."""
        clock, _ = start()
        machine.set = step
        for _ in range(3):
            machine.passed += 1
            clock()

        assert [record.levelname for record in caplog.records] == ["WARNING"]
        assert word in caplog.text

    def test_a_clock_that_is_corrected_a_little_is_no_news(self, start, machine, caplog):
        """Corrections of less than a minute are not reported, however many."""
        clock, _ = start()
        for _ in range(100):
            machine.set += 59
            clock()

        assert caplog.records == []


class TestNextRun:
    def test_it_goes_on_with_the_machines_time(self, start, machine):
        """The time between two runs has passed for the crawl too."""
        _, checkpoint = start()
        checkpoint()
        machine.passed += HOUR

        assert start()[0]() == BEGAN + HOUR

    def test_a_clock_set_back_between_two_runs(self, start, machine, caplog):
        """Time never runs back: the next run begins where the last checkpoint was made, and reports
        the step.
        """
        clock, checkpoint = start()
        machine.passed += 10
        checkpoint()
        machine.set = -HOUR
        clock, _ = start()
        machine.passed += 1

        assert clock() == BEGAN + 11
        assert "jumped back by 3600" in caplog.text

    def test_a_step_of_the_last_run_is_remembered(self, start, machine):
        """A clock that was set in the last run and stays so is neither believed nor reported again."""
        clock, checkpoint = start()
        machine.set = HOUR
        clock()
        checkpoint()
        machine.passed += 10

        assert start()[0]() == BEGAN + 10

    def test_after_a_crash(self, start, machine):
        """A crash forgets the steps since the checkpoint; still, time does not run back."""
        clock, checkpoint = start()
        machine.passed += 10
        checkpoint()
        machine.set = -HOUR
        clock()

        assert start()[0]() == BEGAN + 10
