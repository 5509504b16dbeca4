"""uvloop where it is installed: it serves half as many pages again."""

from __future__ import annotations

import asyncio


def new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop  # noqa: PLC0415 -- it does not exist for every system
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
