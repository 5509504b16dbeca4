"""The rules for hosts that may have several requests at once (HOST_CONNECTIONS).

The operator names them. Nothing is inferred from a host's speed, which is no consent: a host that
answers in 5 ms may be a small machine near by.

Such a host has lanes (hosts.py) while it is active, and one entry in the back-end as long as a lane
is free. A host without a rule has none, and costs the look that finds this out. robots.txt is
requested alone, and so is what somebody awaits; whatever holds a host back holds back all of
its lanes, and only the wait after an answer is a lane's own.
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
    """The rules of the frontier that differ for these hosts."""

    def __init__(self, core: Core, must_yield: Callable[[Host, float], bool]) -> None:
        """`must_yield`: whether a host has to give way to others."""
        self._core = core
        self._back = core.back
        self._book = core.book
        self._must_yield = must_yield
        self.on = self._is_on()

    def _is_on(self) -> bool:
        """Return whether hosts may have several requests at once.

        Where addresses count, each has one request at a time, and so has every host.
        """
        return self._core.addresses is None and self._book.varies_connections

    # -- which hosts

    def enter(self, host: Host) -> None:
        """Prepare a host that is about to become active."""
        most = self._book.connections(host)
        if most > 1:
            host.lanes = Lanes(most)

    def renew(self) -> None:
        """Apply the rules, which may be other ones now, to all active hosts."""
        was_on = self.on
        self.on = self._is_on()
        if was_on or self.on:
            for host in self._back.active.values():
                self.change(host)

    def change(self, host: Host) -> None:
        """Give an active host as many lanes as the rules say now.

        What is in flight beyond them ends as ever.
        """
        most = self._book.connections(host) if self.on else 1
        lanes = host.lanes
        if lanes is None:
            if most <= 1:
                return
            self._begin_lanes(host, most)
        elif lanes.most == most:
            return
        else:
            lanes.most = most
        if host.given is not None:
            self.go_on(host, self._back.now)
        elif host.ticket and not host.retired:
            self._back.schedule(host, host.due())

    def _begin_lanes(self, host: Host, most: int) -> None:
        """Give a host lanes; what is in flight already has one of them."""
        lanes = Lanes(most)
        host.lanes = lanes
        if host.given is not None:
            lanes.begin(unpack(host.given))

    # -- out

    def may_go_on(self, host: Host, now: float) -> bool:
        """Return whether a host in flight may get one more request now.

        If it may later, it is scheduled for then.
        """
        # its URLs end, which takes no lane, unless some may be requested: then one after another
        if host.retired:
            return ends(host)
        if not self._has_room(host, now):
            return False
        due = host.due()
        if due > now:
            self._back.schedule(host, due)
        return due <= now

    def _has_room(self, host: Host, now: float) -> bool:
        """Return whether a host with several lanes may get one more request beside others."""
        lanes = host.lanes
        if lanes is None or lanes.is_full(host.failures) or not host.waiting():
            return False
        if self._core.is_foreign(host.name):
            return False
        pages = self._book.terms_of(host.name).limits.host_pages
        # The pages in flight may be the last ones that the host may have.
        if pages and host.pages + len(lanes.flights) >= pages:
            return False
        if self._core.deferred.should_defer(host, host.due(), now):
            return False
        return not self._must_yield(host, now)

    def waits(self, host: Host, link: Link) -> bool:
        """Return whether a link has to wait until nothing else of its host is in flight.

        Then nothing else goes before it: `Lanes.alone` is set.
        """
        lanes = host.lanes
        if lanes is None:
            return True
        if link.is_prerequisite or link.url in lanes.flights:
            lanes.alone = True
        return lanes.alone

    def handed_out(self, host: Host, link: Link, now: float) -> None:
        """Book that a link of the host is in flight now."""
        if host.lanes is not None:
            host.lanes.begin(link)
            self.go_on(host, now)

    def go_on(self, host: Host, now: float) -> None:
        """Schedule a host in flight that may get more requests.

        It goes behind those that already wait for a fetcher.
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
        """Book that a link of the host is not in flight any more."""
        lanes = host.lanes
        if lanes is not None:
            lanes.end(link)
            host.given = next(reversed(lanes.flights.values()), None)

    def is_news(self, host: Host, link: Link) -> bool:
        """Return whether a failure of this link would say more of its host than the last one did."""
        return host.lanes is None or not host.failures or host.lanes.is_news(link)

    def book(self, host: Host, link: Link, outcome: Outcome, now: float) -> Retry | None:
        """Book the outcome: the wait is one lane's, unless the host has failed or asked for it."""
        lanes = host.lanes
        ready = host.ready_at
        failures = host.failures
        if lanes is None:
            return self._book.book(host, link, outcome, now)
        is_news = self.is_news(host, link)  # before `book` changes the failures
        # `book` takes the longest wait. From 0 on, that is the wait after this request alone.
        host.ready_at = 0.0
        again = self._book.book(host, link, outcome, now, news=is_news)
        has_failed = host.failures > failures
        if has_failed:
            lanes.failed()
        # A failure or a Retry-After holds back all lanes.
        if has_failed or outcome.wait:
            host.ready_at = max(host.ready_at, ready)
        else:
            lanes.begin_wait(host.ready_at, now)
            host.ready_at = ready
        return again
