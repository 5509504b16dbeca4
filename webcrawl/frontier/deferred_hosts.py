"""Hosts that are deferred, because their turn is far away, they fail, or they are paused; and their
way back.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush

from webcrawl.frontier.fifo import Fifo
from webcrawl.frontier.hosts import Host
from webcrawl.store.jobdir.host_row import is_blocked

STEP = 1.1  # each length of wait is so many times the one before
LEAST, MOST = 0.1, 86_400.0  # seconds; a host that has to wait for longer is due after a day
AT = struct.Struct("<d")  # a record is when the host is due, and its name

Entry = tuple[float, str]


class DeferredHostQueue:
    """Names of hosts, each with the time when it is due.

    Entries that no longer count are the caller's to skip.

    Waits are rounded up to one of a few lengths, each at most a tenth longer than the one before.
    Each length has a FIFO queue on disk: among equal waits, who came first is due first. So memory
    does not grow with the hosts.
    """

    def __init__(
        self, make: Callable[[bytes | None], Fifo], saved: Iterable[tuple[int, bytes, bytes]]
    ) -> None:
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
        """Add a host, and return when it comes back: not before it is due."""
        length = _length(due - now)  # the number of a length of wait, which is STEP to that power
        at = now + STEP**length
        record = AT.pack(at) + name.encode()
        queue = self._queues.get(length)
        if queue is None:
            # The heap has one entry for each length, 144 at most, and not one for each host: a heap
            # of all hosts on disk would write a B-tree for each failed try.
            self._queues[length] = self._make(None)
            heappush(self.heads, (at, length, record))
        else:
            queue.push(record)
        return at

    def next_due(self) -> float | None:
        """Return the time at which the next host comes back, or None."""
        return self.heads[0][0] if self.heads else None

    def pop(self, now: float) -> Entry | None:
        """Remove and return the next host that is due: when it came back, and its name."""
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
        """Return the part of a checkpoint: each length with its first entry and the queue behind
        that.
        """
        return [(length, first, self._queues[length].save()) for _, length, first in self.heads]


def unpack(record: bytes) -> Entry:
    """Return the entry that was packed in these bytes. Raise ValueError if they have no name."""
    if len(record) <= AT.size:
        raise ValueError("not a host name")
    return AT.unpack_from(record)[0], record[AT.size :].decode()


def _length(wait: float) -> int:
    """Return the number of the shortest length that is no shorter than this wait."""
    # Without the billionth, a rounding error would lift a wait of exactly one length to the next.
    return math.ceil(math.log(min(max(wait, LEAST), MOST), STEP) - 1e-9)


FAR = 600.0  # seconds until its next turn beyond which a host need not be in the back-end meanwhile
LOOK = 86_400.0  # seconds after which a paused host is looked at again


class DeferredHosts:
    """The hosts that leave the back-end for a while.

    A host is deferred if its turn is more than FAR away, whatever it waits for, and if it is
    paused. One that keeps failing, or answers with block pages, is deferred however short its wait
    is, and is tried with one URL when that is over.
    """

    def __init__(self, queue: DeferredHostQueue, failures: int) -> None:
        """`failures`: in a row, from so many on a host is deferred."""
        self._queue = queue
        self.failures = failures
        self.entries = queue.heads  # the first of each length, by the time when they are due
        self.urls = 0  # of the hosts that are deferred
        self.hosts = 0  # that are deferred
        # hosts that somebody has paused (frontier.py): they stay deferred until resumed
        self.held: set[str] = set()

    def should_defer(self, host: Host, due: float, now: float) -> bool:
        """Return whether a host with URLs that is due then is to be deferred."""
        # An object in the back-end for each host that waits for hours would fill the memory.
        is_far = due - now > FAR
        if is_far or (due > now and self._is_tried(host)):
            return True
        return bool(self.held) and host.name in self.held

    def _is_tried(self, host: Host) -> bool:
        """Return whether one URL of the host is tried now and then."""
        return host.failing() >= self.failures or is_blocked(host)

    def keeps(self, host: Host) -> bool:
        """Return whether a host with URLs must not be active because it is paused.

        URLs of one given up end all the same.
        """
        return bool(self.held) and host.name in self.held and not host.retired

    def add(self, host: Host, now: float) -> None:
        """Count and queue a host that is deferred."""
        due = now + LOOK if host.name in self.held else host.due()
        host.deferred_until = self._queue.push(host.name, due, now)
        self.urls += host.waiting()
        self.hosts += 1

    def remove(self, host: Host) -> None:
        """Stop counting a host that is no longer deferred; its entry does not count any more."""
        self.urls -= host.waiting()
        self.hosts -= 1
        host.deferred_until = 0.0

    def pop(self, now: float) -> Entry | None:
        """Remove and return the next entry whose time has come, or None.

        It may be of a host that came back before.
        """
        return self._queue.pop(now)

    def next_due(self) -> float | None:
        """Return the time at which the next host comes back, or None."""
        return self._queue.next_due()

    def next_return(self) -> float | None:
        """Return when the next host that is not paused is due.

        Only the first of each length of wait is looked at.
        """
        if self.hosts and not self.held:
            return self.next_due()
        first = self.first()
        return first[0] if first is not None else None

    def first(self) -> tuple[float, str] | None:
        """Return when the next host that is not paused is due, and its name; None if there is none.

        Only the first of each length of wait is looked at.
        """
        # The entry of a host that came back before its time, as by a command, stays until then
        if not self.hosts:
            return None
        entries = (unpack(record) for _, _, record in self.entries)
        return min((entry for entry in entries if entry[1] not in self.held), default=None)

    def joined(self, host: Host, now: float) -> bool:
        """Count a URL that has come for a deferred host.

        Return whether the host should come back: it was deferred only for the time of another URL, and
        this one is due soon.
        """
        self.urls += 1
        if self._is_tried(host) or self.keeps(host):
            return False
        return host.deferred_until - now > FAR >= host.due() - now
