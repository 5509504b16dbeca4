"""Keeps checkpoints between pages: finished downloads wait here until the pages before them are booked."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable


class Barrier:
    """Pages inside are downloaded but not yet booked; `shut` waits until none is left."""

    def __init__(self) -> None:
        self._inside: set[Hashable] = set()
        self._open = asyncio.Event()
        self._open.set()
        self._empty = asyncio.Event()
        self._empty.set()

    def __repr__(self) -> str:
        return f"<Barrier {'open' if self._open.is_set() else 'shut'} inside={len(self._inside)}>"

    async def enter(self, page: Hashable) -> None:
        """Waits while the barrier is shut."""
        while not self._open.is_set():
            await self._open.wait()
        self._inside.add(page)
        self._empty.clear()

    def leave(self, page: Hashable) -> None:
        """The page is booked; a page that never entered may leave."""
        self._inside.discard(page)
        if not self._inside:
            self._empty.set()

    async def shut(self) -> None:
        """Lets no more pages in, and waits until all inside have left."""
        self._open.clear()
        await self._empty.wait()

    def open(self) -> None:
        self._open.set()
