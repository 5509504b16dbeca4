"""Time limits that blame nobody for the time in which this process itself did not run."""

from __future__ import annotations

import asyncio
from types import TracebackType

from webcrawl.net.errors import Untried

LATE = 1.0  # seconds by which we may notice a deadline too late, for want of our own time, before we judge nobody


class until:  # noqa: N801 - it reads as asyncio.timeout_at
    """As asyncio.timeout_at, but Untried if the deadline was noticed late: what came meanwhile is not read yet.

    No generator: a new host has three of these, and each would cost 20 calls more.
    """

    __slots__ = ("_deadline", "_limit")

    def __init__(self, deadline: float) -> None:
        self._deadline, self._limit = deadline, asyncio.timeout_at(deadline)

    async def __aenter__(self) -> None:
        await self._limit.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._limit.__aexit__(kind, error, trace)
        except TimeoutError as over:
            self._judge(over)
            raise
        if isinstance(error, TimeoutError):
            self._judge(error)

    def _judge(self, error: TimeoutError) -> None:
        late = asyncio.get_running_loop().time() - self._deadline
        if late > LATE:
            raise Untried(f"this process was busy elsewhere, or stopped, for {late:.1f} s") from error
