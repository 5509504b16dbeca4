"""Connections to the server: what their troubles mean, and which server process answers.

redis-py connects anew behind the caller's back, perhaps to a server that was restarted or restored meanwhile. So each
new connection asks for the server's run_id before anything else is sent by it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from redis import exceptions
from redis.asyncio import Redis

from webcrawl.crawl.hive.errors import ILLEGIBLE, Away, Full, HiveError

OLDEST = (6, 2)  # XTRIM MINID, XADD NOMKSTREAM
# Names of redis-py's exceptions, and words that servers of some versions say instead; looked for in this order
REFUSALS = (
    (("AuthenticationError", "AuthenticationWrong", "AuthorizationError", "NOAUTH", "WRONGPASS"), "does not let us in"),
    (("NoPermissionError", "NOPERM", " permission"), "does not give our user a right"),
    (("MovedError", "CROSSSLOT", "ClusterCrossSlot"), "is part of a cluster, and the hive needs one that stands alone"),
    (("CERTIFICATE_VERIFY_FAILED",), "has a certificate that is not to be trusted"),
    (("WRONGTYPE",), "holds something else under a key of the hive"),
)
NOT_NOW = (
    *("ReadOnlyError", "READONLY", "MISCONF", "LOADING", "MASTERDOWN", "MasterDown", "CLUSTERDOWN", "ClusterDown"),
    *("TRYAGAIN", "TryAgain", "BUSY", "NOREPLICAS", "UNBLOCKED"),
)
CLOSED = "closed"  # in what uvloop raises if a connection ends between two steps; redis-py passes it on
PIPELINED = "of pipeline caused error: "  # after which command it was, with the beginning of its letter
TUPLE = re.compile(r"""\((["'])(.*)\1,\)""")
Client = Redis
MakeClient = Callable[[], Client]


class OtherServer(Exception):  # noqa: N818 - never shown
    """A new connection leads to another server process than the one before."""


class Watch:
    """Compares the run_id of each new connection of its clients with that of the epoch."""

    def __init__(self) -> None:
        self.run_id: str | None = None  # None: any

    def watches(self, client: Client) -> Client:
        """Returns the client, whose new connections are checked."""
        client.connection_pool.connection_kwargs["redis_connect_func"] = self._connected
        return client

    async def _connected(self, connection: Any) -> None:
        await connection.on_connect()
        if self.run_id is None:
            return
        await connection.send_command("INFO", "server")
        if f"run_id:{self.run_id}".encode() not in await connection.read_response():
            await connection.disconnect()
            raise OtherServer


@contextmanager
def translated() -> Iterator[None]:
    """Tells what may pass (Away, Full) from what will not (HiveError)."""
    try:
        yield
    except (exceptions.RedisError, OSError, TimeoutError) as error:
        cause = error.__cause__ if isinstance(error, exceptions.ConnectionError) else None
        told = cause if isinstance(cause, exceptions.RedisError) else error  # heard at a Unix socket while logging in
        raise _meaning(told, _words(told)) from error
    except RuntimeError as error:
        if CLOSED not in str(error):
            raise
        raise Away("the connection was closed") from error


@contextmanager
def legible() -> Iterator[None]:
    """What the server has of the hive may be anybody's: if it cannot be read, that is one line, and no bug of ours."""
    try:
        yield
    except ILLEGIBLE as error:
        raise HiveError(
            f"what the server has of the hive cannot be read, somebody else writes to it: {error!r}"
        ) from error


def _words(error: Exception) -> str:
    """Without the command, and without the tuple in which redis-py puts what a pipeline was told."""
    words = str(error).rpartition(PIPELINED)[2]
    found = TUPLE.fullmatch(words)
    return found[2] if found else words


def _meaning(error: Exception, words: str) -> Exception:
    text = f"{type(error).__name__} {words}"
    for signs, meaning in REFUSALS:
        if any(sign in text for sign in signs):
            return HiveError(f"REDIS_URL: the server {meaning}: {words}")
    if "OutOfMemoryError" in text or "OOM" in text or "used memory > 'maxmemory'" in text:
        return Full(words)
    if isinstance(error, exceptions.ResponseError) and not any(sign in text for sign in NOT_NOW):
        return HiveError(f"REDIS_URL: the server refuses a command: {words}")
    return Away(f"{type(error).__name__}: {words}")


async def check(client: Client) -> None:
    """True if this server can carry a hive, or a HiveError in one line."""
    server = await client.info("server")
    found = tuple(int(part) for part in str(server["redis_version"]).split(".")[:2])
    if found < OLDEST:
        raise HiveError(f"REDIS_URL: the server is Redis {server['redis_version']}; Redis 6.2 or Valkey is needed")
    if server.get("redis_mode", server.get("server_mode")) == "cluster":
        raise HiveError("REDIS_URL: the server is part of a cluster; the hive needs one that stands alone")
    memory = await client.info("memory")
    policy = str(memory.get("maxmemory_policy", "noeviction"))
    if memory.get("maxmemory", 0) and policy.startswith("allkeys"):
        raise HiveError(
            f"REDIS_URL: the server drops keys when it is full (maxmemory-policy {policy}); set it to noeviction"
        )
