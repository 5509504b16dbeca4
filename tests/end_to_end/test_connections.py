"""Hosts that may have several requests at once: a whole crawl, as its server sees it, over kill -9
and orders.
"""

from collections import Counter
from random import Random

import pytest

from tests.support.crashes import crash
from tests.support.crawling import POLITE, Crawl, wait_until
from webcrawl.crawl.control.client import Client
from webcrawl.crawl.control.command import NotRunning
from webcrawl.lab.simweb import gaps, mercator, overlaps, robots_first, truth, wait_until_idle

LARGE = "site0.test"
FOUR = {LARGE: 4}


@pytest.fixture(name="server")
def _server(simweb):
    """A web in which one host has most of the pages, and each answer takes a while."""
    return simweb(4, 300, size=(2000, 3000), latency=0.02)


@pytest.fixture(name="crawl")
def _crawl(tmp_path, server):
    (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
    return Crawl(
        tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, {"DNS_NAMESERVERS": server.nameserver}
    )


def hits(server):
    wait_until_idle(server)
    return list(server.log.hits)


def rudeness(server, found, connections, factor=POLITE["factor"]):
    """Everything that a server could complain about whose hosts allow so many requests at once."""
    rule = mercator(server.world, **{**POLITE, "factor": factor})
    return [*overlaps(found, connections=connections), *gaps(found, rule, connections=connections)]


def at_once(found, host):
    """The most requests of a host that were under way together."""
    mine = [hit for hit in found if hit.host == host]
    return max(sum(one.started <= hit.started < one.ended for one in mine) for hit in mine)


@pytest.mark.campaign
def test_a_host_with_four(server, crawl):
    """It has four requests at once and never five, each with its wait; all other hosts have one."""
    # With waits twice as long as answers, four answers would overlap by chance only
    factor = 0.5
    assert crawl.run(HOST_CONNECTIONS=f"{LARGE}=4", POLITENESS_FACTOR=factor) == 0

    found = hits(server)
    assert [*rudeness(server, found, FOUR, factor), *robots_first(found)] == []
    assert at_once(found, LARGE) == 4
    assert [*truth(server.world, server.world.seeds()).complaints(found)] == []
    assert max(Counter(hit.url for hit in found).values()) == 1


def test_one_for_all(simweb, tmp_path):
    """robots.txt and all pages of a host come by one connection while its turns are near."""
    server = simweb(5, 20, size=(2000, 3000))
    (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
    names = {"DNS_NAMESERVERS": server.nameserver}
    assert Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, names).run() == 0

    used = {(hit.host, hit.client) for hit in hits(server)}
    assert len(used) == 5


@pytest.mark.campaign
def test_killed(server, crawl):
    """No URL is lost by kill -9 with several requests under way, and no run has more of them than
    allowed.
    """
    several = {"HOST_CONNECTIONS": f"{LARGE}=4", "CHECKPOINT_INTERVAL": 0.2}

    killed = crash(crawl, server, Random(5), kills=3, requests=(40, 60), settings=[several] * 4)

    assert killed.status == 0
    assert [line for run in killed.runs for line in rudeness(server, run, FOUR)] == []
    expected = truth(server.world, server.world.seeds())
    assert [*expected.complaints({hit.url: hit for hit in killed.hits}.values())] == []
    assert [*killed.fetched_again()] == []
    assert any(at_once(run, LARGE) == 4 for run in killed.runs)


def test_by_order(server, crawl):
    """A sheet gives a host more connections and takes them away, while the crawl runs."""
    running, ask = crawl.start(), Client(crawl.jobdir).ask

    def answers():
        try:
            return ask("host", LARGE)["pages"] > 5
        except NotRunning:
            return False

    wait_until(answers)
    assert "4 for site0.test" in ask("set", "--for", LARGE, "HOST_CONNECTIONS", "4")
    wait_until(lambda: at_once(list(server.log.hits), LARGE) == 4)
    assert ask("host", LARGE)["connections"]["at_once"] == 4
    ask("set", "--for", LARGE, "HOST_CONNECTIONS", "default")
    wait_until(lambda: "connections" not in ask("host", LARGE))
    wait_until(lambda: ask("host", LARGE)["state"] != "in flight")
    before = len(hits(server))

    assert running.wait() == 0
    assert len(found := hits(server)) > before
    assert rudeness(server, found, FOUR) == []
    assert rudeness(server, found[before:], {}) == []
