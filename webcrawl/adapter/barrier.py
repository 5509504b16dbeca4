"""A checkpoint falls between pages, never into one: downloads wait here while pages under way are finished."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable


class Barrier:
    """What is inside was downloaded and is not yet booked; `shut` waits until nothing is."""

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
        """The page is booked; leaving without having entered is no fault."""
        self._inside.discard(page)
        if not self._inside:
            self._empty.set()

    async def shut(self) -> None:
        """Lets nobody in any more, and waits until all inside have left."""
        self._open.clear()
        await self._empty.wait()

    def open(self) -> None:
        self._open.set()
