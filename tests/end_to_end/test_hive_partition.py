"""A drone that is cut off from its hive while others take over its hosts."""

import time

from tests.support.commands import command
from tests.support.crawling import wait_until
from tests.support.hive_server import wired
from tests.support.hives import NAME, Hive, drone_of
from webcrawl.crawl.hive.redis_server.steps import Keys

SLOWLY = {"POLITENESS_MIN_DELAY": 0.4, "POLITENESS_MAX_DELAY": 0.5}


def test_a_drone_that_is_given_up_while_it_is_cut_off(simweb, redis, tmp_path):
    """It asks no host any more when another drone asks the first one of these, and ends when it
    hears of that.
    """
    web = simweb(20, 900)
    hive = Hive(tmp_path / "hive", web, redis.url, settings=SLOWLY)
    with wired(redis) as (wire, url):
        for drone in range(3):
            hive.start(drone, **({"REDIS_URL": url} if drone == 2 else {}))
        wait_until(lambda: web.log.count > 60)
        wire.cut()
        wait_until(lambda: not redis.client().exists(f"{Keys(NAME).leases}2"))

        options = ("-s", f"HIVE_NAME={NAME}")
        adopted = command(
            "scrapy", "hive", "adopt", redis.url, "--drone", 2, "--lost", "--yes", *options
        )
        time.sleep(3)
        wire.mend()
        status = hive.running[2].wait()
        hive.end()

    assert adopted.returncode == 0, adopted.stderr
    assert status == 1
    assert "its drone was removed from the hive" in hive.said(2)
    hits = hive.hits()
    last = max(hit.started for hit in hits if drone_of(hit) == 2)
    its = {hit.host for hit in hits if drone_of(hit) == 2}
    taken_over = [hit.started for hit in hits if drone_of(hit) != 2 and hit.host in its]
    assert taken_over
    assert last < min(taken_over)
