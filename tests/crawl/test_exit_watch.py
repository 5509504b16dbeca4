"""The end of a process in which threads are left."""

import subprocess
import sys

import pytest

from tests.support.crawling import PATIENCE
from tests.support.places import ROOT

LEFT = """
import threading, time
from webcrawl.crawl import exit_watch, last_pages
exit_watch.LOOK_INTERVAL, last_pages.REPORTED_AFTER, last_pages.STORED = 0.25, 0.5, 1.0
def work(seconds):
    time.sleep(seconds)
threading.Thread(target=work, args=({lasts},)).start()
exit_watch.watch_exit(lambda: {told})
time.sleep({goes_on})
"""
WAITS = "the crawl is over, but the process waits for work (<string>, line 6)"


@pytest.mark.parametrize(
    ("told", "lasts", "goes_on", "status", "waits"),
    [
        pytest.param(True, 1000, 0, 1, True, id="told to stop"),
        pytest.param(False, 8, 0, 0, True, id="ended by itself"),
        pytest.param(True, 4, 4, 0, False, id="goes on itself"),
    ],
)
def test_a_thread_that_is_left(told, lasts, goes_on, status, waits):
    """The process names it, and waits for it unless it was told to stop. It may also do something
    else before it ends.
    """
    code = LEFT.format(told=told, lasts=lasts, goes_on=goes_on)

    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        timeout=PATIENCE,
        check=False,
        capture_output=True,
        text=True,
    )

    assert (ended.returncode, WAITS in ended.stderr) == (status, waits), ended.stderr
    assert ("does not return" in ended.stderr) == (status == 1)
