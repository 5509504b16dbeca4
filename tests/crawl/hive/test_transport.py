"""A drone's side of the server, with a real one."""

import asyncio

import pytest
from redis import Redis

from tests.support.redis_server import (
    OwnServer,
    beat,
    drones,
    emptied,
    fair,
    joins,
    member,
    resumed,
)
from webcrawl.crawl.hive.errors import Full, HiveError, NewEpoch, NotNamed
from webcrawl.crawl.hive.letter import BEGINNING
from webcrawl.crawl.hive.redis_server.redis_transport import KEEP
from webcrawl.crawl.hive.redis_server.steps import Keys
from webcrawl.crawl.hive.registry import RESIZE


async def test_letters_arrive_in_order(url):
    """What is sent to a drone is read by it, in order, from the place that it names."""
    async with drones(url) as (one, other):
        places = await one.send(1, [b"a", b"b", b"c"])

        assert await other.read(BEGINNING, 10, 0) == list(
            zip(places, [b"a", b"b", b"c"], strict=True)
        )
        assert await other.read(places[1], 10, 0) == [(places[2], b"c")]
        assert await one.read(BEGINNING, 10, 0) == []


async def test_what_others_put_into_a_stream_is_an_empty_letter(url):
    """An entry without the field of letters is read as nothing, and those behind it are read."""
    async with drones(url) as (one, other):
        await one.send(1, [b"a"])
        with Redis.from_url(url) as client:
            (stream,) = client.scan_iter("webcrawl:{test:1}:*")
            client.xadd(stream, {"who": "somebody"})
        await one.send(1, [b"b"])

        assert [data for _, data in await other.read(BEGINNING, 10, 0)] == [b"a", b"", b"b"]


async def test_a_read_waits_for_the_first_letter(url):
    """A read that finds nothing waits until something is sent."""
    async with drones(url) as (one, other):
        reading = asyncio.create_task(other.read(BEGINNING, 10, 5))
        await asyncio.sleep(0.05)
        await one.send(1, [b"a"])

        assert [data for _, data in await reading] == [b"a"]


async def test_acknowledged_letters_are_removed(url):
    """The server forgets what is acknowledged, and tells the others how far that is."""
    async with drones(url) as (one, other):
        places = await one.send(1, [b"a", b"b", b"c"])
        await other.acknowledge(places[1])

        assert (await beat(one)).acks == {1: places[1]}
        assert await other.read(BEGINNING, 10, 0) == [(places[2], b"c")]


async def test_a_beat_tells_who_is_there(url):
    """A drone hears of the others that are members, and of those that have given a sign of life."""
    async with drones(url, 3) as (one, other, _):
        await beat(one)
        await beat(other)
        heard = await beat(one)

        assert set(heard.members) == {0, 1, 2}
        assert heard.alive == {0, 1}


class TestOnlyWhatHasChanged:
    async def test_places(self, url):
        """A place is told once to each drone, and each later one."""
        async with drones(url) as (one, other):
            places = await one.send(1, [b"a", b"b"])
            await beat(one)
            await other.acknowledge(places[0])
            assert (await beat(one)).acks == {1: places[0]}
            assert (await beat(one)).acks == {}
            await other.acknowledge(places[1])

            assert (await beat(one)).acks == {1: places[1]}
            assert (await beat(other)).acks == {1: places[1]}

    async def test_members(self, url):
        """Who has come or left is known after each beat, to those too that were there before."""
        async with drones(url, 3) as (one, other, _):
            assert set((await beat(one)).members) == {0, 1, 2}
            await other.give_up(2)
            await other.forget(2)
            assert set((await beat(one)).members) == {0, 1}
            await joins(url, member(2, state="f" * 32, drones=3))

            heard = (await beat(one)).members
            assert heard == {0: f"{0:032x}", 1: f"{1:032x}", 2: "f" * 32}
            assert (await beat(one)).members == heard

    async def test_what_was_told_is_lost(self, url):
        """If the server loses the order of changes, all is told anew, and nothing is missed."""
        async with drones(url) as (one, other):
            places = await one.send(1, [b"a", b"b"])
            await other.acknowledge(places[0])
            await beat(one)
            await other.acknowledge(places[1])
            with Redis.from_url(url) as client:
                (changes,) = client.keys("*:changes:*")
                client.delete(changes)

            assert (await beat(one)).acks == {1: places[1]}
            assert set((await beat(one)).members) == {0, 1}

    async def test_an_answer_that_is_lost(self, url):
        """What the answer to a beat would have told is told with the next one."""
        async with drones(url) as (one, other):
            places = await one.send(1, [b"a"])
            await beat(one)
            await other.acknowledge(places[0])
            with Redis.from_url(url) as client:
                (stream,) = client.keys("webcrawl:{test:0}:*")
                client.delete(stream)  # the beat fails when it has its answer

            with pytest.raises(NewEpoch) as begun:
                await beat(one)
            one.follow(begun.value.epoch)
            assert (await beat(one)).acks == {}
            one.follow((await one.join(member(0))).epoch)
            assert set((await beat(one)).members) == {0, 1}


async def test_who_has_nothing_to_do(url):
    """All hear which drones have nothing to do, until these have something, or are away."""
    async with drones(url, 3) as (one, other, third):
        await beat(one)
        await beat(other, hungry=True)
        await beat(third, hungry=True)
        assert (await beat(one)).hungry == {1, 2}
        await beat(other)
        await third.close()
        await beat(one)

        assert (await beat(other)).hungry == frozenset()


async def test_memory_of_the_machine_bounds_the_streams(tmp_path):
    """Letters take at most four fifths of what the server may have, however many drones there are."""
    with OwnServer(tmp_path / "server", "--maxmemory", "64mb") as server:
        async with drones(server.url) as (one, _):
            for _ in range(12):
                await one.send(1, [bytes(4 << 20)])
            with pytest.raises(Full, match="have 48 MiB of at most 51 MiB"):
                await one.send(1, [bytes(4 << 20)])


async def test_all_are_told_to_rest(url):
    """What the queen says about all is told with each beat."""
    async with drones(url) as (one, other):
        before = await beat(other)
        await one.let_rest()
        assert (before.all_rest, (await beat(other)).all_rest) == (False, True)


def test_nothing_stays_for_ever(url):
    """With each beat of the queen all keys of the hive last for a day, but for seeds that a drone
    has taken.
    """

    async def run():
        async with drones(url) as (one, other):
            await one.send(1, [b"a"])
            await one.acknowledge((await one.send(0, [b"a"]))[0])
            await one.command("pause")
            await one.give_up(1)
            await beat(other)
            await beat(one)
            await beat(other)
            await beat(one)

    with Redis.from_url(url) as client:
        client.rpush(Keys("test").taken(0), "http://a/")
        asyncio.run(run())
        left = {key.decode(): client.pttl(key) for key in client.keys("webcrawl:*")}

    assert left.pop(Keys("test").taken(0)) == -1
    assert len(left) >= 10
    assert all(0 < seconds <= KEEP for seconds in left.values()), left


async def test_one_drone_is_the_queen(url):
    """The first one is the queen, and alone gets the reports; when it leaves, another one is."""
    async with drones(url) as (one, other):
        await beat(one, b"first")
        assert (await beat(other, b"second")).queen == 0
        heard = await beat(one, b"third")
        assert heard.reports == {0: b"third", 1: b"second"}
        assert (await beat(other, b"second")).reports == {}
        await one.close()

        assert (await beat(other, b"second")).queen == 1


async def test_a_later_map_replaces_the_former(url):
    """A map is published if it is later than the one that stands there, and drones with another one
    are told.
    """
    async with drones(url) as (one, other):
        later = fair(2, generation=3)
        assert (await beat(other)).map is None

        assert await one.publish_map(later)
        assert not await other.publish_map(fair(2, generation=2))
        assert (await beat(other)).map == later.pack()
        assert (await beat(other, generation=3)).map is None


async def test_commands_have_ascending_numbers(url):
    """Commands reach all drones once, in order."""
    async with drones(url) as (one, other):
        first = await one.command("exclude", "example.com/")
        second = await other.command("set", "LOG_LEVEL", "DEBUG")
        heard = (await beat(other)).commands

        assert [(c.number, c.name, c.args) for c in heard] == [
            (first, "exclude", ("example.com/",)),
            (second, "set", ("LOG_LEVEL", "DEBUG")),
        ]
        assert [c.number for c in (await beat(one, after=first)).commands] == [second]


async def test_the_bound_of_the_streams(url):
    """Beyond its memory nothing is sent, until something is acknowledged."""
    async with drones(url, memory=100_000) as (one, other):
        places = await one.send(1, [b"x" * 50_000])
        with pytest.raises(Full, match="of at most 0 MiB"):
            await one.send(1, [b"x" * 60_000])
        for server in (one, one, one, other):
            await beat(server)
        assert other.filling
        with pytest.raises(Full, match="of at most 0 MiB"):
            await other.send(0, [b"x" * 60_000])
        await other.acknowledge(places[0])
        for server in (one, one, other):
            await beat(server)

        assert not other.filling
        assert await other.send(0, [b"x" * 60_000])


async def test_another_folder_under_the_same_number(url):
    """A second folder that wants to be the same drone is refused in one line: where the first is,
    and HIVE_NAME.
    """
    first = "drone 1 of this hive has its state in /crawl/drone-1 on here, not"
    async with drones(url):
        with pytest.raises(HiveError, match=rf"{first}.*; if that is another hive, set HIVE_NAME$"):
            await joins(url, member(1, state="f" * 32, jobdir="/elsewhere"))


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"drones": 3}, "HIVE_DRONES = 3: the hive was founded with 2"),
        ({"partition": "host"}, "HIVE_PARTITION = host: the hive was founded with domain"),
        ({"key": b"another"}, "does not belong to the hive"),
    ],
)
async def test_a_drone_that_does_not_belong_here(url, changes, line):
    """Another number of drones, another partition, or the state of another hive, is refused in one
    line.
    """
    async with drones(url):
        with pytest.raises(HiveError, match=line):
            await joins(url, member(1, **changes))


async def test_a_drone_that_the_hive_does_not_have_yet(url):
    """It is told to wait, whatever number of drones it was started with, and is let in when it is
    ordered.
    """
    line = r"HIVE_DRONE = 2: the hive has the drones 0, 1; this one waits until `\w+ hive resize -n 3` lets it in"
    with pytest.raises(NotNamed, match=line):
        await joins(url, member(2, drones=2))
    with Redis.from_url(url) as client:
        assert client.keys("*:drones") == [], "it has founded a hive"
    async with drones(url) as (one, _):
        for number in (2, 3):
            with pytest.raises(NotNamed, match=line):
                await joins(url, member(2, drones=number))
        await one.command(RESIZE, [0, 1, 2], [])
        assert set((await joins(url, member(2, drones=2))).others) == {0, 1, 2}


async def test_a_resumed_drone_founds_the_hive_anew(url):
    """A drone with a state brings key, map and members to a server that has nothing; drones without
    one learn them.
    """
    async with drones(url) as (one, other):
        hive = await one.join(member(0))
        emptied(url)
        again = await other.join(resumed(hive, 1, map=fair(2, generation=5)))

        assert (again.key, again.map.generation, again.others) == (hive.key, 5, hive.others)
        assert (await one.join(resumed(hive))).map.generation == 5
        with pytest.raises(HiveError, match="drone 0 of this hive has its state in another folder"):
            await joins(url, member(0, state="f" * 32))
