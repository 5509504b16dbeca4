"""kill -9 at any moment of `scrapy crawl web`: nothing is lost, recorded twice, or fetched again."""

from collections import Counter
from random import Random

import pytest

from tests.support.crashes import HOSTILE, assert_as_untouched, crash, crawl_of, warm

KILLS = 7
IN_FLIGHT = 30
SETTINGS = {"CHECKPOINT_INTERVAL": 0.1, "CONCURRENT_REQUESTS": IN_FLIGHT, "DOWNLOAD_TIMEOUT": 0.8}


@pytest.fixture(scope="module", autouse=True)
def _warm():
    warm()


def test_killed_again_and_again(tmp_path, simweb):
    """A crawl killed repeatedly, during checkpoints too, ends like one that was never killed."""
    server, quiet = (simweb(60, 150, mix=HOSTILE, size=(2000, 3000), slow=0.02) for _ in range(2))

    killed = crash(
        crawl_of(tmp_path / "killed", server, SETTINGS),
        server,
        Random(1),
        kills=KILLS,
        requests=(20, 90),
    )
    whole = crash(crawl_of(tmp_path / "whole", quiet, SETTINGS), quiet, Random(1))

    assert len(killed.deaths) == KILLS
    assert_as_untouched(server, killed, whole, IN_FLIGHT)


def test_robots_txt_is_kept(tmp_path, simweb):
    """A robots.txt in a checkpoint is not fetched again, and none twice in a run, however the crawl
    ended.
    """
    server = simweb(30, 60, size=(2000, 3000), latency=0.25)

    killed = crash(
        crawl_of(tmp_path / "killed", server, SETTINGS), server, Random(2), kills=3, requests=(1, 5)
    )

    assert (killed.status, len(killed.deaths)) == (0, 3)
    for number, death in enumerate(killed.deaths, 1):
        assert death.snapshot.robots.keys().isdisjoint(
            hit.url for run in killed.runs[number:] for hit in run
        )
    assert [
        url
        for run in killed.runs
        for url, count in Counter(hit.url for hit in run).items()
        if count > 1
    ] == []
