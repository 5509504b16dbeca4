"""Which connections are kept, for how many, and which go first."""

import asyncio

import pytest

from webcrawl.net import connection_pool
from webcrawl.net.connection_pool import ConnectionPool


class Connection:
    def __init__(self):
        self.open = True

    def abort(self):
        self.open = False


def pooled(play, limit=4):
    """What `play` returns, in a running loop."""

    async def go():
        pool = ConnectionPool(limit)
        try:
            return await play(pool)
        finally:
            pool.close()

    return asyncio.run(go())


def test_a_server_may_have_several():
    """Each of several connections to one server is given out once, the last one kept first."""

    async def play(pool):
        first, second = Connection(), Connection()
        pool.keep(("a",), first, 10)
        pool.keep(("a",), second, 10)
        assert len(pool) == 2
        assert [pool.take(("a",)) for _ in range(3)] == [second, first, None]
        assert len(pool) == 0

    pooled(play)


def test_closed_ones_are_passed_over():
    """A connection that the server has closed does not hide another one to it."""

    async def play(pool):
        first, second = Connection(), Connection()
        pool.keep(("a",), first, 10)
        pool.keep(("a",), second, 10)
        second.abort()
        assert pool.take(("a",)) is first
        assert len(pool) == 0

    pooled(play)


@pytest.mark.parametrize("keys", ["aaa", "abc", "aab"])
def test_the_limit_counts_all(keys):
    """However they are spread over servers, no more than the limit stay open, and the first one goes."""

    async def play(pool):
        made = [Connection() for _ in keys]
        for key, one in zip(keys, made, strict=True):
            pool.keep((key,), one, 10)
        assert len(pool) == 2
        assert [one.open for one in made] == [False, True, True]

    pooled(play, limit=2)


def test_each_has_its_own_time(monkeypatch):
    """Of several connections to one server those are closed whose time is over."""
    monkeypatch.setattr(connection_pool, "_SWEEP", 0.01)

    async def play(pool):
        short, long = Connection(), Connection()
        pool.keep(("a",), short, 0.0)
        pool.keep(("a",), long, 60)
        for _ in range(500):
            await asyncio.sleep(0.01)
            if not short.open:
                break
        assert (short.open, long.open, len(pool)) == (False, True, 1)

    pooled(play)


def test_given_up():
    """All are closed when somebody else needs their descriptors."""

    async def play(pool):
        made = [Connection() for _ in range(3)]
        for one in made:
            pool.keep(("a",), one, 10)
        pool.give_up()
        assert (len(pool), any(one.open for one in made)) == (0, False)

    pooled(play)
