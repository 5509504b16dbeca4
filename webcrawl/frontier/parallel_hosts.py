"""What differs for hosts that may have several requests at once (HOST_CONNECTIONS).

Such a host has lanes (hosts.py) while it is active, and one entry in the back-end as long as a lane
is free. A host without a rule has none, and costs the look that finds this out. robots.txt is asked
for alone, and so is what somebody awaits; whatever holds a host back holds back all of its lanes,
and only the wait after an answer is a lane's own.
"""

from __future__ import annotations

from collections.abc import Callable

from webcrawl.base.model import Link, Outcome, unpack
from webcrawl.frontier.back_end import ends
from webcrawl.frontier.booking import Retry
from webcrawl.frontier.core import Core
from webcrawl.frontier.host_queues import Lanes
from webcrawl.frontier.hosts import Host

PAUSE = 0.002  # seconds between two turns in which URLs are dropped


class ParallelHosts:
    """The rules of the frontier that are other ones for these hosts."""

    def __init__(self, core: Core, must_yield: Callable[[Host, float], bool]) -> None:
        """`must_yield`: whether a host has to give way to others."""
        self._core = core
        self._back = core.back
        self._book = core.book
        self._must_yield = must_yield
        self.on = self._is_on()

    def _is_on(self) -> bool:
        """Where addresses count, each has one request at a time, and so has every host."""
        return self._core.addresses is None and self._book.varies_connections

    # -- which hosts

    def enter(self, host: Host) -> None:
        """A host is about to become active."""
        most = self._book.connections(host)
        if most > 1:
            host.lanes = Lanes(most)

    def renew(self) -> None:
        """There may be other rules."""
        before, self.on = self.on, self._is_on()
        if before or self.on:
            for host in self._back.active.values():
                self.change(host)

    def change(self, host: Host) -> None:
        """An active host may have another number of lanes.

        What is in flight beyond them ends as ever.
        """
        most = self._book.connections(host) if self.on else 1
        lanes = host.lanes
        if lanes is None and most > 1:
            lanes = host.lanes = Lanes(most)
            if host.given is not None:
                lanes.begin(unpack(host.given))
        elif lanes is None or lanes.most == most:
            return
        lanes.most = most
        if host.given is not None:
            self.go_on(host, self._back.now)
        elif host.ticket and not host.retired:
            self._back.schedule(host, host.due())

    # -- out

    def may_go_on(self, host: Host, now: float) -> bool:
        """True if a host in flight may be asked for one more URL now; if it may later, it is
        scheduled for then.
        """
        # its URLs end, which takes no lane, unless some may be asked for: then one after another
        if host.retired:
            return ends(host)
        if not self._has_room(host, now):
            return False
        due = host.due()
        if due > now:
            self._back.schedule(host, due)
        return due <= now

    def _has_room(self, host: Host, now: float) -> bool:
        lanes = host.lanes
        if lanes is None or lanes.is_full(host.failures) or not host.waiting():
            return False
        if self._core.is_foreign(host.name):
            return False
        pages = self._book.of(host.name)[1].host_pages
        if pages and host.pages + len(lanes.flights) >= pages:
            return False  # those in flight may be the last ones
        return not (self._core.aside.wants(host, host.due(), now) or self._must_yield(host, now))

    def waits(self, host: Host, link: Link) -> bool:
        """True if a link has to wait until nothing else of its host is in flight.

        Then nothing else goes before it.
        """
        lanes = host.lanes
        if lanes is None:
            return True
        if link.is_prerequisite or link.url in lanes.flights:
            lanes.alone = True
        return lanes.alone

    def handed_out(self, host: Host, link: Link, now: float) -> None:
        """A link of the host is in flight now."""
        if host.lanes is not None:
            host.lanes.begin(link)
            self.go_on(host, now)

    def go_on(self, host: Host, now: float) -> None:
        """Schedules a host in flight that may be asked for more, behind those that already wait for
        a fetcher.
        """
        if host.given is None or not host.waiting():
            return
        if host.retired:
            if ends(host):
                self._back.schedule(host, now + PAUSE)
        elif self._has_room(host, now):
            self._back.schedule(host, max(host.due(), self._back.now))

    # -- done

    def ended(self, host: Host, link: Link) -> None:
        """A link of the host is not in flight any more."""
        lanes = host.lanes
        if lanes is not None:
            lanes.end(link)
            host.given = next(reversed(lanes.flights.values()), None)

    def is_news(self, host: Host, link: Link) -> bool:
        """Return whether a failure of this link would say something of its host that the last
        failure did not.
        """
        return host.lanes is None or not host.failures or host.lanes.is_news(link)

    def book(self, host: Host, link: Link, outcome: Outcome, now: float) -> Retry | None:
        """Books the outcome: the wait is one lane's, unless the host has failed or asked for it."""
        lanes, ready, failures = host.lanes, host.ready_at, host.failures
        if lanes is None:
            return self._book.book(host, link, outcome, now)
        # so that it is the wait after this one alone
        news, host.ready_at = self.is_news(host, link), 0.0
        again = self._book.book(host, link, outcome, now, news=news)
        if host.failures > failures:
            lanes.failed()
        if host.failures > failures or outcome.wait:
            host.ready_at = max(host.ready_at, ready)
        else:
            lanes.rest(host.ready_at, now)
            host.ready_at = ready
        return again
