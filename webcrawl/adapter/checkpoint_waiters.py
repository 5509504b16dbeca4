"""The waiters for the checkpoint that has what is in force now."""

from __future__ import annotations

import asyncio


class CheckpointWaiters:
    """Futures that the next COMMIT resolves: it has all that was done before it."""

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[None]] = []

    def next(self) -> asyncio.Future[None]:
        """Done when a checkpoint was taken; raises what kept it from being taken."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return future

    def tell(self, error: Exception | None = None) -> None:
        """A checkpoint was taken; or none will be, because of this."""
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if future.done():  # whoever waited has gone
                continue
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)
                future.exception()  # nobody need look at it
