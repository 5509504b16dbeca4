"""A hive whose drones, server and network fail while it runs loses nothing, and fetches nothing twice."""

from random import Random

import pytest

from tests.support.crashes import HOSTILE, warm
from tests.support.hive_campaign import assert_survived, campaign
from tests.support.hives import needs_drones, shared

pytestmark = needs_drones


@pytest.fixture(scope="module", autouse=True)
def _warm():
    warm()


@pytest.mark.parametrize(
    "strokes",
    [
        pytest.param(["kill_drone", "kill_queen"], id="drones"),
        pytest.param(["server_empty", "remember", "server_old"], id="server"),
        pytest.param(["cut", "silence", "slow"], id="network"),
        pytest.param(["interrupt", "freeze"], id="stops"),
        pytest.param(["kill_all"], id="all"),
    ],
)
def test_under_fire(tmp_path, simweb, strokes):
    """After each kind of failure the same URLs are fetched, each by its drone, once but for what a kill undid."""
    web = simweb(40, 160, mix=HOSTILE, size=(2000, 3000), slow=0.02)

    with campaign(tmp_path, web, Random(1)) as struck:
        struck.run(strokes, (20, 120 // len(strokes)))
        assert_survived(struck)

    assert struck.struck == strokes
    assert shared(struck.hive.hits()) == {}
