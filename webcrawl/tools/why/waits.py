"""Estimates the waits of hosts beside their own delays: for the others at their address, and for all others in turn."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from functools import cache
from math import sqrt

import numpy as np

from webcrawl.base.dates import iso, read_iso
from webcrawl.base.hosts import host_of
from webcrawl.frontier.booking import Booking
from webcrawl.store.jobdir import host_row, meta_row
from webcrawl.store.jobdir.crawl_line import URL
from webcrawl.store.jobdir.host_row import HostRow, State
from webcrawl.store.jobdir.queue_row import count_of
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.tools.why.host_facts import turn_of
from webcrawl.tools.why.log_search import LogFile
from webcrawl.tools.why.queued import NO_FRONT, saved_front

QUICK = 8 << 20  # bytes of crawl.log, some 50,000 lines: 50 ms
LATELY = 30.0  # seconds of the crawl's pace
STEPS = 40  # of a bisection
HOSTS = 20_000  # in turn that are looked at: a quarter of a second


class Load:
    """The crawl's pace, shared by the hosts in turn: who waits longest goes first, so all have as many turns.

    But for those whose own delay is longer, and those that have no URLs left and whose place nobody takes.
    """

    def __init__(
        self,
        queued: Sequence[int],
        turns: Sequence[float],
        rate: float,
        at: float,
        addresses: Sequence[str] = (),
        behind: int = 0,
    ) -> None:
        """`queued` URLs and seconds between two `turns` of each host, as of the time `at`; `rate`: URLs per second.

        `behind`: URLs in the front-end, whose hosts take the places of those that are done. `addresses` of the hosts,
        if those with the same one wait for each other (POLITENESS_PER_IP).
        """
        self._there = defaultdict[str, list[tuple[int, float]]](list)
        for address, count, turn in zip(addresses, queued, turns, strict=False):
            self._there[address].append((count, turn))
        if addresses:
            turns = [sum(turn for _, turn in self._there[address]) for address in addresses]
        self._queued, self._turns = np.asarray(queued, float), np.maximum(np.asarray(turns, float), 1e-3)
        self._rate, self._behind, self.at = rate, behind, at
        self.seconds = cache(self._seconds)

    def at_address(self, host: HostRow, turn: float, turns: int) -> float:
        """Seconds until it has had so many turns among the hosts at its address, each of which keeps the others off."""
        there = self._there.get(host.ip, ()) if host.ip else ()
        all_of_them = sum(min(count, turns) * other for count, other in there)
        return max(all_of_them, turns * turn)

    def _seconds(self, turns: int) -> float:
        """From `at` until each host has had so many turns, if it has the URLs, and its own delay allows it."""
        chance = 2 * sqrt(self._rate / LATELY)  # by which a rate that was seen for so long may be too low
        if not self._rate or not turns or float((1 / self._turns).sum()) <= self._rate + chance:
            return 0.0  # nobody waits for anybody else
        low, high = 0.0, turns * len(self._turns) / self._rate
        for _ in range(STEPS):
            middle = (low + high) / 2
            places = np.minimum(middle / self._turns, turns)
            done = float(np.minimum(self._queued, places).sum())
            if min(done + self._behind, float(places.sum())) > self._rate * middle:
                low = middle
            else:
                high = middle
        return high


def load_of(snapshot: Snapshot, book: Booking, rate: float, at: float, *, per_ip: bool) -> Load:
    """As of the last checkpoint."""
    rows = snapshot.rows(f"{host_row.ALL} WHERE state = ? LIMIT ?", (int(State.ACTIVE), HOSTS))
    try:
        hosts = [host for host in map(host_row.read, rows) if host.waiting]
    except ValueError as error:
        raise snapshot.damaged(f"table host: {error}") from error
    addresses = [host.ip for host in hosts] if per_ip else ()
    front, lines = meta_row.value(snapshot, meta_row.FRONTIER, saved_front, NO_FRONT)
    behind = sum(map(count_of, (*front, *lines.values())))
    turns = [turn_of(book, host) for host in hosts]
    return Load([host.waiting for host in hosts], turns, rate, at, addresses, behind)


def ended(log: LogFile, hosts: Collection[str], checkpoint: float) -> tuple[Counter[str], float]:
    """URLs of each of these hosts that ended since the checkpoint; and lately, of all hosts, per second."""
    since, times, begun = Counter[str](), list[bytes](), iso(checkpoint).encode()
    for line in log.last_lines(QUICK):
        fields = line.split(None, URL + 1)
        if len(fields) > URL + 1 and fields[URL].count(b"/") > 2:
            times.append(fields[0])
            if fields[0] > begun and (host := host_of(fields[URL].decode("ascii", "replace"))) in hosts:
                since[host] += 1
    return since, _rate(sorted(times))


def _rate(times: list[bytes]) -> float:
    if not times:
        return 0.0
    first, last = read_iso(times[0].decode()), read_iso(times[-1].decode())
    begun = max(first, last - LATELY)
    return (len(times) - bisect_left(times, iso(begun).encode())) / max(last - begun, 1.0)
