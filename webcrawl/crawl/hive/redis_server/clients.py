"""Clients of a Redis or Valkey server, or of a cluster of them: how they are made, what their errors
mean, and whether the server can carry a hive.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import redis
from redis import exceptions
from redis.asyncio import Redis, RedisCluster
from redis.asyncio.connection import SSLConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.crc import key_slot

from webcrawl.base.readable import url_without_credentials
from webcrawl.crawl.hive.errors import Away, Full, HiveError

OLDEST = (6, 2)  # XTRIM MINID, XADD NOMKSTREAM
CLUSTERS = 8  # redis-py from which on clusters work
# Patterns of redis-py's exceptions, and of words that servers of some versions say instead; looked
# for in this order
REFUSALS = {
    "AuthenticationError|AuthenticationWrong|AuthorizationError|NOAUTH|WRONGPASS": (
        "refuses the login (REDIS_PASSWORD_FILE names the file with the password)"
    ),
    "NoPermissionError|NOPERM| permission": "does not give its user the necessary rights",
    "CERTIFICATE_VERIFY_FAILED": "has a certificate that cannot be trusted",
    "WRONGTYPE": "has other data under a key of the hive",
}
MEMORY_FULL = "OutOfMemoryError|OOM|used memory > 'maxmemory'"
NOT_NOW = (
    "ReadOnlyError|READONLY|MISCONF|LOADING|MASTERDOWN|MasterDown|CLUSTERDOWN|ClusterDown|TRYAGAIN|TryAgain"
    "|BUSY|NOREPLICAS|UNBLOCKED|MovedError|AskError"
)
# in what uvloop raises if a connection ends between two steps, which redis-py passes on; and of what
# the latter misses where another task has closed a connection to a cluster
CLOSED = re.compile(r"closed|'NoneType' .* '(writelines|drain|read\w+|at_eof|_buffer)'")
# after which command it was, with the beginning of its letter
PIPELINED = "of pipeline caused error: "
TUPLE = re.compile(r"""\((["'])(.*)\1,\)""")
# answers are bytes, and of one form, whatever the server
OURS = {"decode_responses": False, "protocol": 2}
Client = Redis
AnyClient = Redis | RedisCluster
MakeClient = Callable[..., Client]
ANSWERS, LONGEST = 3.0, 10.0  # seconds for a node of a cluster: others may be there


def client_maker(params: Mapping[str, Any]) -> MakeClient:
    """Return a maker of clients that do not connect anew within a command. Raise HiveError.

    `params`: those of scrapy-redis, among them a `url` and the user's class.
    """
    others = {**params, **OURS}
    others.pop("retry_on_timeout", None)
    # the caller decides, and looks whether it is still the same server
    others["retry"] = Retry(NoBackoff(), 0)
    url = others.pop("url", None)
    named = others.pop("redis_cls", None)
    # a class that blocks is for scrapy-redis' own parts
    client_class = named if isinstance(named, type) and issubclass(named, Redis) else Redis

    def make(**more: Any) -> Client:
        parameters = {**others, **more}
        client: Client = (
            client_class.from_url(url, **parameters) if url else client_class(**parameters)
        )
        return client

    try:
        pool: Any = make().connection_pool
        pool.make_connection()
    except (TypeError, ValueError, OSError) as error:
        where = url_without_credentials(str(url or others.get("host") or ""))
        raise HiveError(
            f"REDIS_URL, REDIS_PARAMS: no client can be created for {where!r}: {error}"
        ) from error
    return make


class OtherServer(Exception):  # noqa: N818 - never shown
    """A new connection leads to another server process than the one before."""


class CommandKeys:
    """Says which key a command of ours has: redis-py's own class asks a node, perhaps a dead one."""

    async def initialize(self, node: Any) -> None:
        """Learn nothing."""

    async def get_keys(self, command: str, *args: Any) -> Sequence[Any]:
        """Return the key that decides about the node."""
        at = args.index(b"STREAMS") + 1 if command == "XREAD" else 0
        return args[at : at + 1]


async def reached(client: Client) -> AnyClient:
    """Return a client of the whole cluster, if the server is a node of one; or else this client."""
    server = await client.info("server")
    if server.get("redis_mode", server.get("server_mode")) != "cluster":
        return client
    # earlier clients of clusters fail with one node
    if int(redis.__version__.partition(".")[0]) < CLUSTERS:
        raise HiveError(
            f"REDIS_URL: the server is part of a cluster; pip install 'redis>={CLUSTERS}'"
        )
    pool = client.connection_pool
    known = inspect.signature(RedisCluster).parameters
    params = {name: value for name, value in pool.connection_kwargs.items() if name in known}
    params |= {"retry": Retry(NoBackoff(), 0), "require_full_coverage": False}
    params["ssl"] = issubclass(pool.connection_class, SSLConnection)
    # any node is asked who has what, also one that is down
    params["socket_connect_timeout"] = ANSWERS
    params["socket_timeout"] = min(params.get("socket_timeout") or LONGEST, LONGEST)
    own_connect = pool.connection_kwargs.get("redis_connect_func")
    try:
        cluster = RedisCluster(**params)
        cluster.commands_parser = CommandKeys()  # type: ignore[assignment]
        cluster.get_connection_kwargs()["redis_connect_func"] = own_connect
        await cluster.initialize()
    except IndexError:
        raise Away("no node of the cluster has slots") from None
    finally:
        await client.aclose()
    return cluster


async def closed(client: AnyClient) -> None:
    """Close all connections, those too of a cluster whose nodes are looked for just now."""
    with suppress(OSError, exceptions.RedisError):
        await client.aclose()
        if isinstance(client, RedisCluster):
            await client.nodes_manager.aclose()
            await client.nodes_manager.aclose("startup_nodes")


async def infos(client: AnyClient, section: str) -> list[Mapping[str, Any]]:
    """Return what the server says of itself, or each node of a cluster that answers."""
    if not isinstance(client, RedisCluster):
        return [await client.info(section)]
    await client.initialize()
    await client.nodes_manager.initialize()
    asks = (client.info(section, target_nodes=node) for node in client.get_primaries())
    soon = (asyncio.wait_for(ask, ANSWERS) for ask in asks)
    found = await asyncio.gather(*soon, return_exceptions=True)
    return [one for one in found if isinstance(one, Mapping)]


def beside(source: str, own: str) -> str:
    """Return a key for `own` that lies on the same node of a cluster as the user's key `source`."""
    tag, is_closed, _ = source.partition("{")[2].partition("}")
    plain = own.removeprefix("webcrawl:").replace("{", "").replace("}", "")
    key = f"webcrawl:{{{tag if is_closed and tag else source}}}:{plain}"
    if key_slot(key.encode()) != key_slot(source.encode()):
        raise HiveError(f"{source}: in a cluster a key of seeds must not have such braces")
    return key


async def gathered(
    client: AnyClient, commands: Sequence[tuple[Any, ...]], needed: int = 0
) -> list[Any]:
    """Return the answers to commands, or the errors, in one round trip to each node.

    The errors of the first ones, which are `needed`, are raised, and some of all.
    """
    if isinstance(client, RedisCluster):
        await client.initialize()
    parts = _by_node(client, commands)
    work = []
    for part in parts:
        limit = None if part[0] < needed else ANSWERS
        work.append(_asked(client, [commands[number] for number in part], limit))
    answers: list[Any] = [None] * len(commands)
    for part, found in zip(parts, await asyncio.gather(*work), strict=True):
        for number, answer in zip(part, found, strict=True):
            answers[number] = answer
    has_errors = any(isinstance(answer, Exception) for answer in answers)
    if has_errors and isinstance(client, RedisCluster):
        with suppress(Exception):  # another node may be in its place
            async with asyncio.timeout(ANSWERS):
                await client.nodes_manager.initialize()
    for number, answer in enumerate(answers):
        is_always_raised = isinstance(answer, (OtherServer, exceptions.NoPermissionError))
        is_missing = number < needed and isinstance(answer, Exception)
        if is_always_raised or is_missing:
            raise answer
    return answers


def _by_node(client: AnyClient, commands: Sequence[tuple[Any, ...]]) -> list[list[int]]:
    """Return the numbers of the commands for each node, by their keys."""
    parts: dict[str, list[int]] = defaultdict(list)
    for number, command in enumerate(commands):
        key = command[3] if command[0] == "EVAL" else command[1]
        parts[node_of(client, key)].append(number)
    return [*parts.values()]


def node_of(client: AnyClient, key: Any) -> str:
    """Return the name of the node with a key, or nothing in one server."""
    node = client.get_node_from_key(key) if isinstance(client, RedisCluster) else None
    return node.name if node else ""


async def _asked(
    client: AnyClient, commands: Sequence[tuple[Any, ...]], limit: float | None
) -> list[Any]:
    pipe = client.pipeline(transaction=False)
    for command in commands:
        pipe.execute_command(*command)
    try:
        async with asyncio.timeout(limit):
            return list(await pipe.execute(raise_on_error=False))
    except (OtherServer, exceptions.RedisError, OSError, RuntimeError, AttributeError) as error:
        return [error] * len(commands)


@contextmanager
def translate_redis_errors() -> Iterator[None]:
    """Raise Away or Full for an error that may pass, and HiveError for one that will not."""
    try:
        yield
    except (
        exceptions.RedisError,
        exceptions.RedisClusterException,
        OSError,
        TimeoutError,
    ) as error:
        wraps = isinstance(error, (exceptions.ConnectionError, exceptions.RedisClusterException))
        cause = error.__cause__ if wraps else None
        # heard at a Unix socket while logging in
        told = cause if isinstance(cause, exceptions.RedisError) else error
        raise _meaning(told, _words(told)) from error
    except (RuntimeError, AttributeError) as error:
        if not CLOSED.search(str(error)):
            raise
        raise Away("the connection was closed") from error


def _words(error: Exception) -> str:
    """Return the server's words, without the command and the tuple that redis-py adds."""
    words = str(error).rpartition(PIPELINED)[2]
    found = TUPLE.fullmatch(words)
    return found[2] if found else words


def _meaning(error: Exception, words: str) -> Exception:
    """Return the error of ours for one of the server's, whose own words these are."""
    text = f"{type(error).__name__} {words}"
    for pattern, meaning in REFUSALS.items():
        if re.search(pattern, text):
            return HiveError(f"REDIS_URL: the server {meaning}: {words}")
    if re.search(MEMORY_FULL, text):
        return Full(words)
    if isinstance(error, exceptions.ResponseError) and not re.search(NOT_NOW, text):
        return HiveError(f"REDIS_URL: the server refused a command: {words}")
    return Away(f"{type(error).__name__}: {words}")


async def check(client: AnyClient) -> int:
    """Return the bytes that letters may take in this server, or in all nodes of the cluster.

    Raise HiveError, in one line, if it cannot carry a hive.
    """
    for server in await infos(client, "server"):
        found = tuple(int(part) for part in str(server["redis_version"]).split(".")[:2])
        if found < OLDEST:
            raise HiveError(
                f"REDIS_URL: the server is Redis {server['redis_version']}, but must be Redis 6.2 or "
                "later, or Valkey"
            )
    room = 0
    for memory in await infos(client, "memory"):
        limit: int = memory.get("maxmemory", 0)
        policy = str(memory.get("maxmemory_policy", "noeviction"))
        if limit and policy.startswith("allkeys"):
            raise HiveError(
                f"REDIS_URL: the server drops keys when it is full (maxmemory-policy {policy}); set it to noeviction"
            )
        # What is left is for the registry and for what clients are about to get; in a server without
        # a limit, for other programs too
        room += limit * 4 // 5 if limit else int(memory.get("total_system_memory", 0)) // 2
    return room
