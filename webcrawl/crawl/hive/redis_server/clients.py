"""Clients of a Redis or Valkey server: how they are made, what their errors mean, and whether the
server can carry a hive.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from webcrawl.base.readable import url_without_credentials
from webcrawl.crawl.hive.errors import Away, Full, HiveError

OLDEST = (6, 2)  # XTRIM MINID, XADD NOMKSTREAM
# Patterns of redis-py's exceptions, and of words that servers of some versions say instead; looked
# for in this order
REFUSALS = {
    "AuthenticationError|AuthenticationWrong|AuthorizationError|NOAUTH|WRONGPASS": (
        "refuses the login (REDIS_PASSWORD_FILE names the file with the password)"
    ),
    "NoPermissionError|NOPERM| permission": "does not give its user the necessary rights",
    "MovedError|CROSSSLOT|ClusterCrossSlot": "is part of a cluster, but a hive needs a standalone server",
    "CERTIFICATE_VERIFY_FAILED": "has a certificate that cannot be trusted",
    "WRONGTYPE": "has other data under a key of the hive",
}
MEMORY_FULL = "OutOfMemoryError|OOM|used memory > 'maxmemory'"
NOT_NOW = (
    "ReadOnlyError|READONLY|MISCONF|LOADING|MASTERDOWN|MasterDown|CLUSTERDOWN|ClusterDown|TRYAGAIN|TryAgain"
    "|BUSY|NOREPLICAS|UNBLOCKED"
)
# in what uvloop raises if a connection ends between two steps; redis-py passes it on
CLOSED = "closed"
# after which command it was, with the beginning of its letter
PIPELINED = "of pipeline caused error: "
TUPLE = re.compile(r"""\((["'])(.*)\1,\)""")
# answers are bytes, and of one form, whatever the server
OURS = {"decode_responses": False, "protocol": 2}
Client = Redis
MakeClient = Callable[..., Client]


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


@contextmanager
def translated() -> Iterator[None]:
    """Raise Away or Full for an error that may pass, and HiveError for one that will not."""
    try:
        yield
    except (exceptions.RedisError, OSError, TimeoutError) as error:
        cause = error.__cause__ if isinstance(error, exceptions.ConnectionError) else None
        # heard at a Unix socket while logging in
        told = cause if isinstance(cause, exceptions.RedisError) else error
        raise _meaning(told, _words(told)) from error
    except RuntimeError as error:
        if CLOSED not in str(error):
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


async def check(client: Client) -> int:
    """Return the bytes that letters may take in this server.

    Raise HiveError, in one line, if it cannot carry a hive.
    """
    server = await client.info("server")
    found = tuple(int(part) for part in str(server["redis_version"]).split(".")[:2])
    if found < OLDEST:
        raise HiveError(
            f"REDIS_URL: the server is Redis {server['redis_version']}, but must be Redis 6.2 or "
            "later, or Valkey"
        )
    if server.get("redis_mode", server.get("server_mode")) == "cluster":
        raise HiveError(
            "REDIS_URL: the server is part of a cluster, but a hive needs a standalone server"
        )
    memory = await client.info("memory")
    limit: int = memory.get("maxmemory", 0)
    policy = str(memory.get("maxmemory_policy", "noeviction"))
    if limit and policy.startswith("allkeys"):
        raise HiveError(
            f"REDIS_URL: the server drops keys when it is full (maxmemory-policy {policy}); set it to noeviction"
        )
    # What is left is for the registry and for what clients are about to get; in a server without a
    # limit, for other programs too
    return limit * 4 // 5 if limit else int(memory.get("total_system_memory", 0)) // 2
