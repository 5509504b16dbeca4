"""A wall clock that is set, by an hour or a day, neither stops a crawl nor hurries it."""

# Seen on 2026-11-21, before this was fixed: both crawls requested nothing more, and would have
# waited for the hour; with a clock that is right both end in less than 2 s.

import json
import time

import pytest

from tests.support.clocks import DAY, HOUR, wrong
from tests.support.crawling import POLITE, Crawl, wait_until
from tests.support.failing_site import WHOLE, FailingHosts
from tests.support.prepared import start
from webcrawl.lab.simweb import gaps, mercator, truth, wait_until_idle
from webcrawl.tools.report.report_source import read_source

ITEM_PIPELINES = json.dumps({"tests.support.clocks.Step": 300})


@pytest.fixture(name="server")
def _server(simweb):
    return simweb(8, 60, size=(1000, 2000))


@pytest.fixture(name="crawl")
def _crawl(tmp_path, server):
    (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
    return Crawl(
        tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, {"DNS_NAMESERVERS": server.nameserver}
    )


def missing(server):
    """Pages that a crawl must ask for and has not."""
    wait_until_idle(server)
    return truth(server.world, server.world.seeds()).must - {hit.url for hit in server.log.hits}


@pytest.mark.parametrize("step", [-HOUR, -DAY, DAY])
def test_a_clock_set_while_a_crawl_runs(server, crawl, step):
    """A crawl whose clock is set waits neither longer nor shorter than for its hosts' own waits,
    and fetches all.
    """
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


def test_times_are_told_in_the_clock_s_time(tmp_path):
    """The figures and the report tell when a host is tried next, and when the crawl began, as a
    clock shows it that was set meanwhile.
    """
    with FailingHosts(
        2, 30, lambda host, *_: 503 if host == "host2.test" else WHOLE
    ).serving() as hosts:
        (tmp_path / "hosts").write_text(hosts.hosts_file)
        (tmp_path / "seeds.txt").write_text(hosts.seeds())
        given = {
            "HOSTS_FILE": tmp_path / "hosts",
            "PORTS_ALLOWED": hosts.port,
            "HOST_RETRY_WAIT": 5000,
            "HOST_MAX_FAILURES": 1,
            "OUTAGE_END_WAIT": 0.5,
        }
        crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, given)
        running = start(crawl, wrong(-DAY, step=DAY), ITEM_PIPELINES=ITEM_PIPELINES)
        assert running.wait() == 0

    soon = pytest.approx(time.time() + 5000, abs=1500)  # as waits of deferred hosts are rounded up
    assert crawl.stats["deferred_due"] == soon
    source = read_source(crawl.jobdir)
    assert [host.due for host in source.state.deferred] == [soon]
    begun = pytest.approx(time.time(), abs=1500)
    assert crawl.stats["statistics"]["series"]["start"] == begun
    assert source.statistics.series.start / 1000 == begun
