"""The server of a hive: the one that the settings name, or one of the hive's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from scrapy.settings import BaseSettings

from webcrawl.adapter.redis_client import client_maker
from webcrawl.base.credentials import url_without_credentials
from webcrawl.crawl.hive.embedded import UNIX, EmbeddedServer
from webcrawl.crawl.hive.errors import Away, HiveError, refused
from webcrawl.crawl.hive.operator import Operator

URL = "url"  # the file that tells other commands on this machine where the server is
PATIENCE = 5.0  # seconds until a server must answer
MakeOperator = Callable[[], Operator]


def named(settings: BaseSettings, name: str) -> MakeOperator:
    """Operators of this hive in the server of the settings. HiveError: it cannot carry a hive, or does not answer."""
    make_client = client_maker(settings)
    asyncio.run(_reached(Operator(make_client, name), settings))
    return lambda: Operator(make_client, name)


def at(url: str, name: str) -> MakeOperator:
    """Operators of this hive in a server on this machine."""
    return lambda: Operator(lambda: Redis.from_url(url, protocol=2, retry=Retry(NoBackoff(), 0)), name)


@contextmanager
def own(folder: Path, memory: int) -> Iterator[EmbeddedServer]:
    """Runs as long as it is needed. `memory`: bytes for links on their way."""
    server = EmbeddedServer(folder, memory)
    try:
        server.start()
    except OSError as error:
        raise refused(error, folder) from error
    file = folder / URL
    try:
        file.write_text(f"{server.url}\n", encoding="utf-8")
        yield server
    finally:
        file.unlink(missing_ok=True)
        server.stop()


def url_of(folder: Path) -> str:
    """Where the server of a hive's own is, by what lies in its folder; empty if there is none.

    The copy of a running hive has the file, too, which leads to the original: a command to one is not for the other.
    """
    try:
        url = (folder / URL).read_text(encoding="utf-8").strip()
        return url if Path(url.removeprefix(UNIX)).parent.samefile(folder) else ""
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise refused(error, folder) from error


async def _reached(operator: Operator, settings: BaseSettings) -> None:
    where = url_without_credentials(str(settings.get("REDIS_URL") or settings.get("REDIS_HOST")))
    try:
        async with asyncio.timeout(PATIENCE):
            await operator.open()
    except (Away, TimeoutError) as error:
        raise HiveError(f"REDIS_URL = {where}: {error or f'no answer within {PATIENCE:g} s'}") from error
    finally:
        await operator.close()
