"""Clients of Redis or Valkey from the settings that users of scrapy-redis know."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object
from scrapy_redis import defaults
from scrapy_redis.connection import SETTINGS_PARAMS_MAP, get_redis

from webcrawl.base.readable import url_without_credentials
from webcrawl.crawl.hive.errors import HiveError

logger = logging.getLogger(__name__)

# answers are bytes, and of one form, whatever the server
OURS = {"decode_responses": False, "protocol": 2}
OTHERS_MAY_READ = stat.S_IRWXG | stat.S_IRWXO


def has_redis(settings: BaseSettings) -> bool:
    """Return whether the user names a server."""
    return bool(settings.get("REDIS_URL") or settings.get("REDIS_HOST"))


def client_maker(settings: BaseSettings) -> Callable[[], Redis]:
    """Return a maker of clients that do not connect anew within a command. Raise HiveError."""
    params: dict[str, Any] = {**defaults.REDIS_PARAMS, **settings.getdict("REDIS_PARAMS")}
    params |= {
        theirs: settings.get(ours)
        for ours, theirs in SETTINGS_PARAMS_MAP.items()
        if settings.get(ours)
    }
    params |= OURS
    params.pop("retry_on_timeout", None)
    # the caller decides, and looks whether it is still the same server
    params["retry"] = Retry(NoBackoff(), 0)
    params["redis_cls"] = _client_class(params.get("redis_cls"))
    if settings.get("REDIS_PASSWORD_FILE"):
        params["password"] = password_in(Path(settings["REDIS_PASSWORD_FILE"]))

    def make() -> Redis:
        client: Redis = get_redis(**params)
        return client

    try:
        pool: Any = make().connection_pool
        pool.make_connection()
    except (TypeError, ValueError, OSError) as error:
        url = url_without_credentials(str(params.get("url") or params.get("host") or ""))
        raise HiveError(
            f"REDIS_URL, REDIS_PARAMS: no client can be created for {url!r}: {error}"
        ) from error
    return make


def password_in(path: Path) -> str:
    """Return the text of the file, without the end of its line."""
    try:
        text, is_open = path.read_text(encoding="utf-8"), _is_open(path.stat())
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


def _client_class(named: Any) -> type[Redis]:
    """Return the user's class, if it does not block; scrapy-redis' own parts need another one."""
    found = load_object(named) if isinstance(named, str) else named
    return found if isinstance(found, type) and issubclass(found, Redis) else Redis
