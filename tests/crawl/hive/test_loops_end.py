"""How the loops of a drone end."""

import asyncio
from contextlib import suppress

from webcrawl.crawl.hive.running import _ended


def test_a_loop_that_overhears_its_end_is_told_again():
    """A loop in which a client swallows the cancellation ends all the same."""

    async def deaf():
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        await asyncio.sleep(60)

    async def run():
        tasks = [asyncio.create_task(deaf()), asyncio.create_task(asyncio.sleep(60))]
        await asyncio.sleep(0)
        await asyncio.wait_for(_ended(tasks), 120)
        return [task.cancelled() for task in tasks]

    assert asyncio.run(run()) == [True, True]
