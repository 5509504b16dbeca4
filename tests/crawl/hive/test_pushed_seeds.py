"""Seeds from a key of the server: each is taken by one drone, and none is lost."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from redis import Redis

from tests.support.redis_server import Cable, OwnServer, clients, drones
from webcrawl.crawl.hive.errors import Away, HiveError
from webcrawl.crawl.hive.redis_server.pushed_seeds import BATCH_ENTRIES, SeedTaker
from webcrawl.crawl.hive.redis_server.steps import Keys

OWN = "webcrawl:{test}:taken:0"


@asynccontextmanager
async def taking(url, hand_on, own=OWN):
    """A drone that takes."""
    client = clients(url)()
    try:
        yield SeedTaker(client, "seeds", own, hand_on)
    finally:
        await client.aclose()


def pushed(url, *entries, how="rpush"):
    """Puts seeds where users do."""
    with Redis.from_url(url) as client:
        getattr(client, how)("seeds", *entries)


def left(url, key=OWN):
    with Redis.from_url(url) as client:
        return client.lrange(key, 0, -1)


async def all_of(one):
    while await one.take_batch():
        pass


async def test_a_list(url):
    """A list is taken from its head, in order."""
    found = []
    pushed(url, "a", "b", "c")

    async with taking(url, found.append) as one:
        assert [await one.take_batch(), await one.take_batch()] == [3, 0]

    assert found == [b"a", b"b", b"c"]


async def test_as_many_as_may_be_held(url, monkeypatch):
    """No more are taken, and that is told, until a checkpoint has them."""
    monkeypatch.setattr("webcrawl.crawl.hive.redis_server.pushed_seeds.MAX_UNSAVED", 2)

    async with taking(url, lambda _: None) as one:
        for _ in range(2):
            pushed(url, "a", "b")
            assert not one.is_full
            assert await one.take_batch() == 2
            pushed(url, "c")
            assert (await one.take_batch(), one.is_full) == (0, True)
            one.committed()
            assert (await one.take_batch(), one.is_full) == (1, False)
            one.committed()
            assert await one.take_batch() == 0


@pytest.mark.parametrize("how", ["sadd", "rpush"])
async def test_many(url, how):
    """Thousands of entries are taken a batch at a time."""
    found, many = [], {f"entry {number}" for number in range(2300)}
    pushed(url, *many, how=how)

    async with taking(url, found.append) as one:
        await all_of(one)

    assert sorted(entry.decode() for entry in found) == sorted(many)


async def test_a_sorted_set(url):
    """Of a sorted set those with the highest score come first."""
    found = []
    pushed(url, {"low": 1, "high": 10, "middle": 5}, how="zadd")

    async with taking(url, found.append) as one:
        await one.take_batch()

    assert found == [b"high", b"middle", b"low"]


async def test_something_else(url):
    """A key of another type is told in one line."""
    pushed(url, "text", how="set")

    async with taking(url, print) as one:
        with pytest.raises(HiveError, match="seeds: is a string in the server"):
            await one.take_batch()


async def test_what_a_checkpoint_has_is_removed(url):
    """Entries stand in the drone's own list until a checkpoint has them."""
    pushed(url, "a", "b")

    async with taking(url, lambda _: None) as one:
        await one.take_batch()
        pushed(url, "c")
        one.committed()
        assert left(url) == [b"a", b"b"]
        await one.take_batch()
        assert left(url) == [b"c"]
        await one.take_batch()
        assert left(url) == [b"c"]
        one.committed()
        await one.finish()
        assert left(url) == []


async def test_a_kill_loses_none(url):
    """What a killed drone had taken is handed on again, before anything else."""
    again = []
    pushed(url, "a", "b", "a")

    async with taking(url, lambda _: None) as killed:
        await killed.take_batch()
    pushed(url, "c")
    async with taking(url, again.append) as one:
        await one.take_batch()
        one.committed()
        await one.finish()

    assert sorted(again) == [b"a", b"a", b"b", b"c"]
    assert left(url) == []


async def test_two_drones_share(url):
    """Each entry is taken by one of them."""
    found, other = [], []
    pushed(url, *map(str, range(4 * BATCH_ENTRIES)))

    async with taking(url, found.append) as one, taking(url, other.append, OWN + "1") as two:
        await asyncio.gather(one.take_batch(), two.take_batch())
        assert (len(found), len(other)) == (BATCH_ENTRIES, BATCH_ENTRIES)
        await asyncio.gather(all_of(one), all_of(two))

    assert sorted(map(int, found + other)) == list(range(4 * BATCH_ENTRIES))


async def test_a_lost_answer(tmp_path):
    """If the connection ends before an answer is there, what was taken is found in the drone's own
    list.
    """
    found = []

    with OwnServer(tmp_path) as theirs:
        pushed(theirs.url, "a", "b")
        async with Cable(theirs.url) as cable, taking(cable.url, found.append) as one:
            # what the server did without our knowing
            async with taking(theirs.url, lambda _: None) as unheard:
                await unheard.take_batch()
            await cable.cut()
            with pytest.raises(Away):
                await one.take_batch()
            await cable.mend()
            assert await one.take_batch() == 2
            assert await one.take_batch() == 0

    assert found == [b"a", b"b"]


async def test_seeds_of_a_drone_that_was_given_up(url):
    """Whoever takes a drone out of the hive gets the seeds that it had taken."""
    found, keys = [], Keys("test")
    pushed(url, "a", "b")

    async with drones(url) as (one, _):
        async with taking(url, lambda _: None, keys.taken(1)) as lost:
            await lost.take_batch()
        async with taking(url, found.append, keys.taken(0)) as mine:
            await mine.take_batch()
            await one.give_up(1)
            await one.forget(1)
            await mine.take_batch()

    assert found == [b"a", b"b"]
    assert left(url, keys.taken(1)) == []


async def test_nothing_is_handed_on_after_the_end(url):
    """Once the crawl is closed, entries stay where they are."""
    found = []
    pushed(url, "a")

    async with taking(url, found.append) as one:
        one.stopped = True
        await one.take_batch()
        one.committed()
        await one.finish()

    assert not found
    assert left(url) == [b"a"]
