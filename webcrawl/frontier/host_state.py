"""The state of each host, and every way from one state to another.

    IDLE      has no URLs
    ACTIVE    has one of the n places in the back-end: it is scheduled, or a request is in flight
    PARKED    has URLs, and waits for a place
    DEFERRED  has URLs, but its next turn is far away or an operator has paused it: it waits on disk
    MOVING    belongs to another drone of the hive, or is still arriving from one

    IDLE -- wake --> ACTIVE
    IDLE -- wake: it is paused --> DEFERRED
    ACTIVE -- settle: no URL is left --> IDLE
    ACTIVE -- settle: its turn is far; pause --> DEFERRED
    ACTIVE -- settle: others need its place --> PARKED
    ACTIVE -- settle: not ours --> MOVING
    PARKED -- wake, place --> ACTIVE
    PARKED -- defer --> DEFERRED
    DEFERRED -- next_back, recall, release --> PARKED
    IDLE, PARKED or DEFERRED -- leave_hive --> MOVING
    IDLE -- import_urls --> MOVING
    MOVING -- arrive --> IDLE, PARKED or DEFERRED

docs/pictures/host_states.py draws these lines, and docs/frontier-inside.md shows the picture.

`settle` asks `_next_state` where an active host belongs, and `deactivate` is the only way out of
the back-end. Other modules send these events; the field `state` is assigned here alone.
"""

from __future__ import annotations

from webcrawl.base.model import Status
from webcrawl.frontier.addresses import Addresses
from webcrawl.frontier.core import Core, Rules
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.parallel_hosts import PAUSE, ParallelHosts
from webcrawl.frontier.place_shares import PlaceShares
from webcrawl.store.jobdir.host_row import HostState

STAY = 1000  # URLs after which a host gives way if others wait and there is no room for more queues
FAR_LOOKS = 16  # stale entries of deferred hosts that are passed over in one call


class HostStates:
    """Moves hosts from state to state.

    A host that has no URL, or a far turn, or has been in for long, gives way.
    """

    def __init__(self, core: Core, rules: Rules) -> None:
        self._core = core
        self._queues = core.queues
        self._back = core.back
        self._deferred = core.deferred
        self._hosts = core.hosts
        self._addresses = core.addresses
        self.most = rules.limits.max_queues  # active hosts
        self.shares = PlaceShares(rules.domain, rules.limits.queues, rules.limits.domain_share)
        self.several = ParallelHosts(core, self.must_yield)
        # the index of the source in `Rotation._sources` that let a host in last
        self.source = 0

    def is_full(self) -> bool:
        """Return whether no more hosts may be active."""
        return len(self._back.active) >= self.most

    # -- into the back-end

    def activate(self, host: Host) -> None:
        """Give a host with URLs a place in the back-end.

        The caller has seen that it is not paused.
        """
        # The requests between the checkpoint and the kill are unknown: each host may just have had
        # one.
        if self._core.resumed:
            host.ready_at = max(host.ready_at, self._core.resumed + self._core.book.wait(host))
        if self.several.on:
            self.several.enter(host)
        host.state = HostState.ACTIVE
        self._back.enter(host)
        self.shares.add(host)

    def wake(self, host: Host) -> bool:
        """Make a host active that has URLs and no place.

        Return False if it is paused: then it is deferred.
        """
        if self._deferred.keeps(host):
            self.defer(host, self._back.now)
            return False
        self.activate(host)
        return True

    # -- out of the back-end

    def settle(self, host: Host, now: float) -> None:
        """Schedule an active host again that was taken from the heap, or give its place away."""
        if host.given is not None:  # others of several are in flight
            self.several.go_on(host, now)
            return
        if self._addresses is not None:
            self._release(self._addresses, host, now)
        state = self._next_state(host, now)
        if state is not HostState.ACTIVE:
            self.deactivate(host, state, now)
            return
        due = self._next_drop(host, now) if host.retired else host.due()
        self._back.schedule(host, due)

    def _next_state(self, host: Host, now: float) -> HostState:
        """Return where an active host belongs that has nothing in flight."""
        gate = self._core.gate
        if gate is not None and gate.foreign(host.name):
            return HostState.MOVING
        if not host.waiting():
            return HostState.IDLE
        if host.retired:  # its URLs end one by one
            return HostState.ACTIVE
        if self._deferred.should_defer(host, host.due(), now):
            return HostState.DEFERRED
        return HostState.PARKED if self.must_yield(host, now) else HostState.ACTIVE

    def _next_drop(self, host: Host, now: float) -> float:
        """Return when an active host that is given up is due: after a pause, so that others go on."""
        has_revisits = self._queues.front.old is not None and host.retired == Status.HOST_BUDGET
        return max(now + PAUSE, host.due()) if has_revisits else now + PAUSE

    def _release(self, addresses: Addresses, host: Host, now: float) -> None:
        """Let others ask the host's address, when it is ready."""
        woken = addresses.release(host, host.ready_at, now)
        if host.ip:
            addresses.delay_address(host.ip, host.ready_at)
        if woken is not None:
            self._back.schedule(woken, host.ready_at)

    def must_yield(self, host: Host, now: float) -> bool:
        """Return whether the host must give way to others that wait for its place, or for a
        fetcher.

        It must if it has been in for long and no more queues fit, or if it is beyond its domain's
        share.
        """
        queues = self._queues
        no_room = False  # for a host that waits
        if self.is_full():
            no_room = bool(queues.lines.queues) or queues.others_wait(self._back.now)
        if host.stay >= STAY and no_room:
            return True
        return self.shares.is_over_limit(host) and (no_room or self._is_due(now))

    def _is_due(self, now: float) -> bool:
        """Return whether an active host waits for a fetcher."""
        due = self._back.next_due()
        return due is not None and due <= now

    def pause(self, host: Host, now: float) -> None:
        """Defer an active host that an operator has paused, and of which nothing is in flight."""
        self._back.slots.gone(host)
        self.deactivate(host, HostState.DEFERRED, now)

    def deactivate(self, host: Host, state: HostState, now: float) -> None:
        """Take an active host out of the back-end, into another state. Its URLs stay in its queue.

        None of them may be in flight. The caller no longer holds the host.
        """
        self._back.leave(host)
        self.shares.remove(host)
        budgets = self._queues.budgets
        if budgets.postponed:
            domain = self.shares.domain_of(host.name)
            if not self.shares.has_active(domain):
                budgets.left(domain)
        host.state = state
        if state is HostState.DEFERRED:
            self._mark_deferred(host, now)
        elif state is HostState.PARKED:
            self._wait_for_place(host)
        elif state is HostState.MOVING:
            self._forget(host)
        self._hosts.put_away(host)

    def _wait_for_place(self, host: Host) -> None:
        """Queue a host behind all others that wait like it."""
        full_group = self.shares.full_group_of(host)
        if full_group is not None:
            self._queues.lines.push(full_group, host.name.encode())
        else:
            self._queues.parked.push(host.name.encode())
            # so the next turn is the front-end's, and the host does not return at once
            self.source = 0

    def _forget(self, host: Host) -> None:
        """Forget what was noted of an active host that belongs to another crawl, but for its row."""
        self._back.slots.gone(host)
        if self._core.gate is not None:
            self._core.gate.requested.discard(host.name)
        self._hosts.touch(host)

    # -- deferred, and back

    def defer(self, host: Host, now: float) -> None:
        """Defer a host that has URLs and is not active. The caller no longer holds it."""
        self._mark_deferred(host, now)
        self._hosts.put_away(host)

    def _mark_deferred(self, host: Host, now: float) -> None:
        """Note a host as deferred, until it is due. The caller still holds it."""
        host.state = HostState.DEFERRED
        self._deferred.add(host, now)
        self._hosts.touch(host)

    def place(self, host: Host, now: float) -> None:
        """Defer a host that has URLs and is in no queue, or make it active.

        The caller no longer holds it.
        """
        if not host.retired and self._deferred.should_defer(host, host.due(), now):
            self.defer(host, now)
        else:
            self.activate(host)

    def next_back(self, now: float) -> Host | None:
        """Return the next host that was deferred and whose time has come, or None.

        The caller holds it. It is parked, but in no queue, until the caller says where it belongs.
        """
        for _ in range(FAR_LOOKS):
            entry = self._deferred.pop(now)
            if entry is None:
                break
            at, name = entry
            if name in self._back.active:  # it came back before
                continue
            host = self._hosts.get(name)
            if host.state is HostState.DEFERRED and host.deferred_until == at:
                self.release(host)
                return host
            self._hosts.put_away(host)
        return None

    def release(self, host: Host) -> None:
        """Defer a host no longer; the caller says where it belongs.

        Until then it is parked, but in no queue.
        """
        self._deferred.remove(host)
        host.state = HostState.PARKED
        self._hosts.touch(host)

    def recall(self, host: Host) -> None:
        """Let a host that was deferred come back as soon as there is a place.

        The caller still holds it.
        """
        if host.state is HostState.DEFERRED:
            self.release(host)
            self._queues.parked.push(host.name.encode())

    def joined(self, host: Host, now: float) -> None:
        """Note that an inactive host has got a URL.

        If it is deferred for the time of another URL only, it comes back.
        """
        if host.state is HostState.DEFERRED and self._deferred.joined(host, now):
            self.recall(host)

    # -- between the crawls of a hive

    def leave_hive(self, host: Host) -> None:
        """Note that a host which is not active belongs to another crawl.

        The caller still holds it.
        """
        if host.state is HostState.DEFERRED:
            self.release(host)
        host.state = HostState.MOVING
        self._hosts.touch(host)

    def import_urls(self, host: Host, urls: int) -> None:
        """Note that an inactive host has got so many URLs, or its record, from another crawl."""
        if host.state is HostState.IDLE:
            host.state = HostState.MOVING
        elif host.state is HostState.DEFERRED:
            self._deferred.urls += urls

    def arrive(self, host: Host, now: float) -> None:
        """Let an inactive host that was imported wait for its turn like all others.

        The caller still holds it.
        """
        if host.state is not HostState.MOVING or self._core.is_foreign(host.name):
            return
        self._hosts.touch(host)
        if not host.waiting():
            host.state = HostState.IDLE
        elif not host.retired and self._deferred.should_defer(host, host.due(), now):
            self._mark_deferred(host, now)
        else:
            host.state = HostState.PARKED
            self._queues.parked.push(host.name.encode())
