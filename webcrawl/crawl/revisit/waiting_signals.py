"""Signals that cannot be followed yet: their pages were fetched just now, or signals have used up what they may have.

Among those whose time has come, hosts take turns, and the oldest of a host goes first. What a fetch is worth is not
known here, for the page's record is in a bucket; and by its age no site can push itself forward. A page waits once,
however often it is announced.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from heapq import heappop, heappush
from typing import NamedTuple

import msgpack

from webcrawl.base.url_text import host_of

MEMORY = 4 << 20  # bytes, about: 15,000 signals
PART = 4  # of one host a fourth of it at most, so that nobody's signals crowd out those of all others
EACH = 250  # bytes of a signal beside its URL
ROUGH = 300  # and with it, mostly


class Signal(NamedTuple):
    """`until`: the end of the page's rest. `path` and `via` are those of the link that fetches it."""

    url: str
    path: str
    via: str
    until: float


class Waiting:
    """In memory, and saved with each checkpoint."""

    def __init__(self, saved: bytes = b"", counters: Counter[str] | None = None) -> None:
        self._known: dict[str, Signal] = {}
        self._rests: list[tuple[float, int, str]] = []  # a heap, of equal times by number; some may be known no longer
        self._number = 0
        self._ready: OrderedDict[str, dict[str, None]] = OrderedDict()  # by host; whose turn it is comes first
        self._held: Counter[str] = Counter()  # bytes, by host
        self._bytes = 0
        self.counters: Counter[str] = Counter() if counters is None else counters
        self.is_stale = False  # differs from what was saved last
        for row in msgpack.unpackb(saved) if saved else ():
            self._add(Signal(*row))

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, url: str) -> bool:
        return url in self._known

    def add(self, signal: Signal) -> bool:
        """False if there is no room for it, which is counted."""
        if signal.url in self._known:
            return True
        size = len(signal.url) + EACH
        if self._bytes + size > MEMORY or self._held[host_of(signal.url)] + size > MEMORY // PART:
            self.counters["signals/crowded_out"] += 1
            return False
        self._add(signal)
        return True

    def _add(self, signal: Signal) -> None:
        size = len(signal.url) + EACH
        self._known[signal.url] = signal
        self._held[host_of(signal.url)] += size
        self._bytes += size
        self._number += 1
        heappush(self._rests, (signal.until, self._number, signal.url))
        self.is_stale = True

    def room(self, host: str) -> int:
        """For how many more signals of a host there is room, about."""
        return max(min(MEMORY - self._bytes, MEMORY // PART - self._held[host]) // ROUGH, 0)

    def turn(self, now: float) -> Signal | None:
        """The next one whose page has rested. It stays until it is dropped, but its host's next turn comes last."""
        self._wake(now)
        if not self._ready:
            return None
        host, urls = self._ready.popitem(last=False)
        self._ready[host] = urls
        return self._known[next(iter(urls))]

    def is_ready(self, now: float) -> bool:
        """True if there is a next one: it goes before all that come only now."""
        self._wake(now)
        return bool(self._ready)

    def drop(self, url: str) -> None:
        """The page is fetched now, or not at all; nothing if it does not wait."""
        if self._known.pop(url, None) is None:
            return
        host, size = host_of(url), len(url) + EACH
        self._bytes -= size
        self._held[host] -= size
        if self._held[host] <= 0:
            del self._held[host]
        urls = self._ready.get(host)
        if urls is not None:
            urls.pop(url, None)
            if not urls:
                del self._ready[host]
        self.is_stale = True

    def withdraw(self, leaves: Callable[[str], bool]) -> list[Signal]:
        """Removes the signals of these hosts, which go elsewhere."""
        hosts = set(filter(leaves, self._held))
        found = [signal for url, signal in self._known.items() if host_of(url) in hosts] if hosts else []
        for signal in found:
            self.drop(signal.url)
        return found

    def next(self, now: float) -> float | None:
        """The time at which there is one; None if none waits."""
        self._wake(now)
        if self._ready:
            return now
        return self._rests[0][0] if self._rests else None

    def _wake(self, now: float) -> None:
        while self._rests and (self._rests[0][0] <= now or self._is_old(self._rests[0])):
            row = heappop(self._rests)
            if not self._is_old(row):
                self._ready.setdefault(host_of(row[2]), {})[row[2]] = None

    def _is_old(self, row: tuple[float, int, str]) -> bool:
        """True if this row of the heap is of a signal that has gone since."""
        signal = self._known.get(row[2])
        return signal is None or signal.until != row[0]

    def save(self) -> bytes:
        """The state for a checkpoint: in the order in which they come."""
        self.is_stale = False
        ready = [self._known[url] for urls in self._ready.values() for url in urls]
        woken = {signal.url for signal in ready}
        return bytes(msgpack.packb([*ready, *(one for one in self._known.values() if one.url not in woken)]))
