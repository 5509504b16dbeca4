"""Who belongs to a hive when the server has forgotten it."""

import asyncio
from contextlib import closing

import msgpack
import pytest
from redis import Redis
from redis.exceptions import ConnectionError as Lost

from tests.support.redis_server import (
    anew,
    beat,
    drones,
    emptied,
    joins,
    member,
    resumed,
    transport,
)
from webcrawl.crawl.hive.errors import Away, HiveError
from webcrawl.crawl.hive.partition import EARLIER_SLOTS, SlotMap
from webcrawl.crawl.hive.redis_server.redis_transport import RedisTransport
from webcrawl.crawl.hive.redis_server.steps import Keys
from webcrawl.crawl.hive.registry import RESIZE, Command, Companions, runs_elsewhere
from webcrawl.store.crawldb import CrawlDB

LOST = "f" * 32  # the state of a drone whose folder was lost


async def founded(url):
    """A hive of two drones, and a server that was emptied since."""
    await joins(url, member(0))
    hive = await joins(url, member(1))
    emptied(url)
    return hive


async def test_a_command_that_cannot_be_read(url):
    """A change of the drones that names none, which another program has written, is told in words."""
    await joins(url, member(0))
    with Redis.from_url(url) as client:
        client.zadd(Keys("test").commands, {b"7 " + msgpack.packb((RESIZE, ())): 7})

    with pytest.raises(HiveError, match="the hive's data in the server cannot be read"):
        await joins(url, member(1))


class TestSlots:
    async def test_a_hive_of_an_earlier_version(self, url):
        """It goes on with as many slots as it was founded with, whoever founds it anew."""
        slots = SlotMap.fair((0, 1), slots=EARLIER_SLOTS)
        earlier = await joins(url, member(0, key=b"k" * 16, map=slots))
        fresh = await joins(url, member(1))

        assert earlier.map == fresh.map == slots

    async def test_a_server_that_has_the_record_of_an_earlier_version(self, url):
        """Its hive has as many slots as hives had then."""
        slots = SlotMap.fair((0, 1), slots=EARLIER_SLOTS)
        record = msgpack.packb((1, b"k" * 16, "domain", 2, 1.0, 0, False))
        with Redis.from_url(url) as client:
            client.set(Keys("test").hive, record)
            client.hset(Keys("test").map, mapping={"generation": 1, "slots": slots.pack()})

        assert (await joins(url, member(1))).map == slots
        with pytest.raises(HiveError, match="has a map of 16384 slots; the hive was founded with"):
            await joins(url, member(0, key=b"k" * 16, map=SlotMap.fair((0, 1))))

    async def test_an_earlier_hive_that_a_drone_without_a_state_has_heard_of(self, url):
        """A drone that kept nothing yet founds it with the same slots when the server is emptied."""
        slots = SlotMap.fair((0, 1), slots=EARLIER_SLOTS)
        old = member(0, key=b"k" * 16, map=slots)
        server = transport(url)
        await joins(url, old)
        await server.join(member(1))
        emptied(url)
        again = await server.join(member(1))
        await server.close()

        assert (again.key, len(again.map.owners)) == (b"k" * 16, EARLIER_SLOTS)
        assert (await joins(url, old)).key == b"k" * 16

    async def test_a_map_that_is_lost_alone(self, url):
        """It is not made up: others may work by a later one. A drone that has it brings it."""
        hive = await joins(url, member(0))
        with Redis.from_url(url) as client:
            client.delete(Keys("test").map)

        with pytest.raises(HiveError, match="has lost the map of its slots"):
            await joins(url, member(1))
        await joins(url, resumed(hive, 0))
        assert (await joins(url, member(1))).map == hive.map


async def test_a_lost_folder_is_noticed(url):
    """Drones bring the others' states, too: a drone with an empty folder is refused though the
    server knew nothing.
    """
    hive = await founded(url)
    await joins(url, resumed(hive, 0))
    with pytest.raises(HiveError, match=r"drone 1 of this hive has its state in another folder"):
        await joins(url, member(1, state=LOST))


async def test_a_lost_folder_comes_first(url):
    """It founds a hive, which gives way to the one that the others have; then it is told so."""
    hive = await founded(url)
    lost = transport(url)
    await lost.join(member(1, state=LOST))
    await beat(lost)

    assert (await joins(url, resumed(hive, 0))).key == hive.key
    with pytest.raises(HiveError, match="drone 1 of this hive has its state in another folder"):
        await beat(lost)
    await lost.close()
    assert (await joins(url, resumed(hive, 1))).key == hive.key


async def test_a_new_hive_gives_way_to_a_drone_that_runs(url):
    """Whoever comes first to an emptied server, with the number of a drone that runs: that drone
    founds its hive again, and the new one is refused.
    """
    async with drones(url) as (one, _):
        key = one.member.key
        emptied(url)
        new = transport(url)
        await new.join(member(0, state=LOST, jobdir="/elsewhere"))
        await anew(one, lambda: beat(one))
        with pytest.raises(
            HiveError, match=r"does not belong to the hive .*/crawl/drone-0 on here"
        ):
            await beat(new)
        await new.close()

        assert (await joins(url, one.member)).key == key


async def test_a_drone_that_runs_does_not_take_the_place_of_a_whole_hive(url):
    """It is told where the other hive is, and what to do."""
    async with drones(url) as (one, _):
        emptied(url)
        for drone in (0, 1):
            state, jobdir = f"{drone + 7:032x}", f"/elsewhere/drone-{drone}"
            await joins(url, member(drone, state=state, jobdir=jobdir))
        with pytest.raises(HiveError, match=r"/elsewhere/drone-0 on here.*database in REDIS_URL"):
            await beat(one)


async def test_a_whole_hive_does_not_give_way(url):
    """Once all drones of a hive have joined, nobody with another key takes its place."""
    hive = await founded(url)
    newer = [await joins(url, member(drone, state=f"{drone + 7:032x}")) for drone in (0, 1)]
    with pytest.raises(HiveError, match="does not belong to the hive that the server knows"):
        await joins(url, resumed(hive, 0))

    assert newer[0].key == newer[1].key != hive.key


async def test_a_hive_is_fresh_until_all_have_come(url):
    """As long as not all of its drones have joined, a new hive may give way, and who looks again is
    told the key.
    """
    older = await founded(url)
    fresh = await joins(url, member(0))
    await joins(url, resumed(older, 1, others={}))
    again = await joins(url, member(0))

    assert (fresh.fresh, again.fresh) == (True, False)
    assert fresh.key != older.key == again.key


async def test_a_drone_that_has_kept_nothing_yet_founds_the_hive_that_it_heard_of(url):
    """A server that is emptied while a drone comes hears of the same hive from it: others may have
    kept its key.
    """
    async with drones(url) as (one, other):
        hive = await one.join(member(0))
        emptied(url)
        again = await other.join(member(1))
        assert (again.key, again.fresh) == (hive.key, True)
        assert (await joins(url, resumed(hive, 0))).key == hive.key


async def test_an_entry_whose_answer_is_lost(url, monkeypatch):
    """A drone that does not know whether it has entered a hive founds it again if the server has
    lost it meanwhile.
    """
    atomic = RedisTransport._atomic

    async def lost(self, *commands, seen="", **more):
        answers = await atomic(self, *commands, seen=seen, **more)
        if not seen:
            return answers
        monkeypatch.undo()
        raise Lost("the connection")

    hive = await joins(url, member(0))
    server = transport(url)
    monkeypatch.setattr(RedisTransport, "_atomic", lost)
    with pytest.raises(Away):
        await server.join(member(1))
    emptied(url)
    assert (await server.join(member(1))).key == hive.key
    await server.close()


@pytest.mark.parametrize(
    ("before", "now", "elsewhere"),
    [
        (("pod-0", "kiwi"), ("pod-0", "kiwi"), False),
        (("pod-0", "kiwi"), ("pod-0", "emu"), True),
        (("pod-0", "kiwi"), ("pod-1", "kiwi"), False),
        (("kiwi", ""), ("kiwi", "emu"), False),
        (("kiwi", ""), ("emu", "emu"), True),
    ],
)
def test_another_machine(before, now, elsewhere):
    """Machines are told apart by boot ids, and by host names only where these are not known: pods
    keep their names.
    """
    former, me = (member(0, host=host, machine=machine) for host, machine in (before, now))

    assert runs_elsewhere(former.identity, me) == elsewhere


def test_a_process_of_an_earlier_version():
    """It has said nothing but its host name; of one that is known by hearsay there is not even
    that.
    """
    me = member(0, host="emu", machine="emu")

    assert runs_elsewhere(msgpack.packb(("f00d", "/drone-0", "kiwi", 7)), me)
    assert not runs_elsewhere(msgpack.packb(("f00d", "", "", 0)), me)


async def test_a_hive_that_shrinks_is_not_fresh_again(url):
    """A hive from which a drone was taken out does not give way to the state of another hive."""
    other = await founded(url)
    async with drones(url, 3) as (one, *_):
        await one.give_up(2)
        await one.forget(2)
        with pytest.raises(HiveError, match="does not belong to the hive"):
            await joins(url, resumed(other, 0, state=LOST))


async def test_looking_again_changes_nothing(url):
    """A drone that joins as it is known writes nothing, so that many can wait for each other."""
    await joins(url, member(0))
    with Redis.from_url(url) as client:
        before = client.info()["rdb_changes_since_last_save"]
        await joins(url, member(0))
        assert client.info()["rdb_changes_since_last_save"] == before


async def test_a_drone_that_is_gone_does_not_come_back_by_hearsay(url):
    """Who has not heard yet that a drone was taken out does not bring it in again."""
    await joins(url, member(0))
    hive = await joins(url, member(1))
    async with drones(url) as (one, _):
        await one.give_up(1)
        await one.forget(1)
        assert set((await one.join(resumed(hive, 0))).others) == {0}
        assert set((await joins(url, member(1, state=LOST))).others) == {0, 1}


def test_what_a_checkpoint_has_of_commands(url, tmp_path):
    """Those that last, for a server that knows none; a drone that joins again knows those since,
    too.
    """

    async def run(db):
        server = transport(url)
        companions = Companions(db, lambda: server.member)
        await server.join(member(0, drones=1))
        await server.command("exclude", "a.example/")
        await server.command("stop")
        await beat(server)
        db.checkpoint()
        await server.command("pause")
        await beat(server)
        await server.close()
        return [Command.unpack(data).name for data in companions.known()["commands"]]

    with closing(CrawlDB(tmp_path)) as db:
        assert asyncio.run(run(db)) == ["exclude", "pause"]
    with closing(CrawlDB(tmp_path)) as db:
        known = Companions(db, lambda: None).known()
    assert [Command.unpack(data).name for data in known["commands"]] == ["exclude"]


def test_what_a_checkpoint_has_of_the_others(url, tmp_path):
    """What the server says of the others is in the next checkpoint, and what it says later in later
    ones.
    """

    async def run(db):
        server = transport(url)
        companions = Companions(db, lambda: server.member)
        assert companions.known() == {}
        db.checkpoint()
        await server.join(member(0, drones=3))
        await joins(url, member(1, drones=3))
        await joins(url, member(2, drones=3))
        await beat(server)
        await server.give_up(2)
        await server.forget(2)
        await beat(server)
        db.checkpoint()
        await server.close()

    with closing(CrawlDB(tmp_path)) as db:
        asyncio.run(run(db))
    with closing(CrawlDB(tmp_path)) as db:
        known = Companions(db, lambda: None).known()
    assert known["others"] == {drone: f"{drone:032x}" for drone in (0, 1)}
    assert known["gone"] == {f"{2:032x}"}
    assert known["founded"] > 0
