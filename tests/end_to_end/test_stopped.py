"""A crawl whose process is stopped for a while (SIGSTOP; a paused container) goes on as if the time
had not passed.
"""

import os
import signal
import threading
import time

import pytest

from tests.support.crawling import PATIENCE
from tests.support.named_sites import sites

STOP = 8  # seconds


class Site:
    """Answers the page /slow when the crawler goes on, or hangs up while it is stopped."""

    def __init__(self, *, hangs_up):
        self.hangs_up = hangs_up
        self.requested, self.stands, self.goes_on = (
            threading.Event(),
            threading.Event(),
            threading.Event(),
        )

    def answer(self, _, path, __):
        if path == "/robots.txt":
            return None
        if path == "/slow" and not self.requested.is_set():
            self.requested.set()
            assert self.stands.wait(PATIENCE)
            if self.hangs_up:
                raise ConnectionAbortedError
            assert self.goes_on.wait(PATIENCE)
        return (
            b'<title>a page</title><a href="/slow">slow</a><a href="/last">last</a>' + path.encode()
        )


@pytest.mark.parametrize("hangs_up", [False, True])
def test_a_stop_is_part_of_no_download(tmp_path, hangs_up):
    """Neither the wait of a host nor the attempts of a URL count the time in which the process was
    stopped.

    A host was left alone for up to 300 seconds, as politeness, after the process had been stopped
    for 154.
    """
    site = Site(hangs_up=hangs_up)
    with sites(site.answer) as web:
        crawl = web.crawl(
            tmp_path, ["one.test"], RETRY_TIMES=0, POLITENESS_FACTOR=0, POLITENESS_MIN_DELAY=0
        )
        running = crawl.start()
        stopped = threading.Thread(target=stop_while_requested, args=(running.process.pid, site))
        stopped.start()
        assert running.wait() == 0
        stopped.join()

    lines = [line.split() for line in (crawl.jobdir / "logs/crawl.log").read_text().splitlines()]
    pages = {
        line[3].rpartition("/")[2]: line for line in lines if not line[3].endswith("robots.txt")
    }
    assert {path: line[1] for path, line in pages.items()} == {
        "": "200",
        "slow": "200",
        "last": "200",
    }
    milliseconds = int(pages["slow"][8].partition("+")[2])
    assert milliseconds < 1000 * STOP
    assert crawl.stats["failures"] == 0


def stop_while_requested(process, site):
    """Stops the crawler's process while /slow is requested."""
    assert site.requested.wait(PATIENCE)
    os.kill(process, signal.SIGSTOP)
    site.stands.set()
    time.sleep(STOP)
    os.kill(process, signal.SIGCONT)
    site.goes_on.set()
