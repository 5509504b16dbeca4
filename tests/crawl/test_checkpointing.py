"""When checkpoints are taken."""

import asyncio
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from webcrawl.crawl import checkpointing
from webcrawl.crawl.checkpointing import RegularCheckpoints

HOUR = 3600.0


@pytest.mark.parametrize(("interval", "taken"), [(HOUR, 1), (0.001, 3)])
def test_the_first_one_comes_early(monkeypatch, interval, taken):
    """What is fetched before it is fetched again after a kill; the next ones are as far apart as is
    asked.
    """
    monkeypatch.setattr(checkpointing, "FIRST_INTERVAL", 0.01)
    begun = []

    async def checkpoint():
        begun.append(True)

    async def run():
        keeping = SimpleNamespace(checkpoint=checkpoint, fail=begun.append)
        crawl = MagicMock(stats=lambda: {"pages": 1, "queued": 2, "hosts": 3})
        regular = RegularCheckpoints(keeping, interval)
        regular.begin(crawl, ())
        for _ in range(200):
            await asyncio.sleep(0.005)
            if len(begun) >= taken:
                break
        await asyncio.sleep(0.03)
        regular.end()

    asyncio.run(run())

    assert len(begun) == 1 if taken == 1 else len(begun) >= taken
