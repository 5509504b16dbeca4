"""Hosts set aside: which they are, how many URLs they have, and how they come back."""

from __future__ import annotations

from collections.abc import Container

from webcrawl.frontier.distant_turns import Aside, unpack
from webcrawl.frontier.fifo import Fifo
from webcrawl.frontier.hosts import Host, HostTable
from webcrawl.store.jobdir.host_row import State

FAR = 600.0  # seconds until its next turn beyond which a host need not be in the back-end meanwhile
LOOK = 86_400.0  # seconds after which a paused host is looked at again
LOOKS = 16  # stale entries passed over in one call


class SetAside:
    """Place and reason are two things: a host is put aside because its turn is far away, whatever it waits for.

    A host that keeps failing is put aside however short its wait is, and is tried with one URL when that is over.
    """

    def __init__(self, queue: Aside, hosts: HostTable, parked: Fifo, failures: int) -> None:
        """`failures`: in a row, from so many on a host is set aside."""
        self._queue, self._hosts, self._parked, self.failures = queue, hosts, parked, failures
        self.entries = queue.heads  # the first of each length, by the time when they are due
        self.urls = 0
        self.hosts = 0
        self.held: set[str] = set()  # hosts that somebody has paused (host_steering.py): they stay aside until resumed

    def wants(self, host: Host, due: float, now: float) -> bool:
        """True if a host with URLs that is due then is to be put aside."""
        if due - now > FAR or (host.failures >= self.failures and due > now):
            return True
        return bool(self.held) and host.name in self.held

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
        if host.failures >= self.failures or self.keeps(host):
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
