"""New links on their way from the seen store into the frontier: a slice whenever nothing there may be fetched.

To let fewer enter while all hosts in rotation are being asked made good hosts starve behind floods of links.
"""

from __future__ import annotations

from webcrawl.base.model import Link
from webcrawl.crawl.seeding import Seeding
from webcrawl.frontier.protocol import Frontier
from webcrawl.frontier.seen.protocol import SeenStore

SLICE = 500  # links moved to the frontier, or seeds that are read, in one turn: about 2 ms
PATIENCE = 1.0  # seconds between two early merges while the frontier has URLs, though none that are due


class Feeding:
    """The frontier together with what waits before it."""

    def __init__(self, frontier: Frontier, seen: SeenStore, seeds: Seeding) -> None:
        self._frontier, self._seen, self._seeds = frontier, seen, seeds
        self.fed = 0  # links that have come out of the seen store
        self._merged_at = 0.0
        self._more = False  # the last slice had no link that may be fetched now, and there may be another

    def feed(self, now: float, *, seeds: bool = True) -> bool:
        """Moves links known to be new to the frontier; True if there were any, or nothing but seeds known before.

        When there are none it reads seeds, then has the waiting links merged early, so that a frontier that runs dry
        never waits for T to fill.
        """
        seen = self._seen
        records, read = seen.take(SLICE), False
        if not records and seeds and not self._seeds.ended:
            read = self._seeds.read(SLICE)
        if not records and seen.pending and (now - self._merged_at >= PATIENCE or self._is_dry()):
            self._merged_at = now
            seen.merge()
            records = seen.take(SLICE)
        new = [*filter(None, records)]
        self.fed += len(new)
        self._frontier.add(new)
        return bool(records) or (read and not seen.pending)  # of seeds that were known, the next ones may be new

    def take(self, now: float) -> Link | None:
        """A link that may be fetched now, of the frontier or of what is new."""
        frontier, demand = self._frontier, self._frontier.demand
        link = frontier.take(now, spare=False)
        if link is None and demand.holds_back(now):  # links of other hosts may wait there
            self.feed(now, seeds=demand.wants_hosts(now) and now - self._merged_at >= PATIENCE)
        if link is None:
            link = frontier.take(now)
        self._more = link is None and self.feed(
            now, seeds=frontier.demand.takes_new()
        )  # one slice: the next turn goes on
        if self._more:
            link = frontier.take(now)
        return link

    def next_ready(self, ready: float | None) -> float | None:
        """The time to call `take`: when the frontier is ready, or when more links may enter it."""
        if self._more:
            more = 0.0
        elif self._seen.pending and not self._seen.busy:  # they may be of hosts that need not wait
            more = self._merged_at + PATIENCE
        else:
            return ready
        return more if ready is None else min(ready, more)

    def _is_dry(self) -> bool:
        return not self._frontier.queued - self._frontier.over_budget
