"""Connections to the server: what their troubles mean, and which server process answers.

redis-py connects anew behind the caller's back, perhaps to a server that was restarted or restored meanwhile. So each
new connection asks for the server's run_id before anything else is sent by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from redis import exceptions
from redis.asyncio import Redis

from webcrawl.hive.errors import Away, Full, HiveError

OLDEST = (6, 2)  # XTRIM MINID, XADD NOMKSTREAM
NOT_NOW = ("READONLY", "MISCONF", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY", "NOREPLICAS", "UNBLOCKED")
Client = Redis
MakeClient = Callable[[], Client]


class OtherServer(Exception):  # noqa: N818 - never shown
    """A new connection leads to another server process than the one before."""


class Watch:
    """Compares the run_id of each new connection of its clients with that of the epoch."""

    def __init__(self) -> None:
        self.run_id: str | None = None  # None: any

    def watches(self, client: Client) -> Client:
        """The same client, whose new connections are checked."""
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
    except (exceptions.AuthenticationError, exceptions.AuthorizationError) as error:
        raise HiveError(f"REDIS_URL: the server does not let us in: {error}") from None
    except exceptions.AuthenticationWrongNumberOfArgsError:
        raise HiveError("REDIS_URL: the server does not let us in: it knows no user names") from None
    except exceptions.NoPermissionError as error:
        raise HiveError(f"REDIS_URL: the server's user lacks a right: {error}") from None
    except exceptions.MovedError:
        raise HiveError("REDIS_URL: the server is part of a cluster; the hive needs one that stands alone") from None
    except exceptions.OutOfMemoryError as error:
        raise Full(str(error)) from None
    except exceptions.ReadOnlyError as error:
        raise Away(str(error)) from None
    except exceptions.ResponseError as error:
        raise _meaning(str(error)) from error
    except (exceptions.RedisError, OSError, TimeoutError) as error:
        raise Away(f"{type(error).__name__}: {error}") from error


def _meaning(text: str) -> Exception:
    code = text.partition(" ")[0]
    if code == "NOAUTH" or "WRONGPASS" in text:
        return HiveError(f"REDIS_URL: the server does not let us in: {text}")
    if "NOPERM" in text or " permission" in text:
        return HiveError(f"REDIS_URL: the server's user lacks a right: {text}")
    if "OOM" in text or "used memory > 'maxmemory'" in text:
        return Full(text)
    if code in NOT_NOW:
        return Away(text)
    if "WRONGTYPE" in text:
        return HiveError(f"REDIS_URL: the server holds something else under a key of the hive: {text}")
    return HiveError(f"REDIS_URL: the server refuses a command: {text}")


async def check(client: Client) -> None:
    """Whether this server can carry a hive, or a HiveError in one line."""
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
