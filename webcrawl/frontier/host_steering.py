"""Steers single hosts for somebody who watches a crawl: paused, asked again at once, or given up.

Nothing here makes a host be asked earlier than it may be: only waits that we chose ourselves are given up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heapify

from webcrawl.base.model import Status
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.lending import Lender
from webcrawl.frontier.rotation import Rotation
from webcrawl.store.jobdir.host_row import FailedRow, State, given_up


class Steering:
    """A paused host is set aside and stays there, with its URLs and what is found of it meanwhile."""

    def __init__(self, parts: Lender, rotation: Rotation, enter: Callable[[Host], None]) -> None:
        """`enter` makes a host active."""
        self._hosts, self._back, self._book, self._aside = parts.hosts, parts.back, parts.book, parts.aside
        self._addresses, self._rotation, self._enter = parts.addresses, rotation, enter
        self._resumed = parts.resumed
        self.held = parts.aside.held

    def __repr__(self) -> str:
        return f"<Steering held={len(self.held)}>"

    def is_foreign(self, name: str) -> bool:
        """True if the host belongs to another crawl of the hive."""
        gate = self._rotation.gate
        return gate is not None and gate.foreign(name)

    # -- paused hosts

    def hold(self, names: Iterable[str], now: float) -> None:
        """These are not asked any more; a request that is under way ends as ever."""
        self.held.update(names)
        for name in names:
            host = self._back.active.get(name)
            if host is None or host.given is not None or host.retired:
                continue  # it gets there when it is about to become active, or when its request ends
            self._forget_address(host)
            self._rotation.set_aside(host, now)
            self._back.slots.gone(host)
            self._hosts.put_away(host)

    def let_go(self, name: str, now: float) -> None:
        """The host is asked again."""
        self.held.discard(name)
        host, active = self._open(name)
        if active or host.state is not State.ASIDE or self.is_foreign(name):
            self._close(host, active=active)
        else:
            self._aside.withdraw(host)
            self._place(host, now)

    # -- a host that fails

    def retry(self, name: str, now: float) -> float:
        """Ends all waits but those that politeness demands; returns when the host is due. It may be given up no more.

        Its failures are not forgotten: if it fails once more, it waits as if nobody had asked for it.
        """
        host, active = self._open(name)
        if given_up(host) or not self._book.is_spent(host):
            host.retired = 0
        wait = self._book.wait(host)
        if host.ready_at > now + wait:  # not for politeness, which counts from a request before now
            due, row = now + wait, host.row
            if row is not None and host.failures:
                due = max(row.at, self._resumed) + wait
            if row is not None:
                due = max(due, row.at + self._book.asked(host))
            host.ready_at = due
        if host.later:
            host.later = [(min(at, max(host.ready_at, now)), record) for at, record in host.later]
            heapify(host.later)
        self._hosts.touch(host)
        if active and (host.given is None or host.ticket) and not host.retired:
            self._forget_address(host)
            self._back.schedule(host, host.due())
            if name in self.held:  # paused while its URLs ended
                self.hold([name], now)
        self._let_in(host, now, active=active)
        return host.ready_at

    def drop(self, name: str, now: float) -> tuple[int, bool]:
        """Gives the host up: its URLs end, some hundred per turn. How many it has, and whether it waits for a place.

        Those that surface later end too, until it is tried again: by `retry`, or for a link that is found a day later.
        """
        host, active = self._open(name)
        urls, row = host.waiting(), host.row
        asked = max(row.at + row.asked - now, 0.0) if row is not None else 0.0  # which `retry` keeps to
        host.retired, host.failures = Status.DROPPED, 0
        host.row = FailedRow(now, 0.0, Status.DROPPED, 0, gone=False, asked=asked)
        self._hosts.touch(host)
        if active and (host.given is None or host.ticket):
            self._forget_address(host)
            self._back.schedule(host, now)
        waits = host.state is State.PARKED
        self._let_in(host, now, active=active)
        return urls, waits

    # -- where they are

    def _let_in(self, host: Host, now: float, *, active: bool) -> None:
        """A host set aside becomes active, though no place may be free; one that waits for a place goes on waiting."""
        if active or host.state is not State.ASIDE or self.is_foreign(host.name) or self._aside.keeps(host):
            self._close(host, active=active)
            return
        self._aside.withdraw(host)
        self._enter(host)
        if host.retired:
            self._back.schedule(host, now)

    def _place(self, host: Host, now: float) -> None:
        """Where a host belongs that has URLs and is nowhere."""
        if not host.retired and self._aside.wants(host, host.due(), now):
            self._aside.put(host, now)
            self._hosts.put_away(host)
        else:
            self._enter(host)

    def _forget_address(self, host: Host) -> None:
        """It does not wait any more for its address to be free, which would schedule it once more."""
        if self._addresses is not None:
            self._addresses.dismiss(host.name.__eq__)

    def _open(self, name: str) -> tuple[Host, bool]:
        host = self._back.active.get(name)
        return (self._hosts.get(name), False) if host is None else (host, True)

    def _close(self, host: Host, *, active: bool) -> None:
        if not active:
            self._hosts.put_away(host)
