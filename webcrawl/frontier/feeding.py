"""New links on their way from the seen store into the frontier: as many as let fetchers work, and few beyond.

Each link that enters costs 3 to 6 us, for its level, its queue in front and that of its host. As long as all hosts have
URLs, most links are of hosts that wait for their turn anyway, so they may stay where they are.
"""

from __future__ import annotations

from typing import Protocol

from webcrawl.base.model import Link
from webcrawl.frontier.protocol import Frontier
from webcrawl.frontier.seen.protocol import SeenStore

SLICE = 500  # seeds that are read in one turn
# New links moved to the frontier in one turn, in about 1 ms; or this share of all that wait, in 8 at most
LINKS, SHARE, MOST = 250, 1 / 256, 2000
PATIENCE = 1.0  # seconds between two early merges while the frontier has URLs, though none that are due
# Seconds until more links enter if the last ones had none that may be fetched, times the share of hosts that are being
# asked: if nearly all are, more of their links help nobody. Below that share others may wait behind a flood of links.
IDLE, LONGEST = 0.75, 1.0


class Seeds(Protocol):
    """A source of further URLs: `crawl/seeding.py`."""

    ended: bool

    def read(self, most: int) -> bool:
        """Submits the next seeds to the seen store; True if there were any."""


class Feeding:
    """The frontier together with what waits before it."""

    def __init__(self, frontier: Frontier, seen: SeenStore, seeds: Seeds) -> None:
        self._frontier, self._seen, self._seeds = frontier, seen, seeds
        self._merged_at = 0.0
        self._more = False  # the last slice had no link that may be fetched now, and there may be another
        self._next = 0.0  # when more links may enter; at once if the frontier is dry

    def feed(self, now: float, *, seeds: bool = True) -> bool:
        """Moves links known to be new to the frontier; True if there were any, or nothing but seeds known before.

        When there are none it reads seeds, then has the waiting links merged early, so that a frontier that runs dry
        never waits for T to fill.
        """
        seen = self._seen
        most = min(max(LINKS, int(SHARE * seen.pending)), MOST)
        records, known = seen.take(most), False
        if not records and seeds and not self._seeds.ended:
            known = self._seeds.read(SLICE) and not seen.pending  # the next ones may be new
        if not records and seen.pending and (now - self._merged_at >= PATIENCE or self._is_dry()):
            self._merged_at = now
            seen.merge()
            records = seen.take(most)
        self._frontier.add(filter(None, records))
        return bool(records) or known

    def take(self, now: float) -> Link | None:
        """A link that may be fetched now, of the frontier or of what is new."""
        frontier = self._frontier
        link = frontier.take(now, spare=False)
        if link is None and frontier.holds_back(now):  # links of other hosts may wait there
            self._feed(now, seeds=frontier.wants_hosts(now) and now - self._merged_at >= PATIENCE)
        if link is None:
            link = frontier.take(now)
        if link is not None:
            self._more = False
        elif self._feed(now, seeds=frontier.takes_new()):  # one slice: the next turn goes on
            link = frontier.take(now)
            if link is not None:
                self._next = 0.0
        return link

    def next_ready(self, ready: float | None) -> float | None:
        """The time to call `take`: when the frontier is ready, or when more links may enter it."""
        if self._more:
            more = self._next
        elif self._seen.pending and not self._seen.busy:  # they may be of hosts that need not wait
            more = max(self._merged_at + PATIENCE, self._next)
        else:
            return ready
        return more if ready is None else min(ready, more)

    def _feed(self, now: float, *, seeds: bool) -> bool:
        """Moves the next links if it is time for them."""
        if now < self._next and not self._is_dry():
            return False
        before = self._frontier.queued
        self._more = self.feed(now, seeds=seeds)
        if self._frontier.queued > before:
            busy = min(self._frontier.in_flight / max(self._frontier.hosts, 1), 1.0)
            self._next = now + (busy * LONGEST if busy > IDLE else 0.0)
        return self._more

    def _is_dry(self) -> bool:
        return not self._frontier.queued - self._frontier.over_budget
