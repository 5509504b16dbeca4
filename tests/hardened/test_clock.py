"""A wall clock that is set, by an hour or a day, neither stops a crawl nor hurries it."""

# Seen on 2026-11-21, before this was fixed: both crawls asked for nothing more, and would have waited for the hour;
# with a clock that is right both end in less than 2 s.

import json

import pytest

from tests.support.clocks import DAY, HOUR, wrong
from tests.support.crawling import POLITE, Crawl, wait_until
from tests.support.prepared import start
from webcrawl.lab.simweb import gaps, mercator, truth, wait_until_idle

ITEM_PIPELINES = json.dumps({"tests.support.clocks.Step": 300})


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


@pytest.mark.parametrize("step", [-HOUR, -DAY, DAY])
def test_a_clock_set_while_a_crawl_runs(server, crawl, step):
    """A crawl whose clock is set waits neither longer nor shorter than for its hosts' own waits, and fetches all."""
    running = start(crawl, wrong(step=step), ITEM_PIPELINES=ITEM_PIPELINES)

    assert running.wait() == 0
    assert missing(server) == set()
    assert [*gaps(server.log.hits, mercator(server.world, **POLITE))] == []
    assert "the machine's clock jumped" in crawl.output.read_text()


@pytest.mark.parametrize("ahead", [HOUR, DAY, -DAY])
def test_a_state_of_another_time(server, crawl, ahead):
    """A crawl whose clock was wrong when it was stopped goes on at once with the right one."""
    running = start(crawl, wrong(ahead))
    wait_until(lambda: server.log.count > 30)
    running.interrupt()
    assert running.wait() == 0
    assert missing(server)

    assert crawl.start().wait() == 0
    assert missing(server) == set()
