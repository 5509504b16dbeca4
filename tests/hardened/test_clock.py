"""A wall clock that is set back does not stop a crawl."""

# Seen on 2026-11-21, before this was fixed: both crawls asked for nothing more, and would have waited for the hour;
# with a clock that is right both end in less than 2 s.

import json

import pytest

from tests.support.clocks import HOUR, wrong
from tests.support.crawling import Crawl, wait_until
from tests.support.prepared import start
from webcrawl.lab.simweb import truth, wait_until_idle

ITEM_PIPELINES = json.dumps({"tests.support.clocks.StepBack": 300})


@pytest.fixture(name="server")
def _server(simweb):
    return simweb(8, 60, size=(1000, 2000))


@pytest.fixture(name="crawl")
def _crawl(tmp_path, server):
    (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
    return Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, {"DNS_NAMESERVERS": server.nameserver})


def missing(server):
    """Pages that a crawl must ask for and has not."""
    wait_until_idle(server)
    return truth(server.world, server.world.seeds()).must - {hit.url for hit in server.log.hits}


def test_a_clock_set_back_while_a_crawl_runs(server, crawl):
    """A crawl whose clock is set back by an hour waits no longer than its hosts' own waits."""
    running = start(crawl, wrong(), ITEM_PIPELINES=ITEM_PIPELINES)

    assert running.wait(10) == 0
    assert missing(server) == set()


def test_a_state_from_an_hour_ahead(server, crawl):
    """A crawl whose clock was an hour ahead when it was stopped goes on at once with the right one."""
    running = start(crawl, wrong(HOUR))
    wait_until(lambda: server.log.count > 30)
    running.interrupt()
    assert running.wait() == 0
    assert missing(server)

    assert crawl.start().wait(10) == 0
    assert missing(server) == set()
