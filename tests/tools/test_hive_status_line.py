"""The last line of `scrapy hive status`."""

import pytest

from webcrawl.tools.supervisor.hive_status import table

HIVE = {"name": "web", "state": "running", "running": 2, "meant": 2, "changing": False, "queen": None}


def last_line(**more):
    return list(table([], {**HIVE, "server_bytes": 0, **more}))[-1]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"server_bytes": 2_500_000}, "2.5 MB"),
        ({"queen": 1}, "drone 1"),
        ({"meant": 3}, "3 meant"),
        ({"changing": True}, "change"),
        ({"another": True}, "another hive"),
        ({"unnamed": True}, "REDIS_URL"),
    ],
)
def test_what_is_unusual_is_said(more, words):
    """Links on their way, the queen, drones that are missing, a change, and why the figures are old; nothing else."""
    assert words in last_line(**more)
    assert words not in last_line()
