"""Steers single hosts for somebody who watches a crawl: paused, asked again at once, or given up.

Nothing here makes a host be asked earlier than it may be: only waits that we chose ourselves are given up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heapify

from webcrawl.base.model import Status
from webcrawl.frontier.booking import Own
from webcrawl.frontier.core import Core
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.places import Places
from webcrawl.store.jobdir.host_row import FailedRow, State, given_up


class Steering:
    """A paused host is set aside and stays there, with its URLs and what is found of it meanwhile."""

    def __init__(self, core: Core, places: Places) -> None:
        self._core, self._places = core, places
        self._hosts, self._back, self._book, self._aside = core.hosts, core.back, core.book, core.aside
        self.held = core.aside.held

    def set_own(self, own: Mapping[str, Own | None] | None) -> None:
        """For some hosts other waits and limits hold than for all; what of theirs is None holds for all."""
        self._book.own = own
        self._places.several.renew()

    # -- paused hosts

    def hold(self, names: Iterable[str], now: float) -> None:
        """These are not asked any more; a request that is under way ends as ever."""
        self.held.update(names)
        for name in names:
            host = self._back.active.get(name)
            if host is None or host.given is not None or host.retired:
                continue  # it gets there when it is about to become active, or when its request ends
            self._core.dismiss(name.__eq__)
            self._places.set_aside(host, now)
            self._back.slots.gone(host)
            self._hosts.put_away(host)

    def let_go(self, name: str, now: float) -> None:
        """The host is asked again."""
        self.held.discard(name)
        host, active = self._core.open(name)
        if active or host.state is not State.ASIDE or self._core.is_foreign(name):
            self._core.close(host, active=active)
        else:
            self._aside.withdraw(host)
            self._place(host, now)

    # -- a host that fails

    def retry(self, name: str, now: float) -> float:
        """Ends all waits but those that politeness demands; returns when the host is due. It may be given up no more.

        Its failures are not forgotten: if it fails once more, it waits as if nobody had asked for it.
        """
        host, active = self._core.open(name)
        if given_up(host) or not self._book.is_spent(host):
            host.retired = 0
        wait = self._book.wait(host)
        if host.ready_at > now + wait:  # not for politeness, which counts from a request before now
            due, row = now + wait, host.row
            if row is not None and host.failures:
                due = max(row.at, self._core.resumed) + wait
            if row is not None:
                due = max(due, row.at + self._book.asked(host))
            host.ready_at = due
        _hurry(host, now)
        for origin in (host.origins or {}).values():
            origin.retired, origin.ready_at = 0, min(origin.ready_at, max(host.ready_at, now))
            _hurry(origin, now)
        self._hosts.touch(host)
        if active and (host.given is None or host.ticket) and not host.retired:
            self._core.dismiss(name.__eq__)
            self._back.schedule(host, host.due())
            if name in self.held:  # paused while its URLs ended
                self.hold([name], now)
        self._let_in(host, now, active=active)
        return host.ready_at

    def drop(self, name: str, now: float) -> tuple[int, bool]:
        """Gives the host up: its URLs end, some hundred per turn. How many it has, and whether it waits for a place.

        Those that surface later end too, until it is tried again: by `retry`, or for a link that is found a day later.
        """
        host, active = self._core.open(name)
        urls, row = host.waiting(), host.row
        asked = max(row.at + row.asked - now, 0.0) if row is not None else 0.0  # which `retry` keeps to
        host.retired, host.failures = Status.DROPPED, 0
        host.row = FailedRow(now, 0.0, Status.DROPPED, 0, gone=False, asked=asked)
        self._hosts.touch(host)
        if active and (host.given is None or host.ticket):
            self._core.dismiss(name.__eq__)
            self._back.schedule(host, now)
        waits = host.state is State.PARKED
        self._let_in(host, now, active=active)
        return urls, waits

    # -- where they are

    def _let_in(self, host: Host, now: float, *, active: bool) -> None:
        """A host set aside becomes active, though no place may be free; one that waits for a place goes on waiting."""
        if active or host.state is not State.ASIDE or self._core.is_foreign(host.name) or self._aside.keeps(host):
            self._core.close(host, active=active)
            return
        self._aside.withdraw(host)
        self._places.enter(host)
        if host.retired:
            self._back.schedule(host, now)

    def _place(self, host: Host, now: float) -> None:
        """Puts a host that has URLs and is nowhere where it belongs."""
        if not host.retired and self._aside.wants(host, host.due(), now):
            self._aside.put(host, now)
            self._hosts.put_away(host)
        else:
            self._places.enter(host)


def _hurry(host: Host, now: float) -> None:
    """The URLs that wait for another try come as soon as the host may be asked."""
    if host.later:
        host.later = [(min(at, max(host.ready_at, now)), record) for at, record in host.later]
        heapify(host.later)
