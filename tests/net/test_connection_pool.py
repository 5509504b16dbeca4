"""Which connections are kept, for how many, and which go first."""

import asyncio

import pytest

from webcrawl.net import connection_pool
from webcrawl.net.connection_pool import ConnectionPool


class Connection:
    def __init__(self):
        self.open, self.unrequested, self.has_unread = True, False, False

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
        assert [pool.pop_connection(("a",)) for _ in range(3)] == [second, first, None]
        assert len(pool) == 0

    pooled(play)


def test_closed_ones_are_passed_over():
    """A connection that the server has closed does not hide another one to it."""

    async def play(pool):
        first, second = Connection(), Connection()
        pool.keep(("a",), first, 10)
        pool.keep(("a",), second, 10)
        second.abort()
        assert pool.pop_connection(("a",)) is first
        assert len(pool) == 0

    pooled(play)


@pytest.mark.parametrize("keys", ["aaa", "abc", "aab"])
def test_the_limit_counts_all(keys):
    """However they are spread over servers, no more than the limit stay open, and the first spare
    one goes.
    """

    async def play(pool):
        made = [Connection() for _ in keys]
        for key, one in zip(keys, made, strict=True):
            pool.keep((key,), one, 10, spare=True)
        assert len(pool) == 2
        assert [one.open for one in made] == [False, True, True]
        assert sum(pool.pop_connection((key,)) is not None for key in keys) == 2

    pooled(play, limit=2)


def test_what_waits_for_its_turn_stays():
    """Without room and without spare ones the new one is closed: the turns of all others come
    before its own.
    """

    async def play(pool):
        made = [Connection() for _ in range(4)]
        for number, one in enumerate(made):
            pool.keep((number,), one, 10)
        assert [one.open for one in made] == [True, True, False, False]
        assert pool.pop_connection((0,)) is made[0]

    pooled(play, limit=2)


def test_hosts_in_turn():
    """Of more hosts than there is room for, those that are kept are used, though all have their
    turns in a row.
    """

    async def play(pool):
        used = 0
        for _ in range(5):
            for host in range(6):
                kept = pool.pop_connection((host,))
                used += kept is not None
                pool.keep((host,), kept or Connection(), 10)
        return used

    assert pooled(play, limit=4) == 4 * 4


def test_spare_ones_go_first():
    """One that a request waits for takes the place of one that nobody may need, whichever was kept
    first.
    """

    async def play(pool):
        spare, sure, other = Connection(), Connection(), Connection()
        pool.keep(("a",), sure, 10)
        pool.keep(("b",), spare, 10, spare=True)
        pool.keep(("c",), other, 10)
        assert (sure.open, spare.open, other.open) == (True, False, True)
        assert pool.pop_connection(("b",)) is None

    pooled(play, limit=2)


def test_spare_ones_that_were_used(monkeypatch):
    """What was taken, or closed when its time was over, is not evicted for another."""
    monkeypatch.setattr(connection_pool, "_SWEEP", 0.01)

    async def play(pool):
        taken, over = Connection(), Connection()
        pool.keep(("a",), taken, 10, spare=True)
        assert pool.pop_connection(("a",)) is taken
        pool.keep(("b",), over, 0.0, spare=True)
        for _ in range(500):
            await asyncio.sleep(0.01)
            if not over.open:
                break
        pool.keep(("c",), Connection(), 10)
        new = Connection()
        pool.keep(("d",), new, 10)
        assert (len(pool), taken.open, new.open) == (1, True, False)

    pooled(play, limit=1)


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


class TestServersThatDoNotAnswerOnThem:
    def test_none_is_kept_to_them(self):
        """When a server has left a request on a kept connection unanswered, its others are closed,
        and none is kept.
        """

        async def play(pool):
            kept, later, other = Connection(), Connection(), Connection()
            pool.keep(("a",), kept, 10)
            pool.distrust(("a",))
            pool.keep(("a",), later, 10)
            pool.keep(("b",), other, 10)
            return len(pool), kept.open, later.open, other.open

        assert pooled(play) == (1, False, False, True)

    def test_for_a_while(self, monkeypatch):
        """It may have been chance: later they are kept again."""
        monkeypatch.setattr(connection_pool, "UNKEPT", 0.0)

        async def play(pool):
            pool.distrust(("a",))
            pool.keep(("a",), Connection(), 10)
            return len(pool)

        assert pooled(play) == 1

    def test_so_many_are_remembered(self, monkeypatch):
        """Without room the one is forgotten that was found out first."""
        monkeypatch.setattr(connection_pool, "MOST_UNKEPT", 2)

        async def play(pool):
            for key in "abac":
                pool.distrust((key,))
            for key in "abc":
                pool.keep((key,), Connection(), 10)
            return [key for key in "abc" if pool.pop_connection((key,)) is not None]

        assert pooled(play) == ["b"]
