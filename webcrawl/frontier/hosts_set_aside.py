"""Hosts set aside because their next turn is far away: their number and that of their URLs, and how they come back."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Container, Iterable
from heapq import heapify, heappop, heappush

from webcrawl.frontier.fifo import Fifo
from webcrawl.frontier.hosts import Host, HostTable
from webcrawl.store.jobdir.host_row import State, behind_wall

STEP = 1.1  # each length of wait is so many times the one before
LEAST, MOST = 0.1, 86_400.0  # seconds; whoever has to wait for longer looks again after a day
AT = struct.Struct("<d")  # a record is when the host is due, and its name

Entry = tuple[float, str]


class AsideHosts:
    """Names of hosts, each with the time when it is due. Entries that no longer count are the caller's to skip.

    Waits are rounded up to one of a few lengths, each at most a tenth longer than the one before. Each length has a
    FIFO queue on disk: among equal waits, who came first is due first. So memory does not grow with the hosts.
    """

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


FAR = 600.0  # seconds until its next turn beyond which a host need not be in the back-end meanwhile
LOOK = 86_400.0  # seconds after which a paused host is looked at again
LOOKS = 16  # stale entries passed over in one call


class SetAside:
    """Place and reason are two things: a host is put aside because its turn is far away, whatever it waits for.

    A host that keeps failing, or is behind a wall, is put aside however short its wait is, and is tried with one URL
    when that is over.
    """

    def __init__(self, queue: AsideHosts, hosts: HostTable, parked: Fifo, failures: int) -> None:
        """`failures`: in a row, from so many on a host is set aside."""
        self._queue, self._hosts, self._parked, self.failures = queue, hosts, parked, failures
        self.entries = queue.heads  # the first of each length, by the time when they are due
        self.urls = 0
        self.hosts = 0
        self.held: set[str] = set()  # hosts that somebody has paused (frontier.py): they stay aside until resumed

    def wants(self, host: Host, due: float, now: float) -> bool:
        """True if a host with URLs that is due then is to be put aside."""
        if due - now > FAR or (due > now and self._is_tried(host)):
            return True
        return bool(self.held) and host.name in self.held

    def _is_tried(self, host: Host) -> bool:
        """True if one URL of the host is tried now and then."""
        return host.failing() >= self.failures or behind_wall(host)

    def keeps(self, host: Host) -> bool:
        """True if a host with URLs must not be active because it is paused. URLs of one given up end all the same."""
        return bool(self.held) and host.name in self.held and not host.retired

    def put(self, host: Host, now: float) -> None:
        """Puts a host aside that has left the back-end, and that the caller puts away."""
        host.state = State.ASIDE
        due = now + LOOK if host.name in self.held else host.due()
        host.aside = self._queue.push(host.name, due, now)
        self.urls += host.waiting()
        self.hosts += 1
        self._hosts.touch(host)

    def next_due(self) -> float | None:
        """The time at which the next host comes back, or None."""
        return self._queue.next_due()

    def next_return(self) -> float | None:
        """The time at which the next host comes back that is not paused, by the first of each length of wait."""
        if not self.held:
            return self.next_due()
        first = self.first()
        return first[0] if first is not None else None

    def first(self) -> tuple[float, str] | None:
        """That host, and when it comes back."""
        entries = (unpack(record) for _, _, record in self.entries)
        return min((entry for entry in entries if entry[1] not in self.held), default=None)

    def next(self, now: float, active: Container[str]) -> Host | None:
        """The next host whose time has come, to be entered or put away by the caller; it is parked until then."""
        for _ in range(LOOKS):
            entry = self._queue.pop(now)
            if entry is None:
                break
            at, name = entry
            if name in active:  # it came back before
                continue
            host = self._hosts.get(name)
            if host.state is State.ASIDE and host.aside == at:
                self._leave(host)
                return host
            self._hosts.put_away(host)
        return None

    def joined(self, host: Host, now: float) -> None:
        """A URL has come for a host that is aside: if it waited for the time of another URL only, it comes back."""
        self.urls += 1
        if self._is_tried(host) or self.keeps(host):
            return
        if host.aside - now > FAR >= host.due() - now:
            self.recall(host)

    def withdraw(self, host: Host) -> None:
        """The host is no longer aside; its entry does not count any more. The caller says where it is."""
        self._leave(host)

    def recall(self, host: Host) -> None:
        """Brings a host back whose record has changed, as soon as there is a place; the caller puts it away."""
        if host.state is State.ASIDE:
            self._leave(host)
            self._parked.push(host.name.encode())

    def _leave(self, host: Host) -> None:
        self.urls -= host.waiting()
        self.hosts -= 1
        host.state, host.aside = State.PARKED, 0.0
        self._hosts.touch(host)
