"""Room for the bodies that may be longer than DOWNLOAD_TRUNCATE: so much for all of them together.

Who finds none left is truncated as any body is. So nobody waits for others, and memory has a bound.
"""

from __future__ import annotations

MOST = 50 << 20  # bytes of one body: sitemaps.org's limit
ROOM = 64 << 20  # beyond DOWNLOAD_TRUNCATE, of all
STEP = 1 << 20


class Room:
    """What is left."""

    __slots__ = ("free",)

    def __init__(self, size: int = ROOM) -> None:
        self.free = size


class Claim:
    """What one body has of it, for as long as anybody has the body."""

    __slots__ = ("_room", "_spare", "_taken")

    def __init__(self, room: Room, spare: int) -> None:
        """`spare`: bytes that it may have at most."""
        self._room, self._spare, self._taken = room, spare, 0

    def more(self) -> int:
        """The next bytes that it may have, 0 if there are none."""
        step = max(min(STEP, self._spare - self._taken, self._room.free), 0)
        self._taken += step
        self._room.free -= step
        return step

    def __del__(self) -> None:
        self._room.free += self._taken
