"""Slots and levels that change while a crawl runs."""

import asyncio
from itertools import product

from webcrawl.frontier.back_end import PROVEN, SHARE, UNPROVEN, FetchSlots
from webcrawl.net.connection_pool import ConnectionPool, Deadlines
from webcrawl.net.protocols import FetchLimits

STANDINGS = (PROVEN, *UNPROVEN)


def test_shares_follow_the_slots():
    """Slots are shared as if there had been as many from the start; without a limit every host may
    have one.
    """
    slots, fresh = FetchSlots(10), FetchSlots(320)
    slots.resize(320)
    for in_flight in product(range(0, 320, 80), repeat=4):
        for one in (slots, fresh):
            one.hosts, one.in_flight = [200, 150, 100, 50], list(in_flight)
        assert [*map(slots.open_to, STANDINGS)] == [*map(fresh.open_to, STANDINGS)]
        assert slots.share == fresh.share == 320 // SHARE

    slots.resize(0)
    assert all(map(slots.open_to, STANDINGS))


def test_bounds_of_a_slow_answer():
    """How slow an answer may be is what holds now, also for one under way."""
    deadlines = Deadlines(FetchLimits(rate=0.0), float)
    deadlines.use(FetchLimits(rate=100.0, grace=1.0))

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
