"""Waiting in a test for what happens beside it."""

import asyncio
from collections.abc import Callable
from typing import Any


async def eventually(happened: Callable[[], Any]) -> None:
    """Wait until it has happened: a fixed pause is too short on some day for some machine."""
    for _ in range(4000):
        if happened():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it has not happened")
