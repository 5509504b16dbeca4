"""Whole crawls whose domains have used up their budgets."""

import json
from collections import Counter

import pytest

from tests.support.outages import crawl_of
from webcrawl.lab.simweb import truth, wait_until_idle, zoo_hits
from webcrawl.tools.verify_crawl import verify

SETTINGS = {"POLITENESS_MIN_DELAY": 0.001, "POLITENESS_FACTOR": 0.1}


@pytest.fixture(name="server")
def _server(simweb):
    return simweb(6, 30, size=(2000, 3000), zoo=["zoo_items"])


def log(crawl):
    return crawl.output.read_text()


def test_a_crawl_of_a_trap_ends_and_goes_on_with_a_larger_budget(server, tmp_path):
    """What is over the budget waits: the crawl is finished and says how much is left; a larger
    budget fetches more.
    """
    crawl = crawl_of(
        server, tmp_path, DOMAIN_BUDGET="webcrawl.frontier.allowances.fixed.Fixed", **SETTINGS
    )

    for pages in (20, 35):
        assert crawl.run(DOMAIN_BUDGET_PAGES=pages) == 0
        wait_until_idle(server)
        found = Counter()
        assert [*verify(crawl.jobdir, found)] == []
        assert zoo_hits(server.world, server.log.hits)["zoo_items"] == pages
        assert crawl.stats["reason"] == "finished"
        assert crawl.stats["over_budget/domains"] == 1
        assert crawl.stats["over_budget"] == crawl.stats["queued"] == found["over budget"] > 100
        assert f"({crawl.stats['over_budget']} URLs over the budget of 1 domain)" in log(crawl)

    owed = truth(server.world, server.world.seeds()).must
    assert owed <= {hit.url for hit in server.log.hits}


def test_links_of_others_bring_a_domain_on(server, tmp_path):
    """The trap is limited by its reputation: one to which no more than three hosts link has few pages."""
    crawl = crawl_of(server, tmp_path, DOMAIN_BUDGET_PAGES=5, **SETTINGS)

    assert crawl.run() == 0

    wait_until_idle(server)
    assert 5 <= zoo_hits(server.world, server.log.hits)["zoo_items"] <= 8 * 5
    assert json.loads((crawl.jobdir / "stats.json").read_text())["over_budget"] > 0
