"""Whole crawls in other orders."""

from collections import Counter

import pytest

from tests.support.examples import in_campaign
from tests.support.outages import crawl_of
from webcrawl.lab.simweb import truth, wait_until_idle
from webcrawl.tools.verify_crawl import verify

SETTINGS = {"POLITENESS_MIN_DELAY": 0.001, "POLITENESS_FACTOR": 0.01}


@pytest.mark.parametrize(
    "name",
    [
        *in_campaign("depth.ByChance"),
        "links.ByIndegree",
        *in_campaign("links.ByOpic", "links.ByReputation"),
    ],
)
def test_the_order_decides_when_not_what(simweb, tmp_path, name):
    """Whatever the order, the same pages are fetched, each of them once, and the state is whole."""
    server = simweb(6, 300, size=(2000, 3000))
    crawl = crawl_of(
        server, tmp_path, FRONTIER_PRIORITIZER=f"webcrawl.frontier.prioritizers.{name}", **SETTINGS
    )

    assert crawl.run() == 0, crawl.output.read_text()

    wait_until_idle(server)
    requested = [hit.url for hit in server.log.hits if not hit.url.endswith("/robots.txt")]
    assert len(requested) == len({*requested})
    assert {*requested} == {
        url for url in truth(server.world, server.world.seeds()).must if "robots.txt" not in url
    }
    assert [*verify(crawl.jobdir, Counter())] == []
