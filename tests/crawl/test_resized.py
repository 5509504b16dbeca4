"""Slots and levels that change while a crawl runs."""

import asyncio

from webcrawl.frontier.fetch_slots import RESERVE, SHARE, FetchSlots
from webcrawl.net.connection_pool import ConnectionPool, Deadlines
from webcrawl.net.protocols import Bounds


def test_shares_follow_the_slots():
    """More slots, or fewer, are shared as if there had been as many from the start; hosts and requests stay counted."""
    slots, fresh = FetchSlots(10), FetchSlots(320)
    slots.hosts, slots.asked = [4, 3, 2, 1], [1, 0, 0, 0]
    slots.resize(320)

    assert (slots.share, slots._reserve, slots._reserves) == (fresh.share, fresh._reserve, fresh._reserves)
    assert (slots.share, slots._reserve) == (320 // SHARE, 320 // RESERVE)
    assert (slots.hosts, slots.asked) == ([4, 3, 2, 1], [1, 0, 0, 0])
    slots.resize(0)
    assert slots._count == float("inf")


def test_bounds_of_a_slow_answer():
    """How slow an answer may be is what holds now, also for one under way."""
    deadlines = Deadlines(Bounds(rate=0.0), float)
    deadlines.use(Bounds(rate=100.0, grace=1.0))

    assert deadlines._bounds.patience(10.0, 200) == 13.0


def test_kept_connections():
    """A smaller limit of kept connections holds for the next one that would be kept."""
    pool = ConnectionPool(5)
    pool.limit = 0
    aborted = []
    connection = type("Connection", (), {"abort": lambda _: aborted.append(1)})()

    async def keep():
        pool.keep(("x",), connection, 1.0)

    asyncio.run(keep())

    assert (len(pool), aborted) == (0, [1])
