"""The Redis server of a hive and of pushed seeds, by the settings that users of scrapy-redis know."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from webcrawl.crawl.hive.errors import HiveError

if TYPE_CHECKING:
    from webcrawl.crawl.hive.redis_server.clients import MakeClient
    from webcrawl.crawl.hive.transport import Transport

logger = logging.getLogger(__name__)

OTHERS_MAY_READ = stat.S_IRWXG | stat.S_IRWXO


def has_server(settings: BaseSettings) -> bool:
    """Return whether the user has named a Redis server."""
    return bool(settings.get("REDIS_URL") or settings.get("REDIS_HOST"))


def client_maker(settings: BaseSettings) -> MakeClient:
    """Return a function that makes clients of the user's server.

    Raise HiveError if none can be made.
    """
    from scrapy_redis import connection, defaults  # noqa: PLC0415 - 0.2 s for those who use it

    from webcrawl.crawl.hive.redis_server import clients  # noqa: PLC0415 - as above

    params: dict[str, Any] = {**defaults.REDIS_PARAMS, **settings.getdict("REDIS_PARAMS")}
    # As in scrapy-redis, a setting such as REDIS_URL overrides REDIS_PARAMS
    for ours, theirs in connection.SETTINGS_PARAMS_MAP.items():
        given = settings.get(ours)
        if given:
            params[theirs] = given
    if isinstance(params.get("redis_cls"), str):
        params["redis_cls"] = load_object(params["redis_cls"])
    if settings.get("REDIS_PASSWORD_FILE"):
        params["password"] = password_in(Path(settings["REDIS_PASSWORD_FILE"]))
    return clients.client_maker(params)


def transport_maker(settings: BaseSettings, name: str) -> Callable[[], Transport]:
    """Return a function that makes transports to the hive of this name. Raise HiveError."""
    from webcrawl.crawl.hive.redis_server.redis_transport import RedisTransport  # noqa: PLC0415 - as above

    make_client = client_maker(settings)
    return lambda: RedisTransport(make_client, name)


def password_in(path: Path) -> str:
    """Return the password in a file, which is its only line.

    Warn if other users may read the file. Raise HiveError if it cannot be read, is not text, or has
    more than one line or none.
    """
    try:
        text = path.read_text(encoding="utf-8")
        is_readable_by_others = _others_may_read(path.stat())
    except OSError as error:
        raise HiveError(f"REDIS_PASSWORD_FILE = {path}: cannot be read: {error}") from error
    except UnicodeDecodeError as error:
        raise HiveError(f"REDIS_PASSWORD_FILE = {path}: is not UTF-8 text") from error
    if is_readable_by_others:
        logger.warning("REDIS_PASSWORD_FILE = %s: other users may read it; chmod 600 it", path)
    password = text.removesuffix("\n").removesuffix("\r")
    if not password or "\n" in password:
        raise HiveError(f"REDIS_PASSWORD_FILE = {path}: expected one line")
    return password


def _others_may_read(file: os.stat_result) -> bool:
    """Return whether more users than intended may read a file.

    The group of another user's file may read it, because Kubernetes gives the secrets of a pod to
    its group.
    """
    allowed = stat.S_IRWXG if file.st_uid != os.geteuid() else 0
    return bool(file.st_mode & OTHERS_MAY_READ & ~allowed)
