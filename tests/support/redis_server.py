"""A real server for tests: one for each worker, emptied for each test."""

import asyncio
import socket
import subprocess
import time
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from math import ceil

import pytest
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.crc import key_slot

from tests.support.net_http import serving
from tests.support.ports import free_port
from webcrawl.crawl.hive.errors import Away, NewEpoch
from webcrawl.crawl.hive.partition import SlotMap
from webcrawl.crawl.hive.redis_server.embedded_server import find_binary
from webcrawl.crawl.hive.redis_server.redis_transport import RedisTransport
from webcrawl.crawl.hive.registry import Member

LEASE = 30.0
SLOTS = 1 << 14  # of a cluster


def clients(url, **parameters):
    """Return a function that makes clients as webcrawl.adapter.server_settings does."""
    known = {"retry": Retry(NoBackoff(), 0), "protocol": 2, "socket_timeout": 10.0, **parameters}
    return lambda **more: AsyncRedis.from_url(url, **known, **more)


def transport(url, name="test", parameters=None, **options):
    """Return a drone's or operator's transport to the server; `parameters` are those of its
    clients.

    The URL says which transport it is.
    """
    return RedisTransport(clients(url, **(parameters or {})), name, **options)


def emptied(url):
    """Remove everything from the server."""
    with Redis.from_url(url) as client:
        client.flushall()


def member(drone=0, drones=2, **changes):
    """Return a drone that has no state yet."""
    base = Member(
        drone, f"{drone:032x}", f"/crawl/drone-{drone}", "here", 100 + drone, "domain", drones
    )
    return replace(base, **changes)


def resumed(hive, drone=0, drones=2, **changes):
    """Return a drone that has the state of a hive."""
    others = {one: state for one, state in hive.others.items() if one != drone}
    known = {
        "key": hive.key,
        "map": hive.map,
        "founded": hive.founded,
        "others": others,
        "gone": hive.gone,
    }
    return member(drone, drones, **{**known, **changes})


@asynccontextmanager
async def drones(url, number=2, name="test", **options):
    """Yield the transports of a hive's drones, which have joined."""
    servers = [transport(url, name, **options) for _ in range(number)]
    try:
        for drone, server in enumerate(servers):
            await server.join(member(drone, number))
        yield servers
    finally:
        for server in servers:
            await server.close()


async def joins(url, drone, name="test", **parameters):
    """Return the hive that a drone enters, which leaves it again."""
    server = transport(url, name, parameters)
    try:
        return await server.join(drone)
    finally:
        await server.close()


async def beat(server, report=b"", **options):
    """Send a heartbeat of a drone that knows the first map, and return what it brings."""
    return await server.beat(report, lease=LEASE, **{"generation": 1, **options})


async def anew(server, call):
    """Return what a call returns in a new epoch, and that epoch.

    The call is made until it raises NewEpoch; it is made again while the server is away.
    """
    for _ in range(3):
        with suppress(Away):
            with pytest.raises(NewEpoch) as error:
                await call()
            server.follow(error.value.epoch)
            return await call(), error.value.epoch
    raise AssertionError("the server stays away")


def fair(number, generation=1):
    """Return a map of that many drones."""
    return replace(SlotMap.fair(range(number)), generation=generation)


# of a drone's user: what the documents name
RIGHTS = (
    "~webcrawl:* +@connection +info +eval +get +set +setbit +del +unlink +exists +pttl +pexpire +time +type "
    "+memory|usage +hget +hset +hdel +hgetall +hkeys +sadd +srem +sismember +smembers +xadd +xtrim +xread "
    "+zadd +zrange +zrangebyscore +zremrangebyrank"
)
RIGHTS_OF_SEEDS = "+lpop +spop +zpopmax +rpush +lrange +llen +lrem"


def allow(url, rights, secret):
    """Give the server a user `drone` with nothing but these rights."""
    with Redis.from_url(url) as client:
        user = ("ACL", "SETUSER", "drone", "reset", "on", f">{secret}")
        client.execute_command(*user, *rights.split())


class Started:
    """A server that a test starts, may restart, and kills in the end."""

    def restart(self):
        """Kill it as a power cut does, and start it with what is on its disk."""
        self.kill()
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


class OwnServer(Started):
    """A server of a test's own on a port of 127.0.0.1, which it may kill, restart, and give
    options.
    """

    def __init__(self, folder, *options):
        folder.mkdir(exist_ok=True)
        self.folder, self.options, self.port = folder, options, free_port()
        self.bus = (
            options[options.index("--cluster-port") + 1] if "--cluster-port" in options else ""
        )
        self.url = f"redis://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        """Start the server, and wait until it accepts connections."""
        arguments = ["--bind", "127.0.0.1", "--port", str(self.port), "--save", "", *self.options]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [find_binary(), *arguments], cwd=self.folder, stdout=log, stderr=log
            )
        for _ in range(500):
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.02)
        self.kill()
        raise AssertionError((self.folder / "log").read_text())

    def kill(self):
        self.process.kill()
        self.process.wait()

    def empty(self):
        """Remove everything."""
        emptied(self.url)


class OwnCluster(Started):
    """A cluster of three nodes, each a server that may be killed and started alone."""

    def __init__(self, folder, *options):
        """Start the nodes, and divide the slots among them."""
        folder.mkdir(exist_ok=True)
        self.nodes = [
            OwnServer(
                folder / f"node-{number}",
                *("--cluster-enabled", "yes", "--cluster-port", f"{free_port()}"),
                *("--cluster-require-full-coverage", "no", *options),
            )
            for number in range(3)
        ]
        self.url = self.nodes[0].url
        step = ceil(SLOTS / len(self.nodes))
        for number, node in enumerate(self.nodes):
            with Redis.from_url(node.url) as client:
                begin = number * step
                client.execute_command("CLUSTER ADDSLOTSRANGE", begin, min(begin + step, SLOTS) - 1)
                client.execute_command("CLUSTER SET-CONFIG-EPOCH", number + 1)
                client.execute_command(
                    "CLUSTER MEET", "127.0.0.1", self.nodes[0].port, self.nodes[0].bus
                )
        self.settle()

    def settle(self):
        """Waits until all nodes that run can be written to."""
        for node in self.nodes:
            if node.process.poll() is None:
                with Redis.from_url(node.url) as client:
                    for _ in range(1000):
                        found = client.execute_command("CLUSTER INFO")
                        known = int(found["cluster_known_nodes"])
                        if found["cluster_state"] == "ok" and known >= len(self.nodes):
                            break
                        time.sleep(0.02)
                    else:
                        raise AssertionError(found)

    def node_of(self, key):
        """The node that has the slot of a key."""
        return self.nodes[key_slot(key.encode()) * len(self.nodes) // SLOTS]

    def kill(self):
        for node in self.nodes:
            node.kill()

    def start(self):
        for node in self.nodes:
            node.start()
        self.settle()

    def empty(self):
        for node in self.nodes:
            node.empty()


class Cable:
    """A network between drones and a server that can be cut.

    With a TLS context, the server's end of it.
    """

    def __init__(self, url, tls=None):
        self._there, self._tls = int(url.rpartition(":")[2]), tls
        self._listening = AsyncExitStack()
        self.port = free_port()
        self.url = f"{'rediss' if tls else 'redis'}://127.0.0.1:{self.port}"

    async def __aenter__(self):
        await self.mend()
        return self

    async def __aexit__(self, *_):
        await self.cut()

    async def cut(self):
        await self._listening.aclose()

    async def mend(self):
        await self._listening.enter_async_context(
            serving(self._connected, tls=self._tls, port=self.port)
        )

    async def _connected(self, reader, writer):
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._there)
        try:
            await asyncio.gather(_copy(reader, there_writer), _copy(there_reader, writer))
        finally:
            there_writer.transport.abort()


async def _copy(reader, writer):
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    with suppress(OSError, RuntimeError):
        writer.close()
