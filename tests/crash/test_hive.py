"""A hive whose drones, server and network fail while it runs loses nothing, and fetches nothing
twice.
"""

import time
from random import Random

import pytest

from tests.support.crawling import wait_until
from tests.support.hive_campaign import assert_survived, campaign
from tests.support.hives import shared
from webcrawl.lab.simweb import even

MIX = {"subdomain": 0.5} | even(["redirect_elsewhere", "duplicate", "source_frame", "https"], 0.5)
GONE = "left the hive"


@pytest.mark.parametrize(
    "strokes",
    [
        pytest.param(["kill_drone", "kill_coordinator"], id="drones"),
        pytest.param(["server_empty", "remember", "server_old"], id="server"),
        pytest.param(["cut", "silence", "slow"], id="network"),
        pytest.param(["interrupt", "freeze"], id="stops"),
        pytest.param(["kill_all"], id="all"),
        pytest.param(["join", "leave"], id="size"),
    ],
)
def test_under_fire(tmp_path, simweb, strokes):
    """After each kind of failure the same URLs are fetched, each by its drone, once but for what a
    kill undid.
    """
    web = simweb(30, 120, mix=MIX, size=(2000, 3000), latency=0.01)

    with campaign(tmp_path, web, Random(1)) as struck:
        struck.run(strokes, (20, 60 // len(strokes)))
        assert_survived(struck)

    assert struck.struck
    assert "join" in strokes or shared(struck.hive.hits()) == {}


@pytest.mark.parametrize("seed", [1])
def test_killed_near_the_end(tmp_path, simweb, seed):
    """A drone that is killed when nothing is left to fetch, or others have ended, ends like them
    when started again.
    """
    web = simweb(12, 60, mix=MIX, size=(2000, 3000))
    chance = Random(seed)

    with campaign(tmp_path, web, chance) as struck:
        must = struck.hive.truth().must
        wait_until(lambda: must <= {hit.url for hit in web.log.hits})
        time.sleep(chance.uniform(0, 2))
        if struck.hive.running[seed].process.is_alive():
            struck.kill_drone(seed)
        assert_survived(struck)


def test_after_a_drone_has_left(tmp_path, simweb):
    """A stroke that waits for a hive whose drones are all known does not wait for one that has
    left.
    """
    web = simweb(30, 120, mix=MIX, size=(2000, 3000), latency=0.01)

    with campaign(tmp_path, web, Random(1)) as struck:
        drone = struck.leave()
        wait_until(lambda: any(GONE in struck.hive.said(member) for member in struck.hive.members))
        assert drone in struck.hive.leaving
        struck.cut()
        assert_survived(struck)
