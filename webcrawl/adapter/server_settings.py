"""The server of a hive and of pushed seeds, by the settings that users of scrapy-redis know."""

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
    """Return whether the user names a server."""
    return bool(settings.get("REDIS_URL") or settings.get("REDIS_HOST"))


def client_maker(settings: BaseSettings) -> MakeClient:
    """Return a maker of clients of the user's server. Raise HiveError."""
    from scrapy_redis import connection, defaults  # noqa: PLC0415 - 0.2 s for those who use it

    from webcrawl.crawl.hive.redis_server import clients  # noqa: PLC0415 - as above

    params: dict[str, Any] = {**defaults.REDIS_PARAMS, **settings.getdict("REDIS_PARAMS")}
    # As scrapy-redis reads them: a setting of its own comes before REDIS_PARAMS
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
    """Return a maker of transports to the hive of this name. Raise HiveError."""
    from webcrawl.crawl.hive.redis_server.redis_transport import RedisTransport  # noqa: PLC0415 - as above

    make_client = client_maker(settings)
    return lambda: RedisTransport(make_client, name)


def password_in(path: Path) -> str:
    """Return the text of the file, without the end of its line."""
    try:
        text = path.read_text(encoding="utf-8")
        is_open = _is_open(path.stat())
    except OSError as error:
        raise HiveError(f"REDIS_PASSWORD_FILE = {path}: cannot be read: {error}") from error
    except UnicodeDecodeError as error:
        raise HiveError(f"REDIS_PASSWORD_FILE = {path}: is not UTF-8 text") from error
    if is_open:
        logger.warning("REDIS_PASSWORD_FILE = %s: other users may read it; chmod 600 it", path)
    password = text.removesuffix("\n").removesuffix("\r")
    if not password or "\n" in password:
        raise HiveError(f"REDIS_PASSWORD_FILE = {path}: expected one line")
    return password


def _is_open(file: os.stat_result) -> bool:
    """Return whether more users than its owner may read the file.

    A file of somebody else's that our group may read was given to us so: Kubernetes hands secrets
    to the group of a pod.
    """
    given = stat.S_IRWXG if file.st_uid != os.geteuid() else 0
    return bool(file.st_mode & OTHERS_MAY_READ & ~given)
