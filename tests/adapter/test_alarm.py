"""The kernel ends a process that cannot end by itself."""

import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from tests.support.places import ROOT
from webcrawl.crawl.exhaustion_watch import Alarm

DEAF = """
import signal, sys, threading
from webcrawl.crawl.exhaustion_watch import Alarm
signal.signal(signal.SIGTERM, signal.SIG_IGN)
alarm = Alarm()
alarm.arm(0.05)
{then}
threading.Lock().acquire()
threading.Event().wait({seconds})
"""


def run(then="", seconds=20):
    words = [sys.executable, "-c", DEAF.format(then=then, seconds=seconds)]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def test_a_process_that_waits_for_ever_dies():
    """The process dies of the signal, and says where it was."""
    ended = run()

    assert ended.returncode == -signal.SIGALRM
    assert 'File "<string>", line 9' in ended.stderr


def test_a_process_that_nobody_listens_to_dies():
    """It dies without a word if its standard error is a pipe that is full."""
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writes, bytes(65_536))
    os.set_blocking(writes, True)
    words = [sys.executable, "-c", DEAF.format(then="", seconds=20)]

    assert (
        subprocess.run(words, cwd=ROOT, stderr=writes, timeout=120, check=False).returncode
        == -signal.SIGALRM
    )
    os.close(reads)
    os.close(writes)


def test_a_process_that_has_ended_in_time_lives():
    """An alarm that is taken back changes nothing."""
    ended = run("alarm.disarm()", 0.2)

    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("used", ["handler", "timer"])
def test_what_somebody_else_uses_is_left_alone(used):
    """A program that has a use of its own for this signal or timer keeps it."""
    before = signal.getsignal(signal.SIGALRM)
    try:
        if used == "handler":
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
        else:
            signal.setitimer(signal.ITIMER_REAL, 1000)
        alarm = Alarm()
        alarm.arm(5)
        alarm.disarm()

        assert (signal.getitimer(signal.ITIMER_REAL)[0] > 100) is (used == "timer")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
