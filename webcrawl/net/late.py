"""Time limits that blame nobody for the time in which this process itself did not run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from webcrawl.net.errors import Untried

LATE = 1.0  # seconds by which we may notice a deadline too late, for want of our own time, before we judge nobody


@asynccontextmanager
async def until(deadline: float) -> AsyncIterator[None]:
    """As asyncio.timeout_at, but Untried if the deadline was noticed late: what came meanwhile is not read yet."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout_at(deadline):
            yield
    except TimeoutError as error:
        late = loop.time() - deadline
        if late > LATE:
            raise Untried(f"this process was busy elsewhere, or stopped, for {late:.1f} s") from error
        raise
