"""Hosts whose next turn is far away, for whatever reason: they wait on disk, in the order of their turns.

Waits are rounded up to one of a few lengths, each at most a tenth longer than the one before. Each length has a FIFO
queue: among equal waits, who came first is due first. So memory does not depend on the number of hosts.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush

from webcrawl.frontier.fifo import Fifo

STEP = 1.1  # each length of wait is so many times the one before
LEAST, MOST = 0.1, 86_400.0  # seconds; whoever has to wait for longer looks again after a day
AT = struct.Struct("<d")  # a record is when the host is due, and its name

Entry = tuple[float, str]


class Aside:
    """Names of hosts, each with the time when it is due. Entries that no longer count are the caller's to skip."""

    def __init__(self, make: Callable[[bytes | None], Fifo], saved: Iterable[tuple[int, bytes, bytes]]) -> None:
        """`make` restores a queue, or makes an empty one."""
        self._make = make
        self._queues: dict[int, Fifo] = {}  # behind the first entry of each length
        self.heads: list[tuple[float, int, bytes]] = []  # a heap of these first entries
        for length, first, data in saved:
            self._queues[length] = make(data)
            self.heads.append((unpack(first)[0], length, first))
        heapify(self.heads)

    def __len__(self) -> int:
        return len(self.heads) + sum(map(len, self._queues.values()))

    def push(self, name: str, due: float, now: float) -> float:
        """Puts a host aside; returns when it comes back: not before it is due."""
        length = _length(due - now)
        at = now + STEP**length
        record = AT.pack(at) + name.encode()
        queue = self._queues.get(length)
        if queue is None:
            self._queues[length] = self._make(None)
            heappush(self.heads, (at, length, record))
        else:
            queue.push(record)
        return at

    def next_due(self) -> float | None:
        """The time at which the next host comes back, or None."""
        return self.heads[0][0] if self.heads else None

    def pop(self, now: float) -> Entry | None:
        """Removes and returns the next host that is due: when it came back, and its name."""
        if not self.heads or self.heads[0][0] > now:
            return None
        _, length, record = heappop(self.heads)
        queue = self._queues[length]
        following = queue.pop()
        if following is not None:
            heappush(self.heads, (unpack(following)[0], length, following))
        else:
            queue.close()
            del self._queues[length]
        return unpack(record)

    def save(self) -> list[tuple[int, bytes, bytes]]:
        """The part of a checkpoint: each length with its first entry and the queue behind that."""
        return [(length, first, self._queues[length].save()) for _, length, first in self.heads]


def unpack(record: bytes) -> Entry:
    """An entry of these bytes; ValueError if they are none."""
    if len(record) <= AT.size:
        raise ValueError("not the name of a host")
    return AT.unpack_from(record)[0], record[AT.size :].decode()


def _length(wait: float) -> int:
    """The number of the shortest length that is no shorter than this wait."""
    return math.ceil(math.log(min(max(wait, LEAST), MOST), STEP) - 1e-9)
