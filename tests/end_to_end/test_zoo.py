"""Crawls of a web with good sites and endless traps."""

import pytest

from tests.support.outages import crawl_of
from tests.support.zoo import crawl_until_owed
from webcrawl.lab.simweb import truth, wait_until_idle

SIZE = (2000, 3000)


@pytest.mark.campaign
def test_a_large_site_is_fetched_whole(simweb, tmp_path):
    """Every page of a large site that only a few links lead to is fetched once."""
    server = simweb(6, 30, size=SIZE, large=[150], popular=True)
    settings = {"POLITENESS_MIN_DELAY": 0.001, "POLITENESS_FACTOR": 0.1}

    assert crawl_of(server, tmp_path, **settings).run() == 0

    wait_until_idle(server)
    expected = truth(server.world, server.world.seeds())
    assert len(expected.must) == 180
    assert [*expected.complaints(server.log.hits)] == []


def test_a_trap_does_not_keep_the_others_from_being_fetched(simweb, tmp_path):
    """Beside an endless trap everything owed is fetched: hosts take turns, whatever they have to offer."""
    server = simweb(6, 30, size=SIZE, zoo=["zoo_items"])

    spent = crawl_until_owed(server, crawl_of(server, tmp_path), most=1000)

    assert (spent.status, spent.missing) == (0, set())
    assert spent.traps["zoo_items"] == spent.pages - spent.owed
