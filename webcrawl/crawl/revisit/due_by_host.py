"""Pages that are due and wait in the frontier, by host: a host that cannot keep up holds up no others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from webcrawl.base.url_text import host_of

ROOM = 10_000  # pages: what waits in the frontier comes in no better order any more
SHARE = 10  # pages of one host that count for this: what it has beyond waits for that host alone
MANY = 1_000  # pages of one host, of which no more are taken before they are due


class DueByHost:
    """`total` and `hosts` are of the last checkpoint; of hosts with a few pages it has no number."""

    def __init__(self, total: int = 0, hosts: Mapping[str, int] | None = None) -> None:
        self.total = total
        self._hosts = Counter(hosts or {})
        self._beyond = sum(max(number - SHARE, 0) for number in self._hosts.values())

    @property
    def room(self) -> int:
        """Pages that may still become due."""
        return ROOM - max(self.total - self._beyond, 0)

    def add(self, urls: Iterable[str]) -> None:
        """These pages go into the frontier."""
        if len(self._hosts) > 2 * ROOM:  # of pages that went to other drones
            self._forget()
        for host in map(host_of, urls):
            self._hosts[host] += 1
            self._beyond += self._hosts[host] > SHARE
            self.total += 1

    def drop(self, url: str) -> None:
        """It has ended."""
        self.total = max(self.total - 1, 0)
        host = host_of(url)
        if number := self._hosts[host]:
            self._beyond -= number > SHARE
            self._hosts[host] = number - 1
        if number <= 1:
            del self._hosts[host]

    def at_most(self, number: int) -> None:
        """So many URLs are in the frontier: some may have gone to other drones."""
        self.total = min(self.total, number)
        if self._beyond > self.total:
            self._forget()

    def is_full(self, host: str) -> bool:
        """True if this host has more to do than it can for a while."""
        return self._hosts[host] >= MANY

    def hosts(self) -> dict[str, int]:
        """For a checkpoint: those whose pages do not all count."""
        return {host: number for host, number in self._hosts.items() if number > SHARE}

    def _forget(self) -> None:
        self._hosts.clear()
        self._beyond = 0
