"""Clients as a project's settings name the server, in scrapy-redis' way, but for the event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from redis.asyncio import Redis
from scrapy.settings import BaseSettings


def client_maker(settings: BaseSettings) -> Callable[[], Any]:
    """What makes clients that do not block."""
    return lambda: Redis.from_url(settings["REDIS_URL"])
