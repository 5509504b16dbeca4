"""A crawl that runs is told what to do with single hosts through its socket; the server's log says
whether it obeys.
"""

import time

import pytest

from tests.support.crashes import sound
from tests.support.crawling import wait_until
from tests.support.named_sites import sites
from webcrawl.base.url_text import host_of
from webcrawl.crawl.control.client import Client
from webcrawl.crawl.control.command import NotRunning

HOSTS = PAUSED, DROPPED, SLOW = ("a.test", "b.test", "c.test")
PAGES = 600
DELAY = 0.5
LINKS = "".join(f'<a href="/{number}">{number}</a>' for number in range(PAGES))


class Steered:
    """A crawl of three sites; `log` has the times of requests for pages, by host."""

    def __init__(self, folder, served, log):
        self.log = log
        quick = {
            "POLITENESS_MIN_DELAY": 0.03,
            "POLITENESS_MAX_DELAY": 0.03,
            "CHECKPOINT_INTERVAL": 3600,
        }
        self.crawl = served.crawl(folder, HOSTS, **quick)
        self.ask = Client(self.crawl.jobdir).ask
        self.gone = []  # hosts that are not requested any more

    def start(self):
        self.running = self.crawl.start()
        wait_until(self._answers)
        return self

    def _answers(self):
        try:
            return bool(self.ask("status"))
        except NotRunning:
            return False

    def requested(self, host, times):
        """Waits until it was requested so often since."""
        before = len(self.log[host])
        wait_until(lambda: len(self.log[host]) >= before + times)

    def is_left_alone(self, host):
        """Waits until the others were requested three times; this one was not."""
        before = {one: len(times) for one, times in self.log.items()}
        for other in set(HOSTS) - {host, *self.gone}:
            self.requested(other, 3)
        assert len(self.log[host]) == before[host]

    def is_over(self, host):
        found = self.ask("host", host)
        return found["state"] == "given up" and not found["queued"]


@pytest.fixture(name="steered")
def _steered(tmp_path):
    log = {host: [] for host in HOSTS}

    def answer(host, path, _cookie):
        if path == "/robots.txt":
            return None
        log[host].append(time.monotonic())
        return f"{host}{LINKS if path == '/' else path}".encode()

    with sites(answer) as served:
        steered = Steered(tmp_path, served, log).start()
        for host in HOSTS:
            steered.requested(host, 3)
        yield steered


def test_hosts_are_steered(steered):
    """One is paused and resumed, one dropped, one slowed down; the others go on."""
    ask = steered.ask
    assert "is paused" in ask("host", PAUSED, "pause")
    wait_until(lambda: ask("host", PAUSED)["state"] == "paused")
    steered.is_left_alone(PAUSED)
    assert "is no longer paused" in ask("host", PAUSED, "resume")
    steered.requested(PAUSED, 3)

    assert "is given up" in ask("host", DROPPED, "drop")
    steered.gone.append(DROPPED)
    wait_until(lambda: steered.is_over(DROPPED))
    steered.is_left_alone(DROPPED)

    assert "gets a request every 0.5 s" in ask("host", SLOW, "delay", f"{DELAY:g}")
    steered.requested(SLOW, 5)
    times = steered.log[SLOW][-4:]  # the first since may have been due already
    # half of the three waits: a busy machine hears of requests late
    assert times[-1] - times[0] > 1.5 * DELAY

    ask("stop")
    assert steered.running.wait() == 0
    sound(steered.crawl.jobdir)
    lines = [
        line.split() for line in (steered.crawl.jobdir / "logs/crawl.log").read_text().splitlines()
    ]
    ended = [fields[3] for fields in lines if fields[1] == "-5002"]
    assert {host_of(url) for url in ended} == {DROPPED}
    assert len(set(ended)) == len(ended) > PAGES / 2


def test_kill_right_after(steered):
    """What was answered is in force in the run after a kill -9 at once: nothing of it is lost, or
    done twice.
    """
    ask = steered.ask
    ask("host", DROPPED, "drop")
    ask("host", SLOW, "delay", f"{DELAY:g}")
    ask("host", PAUSED, "pause")
    steered.running.kill()
    sound(steered.crawl.jobdir)
    steered.gone = [PAUSED, DROPPED]

    steered.start()
    assert ask("host", PAUSED)["state"] == "paused"
    assert f"host {PAUSED} pause" in ask("status")["in_force"]
    assert ask("host", SLOW)["delay"]["seconds"] == DELAY
    wait_until(lambda: steered.is_over(DROPPED))
    steered.is_left_alone(PAUSED)
    steered.is_left_alone(DROPPED)
    ask("stop")
    assert steered.running.wait() == 0
    sound(steered.crawl.jobdir)
