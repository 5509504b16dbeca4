"""The places in the browser, and who gets them."""

import asyncio

import pytest

from webcrawl.crawl.rendering.places import BrowserPlaces


class Queue:
    """Pages by name; `served` are those that got a place, `sent_away` those that gave way, in their
    order.
    """

    def __init__(self, places, most=float("inf")):
        self.places, self.tasks = BrowserPlaces(places, most), {}
        self.served, self.sent_away = [], []

    async def comes(self, name, worth=0.0):
        self.tasks[name] = asyncio.create_task(self._take(name, worth))
        await asyncio.sleep(0)

    async def _take(self, name, worth):
        (self.served if await self.places.wait_for_place(worth) else self.sent_away).append(name)

    async def leaves(self):
        self.places.leave()
        await asyncio.sleep(0)
        await asyncio.sleep(0)


def test_who_comes_first_is_served_first():
    """Of pages of equal worth."""

    async def run():
        queue = Queue(1)
        for name in "abc":
            await queue.comes(name)
        assert queue.served == ["a"]
        await queue.leaves()
        await queue.leaves()
        assert queue.served == ["a", "b", "c"]

    asyncio.run(run())


def test_the_best_are_served_first():
    """Whoever came before."""

    async def run():
        queue = Queue(1)
        for name, worth in (("a", 0), ("b", 1), ("c", 3), ("d", 2)):
            await queue.comes(name, worth)
        for _ in range(3):
            await queue.leaves()
        assert queue.served == ["a", "c", "d", "b"]

    asyncio.run(run())


def test_no_more_wait_than_may():
    """The page that is worth least gives way, be it the new one or one that waits."""

    async def run():
        queue = Queue(1, most=3)
        for name, worth in (("a", 0), ("b", 5), ("c", 3), ("d", 3), ("e", 4)):
            await queue.comes(name, worth)
        await asyncio.sleep(0)
        assert queue.sent_away == ["d", "c"]
        await queue.leaves()
        await queue.leaves()
        assert queue.served == ["a", "b", "e"]

    asyncio.run(run())


def test_pages_that_were_asked_for_never_give_way():
    """Their spider wants them rendered, however many there are."""

    async def run():
        queue = Queue(1, most=1)
        for name in "abc":
            await queue.comes(name, float("inf"))
        await queue.comes("d", 9.0)
        await asyncio.sleep(0)
        assert queue.sent_away == ["d"]
        await queue.leaves()
        await queue.leaves()
        assert queue.served == ["a", "b", "c"]

    asyncio.run(run())


@pytest.mark.parametrize("got", [False, True], ids=["waits", "has just got one"])
def test_a_page_that_ends_leaves_no_place_taken(got):
    """Whether it waits for a place, or has got one that it does not know of."""

    async def run():
        queue = Queue(1)
        for name in "abc":
            await queue.comes(name)
        if got:
            queue.places.leave()
        queue.tasks["b"].cancel()
        await asyncio.gather(
            *queue.tasks.values(), return_exceptions=True
        ) if got else await asyncio.sleep(0)
        if not got:
            await queue.leaves()
        assert queue.served == ["a", "c"]
        await queue.leaves()
        await queue.comes("d")
        assert queue.served == ["a", "c", "d"]

    asyncio.run(run())


def test_a_page_that_was_cancelled_gets_no_place():
    """Its task has not run on since: the place is the next one's, and who leaves hears of nothing."""

    async def run():
        queue = Queue(1)
        for name in "abc":
            await queue.comes(name)
        queue.tasks["b"].cancel()
        queue.places.leave()
        await asyncio.sleep(0)
        assert queue.served == ["a", "c"]

    asyncio.run(run())


def test_a_page_that_was_cancelled_does_not_give_way():
    """There is room without it, whatever the others are worth."""

    async def run():
        queue = Queue(1, most=2)
        for name in "ab":
            await queue.comes(name, 1.0)
        queue.tasks["b"].cancel()
        waits = queue.places.wait_for_place(0.0)
        waits.send(None)  # at once, before b runs on
        waits.close()

    asyncio.run(run())
