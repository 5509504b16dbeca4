"""What the server may lose, and how drones hear of it."""

import asyncio

import pytest
from redis import Redis

from tests.support.redis_server import (
    Cable,
    OwnServer,
    anew,
    beat,
    drones,
    emptied,
    fair,
    joins,
    member,
    transport,
)
from webcrawl.crawl.hive.batch import BEGINNING
from webcrawl.crawl.hive.errors import Away, HiveError, NewEpoch
from webcrawl.crawl.hive.redis_server.steps import KEPT, Keys


async def test_a_server_that_was_restored_to_an_older_state(tmp_path):
    """Streams that are older than what was acknowledged are given up, and removed."""
    with OwnServer(tmp_path) as theirs:
        async with drones(theirs.url) as (one, other):
            places = await one.send(1, [b"old"])
            with Redis.from_url(theirs.url) as client:
                client.save()
            await other.acknowledge(places[0])
            await one.send(1, [b"lost"])
            theirs.restart()

            await anew(other, lambda: other.read(BEGINNING, 10, 0))
            assert await other.read(BEGINNING, 10, 0) == []
            _, epoch = await anew(one, lambda: beat(one))
            assert (await beat(one)).acks == {}
            with Redis.from_url(theirs.url) as client:
                assert all(key.decode().endswith(epoch) for key in client.keys("webcrawl:{test:*"))


async def test_a_drone_that_has_left_does_not_come_back_with_an_old_server(tmp_path):
    """A server that is restored to when a drone was a member forgets it, and what it said, by the
    drones' later map.
    """
    with OwnServer(tmp_path) as theirs:
        async with drones(theirs.url, 3) as (one, other, third):
            await beat(third)
            with Redis.from_url(theirs.url) as client:
                client.save()
            slots = fair(3).resized((0, 1)).without((2,))
            await one.publish_map(slots)
            await one.forget(2)
            theirs.restart()

            await anew(one, lambda: beat(one))
            await anew(other, lambda: beat(other))
            heard = await beat(one)
            assert (heard.members.keys(), heard.map) == ({0, 1}, slots.pack())
            with Redis.from_url(theirs.url) as client:
                assert {*client.hkeys(Keys("test").reports)} == {b"0", b"1"}


async def test_everything_is_removed_from_the_server(url):
    """A drone that hears that the server was emptied begins a new epoch, which the others follow."""
    async with drones(url) as (one, other):
        await one.send(1, [b"lost"])
        with Redis.from_url(url) as client:
            client.flushall()
        with pytest.raises(NewEpoch) as first:
            await beat(one)
        with pytest.raises(NewEpoch) as second:
            await other.acknowledge("1-1")

        assert first.value.epoch == second.value.epoch


async def test_everything_is_removed_and_another_comes_first(url):
    """The first drone brings the others' states; each of them, when it comes, is known as the one
    that it is.
    """
    async with drones(url) as (one, other):
        await beat(one)
        with Redis.from_url(url) as client:
            client.flushall()
        await anew(one, lambda: beat(one))
        await anew(other, lambda: beat(other))

        assert set((await beat(one)).members) == {0, 1}


@pytest.mark.parametrize("sends", [True, False])
async def test_a_stream_is_removed(url, sends):
    """Whoever removes a stream removes batches: a new epoch begins, for sender and receiver, who
    hears by its beat.
    """
    async with drones(url) as (one, other):
        await one.send(1, [b"lost"])
        with Redis.from_url(url) as client:
            client.delete(*client.keys("webcrawl:{test:1}:*"))
        if sends:
            with pytest.raises(NewEpoch):
                await one.send(1, [b"more"])
        with pytest.raises(NewEpoch):
            await beat(other)


async def test_only_the_registry_is_lost(url):
    """A drone writes itself into it again, and nothing else happens."""
    async with drones(url) as (one, other):
        await beat(one)
        places = await one.send(1, [b"kept"])
        with Redis.from_url(url) as client:
            client.delete(
                *client.keys("webcrawl:{test}:drones"), *client.keys("webcrawl:{test}:hive")
            )

        assert set((await beat(one)).members) == {0, 1}
        assert await other.read(BEGINNING, 10, 0) == [(places[0], b"kept")]


async def test_the_network_is_truncated(url, tmp_path):
    """A drone is away while it lasts; afterwards the epoch is the same, and nothing is lost."""
    with OwnServer(tmp_path) as theirs:
        async with (
            Cable(theirs.url) as cable,
            drones(theirs.url) as (one, _),
            drones(cable.url) as (far, _),
        ):
            places = await one.send(0, [b"kept"])
            await cable.cut()
            for _ in range(3):
                with pytest.raises(Away):
                    await far.read(BEGINNING, 10, 0)
                with pytest.raises(Away):
                    await beat(far)
            await cable.mend()

            assert await far.read(BEGINNING, 10, 0) == [(places[0], b"kept")]
            await beat(far)  # no new epoch


async def test_commands_in_force_are_told_again(url):
    """A server that was emptied hears them from the drones, with their numbers, and later ones are
    higher.
    """
    async with drones(url) as (one, other):
        await one.command("exclude", "a.example/")
        await one.command("stop")
        known = (await beat(one)).commands
        emptied(url)
        await anew(one, lambda: beat(one))
        later = await one.command("set", "LOG_LEVEL", "INFO")
        heard, _ = await anew(other, lambda: beat(other))

        assert later > known[0].number
        assert [(c.number, c.name) for c in heard.commands] == [
            (known[0].number, "exclude"),
            (later, "set"),
        ]


async def test_commands_that_are_forgotten(url):
    """A command that does not last is, an hour after it was given; those that last are kept,
    however many there are.
    """
    async with drones(url) as (one, other):
        with Redis.from_url(url) as client:
            for name in ("checkpoint", "exclude"):
                number = await one.command(name, *(["a.example/"] if name == "exclude" else []))
                (data,) = client.zrange(Keys("test").commands, -1, -1)
                client.zrem(Keys("test").commands, data)
                before = data.replace(str(number).encode(), str(number - KEPT - 1000).encode())
                client.zadd(Keys("test").commands, {before: number - KEPT - 1000})
        await one.command("checkpoint")
        await one.command("stop")

        assert [c.name for c in (await beat(other)).commands] == ["exclude", "checkpoint", "stop"]


async def test_commands_of_an_older_copy(url):
    """What a server has forgotten that was restored from a copy is told again, too."""
    async with drones(url) as (one, other):
        await one.command("exclude", "a.example/")
        await beat(one)
        with Redis.from_url(url) as client:
            client.delete(Keys("test").commands)
        await one.join(one.member)

        assert [c.name for c in (await beat(other)).commands] == ["exclude"]


async def test_a_state_that_was_given_up(url):
    """A drone that was taken out of the registry is refused, also after the server was emptied; a
    new one may come.
    """
    async with drones(url) as (one, other):
        await one.give_up(1)
        await one.forget(1)
        with pytest.raises(HiveError, match="was removed from the hive"):
            await beat(other)
        with pytest.raises(HiveError, match="was removed from the hive"):
            await joins(url, member(1))
        await beat(one)
        with Redis.from_url(url) as client:
            client.flushall()
        await anew(one, lambda: beat(one))
        with pytest.raises(HiveError, match="was removed from the hive"):
            await joins(url, member(1))

        assert set((await joins(url, member(1, state="f" * 32))).others) == {0, 1}


async def test_a_copy_of_a_drone(url):
    """The first of two processes with the same state hears that the second was started."""
    async with drones(url) as (one, _):
        await joins(url, member(0, pid=4711))
        with pytest.raises(HiveError, match=r"started a second time, on here \(process 4711\)"):
            await beat(one)


async def test_a_copy_of_a_drone_on_another_machine(url):
    """It waits for the other's lease to end, and is refused if that is renewed. A clock that is set
    back meanwhile does not prolong the wait.
    """
    async with drones(url) as (one, _):
        epoch = (await one.join(member(0))).epoch
        await beat(one)
        now = iter(range(0, 100, 20))
        set_back = iter(range(0, -100 * 3600, -3600))
        server = transport(
            url,
            wall=lambda: next(set_back),
            steady=lambda: next(now),
            pause=lambda _: asyncio.sleep(0),
        )
        with pytest.raises(HiveError, match="is already running on another machine"):
            await server.join(member(0, host="elsewhere"))
        await server.close()
        await one.close()

        assert (await joins(url, member(0, host="elsewhere"))).epoch == epoch
