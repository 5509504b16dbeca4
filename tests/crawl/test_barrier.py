"""The barrier: what a checkpoint waits for, and what it leaves out."""

import asyncio

import pytest

from webcrawl.crawl import barrier as module
from webcrawl.crawl.barrier import Barrier
from webcrawl.crawl.trip import Trip


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.01)


def run(script):
    """Runs a script of the test with a barrier and two pages inside."""

    async def running():
        barrier, pages = Barrier(), (Trip(), Trip())
        for page in pages:
            await barrier.enter(page)
        await asyncio.wait_for(script(barrier, *pages), 120)

    asyncio.run(running())


async def is_shut(barrier):
    """A task that shuts the barrier, after it has had time to."""
    task = asyncio.create_task(barrier.shut(lambda: False))
    await asyncio.sleep(0.03)
    return task


class TestBarrier:
    def test_it_waits_for_pages_inside(self):
        """Shutting takes until every page is booked."""

        async def script(barrier, one, two):
            shutting = await is_shut(barrier)
            barrier.leave(one)
            await asyncio.sleep(0.03)
            assert not shutting.done()
            barrier.leave(two)
            await shutting
            assert barrier.out == set()

        run(script)

    def test_it_leaves_out_pages_that_do_not_return(self, monkeypatch):
        """After OVERDUE a page is left out, also of later checkpoints, until it is booked; it is
        told once.
        """
        monkeypatch.setattr(module, "OVERDUE", 0.02)

        async def script(barrier, one, two):
            late = []
            barrier.on_overdue = late.append
            barrier.leave(two)
            await barrier.shut()
            barrier.open()
            monkeypatch.setattr(module, "OVERDUE", 1000)
            await barrier.shut()
            assert (barrier.out, late) == ({one}, [{one}])
            barrier.open()
            barrier.leave(one)
            assert barrier.out == set()

        run(script)

    def test_it_leaves_out_pages_that_are_away(self):
        """A page that waits for a download is left out, and stays out until the barrier opens."""

        async def script(barrier, one, two):
            barrier.away(one)
            shutting = await is_shut(barrier)
            barrier.back(one)  # it goes on, and is left out all the same
            barrier.leave(two)
            await shutting
            assert barrier.out == {one}
            barrier.open()
            assert barrier.out == set()
            shutting = await is_shut(barrier)
            assert not shutting.done()
            barrier.leave(one)
            await shutting

        run(script)

    def test_pages_may_go_away_while_it_is_being_shut(self):
        """A page that begins to wait for a download holds the checkpoint up no longer."""

        async def script(barrier, one, two):
            shutting = await is_shut(barrier)
            for page in (one, two):
                barrier.away(page)
            await shutting
            assert barrier.out == {one, two}

        run(script)

    def test_a_page_may_wait_for_several(self):
        """It is back when it has its last answer."""

        async def script(barrier, one, two):
            barrier.leave(two)
            barrier.away(one)
            barrier.away(one)
            barrier.back(one)
            assert barrier.out == {one}
            barrier.back(one)
            assert barrier.out == set()

        run(script)

    def test_those_who_may_wait_for_others_are_left_out_after_a_while(self):
        """A page that waits for another's download in a way of its own does not hold the checkpoint
        up for ever.
        """

        async def script(barrier, one, two):
            barrier.away(one)
            await barrier.shut(lambda: True)
            assert barrier.out == {one, two}

        run(script)

    def test_nothing_comes_in_while_it_is_shut(self):
        """A page whose download ends meanwhile enters when the barrier opens."""

        async def script(barrier, one, two):
            barrier.leave(one)
            barrier.leave(two)
            await barrier.shut(lambda: False)
            entering = asyncio.create_task(barrier.enter(one))
            await asyncio.sleep(0.01)
            assert not entering.done()
            barrier.open()
            await entering
            assert barrier.inside == {one}

        run(script)
