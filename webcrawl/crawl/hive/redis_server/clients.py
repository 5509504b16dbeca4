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

MIN_REDIS = (6, 2)  # XTRIM MINID, XADD NOMKSTREAM
MIN_REDIS_PY_FOR_CLUSTERS = 8  # earlier clients of clusters fail with one node
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
# Errors of a connection that has ended: what uvloop raises if it ends between two steps, which
# redis-py passes on; and attributes that redis-py misses where another task has closed it
CLOSED = re.compile(r"closed|'NoneType' .* '(writelines|drain|read\w+|at_eof|_buffer)'")
# redis-py names the command that failed, with the beginning of its batch, before these words
PIPELINED = "of pipeline caused error: "
TUPLE = re.compile(r"""\((["'])(.*)\1,\)""")
# Answers are bytes, and of one form, whatever the server.
FIXED_OPTIONS = {"decode_responses": False, "protocol": 2}
Client = Redis
AnyClient = Redis | RedisCluster
MakeClient = Callable[..., Client]
# For an answer of a node of a cluster, when others may answer in its place
NODE_SECONDS = 3.0
MAX_NODE_SECONDS = 10.0  # for any answer of a node


def client_maker(params: Mapping[str, Any]) -> MakeClient:
    """Return a maker of clients that do not connect anew within a command.

    `params` are those of scrapy-redis, among them a `url` and the user's class. Raise HiveError if
    no client can be made of them.
    """
    others = {**params, **FIXED_OPTIONS}
    others.pop("retry_on_timeout", None)
    # The caller decides whether to try again, after a look whether it is still the same server.
    others["retry"] = Retry(NoBackoff(), 0)
    url = others.pop("url", None)
    own_class = others.pop("redis_cls", None)
    # A class that blocks is for scrapy-redis' own parts.
    is_asynchronous = isinstance(own_class, type) and issubclass(own_class, Redis)
    client_class = own_class if is_asynchronous else Redis

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
        """Return the key that decides about the node, alone in a list."""
        key_index = args.index(b"STREAMS") + 1 if command == "XREAD" else 0
        return args[key_index : key_index + 1]


async def cluster_or_same(client: Client) -> AnyClient:
    """Return a client of the whole cluster, if the server is a node of one; or else this client.

    Close this client if it is not returned. Raise HiveError if redis-py is too old for a cluster,
    and Away if no node has slots.
    """
    server = await client.info("server")
    if server.get("redis_mode", server.get("server_mode")) != "cluster":
        return client
    redis_py = int(redis.__version__.partition(".")[0])
    if redis_py < MIN_REDIS_PY_FOR_CLUSTERS:
        raise HiveError(
            f"REDIS_URL: the server is part of a cluster; pip install 'redis>={MIN_REDIS_PY_FOR_CLUSTERS}'"
        )
    pool = client.connection_pool
    known = inspect.signature(RedisCluster).parameters
    params = {name: value for name, value in pool.connection_kwargs.items() if name in known}
    params |= {"retry": Retry(NoBackoff(), 0), "require_full_coverage": False}
    params["ssl"] = issubclass(pool.connection_class, SSLConnection)
    # Any node is asked which node has which slots, also one that is down.
    params["socket_connect_timeout"] = NODE_SECONDS
    own_timeout = params.get("socket_timeout") or MAX_NODE_SECONDS
    params["socket_timeout"] = min(own_timeout, MAX_NODE_SECONDS)
    connect = pool.connection_kwargs.get("redis_connect_func")
    try:
        cluster = RedisCluster(**params)
        cluster.commands_parser = CommandKeys()  # type: ignore[assignment]
        cluster.get_connection_kwargs()["redis_connect_func"] = connect
        await cluster.initialize()
    except IndexError:
        raise Away("no node of the cluster has slots") from None
    finally:
        await client.aclose()
    return cluster


async def close(client: AnyClient) -> None:
    """Close all connections, also those of a cluster's nodes that are just being found."""
    with suppress(OSError, exceptions.RedisError):
        await client.aclose()
        if isinstance(client, RedisCluster):
            await client.nodes_manager.aclose()
            await client.nodes_manager.aclose("startup_nodes")


async def server_infos(client: AnyClient, section: str) -> list[Mapping[str, Any]]:
    """Return this section of the server's INFO, or of that of each node of a cluster that answers."""
    if not isinstance(client, RedisCluster):
        return [await client.info(section)]
    await client.initialize()
    await client.nodes_manager.initialize()
    calls = (
        asyncio.wait_for(client.info(section, target_nodes=node), NODE_SECONDS)
        for node in client.get_primaries()
    )
    answers = await asyncio.gather(*calls, return_exceptions=True)
    return [answer for answer in answers if isinstance(answer, Mapping)]


def key_beside(source: str, own: str) -> str:
    """Return a key for `own` that lies on the same node of a cluster as the user's key `source`.

    Raise HiveError if `source` has braces for which there is none.
    """
    # What is in the first braces of a key decides its node, or all of a key without such braces.
    in_braces, closing, _ = source.partition("{")[2].partition("}")
    tag = in_braces if closing and in_braces else source
    plain = own.removeprefix("webcrawl:").replace("{", "").replace("}", "")
    key = f"webcrawl:{{{tag}}}:{plain}"
    if key_slot(key.encode()) != key_slot(source.encode()):
        raise HiveError(f"{source}: in a cluster a key of seeds must not have such braces")
    return key


async def execute_all(
    client: AnyClient, commands: Sequence[tuple[Any, ...]], needed: int = 0
) -> list[Any]:
    """Return the answer to each command, or its error, in one round trip to each node.

    Raise the error of a command that is among the first `needed` ones. Raise OtherServer and
    NoPermissionError whichever command has them.
    """
    if isinstance(client, RedisCluster):
        await client.initialize()
    numbers_by_node = _by_node(client, commands)
    calls = []
    for numbers in numbers_by_node:
        limit = None if numbers[0] < needed else NODE_SECONDS
        calls.append(_execute(client, [commands[number] for number in numbers], limit))
    answers: list[Any] = [None] * len(commands)
    answers_by_node = await asyncio.gather(*calls)
    for numbers, node_answers in zip(numbers_by_node, answers_by_node, strict=True):
        for number, answer in zip(numbers, node_answers, strict=True):
            answers[number] = answer
    if isinstance(client, RedisCluster) and any(isinstance(one, Exception) for one in answers):
        with suppress(Exception):  # another node may be in its place
            async with asyncio.timeout(NODE_SECONDS):
                await client.nodes_manager.initialize()
    for number, answer in enumerate(answers):
        is_always_raised = isinstance(answer, (OtherServer, exceptions.NoPermissionError))
        is_missing = number < needed and isinstance(answer, Exception)
        if is_always_raised or is_missing:
            raise answer
    return answers


def _by_node(client: AnyClient, commands: Sequence[tuple[Any, ...]]) -> list[list[int]]:
    """Return the numbers of the commands for each node, by their keys."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for number, command in enumerate(commands):
        key = command[3] if command[0] == "EVAL" else command[1]
        numbers[node_of(client, key)].append(number)
    return [*numbers.values()]


def node_of(client: AnyClient, key: Any) -> str:
    """Return the name of the node with a key, or nothing in one server."""
    node = client.get_node_from_key(key) if isinstance(client, RedisCluster) else None
    return node.name if node else ""


async def _execute(
    client: AnyClient, commands: Sequence[tuple[Any, ...]], limit: float | None
) -> list[Any]:
    """Return the answers of one node, within `limit` seconds; its error for each if it has none."""
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
        # An error while logging in, at a Unix socket, is only the cause of the one that is raised.
        may_wrap = isinstance(error, (exceptions.ConnectionError, exceptions.RedisClusterException))
        cause = error.__cause__ if may_wrap else None
        actual = cause if isinstance(cause, exceptions.RedisError) else error
        raise _own_error(actual, _words(actual)) from error
    except (RuntimeError, AttributeError) as error:
        if not CLOSED.search(str(error)):
            raise
        raise Away("the connection was closed") from error


def _words(error: Exception) -> str:
    """Return the server's words, without the command and the tuple that redis-py adds."""
    words = str(error).rpartition(PIPELINED)[2]
    found = TUPLE.fullmatch(words)
    return found[2] if found else words


def _own_error(error: Exception, words: str) -> Exception:
    """Return the HiveError, Away or Full for an error of redis-py; `words` are the server's."""
    text = f"{type(error).__name__} {words}"
    for pattern, meaning in REFUSALS.items():
        if re.search(pattern, text):
            return HiveError(f"REDIS_URL: the server {meaning}: {words}")
    if re.search(MEMORY_FULL, text):
        return Full(words)
    if isinstance(error, exceptions.ResponseError) and not re.search(NOT_NOW, text):
        return HiveError(f"REDIS_URL: the server refused a command: {words}")
    return Away(f"{type(error).__name__}: {words}")


async def check_server(client: AnyClient) -> int:
    """Return the bytes that batches may take in this server, or in all nodes of the cluster.

    Raise HiveError, in one line, if it cannot carry a hive.
    """
    for server in await server_infos(client, "server"):
        version = tuple(int(part) for part in str(server["redis_version"]).split(".")[:2])
        if version < MIN_REDIS:
            raise HiveError(
                f"REDIS_URL: the server is Redis {server['redis_version']}, but must be Redis 6.2 or "
                "later, or Valkey"
            )
    batch_bytes = 0
    for memory in await server_infos(client, "memory"):
        limit: int = memory.get("maxmemory", 0)
        policy = str(memory.get("maxmemory_policy", "noeviction"))
        if limit and policy.startswith("allkeys"):
            raise HiveError(
                f"REDIS_URL: the server drops keys when it is full (maxmemory-policy {policy}); set it to noeviction"
            )
        # What is left is for the registry and for what clients are about to get; in a server without
        # a limit, for other programs too
        if limit:
            batch_bytes += limit * 4 // 5
        else:
            batch_bytes += int(memory.get("total_system_memory", 0)) // 2
    return batch_bytes
