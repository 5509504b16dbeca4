"""The watch of the event loop."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.support.crawling import PATIENCE
from tests.support.places import ROOT
from webcrawl.crawl import standstill
from webcrawl.crawl.standstill import Standstill


def blocking(seconds):
    time.sleep(seconds)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(standstill, "LOOK_INTERVAL", 0.02)


def test_who_stands_still_is_named_once(caplog):
    """A line names the code and its place; a loop that turns again stands no more."""

    async def go():
        watch = Standstill(asyncio.get_running_loop(), str)
        await asyncio.sleep(0.3)
        assert not watch.stands
        blocking(1.5)
        assert watch.stands
        await asyncio.sleep(0.3)
        assert not watch.stands
        watch.close()

    with caplog.at_level(logging.WARNING):
        asyncio.run(go())

    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith(f"the crawl is blocked: blocking ({__file__}, line ")


def test_a_program_that_runs_the_loop_is_not_named(caplog):
    """Where no code of the user's stands still, what started the loop is not blamed.

    A crawl that computed for ten seconds was said to stand still in `<module> (bin/scrapy, line
    8)`.
    """

    async def go():
        watch = Standstill(asyncio.get_running_loop(), str)
        await asyncio.sleep(0.3)
        asyncio.get_running_loop().call_soon(time.sleep, 1.5)
        await asyncio.sleep(0.3)
        watch.close()

    with caplog.at_level(logging.WARNING):
        asyncio.run(go())

    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("the crawl is blocked: _run (")
    assert "asyncio/events.py" in line


STOPPED = """
import asyncio
from webcrawl.crawl import standstill
standstill.LOOK_INTERVAL = 0.05
async def go():
    watch = standstill.Standstill(asyncio.get_running_loop(), str)
    watch.note_stop()
    print("begun", flush=True)
    await asyncio.sleep(6)
    watch.close()
asyncio.run(go())
"""


def test_a_process_that_was_stopped_stands_not_still():
    """The time in which a process is stopped (SIGSTOP) is nobody's."""
    words = [sys.executable, "-c", STOPPED]
    with subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.readline()
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(5)
        os.kill(process.pid, signal.SIGCONT)
        said = process.communicate(timeout=60)

    assert (process.returncode, said) == (0, ("", ""))


SILENCED = """
import asyncio, fcntl, logging, os, signal, sys
from webcrawl.crawl import standstill
standstill.LOOK_INTERVAL = standstill.REPORT_TIMEOUT = 0.05
reads, writes = os.pipe()
fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 4096)
logging.basicConfig(stream=os.fdopen(writes, "w"))
async def go():
    watch = standstill.Standstill(asyncio.get_running_loop(), str)
    watch.note_stop()
    logging.error("x" * 65536)
asyncio.run(go())
"""


def test_a_log_that_nobody_reads():
    """It may be what stands still, as behind a pipe that is full: the crawl ends all the same,
    without a word.
    """
    words = [sys.executable, "-c", SILENCED]

    assert subprocess.run(words, cwd=ROOT, timeout=PATIENCE, check=False).returncode == 1
