"""A real server for tests: one for each worker, emptied for each test."""

from contextlib import asynccontextmanager
from dataclasses import replace

from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from webcrawl.hive.registry import Member
from webcrawl.hive.server import Server
from webcrawl.hive.slots import SlotMap

LEASE = 30.0


def clients(url, **parameters):
    """Makes clients as webcrawl.adapter.redis_client does."""
    return lambda: AsyncRedis.from_url(
        url, **{"retry": Retry(NoBackoff(), 0), "protocol": 2, "socket_timeout": 10.0, **parameters}
    )


def emptied(url):
    """Removes everything from the server."""
    with Redis.from_url(url) as client:
        client.flushall()


def member(drone=0, drones=2, **changes):
    """A drone that has no state yet."""
    base = Member(drone, f"{drone:032x}", f"/crawl/drone-{drone}", "here", 100 + drone, "domain", drones)
    return replace(base, **changes)


def resumed(hive, drone=0, drones=2, **changes):
    """A drone that has the state of a hive."""
    others = {one: state for one, state in hive.members.items() if one != drone}
    known = {"key": hive.key, "map": hive.map, "founded": hive.founded, "others": others, "gone": hive.gone}
    return member(drone, drones, **{**known, **changes})


@asynccontextmanager
async def drones(url, number=2, name="test", **options):
    """The servers' sides of a hive's drones, which have joined."""
    servers = [Server(clients(url), name, **options) for _ in range(number)]
    try:
        for drone, server in enumerate(servers):
            await server.open()
            await server.join(member(drone, number))
        yield servers
    finally:
        for server in servers:
            await server.close()


async def joins(url, drone, name="test", **parameters):
    """The hive that a drone enters, which leaves it again."""
    server = Server(clients(url, **parameters), name)
    try:
        await server.open()
        return await server.join(drone)
    finally:
        await server.close()


async def beat(server, report=b"", **options):
    """A beat, of a drone that knows the first map."""
    return await server.beat(report, lease=LEASE, **{"generation": 1, **options})


def fair(number, generation=1):
    """A map of that many drones."""
    return replace(SlotMap.fair(range(number)), generation=generation)
