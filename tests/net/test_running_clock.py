"""The time in which the crawler's process does not run is part of no download."""

import pytest

from webcrawl.net.running_clock import BEAT, GAP, RunningClock


class Machine:
    """The machine's steady clock, which runs on while the process is stopped."""

    now = 5000.0

    def __call__(self):
        return self.now


@pytest.fixture(name="machine")
def _machine():
    return Machine()


@pytest.fixture(name="clock")
def _clock(machine):
    made = RunningClock(machine)
    made.beat()
    return made


def turns(machine, clock, seconds):
    """The event loop turns for so long."""
    for _ in range(int(seconds / BEAT)):
        machine.now += BEAT
        clock.beat()


def test_a_download_across_a_stop_takes_only_the_time_in_which_the_process_ran(machine, clock):
    """A download of two seconds, between whose halves the process is stopped, is one of three seconds at most."""
    begun = clock()
    turns(machine, clock, 1)
    machine.now += 150
    assert clock() - begun == 1 + BEAT  # even if what the stop held up comes before the beat that it held up
    turns(machine, clock, 1)

    assert clock() - begun == 2 + BEAT


def test_the_seconds_lost_are_those_of_one_download(machine, clock):
    """A download has lost the stops that ended after it began, and no others."""
    machine.now += 100
    clock.beat()
    between = machine.now
    turns(machine, clock, 3)
    assert clock.lost_since(between) == 0

    machine.now += 50

    assert clock.lost_since(between) == 50 - BEAT
    assert clock.lost_since(between - 1) == 150 - 2 * BEAT


def test_a_busy_process_runs(machine, clock):
    """A loop that turns late, as on a busy machine, is one that turns."""
    begun = clock()
    for _ in range(10):
        machine.now += GAP
        clock.beat()

    assert clock() - begun == 10 * GAP
    assert clock.lost_since(begun) == 0


def test_it_never_goes_back(machine, clock):
    """A look at the clock shortly before a stop is no later than one after it."""
    machine.now += BEAT - 0.1
    before = clock()
    machine.now += 1000

    assert before <= clock() <= before + BEAT


@pytest.mark.parametrize("end", ["not begun", "stopped"])
def test_without_beats_it_is_a_plain_clock(machine, clock, end):
    """Before the first beat, and after the last one, a long pause between two looks is time like any other."""
    if end == "not begun":
        clock = RunningClock(machine)
    else:
        clock.stop()
    begun = clock()
    machine.now += 1000

    assert clock() - begun == 1000
