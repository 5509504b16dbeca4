"""Pages at hand are processed together, but not so many that a turn of the event loop takes long."""

import asyncio

import pytest

from tests.support.waiting import eventually
from webcrawl.adapter.fastpath.request_path import MOST, TURN, Batch
from webcrawl.crawl import barrier as module
from webcrawl.crawl.barrier import Barrier
from webcrawl.crawl.trip import Trip


def sizes(pages, seconds):
    """The sizes of the batches in which so many pages are processed, if each page takes so long."""
    found, now = [], 0.0

    def parse_all(responses):
        nonlocal now
        found.append(len(responses))
        now += seconds * len(responses)
        return [[] for _ in responses]

    async def leave(_output, _response, _request):
        pass

    async def run():
        batch = Batch(parse_all, leave, lambda: True, clock=lambda: now)
        for number in range(pages):
            batch.add(number, number)
        for _ in range(pages):  # turns of the event loop
            await asyncio.sleep(0)

    asyncio.run(run())
    return found


class TestSizes:
    def test_ordinary_pages_go_together(self):
        """Pages that take 0.4 ms each are processed MOST at a time."""
        assert sizes(3 * MOST, 0.0004) == [MOST] * 3

    def test_heavy_pages_go_in_small_batches(self):
        """After a turn that took too long, fewer pages are processed in one."""
        found = sizes(MOST + 30, TURN / 3.5)

        assert found == [MOST] + [3] * 10

    def test_very_heavy_pages_go_one_by_one(self):
        """A page that takes longer than a turn may is processed alone."""
        assert sizes(MOST + 3, 2 * TURN) == [MOST, 1, 1, 1]


class TestBarrier:
    """A checkpoint waits for the pages that were begun with, not for those that only wait for their turn."""

    @pytest.fixture(autouse=True)
    def _patient(self, monkeypatch):
        monkeypatch.setattr(module, "PATIENCE", 60)

    def run(self, script):
        """Runs a script of the test with a batch that notes its pages; each enters the barrier, and leaves it here."""

        async def running():
            done, barrier = [], Barrier()

            async def leave(_output, page, _request):
                done.append(page)
                barrier.leave(page)

            def add(page):
                barrier.enter_open(page)
                batch.add(page, page)

            batch = barrier.ready = Batch(lambda pages: [[] for _ in pages], leave, barrier.may_begin)
            await asyncio.wait_for(script(barrier, add, done), 120)

        asyncio.run(running())

    def test_pages_wait_while_it_is_shut(self):
        """They are held back until it opens, and then processed in their order, MOST in a turn as ever."""

        async def script(barrier, add, done):
            pages = [Trip() for _ in range(3 * MOST)]
            for page in pages:
                add(page)
            await barrier.shut()
            assert done == []
            await asyncio.sleep(0.01)
            assert done == []
            barrier.open()
            await asyncio.sleep(0)
            assert done == pages[:MOST]
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert done == pages

        self.run(script)

    def test_a_page_that_becomes_ready_is_waited_for_no_longer(self):
        """A middleware may keep a page between the barrier and the batch for a while."""

        async def script(barrier, add, done):
            page = Trip()
            barrier.enter_open(page)
            shutting = asyncio.create_task(barrier.shut())
            await asyncio.sleep(0)
            add(page)
            await shutting
            assert done == []

        self.run(script)

    def test_a_page_that_others_wait_for_is_processed(self, monkeypatch):
        """Whoever is in a pipeline may wait for one that is only ready: then these are processed after all."""
        monkeypatch.setattr(module, "PATIENCE", 0.01)

        async def script(barrier, add, done):
            waiting, needed = Trip(), Trip()
            barrier.enter_open(waiting)
            shutting = asyncio.create_task(barrier.shut())
            await asyncio.sleep(0)
            add(needed)
            await eventually(lambda: done == [needed])
            assert not shutting.done()
            barrier.leave(waiting)
            await shutting

        self.run(script)
