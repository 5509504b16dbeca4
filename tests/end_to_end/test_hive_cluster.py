"""A hive over a cluster crawls its web to the end although nodes of it are killed meanwhile."""

import time
from collections import Counter

import pytest

from tests.support.crawling import wait_until
from tests.support.hives import NAME, Hive, assert_whole, shared
from tests.support.redis_server import OwnCluster
from webcrawl.crawl.hive.redis_server.steps import Keys
from webcrawl.lab.simweb import even

MIX = {"subdomain": 0.5} | even(["redirect_elsewhere", "duplicate", "source_frame", "https"], 0.5)
AWAY = 4.0  # seconds, longer than a lease


@pytest.mark.parametrize(
    "key", [Keys(NAME).stream(2, ""), Keys(NAME).hive], ids=["stream", "registry"]
)
def test_a_node_that_is_killed_and_comes_back_empty(simweb, tmp_path, key):
    """Nothing is lost, and nothing fetched twice, whichever node it is."""
    web = simweb(30, 120, mix=MIX, size=(2000, 3000), latency=0.01)
    with OwnCluster(tmp_path / "cluster") as cluster:
        hive = Hive(tmp_path / "hive", web, cluster.url).start_all()
        wait_until(lambda: web.log.count > 100)
        node = cluster.node_of(key)
        node.kill()
        time.sleep(AWAY)
        before = web.log.count
        node.start()

        assert hive.wait() == [0, 0, 0]

        assert web.log.count > before  # it was not over
    hits = hive.hits()
    assert hive.reasons == ["finished"] * 3
    assert shared(hits) == {}
    assert max(Counter(hit.url for hit in hits).values()) == 1
    assert_whole(hive, hits)
    assert any("the hive's server is back after" in hive.said(drone) for drone in range(3))
