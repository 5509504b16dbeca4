"""A signal that comes twice by mistake is one signal, and none cuts the end of a crawl short."""

# Seen on 2026-11-21, before this was fixed: the second signal ended the process at once, with status 130.

import json
import os
import signal
import time

import pytest

from tests.support.crawling import Crawl, wait_until
from tests.support.cuts import cut
from webcrawl.simweb import wait_until_idle

SETTINGS = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0, "CONCURRENT_REQUESTS": 8}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("pause", [0.05, 0.3])
def test_two_signals_within_half_a_second_are_one(tmp_path, simweb, number, pause):
    """When a second signal follows at once, pages under way are finished all the same, and the exit status is 0."""
    server = simweb(8, 80, size=(1000, 2000), latency=0.5)
    (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
    settings = {"DNS_NAMESERVERS": server.nameserver, **SETTINGS}
    crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)

    running = crawl.start()
    wait_until(lambda: server.log.count > 8 and server.busy)
    os.kill(running.process.pid, number)
    time.sleep(pause)
    os.kill(running.process.pid, number)
    status = running.wait()

    wait_until_idle(server)
    assert status == 0
    assert crawl.stats["reason"] == "shutdown"
    assert {hit.outcome for hit in server.log.hits} == {"sent"}


@pytest.mark.parametrize(
    ("reason", "settings"), [("finished", {}), ("closespider_pagecount", {"CLOSESPIDER_PAGECOUNT": 2})]
)
def test_a_signal_while_the_crawl_closes_changes_nothing(tmp_path, simweb, reason, settings):
    """A crawl that ends by itself, and is told to end meanwhile, takes its last checkpoint and writes its figures."""
    server = simweb(2, 8, size=(1000, 2000))
    (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
    slow = json.dumps({"tests.support.cli_components.SlowToClose": 300})
    given = {"DNS_NAMESERVERS": server.nameserver, **SETTINGS, "CONCURRENT_REQUESTS": 1, "ITEM_PIPELINES": slow}
    crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, given)

    running = crawl.start(**settings)
    wait_until((tmp_path / "job/closing").exists)
    running.interrupt()

    assert running.wait() == 0
    assert crawl.stats["reason"] == reason
    wait_until_idle(server)
    found = cut(crawl.jobdir)
    assert {hit.url for hit in server.log.hits} <= (found.logged + found.robots).keys()
