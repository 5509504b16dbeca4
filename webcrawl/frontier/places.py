"""The places of the back-end: which hosts have one, and where those go that leave it.

n is how many there are at a time, whoever has them (rotation.py).
"""

from __future__ import annotations

from webcrawl.base.model import Status
from webcrawl.frontier.addresses import Addresses
from webcrawl.frontier.arguments import Rules
from webcrawl.frontier.core import Core
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.parallel_hosts import PAUSE, Several
from webcrawl.frontier.place_shares import Shares
from webcrawl.store.jobdir.host_row import State

STAY = 1000  # URLs after which a host gives way if others wait and there is no room for more queues


class Places:
    """A host that has no URL, or a far turn, or has been in for long, gives its place to another one."""

    def __init__(self, core: Core, rules: Rules) -> None:
        self._core, self._queues, self._back, self._aside = core, core.queues, core.back, core.aside
        self._hosts, self._addresses = core.hosts, core.addresses
        self.most = rules.limits.max_queues
        self.shares = Shares(rules.domain, rules.limits.queues, rules.limits.domain_share)
        self.several = Several(core, self.must_yield)
        self.source = 0  # of the rotation's, the last one that let a host in

    def is_full(self) -> bool:
        """True if no more hosts may be active."""
        return len(self._back.active) >= self.most

    def enter(self, host: Host) -> None:
        """Makes a host with URLs active."""
        if self._core.resumed:
            host.ready_at = max(host.ready_at, self._core.resumed + self._core.book.wait(host))
        if self.several.on:
            self.several.enter(host)
        self._back.enter(host)
        self.shares.enter(host)

    def leave(self, host: Host, state: State) -> None:
        """Takes the host out of the back-end."""
        self._back.leave(host, state)
        self.shares.leave(host)
        budgets = self._queues.budgets
        if budgets.postponed and not self.shares.has_active(domain := self.shares.domain_of(host.name)):
            budgets.left(domain)

    def set_aside(self, host: Host, now: float) -> None:
        """Moves the host out of the back-end until its turn comes near; its URLs stay in its queue."""
        self.leave(host, State.ASIDE)
        self._aside.put(host, now)

    def rest(self, host: Host, now: float) -> None:
        """Puts a paused host aside that was about to become active."""
        self._aside.put(host, now)
        self._hosts.put_away(host)

    def expel(self, host: Host) -> None:
        """Takes an active host that is not in flight out of the back-end, for good: it is another crawl's."""
        self.leave(host, State.MOVING)
        self._back.slots.gone(host)
        if self._core.gate is not None:
            self._core.gate.asked.discard(host.name)
        self._hosts.touch(host)
        self._hosts.put_away(host)

    def must_yield(self, host: Host, now: float) -> bool:
        """True if the host must give way to others that wait for its place, or for a fetcher.

        It must if it has been in for long and no more queues fit, or if it is beyond its domain's share.
        """
        queues = self._queues
        no_room = self.is_full() and (bool(queues.lines.queues) or queues.others_wait(self._back.now))
        if host.stay >= STAY and no_room:
            return True
        return self.shares.exceeded(host) and (no_room or self._is_due(now))

    def _is_due(self, now: float) -> bool:
        due = self._back.next_due()
        return due is not None and due <= now

    def park(self, host: Host) -> None:
        """Moves the host out of the back-end, behind all others that wait like it; its URLs stay in its queue."""
        self.leave(host, State.PARKED)
        crowd = self.shares.crowd(host)
        if crowd is not None:
            self._queues.lines.push(crowd, host.name.encode())
        else:
            self._queues.parked.push(host.name.encode())
            self.source = 0  # so the next turn is the front-end's, and the host does not return at once

    def settle(self, host: Host, now: float) -> None:
        """Schedules an active host again that was taken from the heap, or gives its place away."""
        if host.given is not None:  # others of several are in flight
            self.several.go_on(host, now)
            return
        if self._addresses is not None:
            self._release(self._addresses, host, now)
        if self._core.gate is not None and self._core.gate.foreign(host.name):
            self.expel(host)
            return
        if not host.waiting():
            self.leave(host, State.IDLE)
        elif host.retired:
            due = now + PAUSE  # the others go on meanwhile
            if self._queues.front.old is not None and host.retired == Status.HOST_BUDGET:
                due = max(due, host.due())  # some of its URLs are asked for all the same
            self._back.schedule(host, due)
            return
        elif self._aside.wants(host, due := host.due(), now):
            self.set_aside(host, now)
        elif self.must_yield(host, now):
            self.park(host)
        else:
            self._back.schedule(host, due)
            return
        self._hosts.put_away(host)

    def _release(self, addresses: Addresses, host: Host, now: float) -> None:
        """The host's address may be asked by others, when it is ready."""
        woken = addresses.release(host, host.ready_at, now)
        if host.ip:
            addresses.learn(host.ip, host.ready_at)
        if woken is not None:
            self._back.schedule(woken, host.ready_at)
