"""A hive over a cluster of three nodes, of which one is killed, restored, or gives slots away."""

import asyncio
import signal
import time
from contextlib import suppress
from itertools import count

import pytest
from redis import Redis
from redis.crc import key_slot

from tests.support.redis_server import (
    RIGHTS,
    RIGHTS_OF_SEEDS,
    OwnCluster,
    allow,
    anew,
    beat,
    clients,
    drones,
    joins,
    member,
    transport,
)
from webcrawl.crawl.hive.batch import BEGINNING
from webcrawl.crawl.hive.errors import Away, Full, HiveError, NewEpoch, PartAway
from webcrawl.crawl.hive.redis_server.clients import NODE_SECONDS
from webcrawl.crawl.hive.redis_server.pushed_seeds import SeedTaker
from webcrawl.crawl.hive.redis_server.redis_transport import KEEP_MILLISECONDS
from webcrawl.crawl.hive.redis_server.steps import Keys

MANY = 300  # batches
SECRET = "very-secret"  # noqa: S105


@pytest.fixture(name="started", scope="module")
def _started(tmp_path_factory):
    with OwnCluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(name="cluster")
def _cluster(started):
    for node in started.nodes:
        if node.process.poll() is not None:  # of a test that failed
            node.start()
    started.settle()
    started.empty()
    return started


@pytest.fixture(name="name")
def _name(cluster):
    """A hive whose registry, and the streams of whose drones 0 and 1, are on three nodes."""
    for number in count():
        keys = Keys(name := f"hive{number}")
        places = [keys.hive, *(keys.stream(drone, "") for drone in range(2))]
        if len({cluster.node_of(place).port for place in places}) == 3:
            return name
    return ""


def keys_of(cluster, pattern="webcrawl:*"):
    """All keys of the hive, by the nodes' own words."""
    found = []
    for node in cluster.nodes:
        with Redis.from_url(node.url) as client:
            found += [key.decode() for key in client.keys(pattern)]
    return found


class TestOneNodeIsKilled:
    async def test_that_has_a_stream(self, cluster, name):
        """Its drone is away, and batches for it wait; the others go on. Afterwards all begin anew."""
        async with drones(cluster.url, 2, name) as (one, other):
            await one.send(1, [b"lost"])
            node = cluster.node_of(Keys(name).stream(1, ""))
            node.kill()
            with pytest.raises(PartAway, match="the node with the stream of drone 1"):
                await one.send(1, [b"waits"])
            for _ in range(3):
                assert len(await one.send(0, [b"goes on"])) == 1
                assert set((await beat(one)).members) == {0, 1}
            for call in (lambda: beat(other), lambda: other.read(BEGINNING, 9, 0.1)):
                with pytest.raises(Away) as error:
                    await call()
                assert not isinstance(error.value, Full)
            with pytest.raises(Away):
                await other.join(member(1))
            assert set((await beat(one)).members) == {0, 1}
            node.start()
            cluster.settle()

            (_, epoch) = await anew(one, lambda: beat(one))
            await one.send(1, [b"again"])
            other.follow((await other.join(member(1))).epoch)
            assert (await beat(other)).members.keys() == {0, 1}
            assert [data for _, data in await other.read(BEGINNING, 9, 0)] == [b"again"]
            assert await one.read(BEGINNING, 9, 0) == []
            assert all(key.endswith(epoch) for key in keys_of(cluster, f"webcrawl:{{{name}:*"))

    async def test_that_is_silent(self, cluster, name):
        """A node that takes connections and says nothing keeps others waiting for some seconds only."""
        soon = {"socket_timeout": 2.0}
        async with drones(cluster.url, 2, name, parameters=soon) as (one, other):
            for server in (one, other):
                await server.send(1, [b"a"])
                await beat(server)
            node = cluster.node_of(Keys(name).stream(1, ""))
            node.process.send_signal(signal.SIGSTOP)
            try:
                with pytest.raises(PartAway):
                    await one.send(1, [b"a"])
                begun = time.monotonic()
                with pytest.raises(PartAway, match="did not answer just now"):
                    await one.send(1, [b"a"])
                assert len(await one.send(0, [b"a"])) == 1
                assert (await beat(one)).coordinator == 0
                assert time.monotonic() - begun < 3 * NODE_SECONDS
            finally:
                node.process.send_signal(signal.SIGCONT)
            await patiently(beat, other)
            assert [data for _, data in await other.read(BEGINNING, 9, 0)][:2] == [b"a", b"a"]

    async def test_that_has_the_registry(self, cluster, name):
        """All are away; then the streams that are still there are given up, and removed."""
        async with drones(cluster.url, 2, name) as (one, other):
            await one.send(1, [b"given up"])
            await beat(one)
            node = cluster.node_of(Keys(name).hive)
            node.kill()
            for server in (one, other):
                with pytest.raises(Away):
                    await beat(server)
            node.start()
            cluster.settle()

            _, first = await anew(one, lambda: beat(one))
            _, second = await anew(other, lambda: beat(other))
            assert first == second
            assert await other.read(BEGINNING, 9, 0) == []
            assert all(key.endswith(first) for key in keys_of(cluster, f"webcrawl:{{{name}:*"))

    async def test_while_another_drone_comes(self, cluster, name):
        """A drone comes and reads although another one's node is down, whichever node that is."""
        async with drones(cluster.url, 1, name) as (one,):
            node = cluster.node_of(Keys(name).stream(1, ""))
            node.kill()
            if node is cluster.nodes[0]:  # the one that it is told of
                with pytest.raises(Away):
                    await joins(cluster.url, member(drones=1), name)
            there = next(one for one in cluster.nodes if one is not node)
            assert set((await joins(there.url, member(drones=1), name)).others) == {0}
            assert len(await one.send(0, [b"a"])) == 1
            node.start()
            cluster.settle()


async def test_a_node_that_was_restored_to_an_older_state(cluster, name):
    """A drone that was away when the node with a stream was restored hears of it when it comes."""
    async with drones(cluster.url, 2, name) as (one, other):
        node = cluster.node_of(Keys(name).stream(1, ""))
        await one.send(1, [b"old"])
        with Redis.from_url(node.url) as client:
            client.save()
        await one.send(1, [b"lost"])
        former = one.member.epoch
        await one.close()
        node.restart()
        (node.folder / "dump.rdb").unlink()
        cluster.settle()

        assert (await joins(cluster.url, member(), name)).epoch != former
        with pytest.raises(NewEpoch):
            await anew_or_away(lambda: other.read(BEGINNING, 9, 0))


async def anew_or_away(call):
    """Calls once more after an Away: of the former connection."""
    try:
        await call()
    except Away:
        await call()


async def test_slots_that_move(cluster, name):
    """While slots of a stream and of the registry change nodes, batches arrive in order, in one epoch;
    and once, but for those that the sender repeats because no answer came.
    """
    keys = Keys(name)
    async with drones(cluster.url, 2, name) as (one, other):
        epoch, sent, got, unanswered = one.member.epoch, [], [], []

        async def sends():
            while len(sent) < MANY:
                batches = [b"%d" % (len(sent) + number) for number in range(3)]
                await patiently(one.send, 1, batches, unanswered=unanswered)
                sent.extend(batches)
                await asyncio.sleep(0.005)

        async def reads():
            place = BEGINNING
            while len({*got}) < MANY:
                if batches := await patiently(other.read, place, 7, 1):
                    got.extend(data for _, data in batches)
                    place = batches[-1][0]
                    await patiently(other.acknowledge, place)
                await patiently(beat, one)

        work = asyncio.gather(sends(), reads())
        for key in (keys.stream(1, epoch), keys.hive) * 3:
            await asyncio.to_thread(moved, cluster, key)
        await work
        repeated = {batch for _, batches in unanswered for batch in batches}
        assert [batch for batch in got if batch not in repeated] == [
            batch for batch in sent if batch not in repeated
        ]
        assert [*dict.fromkeys(got)] == sent
        assert one.member.epoch == epoch


async def patiently(call, *args, unanswered=None):
    """What a call finds, once all keys of a slot are in one place again. The arguments of each call
    that got no answer go into `unanswered`.
    """
    for _ in range(100):
        with suppress(Away):
            return await call(*args)
        if unanswered is not None:
            unanswered.append(args)
    raise AssertionError("away for ever")


def moved(cluster, key):
    """Has the slot of a key go to the next node, as `valkey-cli --cluster reshard` does."""
    slot = key_slot(key.encode())
    everyone = [Redis.from_url(node.url) for node in cluster.nodes]
    ids = [client.execute_command("CLUSTER MYID").decode() for client in everyone]
    port = next(
        port
        for begin, end, (_, port, *_), *_ in everyone[0].execute_command("CLUSTER SLOTS")
        if begin <= slot <= end
    )
    at = [node.port for node in cluster.nodes].index(port)
    to = (at + 1) % len(everyone)
    source, target = everyone[at], everyone[to]
    target.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", ids[at])
    source.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", ids[to])
    while found := source.execute_command("CLUSTER GETKEYSINSLOT", slot, 1):
        time.sleep(0.002)  # some keys are here, and some there
        where = ("127.0.0.1", cluster.nodes[to].port)
        source.execute_command("MIGRATE", *where, "", 0, 5000, "KEYS", *found)
    for client in (target, source, *everyone):
        client.execute_command("CLUSTER SETSLOT", slot, "NODE", ids[to])
    for client in everyone:
        client.close()


@pytest.mark.parametrize("source", ["seeds", "{seeds}:start_urls", "a{}b"])
async def test_pushed_seeds(cluster, name, source):
    """Seeds are taken from the key of the user's, and those of a drone that was lost by another."""
    found = []
    pushed = [f"http://site{number}.test/" for number in range(1200)]
    node = cluster.node_of(source)
    with Redis.from_url(node.url) as client:
        client.rpush(source, *pushed)
    async with drones(cluster.url, 2, name) as (one, _):
        lost = SeedTaker(clients(cluster.url)(), source, Keys(name).taken(1), lambda _: None)
        if source == "a{}b":
            with pytest.raises(HiveError, match="must not have such braces"):
                await lost.take_batch()
            await lost.aclose()
            return
        assert await lost.take_batch() == 500
        await lost.aclose()
        await one.give_up(1)
        await one.forget(1)
        heir = SeedTaker(clients(cluster.url)(), source, Keys(name).taken(0), found.append)
        while await heir.take_batch():
            pass
        assert sorted(map(bytes.decode, found)) == sorted(pushed)
        heir.committed()
        await heir.finish()
        await heir.aclose()
        with Redis.from_url(node.url) as client:
            assert client.keys("*taken*") == []


async def test_nothing_stays_for_ever(cluster, name):
    """With each beat of the coordinator all keys of the hive last for a day, on all nodes."""
    async with drones(cluster.url, 2, name) as (one, other):
        await other.acknowledge((await one.send(1, [b"a"]))[0])
        for server in (other, one, other, one):
            await beat(server)
        left = {}
        for node in cluster.nodes:
            with Redis.from_url(node.url) as client:
                left |= {key: client.pttl(key) for key in client.keys("webcrawl:*")}

    assert len(left) >= 10
    assert all(0 < seconds <= KEEP_MILLISECONDS for seconds in left.values()), left


async def test_the_rights_that_suffice(cluster, name):
    """A drone of a cluster needs these rights more than one of a server, which the documents name."""
    rights = f"{RIGHTS} ~seeds {RIGHTS_OF_SEEDS} +cluster|slots +scan"
    for node in cluster.nodes:
        allow(node.url, rights, SECRET)
    with Redis.from_url(cluster.node_of("seeds").url) as client:
        client.rpush("seeds", "http://a/")
    login = {"username": "drone", "password": SECRET}
    server = transport(cluster.url, name, login)
    await server.join(member(drones=1))
    (place,) = await server.send(0, [b"a"])
    assert await server.read(BEGINNING, 10, 0.1) == [(place, b"a")]
    await server.acknowledge(place)
    await server.command("pause")
    for _ in range(3):
        await beat(server)
    await server.read_server()
    seeds = SeedTaker(clients(cluster.url, **login)(), "seeds", Keys(name).taken(0), lambda _: None)
    assert await seeds.take_batch() == 1
    await server.forget(1)
    await seeds.aclose()
    await server.close()
    with pytest.raises(HiveError, match="refuses the login"):
        await joins(cluster.url, member(), name, username="drone", password="wrong")  # noqa: S106


async def test_an_old_client(cluster, monkeypatch):
    """Clients of clusters that fail with each node are refused in one line."""
    monkeypatch.setattr("redis.__version__", "7.1.0")
    with pytest.raises(HiveError, match="part of a cluster; pip install 'redis>=8'"):
        await joins(cluster.url, member())


async def test_a_database_of_another_number(cluster):
    """A cluster has only the first one, which is told in one line."""
    with pytest.raises(HiveError, match=r"DB index is out of range"):
        await joins(f"{cluster.url}/1", member())
