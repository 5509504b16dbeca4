"""What a transport has to do, with a real server or a cluster, which are killed, too."""

import asyncio
from contextlib import suppress

import pytest

from tests.support.redis_server import (
    OwnCluster,
    OwnServer,
    anew,
    beat,
    drones,
    fair,
    joins,
    member,
    resumed,
    transport,
)
from webcrawl.crawl.hive.batch import BEGINNING
from webcrawl.crawl.hive.errors import Away, Full, HiveError, NewEpoch, UnknownDrone
from webcrawl.crawl.hive.registry import RESIZE


@pytest.fixture(name="server", scope="module", params=[OwnServer, OwnCluster])
def _server(request, tmp_path_factory):
    """Another transport's server is one more parameter."""
    with request.param(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(name="url")
def _url(server):
    server.empty()
    return server.url


async def looked(url):
    """What the server knows."""
    looking = transport(url)
    try:
        return await looking.read_server()
    finally:
        await looking.close()


async def test_batches_arrive_in_order(url):
    """What is sent to a drone is read by it, in order, from the place that it names."""
    async with drones(url) as (one, other):
        places = await one.send(1, [b"a", b"b", b"c"])

        assert await other.read(BEGINNING, 10, 0) == list(
            zip(places, [b"a", b"b", b"c"], strict=True)
        )
        assert await other.read(places[1], 10, 0) == [(places[2], b"c")]
        assert await one.read(BEGINNING, 10, 0) == []


async def test_a_read_waits_for_the_first_batch(url):
    """A read that finds nothing waits until something is sent."""
    async with drones(url) as (one, other):
        reading = asyncio.create_task(other.read(BEGINNING, 10, 5))
        await asyncio.sleep(0.05)
        await one.send(1, [b"a"])

        assert [data for _, data in await reading] == [b"a"]


async def test_acknowledged_batches_are_removed(url):
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


async def test_all_are_told_to_rest(url):
    """What the coordinator says about all is told with each beat."""
    async with drones(url) as (one, other):
        before = await beat(other)
        await one.let_rest()
        assert (before.all_rest, (await beat(other)).all_rest) == (False, True)


async def test_one_drone_is_the_coordinator(url):
    """The first one is the coordinator, and alone gets the reports; when it leaves, another one is."""
    async with drones(url) as (one, other):
        await beat(one, b"first")
        assert (await beat(other, b"second")).coordinator == 0
        heard = await beat(one, b"third")
        assert heard.reports == {0: b"third", 1: b"second"}
        assert (await beat(other, b"second")).reports == {}
        await one.close()

        assert (await beat(other, b"second")).coordinator == 1


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
        (
            {"drones": 3},
            "HIVE_DRONES = 3: the hive was founded with 2; if that is another hive, set",
        ),
        (
            {"partition": "host"},
            "HIVE_PARTITION = host: the hive was founded with domain; if that is another hive, set",
        ),
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


async def test_the_drone_of_another_new_hive(url):
    """Two hives of one name that are started at the same moment do not become one: while the first
    is being founded, only drones with its seeds are let in.
    """
    line = (
        "already has a new hive of this name, with other seeds .drone 0 in /crawl/drone-0 on here.: "
        "set a different HIVE_NAME"
    )
    first = await joins(url, member(0, seeds=("by words", "by content")))
    with pytest.raises(HiveError, match=line):
        await joins(url, member(1, state="f" * 32, jobdir="/elsewhere", seeds=("others",)))

    assert first.fresh
    assert set((await joins(url, member(1, seeds=("by content",)))).others) == {0, 1}


@pytest.mark.parametrize("seeds", [(), ("others",)])
async def test_other_seeds_of_a_hive_that_is_founded(url, seeds):
    """A drone that comes later, by order, may have other seeds than those that founded the hive;
    whose seeds are not known is let in at any time.
    """
    async with drones(url, 2) as (one, _):
        await one.command(RESIZE, [0, 1, 2], [])
        assert 2 in (await joins(url, member(2, drones=2, seeds=seeds))).others


async def test_what_a_hive_that_has_begun_can_do(url):
    """Its name is in its states: it is told where the other is, and to use another server."""
    async with drones(url):
        line = (
            r"does not belong to the hive .* .drone 0 in /crawl/drone-0 on here.\. A hive keeps its name: "
            "start the other one with another HIVE_NAME, or this one with another server or database"
        )
        with pytest.raises(HiveError, match=line):
            await joins(url, member(1, key=b"another", jobdir="/elsewhere"))


async def test_a_drone_that_the_hive_does_not_have_yet(url):
    """It is told to wait, whatever number of drones it was started with, and is let in when it is
    ordered.
    """
    line = r"HIVE_DRONE = 2: the hive has the drones 0, 1; this one waits until `\w+ hive resize URL -n 3` lets it in; "
    with pytest.raises(UnknownDrone, match=line):
        await joins(url, member(2, drones=2))
    assert (await looked(url)).registry.record is None
    async with drones(url) as (one, _):
        for number in (2, 3):
            with pytest.raises(UnknownDrone, match=line):
                await joins(url, member(2, drones=number))
        await one.command(RESIZE, [0, 1, 2], [])
        assert set((await joins(url, member(2, drones=2))).others) == {0, 1, 2}


async def test_a_resumed_drone_founds_the_hive_anew(server, url):
    """A drone with a state brings key, map and members to a server that has nothing; drones without
    one learn them.
    """
    async with drones(url) as (one, other):
        hive = await one.join(member(0))
        server.empty()
        again = await other.join(resumed(hive, 1, map=fair(2, generation=5)))

        assert (again.key, again.map.generation, again.others) == (hive.key, 5, hive.others)
        assert (await one.join(resumed(hive))).map.generation == 5
        with pytest.raises(HiveError, match="drone 0 of this hive has its state in another folder"):
            await joins(url, member(0, state="f" * 32))


async def test_a_server_that_was_restarted_empty(server, url):
    """Every method says that the streams begin anew, and the registry is as it was."""
    async with drones(url) as (one, other):
        hive = await one.join(member(0))
        await one.publish_map(fair(2, generation=7))
        await one.send(1, [b"lost"])
        server.restart()

        places, first = await anew(one, lambda: one.send(1, [b"again"]))
        heard, second = await anew(other, lambda: beat(other))
        assert len(places) == 1
        assert first == second != hive.epoch
        assert [data for _, data in await other.read(BEGINNING, 10, 0)] == [b"again"]
        assert heard.map == fair(2, generation=7).pack()
        assert heard.members == hive.others
        assert (await joins(url, member(1))).key == hive.key


async def test_a_server_that_is_killed_while_a_read_waits(server, url):
    """The read is away, and then hears of the new epoch."""
    async with drones(url) as (one, _):
        reading = asyncio.create_task(one.read(BEGINNING, 10, 5))
        await asyncio.sleep(0.1)
        server.kill()
        with pytest.raises(Away):
            await reading
        with pytest.raises(Away):
            await one.read(BEGINNING, 10, 0)
        server.start()
        with pytest.raises(NewEpoch):
            await one.read(BEGINNING, 10, 0)


async def test_opening_again(server, url):
    """A server that was restarted is opened and joined like any other."""
    async with drones(url) as (one, _):
        former = (await one.join(member(0))).epoch
        server.restart()
        with suppress(Away):  # the former connection, perhaps
            await one.open()
        assert (await one.join(member(0))).epoch != former
        await beat(one)  # in that epoch


async def test_batches_for_a_drone_that_has_not_come_yet(url):
    """They wait in its stream, and are there when it comes."""
    async with drones(url) as (one, _):
        await one.join(member(0))
        await one.send(1, [b"early"])
        async with drones(url) as (_, late):
            assert [data for _, data in await late.read(BEGINNING, 10, 0)] == [b"early"]


async def test_a_look_founds_nothing(url):
    """Who has joined nothing sees what the server knows, and changes nothing."""
    assert (await looked(url)).registry.record is None
    async with drones(url, 1) as (one,):
        await beat(one, b"report")
        found = await looked(url)

    assert (found.registry.drones.keys(), found.registry.map) == ({0}, fair(1))
    assert (found.reports, found.coordinator, found.leases.keys()) == ({0: b"report"}, 0, {0})
