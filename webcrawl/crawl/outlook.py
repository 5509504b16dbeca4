"""How a crawl is going, for those who look: the progress line, ctl, metrics, a hive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webcrawl.crawl.bound import FENCED
from webcrawl.crawl.parts import Parts
from webcrawl.crawl.seeding import AwayServers
from webcrawl.frontier.wait_words import Waits
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.history_line import mix

NOTICED = 2.0  # seconds of a wait that are worth a word


class Outlook:
    """What is asked of a crawl that runs, beside its counters."""

    def __init__(self, parts: Parts, stats: Callable[[], dict[str, int | float]]) -> None:
        self._parts = parts
        self._stats = stats
        # says what bounds the crawl, if somebody around it looks at that
        self.bound: Callable[[], str] = str
        self.servers = AwayServers()  # from which it gets URLs
        self._at_end: Waits | None = None

    def activity(self) -> int:
        """Return a number that grows with whatever is done to URLs."""
        taken = self._parts.frontier.counters
        return (
            self._parts.counters["answers"]
            + self._parts.counters["failures"]
            + taken["taken"]
            + taken["added"]
        )

    def ready_hosts(self) -> int:
        """Return the number of hosts that may be requested now, and are not."""
        return self._parts.frontier.look.ready(self._parts.clock())

    def waits(self) -> Waits:
        """Return for which hosts it waits, and why; if it is over, for which it has waited."""
        if self._at_end is not None:
            return self._at_end
        return self._parts.frontier.look.waits(self._parts.clock())

    def end(self) -> None:
        """Keep what the crawl waits for: hosts cannot be read once its state is closed."""
        try:
            self._at_end = self.waits()
        except StoreError:
            self._at_end = Waits()

    @property
    def stopped_by(self) -> str:
        """Return why nothing is fetched, in a few words; empty if that is not so."""
        if self._parts.in_force.paused:
            return "paused"
        if self._parts.in_force.is_fenced():
            return FENCED
        return self._parts.uplink.trouble if self._parts.uplink.out else self._parts.in_force.held

    @property
    def trouble(self) -> str:
        """Return why nothing is fetched, or why some hosts cannot be requested; empty if all can.

        Without name servers, hosts whose addresses are known can still be requested.
        """
        return self.stopped_by or self._parts.uplink.trouble

    @property
    def has_lost_server(self) -> bool:
        """Return whether this is a drone that is cut off because its hive's server does not answer.

        A drone is cut off, too, while that server answers but has not confirmed its lease yet.
        Whoever shows or counts the reason asks here: with a lost server, since when it has been
        away says more than that the drone is cut off.
        """
        return self.stopped_by == FENCED and bool(self.servers.names)

    @property
    def stands_still(self) -> str:
        """Return why nothing is fetched for more than a moment: trouble, or hosts or servers."""
        if self.has_lost_server:
            return str(self.servers)
        if self.trouble or self._parts.frontier.in_flight or self.ready_hosts():
            return self.trouble
        return self._all_waits(NOTICED)

    def _all_waits(self, least: float = 0.0) -> str:
        """Return for which servers and hosts it waits, in words; for a host at least so long."""
        waits = self.waits()
        of_hosts = str(waits) if waits.seconds >= least else ""
        return "; ".join(filter(None, (str(self.servers), of_hosts)))

    def glance(self) -> dict[str, Any]:
        """Figures of the progress line; URLs by level; their outcomes, and the times of downloads."""
        # While hosts are requested, the crawl does not wait for those that must not be requested
        # yet.
        is_busy = bool(self.stopped_by) or self._parts.frontier.in_flight > 0
        waits = str(self.servers) if is_busy else self._all_waits()
        return {
            **self._stats(),
            "ready": self.ready_hosts(),
            "trouble": self.trouble,
            "waits": waits,
            "bound": self.bound(),
            "levels": self._parts.frontier.look.levels(),
            "mix": mix(self._parts.statistics.outcomes),
            "milliseconds": [*self._parts.statistics.times],
        }
