"""What a Redis or Valkey server must be able to do, and what is said of one that cannot."""

import asyncio
import ssl
from contextlib import suppress

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import OutOfMemoryError, ResponseError

from tests.support.certificates import written
from tests.support.net_http import serving
from tests.support.ports import free_port
from tests.support.redis_server import (
    RIGHTS,
    RIGHTS_OF_SEEDS,
    Cable,
    OwnServer,
    allow,
    beat,
    clients,
    drones,
    joins,
    member,
    transport,
)
from webcrawl.crawl.hive.batch import BEGINNING
from webcrawl.crawl.hive.errors import Away, Full, HiveError, NewEpoch
from webcrawl.crawl.hive.operator import Operator
from webcrawl.crawl.hive.redis_server.clients import translate_redis_errors
from webcrawl.crawl.hive.redis_server.pushed_seeds import SeedTaker
from webcrawl.crawl.hive.redis_server.redis_transport import KEEP_MILLISECONDS
from webcrawl.crawl.hive.redis_server.steps import Keys

SECRET = "very-secret"  # noqa: S105


def refused(url, **parameters):
    """The line with which a drone gives up on this server."""
    with pytest.raises(HiveError) as error:
        asyncio.run(joins(url, member(), **parameters))
    assert SECRET[1:] not in str(error.value)
    assert "\n" not in str(error.value)
    return str(error.value)


REFUSES = "refuses the login (REDIS_PASSWORD_FILE names the file with the password): "


def test_wrong_password(tmp_path):
    """A wrong password, or none, is told in one line; the right one opens the door."""
    with OwnServer(tmp_path, "--requirepass", SECRET) as theirs:
        assert f"{REFUSES}invalid username-password" in refused(theirs.url, password=SECRET[1:])
        assert REFUSES in refused(theirs.url)
        assert asyncio.run(joins(theirs.url, member(), password=SECRET)).key


def test_wrong_password_at_a_socket(url):
    """The same holds at a Unix socket."""
    said = refused(url, username="nobody", password=SECRET)
    assert f"{REFUSES}invalid username-password" in said


@pytest.mark.parametrize(
    ("rights", "missing"),
    [
        ("~* +@all -info", "info"),
        ("~* +@all -eval", "eval"),
        ("~other:* +@all", "key"),
        ("~* +@read +info +@connection +multi +exec +watch +unwatch", "eval"),
    ],
)
def test_a_user_without_rights(url, rights, missing):
    """What the user may not do is told in one line."""
    allow(url, rights, SECRET)

    line = refused(url, username="drone", password=SECRET)

    assert "does not give its user the necessary rights" in line
    assert missing in line


async def test_the_rights_that_suffice(url):
    """A drone needs no other rights than these, which the documents name."""
    rights = f"{RIGHTS} ~test:start_urls {RIGHTS_OF_SEEDS}"
    allow(url, rights, SECRET)

    server = transport(url, parameters={"username": "drone", "password": SECRET})
    await server.join(member(drones=1))
    (place,) = await server.send(0, [b"a"])
    assert await server.read(BEGINNING, 10, 0.1) == [(place, b"a")]
    await server.acknowledge(place)
    await server.command("pause")
    for _ in range(3):
        await beat(server)
    await server.give_up(1)
    await server.forget(1)
    taker = clients(url, username="drone", password=SECRET)()
    seeds = SeedTaker(taker, "test:start_urls", Keys("test").taken(0), lambda _: None)
    for push in ("rpush", "sadd", "zadd"):
        with Redis.from_url(url) as client:
            getattr(client, push)("test:start_urls", {"a": 1} if push == "zadd" else "a")
        assert await seeds.take_batch() == 1
    seeds.committed()
    await seeds.finish()
    await taker.aclose()
    await server.close()


def test_a_server_that_drops_keys(tmp_path):
    """A server that drops any key when it is full cannot keep batches."""
    with OwnServer(tmp_path, "--maxmemory", "10mb", "--maxmemory-policy", "allkeys-lru") as theirs:
        assert "drops keys when it is full (maxmemory-policy allkeys-lru)" in refused(theirs.url)


def test_a_cluster_that_is_not_made_yet(tmp_path):
    """A node of a cluster in which no node has slots is away: somebody may be making it."""
    with (
        OwnServer(
            tmp_path, "--cluster-enabled", "yes", "--cluster-port", f"{free_port()}"
        ) as theirs,
        pytest.raises(Away, match="no node of the cluster has slots"),
    ):
        asyncio.run(joins(theirs.url, member()))


async def _old(reader, writer):
    info = b"# Server\r\nredis_version:5.0.7\r\nredis_mode:standalone\r\nrun_id:00ff\r\n"
    while words := await reader.readline():
        command = [
            (await reader.readline(), await reader.readline())[1] for _ in range(int(words[1:]))
        ]
        writer.write(
            b"$%d\r\n%s\r\n" % (len(info), info) if command[0].startswith(b"INFO") else b"+OK\r\n"
        )
    writer.close()


async def test_an_old_redis():
    """Redis 5 is refused with the version that is needed."""
    async with serving(_old) as port:
        with pytest.raises(
            HiveError, match=r"the server is Redis 5\.0\.7, but must be Redis 6\.2 or later"
        ):
            await joins(f"redis://127.0.0.1:{port}", member())


def test_nobody_answers(tmp_path):
    """A server that is not there is away: the drone may try again."""
    with OwnServer(tmp_path) as theirs:
        pass
    with pytest.raises(Away, match=f"ConnectionError: .*{theirs.port}"):
        asyncio.run(joins(theirs.url, member()))


async def test_a_full_server(tmp_path):
    """Batches are refused, all of them; signs of life and acknowledgements go on, so that it can be
    emptied.
    """
    with OwnServer(tmp_path) as theirs:
        async with drones(theirs.url) as (one, other):
            with Redis.from_url(theirs.url) as client:  # less than it had when they came
                client.config_set("maxmemory", "10mb")
            batches = [bytes(100_000)] * 10
            places = []
            with suppress(Full):
                for _ in range(20):
                    places += await one.send(1, batches)
            with pytest.raises(Full, match="maxmemory"):
                await one.send(1, batches)
            with Redis.from_url(theirs.url) as client:
                client.config_set("maxmemory", client.info("memory")["used_memory"])
            assert len(await other.read(BEGINNING, 1000, 0)) == len(places)
            assert (await beat(other, b"x" * 1000)).alive == {1}
            await one.command("stop")
            await other.acknowledge(places[-1])
            assert (await beat(one)).acks == {1: places[-1]}
            assert await other.read(BEGINNING, 1000, 0) == []
            with Redis.from_url(theirs.url) as client:
                client.config_set("maxmemory", "10mb")
            assert await one.send(1, batches[:1])


def test_foreign_keys(url):
    """A key of the hive that holds something else is told in one line."""
    with Redis.from_url(url) as client:
        client.set("webcrawl:{test}:drones", "a text")
    assert "has other data under a key of the hive" in refused(url)


def test_another_format(url):
    """A hive of another version of webcrawl is refused in one line."""
    asyncio.run(joins(url, member()))
    with Redis.from_url(url) as client:
        client.set("webcrawl:{test}:hive", b"\x93\x63\x01\x02")
    assert "has format 99" in refused(url)
    with Redis.from_url(url) as client:
        client.set("webcrawl:{test}:hive", b"nonsense")
    assert "cannot be read" in refused(url)


GARBAGE = b"\xff\0garbage"
ALL = "coordinator drone joins looks"


def overwritten(name):
    """All values of a hash are garbage."""
    return lambda client, keys, epoch: client.hset(
        (key := keys.acks(epoch) if name == "acks" else getattr(keys, name)),
        mapping=dict.fromkeys(client.hkeys(key) or [b"0"], GARBAGE),
    )


@pytest.mark.parametrize(
    ("forge", "told"),
    [
        (overwritten("drones"), ALL),
        (overwritten("map"), ALL),
        (overwritten("acks"), "coordinator drone"),
        (lambda client, keys, _: client.set(keys.bytes, GARBAGE), "coordinator drone looks"),
        (lambda client, keys, _: client.hset(keys.reports, "x", GARBAGE), "coordinator"),
        (lambda client, keys, _: client.hset(keys.drones, "x", GARBAGE), ALL),
        (lambda client, keys, _: client.hset(keys.drones, "9", GARBAGE), ALL),
        (lambda client, keys, _: client.set(keys.coordinator, GARBAGE), "coordinator drone looks"),
        (
            lambda client, keys, _: client.hset(
                keys.map, mapping={"generation": 9, "slots": GARBAGE}
            ),
            ALL,
        ),
        (lambda client, keys, _: client.zadd(keys.commands, {GARBAGE: 5}), ALL),
        (lambda client, keys, _: client.sadd(keys.gone, GARBAGE), "coordinator drone joins"),
    ],
)
async def test_what_cannot_be_read(url, forge, told):
    """What is of the right type, and still no hive's, is one line for each that comes upon it."""
    async with drones(url) as (drone, coordinator):
        epoch = (await coordinator.join(member(1))).epoch
        operator = Operator(transport(url), "test")
        with Redis.from_url(url) as client:
            forge(client, Keys("test"), epoch)
        lines = {}
        asks = {
            "coordinator": beat(coordinator),
            "drone": beat(drone),
            "joins": joins(url, member()),
            "looks": operator.read_hive(),
        }
        for who, ask in asks.items():
            try:
                await ask
            except HiveError as error:
                lines[who] = str(error)
        await operator.aclose()
    assert " ".join(lines) == told
    assert all(
        "the hive's data in the server cannot be read; another program may be writing to it" in line
        for line in lines.values()
    )


async def test_tls(tmp_path):
    """A server is asked by rediss://, and refused if its certificate is not trusted."""
    authority, certificate, key = written(tmp_path, "127.0.0.1")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate, key)

    with OwnServer(tmp_path) as theirs:
        async with Cable(theirs.url, tls) as cable:
            assert (await joins(cable.url, member(), ssl_ca_certs=authority)).key
            with pytest.raises(HiveError, match="has a certificate that cannot be trusted"):
                await joins(cable.url, member())


@pytest.mark.parametrize(
    ("error", "meaning", "words"),
    [
        (
            RuntimeError(
                "unable to perform operation on <TCPTransport closed=True>; the handler is closed"
            ),
            Away,
            "",
        ),
        (AttributeError("'NoneType' object has no attribute 'writelines'"), Away, "the connection"),
        (
            OutOfMemoryError(("command not allowed when used memory > 'maxmemory'.",)),
            Full,
            "command not allowed when",
        ),
        (
            ResponseError("OOM command not allowed when used memory > 'maxmemory'."),
            Full,
            "OOM command not",
        ),
        (RedisConnectionError("Connection refused"), Away, "ConnectionError: Connection refused"),
    ],
)
def test_what_may_pass(error, meaning, words):
    """What the client raises while the server is away or full is told as that, in words."""
    with pytest.raises(meaning) as told, translate_redis_errors():
        raise error

    assert type(told.value) is meaning
    assert str(told.value).startswith(words)
    assert told.value.state == {Away: "unreachable", Full: "full"}[meaning]


def test_what_is_a_mistake():
    """Any other error of a program is not taken for trouble with the server."""
    with pytest.raises(RuntimeError, match="mistake"), translate_redis_errors():
        raise RuntimeError("mistake")


async def test_what_others_put_into_a_stream_is_an_empty_batch(url):
    """An entry without the field of batches is read as nothing, and those behind it are read."""
    async with drones(url) as (one, other):
        await one.send(1, [b"a"])
        with Redis.from_url(url) as client:
            (stream,) = client.scan_iter("webcrawl:{test:1}:*")
            client.xadd(stream, {"who": "somebody"})
        await one.send(1, [b"b"])

        assert [data for _, data in await other.read(BEGINNING, 10, 0)] == [b"a", b"", b"b"]


async def test_memory_of_the_machine_bounds_the_streams(tmp_path):
    """Batches take at most four fifths of what the server may have, however many drones there are."""
    with OwnServer(tmp_path / "server", "--maxmemory", "64mb") as server:
        async with drones(server.url) as (one, _):
            for _ in range(12):
                await one.send(1, [bytes(4 << 20)])
            with pytest.raises(Full, match="have 48 MiB of at most 51 MiB"):
                await one.send(1, [bytes(4 << 20)])


async def test_nothing_stays_for_ever(url):
    """With each beat of the coordinator all keys of the hive last for a day, but for seeds that a drone
    has taken.
    """
    with Redis.from_url(url) as client:
        client.rpush(Keys("test").taken(0), "http://a/")
        async with drones(url) as (one, other):
            await one.send(1, [b"a"])
            await one.acknowledge((await one.send(0, [b"a"]))[0])
            await one.command("pause")
            await one.give_up(1)
            await beat(other)
            await beat(one)
            await beat(other)
            await beat(one)
        left = {key.decode(): client.pttl(key) for key in client.keys("webcrawl:*")}

    assert left.pop(Keys("test").taken(0)) == -1
    assert len(left) >= 10
    assert all(0 < seconds <= KEEP_MILLISECONDS for seconds in left.values()), left


class TestOnlyWhatHasChanged:
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
