"""A profile of the running process, in its main thread."""

import asyncio
import signal

import pytest

from webcrawl.adapter.commanding import profile
from webcrawl.crawl.control.command import CommandError


async def work(seconds):
    end = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < end:
        sum(range(20_000))
        await asyncio.sleep(0)


def test_the_function_that_works():
    """What uses the processor is named, with its share; afterwards no timer is left."""

    async def both():
        found, _ = await asyncio.gather(profile(0.3), work(0.3))
        return found

    found = asyncio.run(both())
    assert found["samples"] > 0
    assert any("test_profile.py:work" in row["function"] for row in found["functions"])
    assert sum(row["percent"] for row in found["stages"]) == pytest.approx(100, abs=2)
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_one_at_a_time():
    """A second one is refused while the first is taken, which goes on; so does one that is cut short."""

    async def twice():
        first = asyncio.create_task(profile(0.1))
        await asyncio.sleep(0)
        with pytest.raises(CommandError, match="a profile is being taken already"):
            await profile(0.1)
        await first
        cut = asyncio.create_task(profile(5))
        await asyncio.sleep(0)
        cut.cancel()
        await asyncio.gather(cut, return_exceptions=True)
        return await profile(0.01)

    assert "stages" in asyncio.run(twice())
