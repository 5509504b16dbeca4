"""Who waits for a checkpoint hears of it, or why there is none."""

import asyncio

import pytest

from webcrawl.crawl.barrier import CheckpointWaiters


def test_all_hear():
    """Everybody who waits hears of the next checkpoint, and who comes later of the one after it."""

    async def waited():
        kept = CheckpointWaiters()
        first, second = kept.next(), kept.next()
        kept.tell()
        third = kept.next()
        return first.done(), second.done(), third.done()

    assert asyncio.run(waited()) == (True, True, False)


def test_why_there_is_none():
    """If no checkpoint will be taken, the reason is raised to who waits; who has gone is left
    alone.
    """

    async def waited():
        kept = CheckpointWaiters()
        gone, there = kept.next(), kept.next()
        gone.cancel()
        kept.tell(OSError("full"))
        await there

    with pytest.raises(OSError, match="full"):
        asyncio.run(waited())
