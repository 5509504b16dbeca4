"""The hosts that have a queue in the back-end: they enter in turns and give way; n follows the demand."""

from __future__ import annotations

from collections.abc import Callable

from webcrawl.base.hosts import host_of
from webcrawl.base.model import Status, authority_of, is_revisit, url_of
from webcrawl.frontier.arguments import Gate, Queues, Rules
from webcrawl.frontier.back_end import BackEnd
from webcrawl.frontier.health import returns, revive_for_other_origin
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.hosts_set_aside import SetAside
from webcrawl.frontier.place_shares import Group, Shares
from webcrawl.store.jobdir.host_row import State

MOVES = 256  # URLs of one source that are moved to active hosts' queues in one look: a few milliseconds
EARLY = 1.0  # seconds by which a host that was set aside may come back early: it waits in the back-end then
STAY = 1000  # URLs after which a host gives way if others wait and there is no room for more queues


class Rotation:
    """Mercator 3.1's refill, BUbiNG's required front, and turns for hosts when there is no room for all.

    Hosts of a domain that has its share of the places wait in a line of that domain: docs/frontier.md.
    """

    def __init__(
        self,
        queues: Queues,
        back: BackEnd,
        rules: Rules,
        enter: Callable[[Host], None],
        ended: Callable[[bytes, int], None],
    ) -> None:
        """`enter` makes a host active; `ended` is called with each record of a retired host, and its Status."""
        limits = rules.limits
        self._front, self._parked, self._lines = queues.front, queues.parked, queues.lines
        self._hosts, self._back, self._budgets = queues.hosts, back, queues.budgets
        self._least, self._most, self._ended = limits.queues, limits.max_queues, ended
        self._enter = enter
        self._shares = Shares(rules.domain, limits.queues, limits.domain_share)
        self.aside = SetAside(queues.aside, queues.hosts, queues.parked, limits.host_failures)
        self._sources = (
            self._from_parked,
            self._from_front,
            self._from_lines,
            self._from_aside,
            self._from_budgets,
        )
        self._source = 0  # the last one that let a host in
        self._moves = MOVES  # that are left
        self.gate: Gate | None = None
        self.go_on: Callable[[Host, float], None]  # schedules a host that may have several requests at once
        self.width = limits.queues  # the current n

    def can_grow(self) -> bool:
        if len(self._back.active) >= self._most:
            return False
        return bool(self._lines.queues) or self.others_wait() or (not self._back.active and self._budgets.unsettled)

    def others_wait(self) -> bool:
        """True if there are URLs outside the back-end, other than those of domains that have their share."""
        return bool(self._front.filled or self._parked.count or self._budgets.listed) or self._is_aside_due()

    def _is_aside_due(self) -> bool:
        entries = self.aside.entries
        return bool(entries) and entries[0][0] <= self._back.now

    def next_aside(self) -> float | None:
        """The time at which the next host that is set aside could come back; None if there is none, or no place."""
        return self.aside.next_due() if len(self._back.active) < self._most else None

    @property
    def lines_wait(self) -> bool:
        """True if hosts wait because their domain or address has its share."""
        return bool(self._lines.queues)

    def grow(self, *, anyone: bool = False) -> bool:
        """Adds a queue, because fetchers starve while URLs wait in the front-end (BUbiNG's required front).

        Ask `can_grow` before. `anyone`: if only hosts wait that are beyond their domain's share, then one of them.
        """
        if not (self.refill() or (anyone and self._from_lines(anyone=True))):
            return False
        self.width = max(self.width, len(self._back))
        return True

    def shrink(self) -> None:
        """Removes a queue, because hosts wait for fetchers."""
        self.width = max(self.width - 1, self._least)

    def refill(self) -> bool:
        """Makes a host active: from the parked ones, the front-end, domains' lines, what had no budget, in turns."""
        if self._front.filled or self._parked.count or self._lines.queues or self._budgets.listed or self.aside.entries:
            for _ in self._sources:
                self._source = (self._source + 1) % len(self._sources)
                if self._sources[self._source]():
                    return True
        if self._back.active or not self._budgets.unsettled:
            return False
        # Nothing is left but URLs over their domains' budgets, at which nobody has looked since.
        return self._budgets.look() and self._from_budgets()

    def renew(self) -> None:
        """A new look for the next link begins: it may move MOVES URLs from the front-end again."""
        self._moves = MOVES

    def _from_parked(self) -> bool:
        name = self._parked.pop()
        return name is not None and self._resume(name)

    def _from_front(self) -> bool:
        """Moves URLs from the front-end until one makes a host active."""
        front, gate = self._front, self.gate
        if front.sift is not None:  # once: what is moved beyond has a turn at its host
            front.choose()
        while front.filled and self._moves:
            self._moves -= 1
            record = front.pop()
            if record is None:
                break
            name = _host(record)
            if gate is not None and gate.foreign(name):
                gate.turn_away(record, False)
                continue
            again = self._hosts.revisits and is_revisit(record)
            if (again or self._budgets.admits(self._shares.domain_of(name), record)) and self._route(record, name):
                return True
        return False

    def bring(self, most: int) -> None:
        """Lets in what is fetched again, beyond the width: it is let into the front-end only as fast as is wanted.

        Behind long queues of hosts that have a place it would never come to its turn.
        """
        front, gate = self._front, self.gate
        for _ in range(most):
            if len(self._back.active) >= self._most:
                break
            record = front.pop_old()
            if record is None:
                break
            if gate is not None and gate.foreign(_host(record)):
                gate.turn_away(record, False)
            else:
                self._route(record, _host(record))

    def _from_budgets(self) -> bool:
        """Moves URLs whose domain has pages left again, until one makes a host active."""
        for _ in range(MOVES if self._budgets.listed else 0):
            record = self._budgets.pop()
            if record is None:
                break
            if self._route(record, _host(record)):
                return True
        return False

    def _from_lines(self, *, anyone: bool = False) -> bool:
        """Moves URLs from the lines of domains that have room, or of all, until one makes a host active."""
        for _ in range(MOVES if self._lines.queues else 0):
            record = self._lines.pop(_never if anyone else self._shares.full)
            if record is None:
                break
            if b" " not in record:
                entered = self._resume(record, anyone=anyone)
            else:
                entered = self._route(record, _host(record), anyone=anyone)
            if entered:
                return True
        return False

    def _from_aside(self) -> bool:
        """Makes a host active whose time has come: most are tried with one URL."""
        host = self.aside.next(self._back.now, self._back.active)
        if host is None:
            return False
        if not host.retired and self.aside.wants(host, host.due(), self._back.now + EARLY):
            self.aside.put(host, self._back.now)  # an inline download has asked it meanwhile
            self._hosts.put_away(host)
            return False
        return self._admit(host)

    def _resume(self, name: bytes, *, anyone: bool = False) -> bool:
        """Makes a parked host active, unless it has to wait in a line."""
        return self._admit(self._hosts.get(name.decode()), anyone=anyone)

    def _admit(self, host: Host, *, anyone: bool = False) -> bool:
        if self.gate is not None and self.gate.foreign(host.name):
            host.state = State.MOVING
            self._hosts.touch(host)
            self._hosts.put_away(host)
            return False
        if self.aside.keeps(host):
            self.rest(host, self._back.now)
            return False
        crowd = None if anyone else self._shares.crowd(host)
        if crowd is None:
            self._hosts.touch(host)  # its row says that it is parked, and no queue of parked hosts has its name now
            self._enter(host)
            return True
        self._lines.push(crowd, host.name.encode())
        self._hosts.put_away(host)
        return False

    def _route(self, record: bytes, name: str, *, anyone: bool = False) -> bool:
        """Moves a URL of the host `name` from front to back, whatever that host's state; whether it became active.

        If the host's domain has its share, the URL waits in a line: then the host's record need not be read.
        """
        if self.gate is not None and self.gate.foreign(name):
            self.gate.turn_away(record, True)
            return False
        host = self._back.active.get(name)
        if host is not None:
            self._hosts.touch(host)
            queue = self._hosts.queue_for(host, record)
            queue.push(record)
            if queue.count == 1:
                self._has_more(host)
            return False
        shares = self._shares
        domain = shares.domain_of(name)
        origin = shares.origin(record, domain)
        if not anyone and (shares.full(domain) or (origin and shares.full(origin))):
            self._lines.push(domain if shares.full(domain) else origin, record)
            return False
        host = self._hosts.get(name)
        crowd: Group | None = None
        if host.retired and not (
            returns(host, self._back.now)
            or revive_for_other_origin(host, url_of(record))
            or (host.retired == Status.HOST_BUDGET and is_revisit(record))
        ):
            self._ended(record, host.retired)
        elif host.state is State.IDLE and not anyone and (crowd := shares.crowd(host)) is not None:
            self._lines.push(crowd, record)
        else:
            self._hosts.touch(host)
            self._hosts.queue_for(host, record).push(record)
            if host.state is State.IDLE and self.aside.keeps(host):
                self.rest(host, self._back.now)
                return False
            if host.state is State.IDLE:
                self._enter(host)
                shares.bring(host, origin)
                return True
            if host.state is State.ASIDE:
                self.aside.joined(host, self._back.now)
        self._hosts.put_away(host)
        return False

    def _has_more(self, host: Host) -> None:
        """An active host had no URL that is due but for those in flight, and now it has one."""
        if host.ticket:  # it was scheduled for a retry
            self._back.schedule(host, host.due())
        elif host.lanes is not None:
            self.go_on(host, self._back.now)

    def entered(self, host: Host) -> None:
        """Call it for each host that has become active."""
        self._shares.enter(host)

    def leave(self, host: Host, state: State) -> None:
        """Takes the host out of the back-end."""
        self._back.leave(host, state)
        self._shares.leave(host)

    def set_aside(self, host: Host, now: float) -> None:
        """Moves the host out of the back-end until its turn comes near; its URLs stay in its queue."""
        self.leave(host, State.ASIDE)
        self.aside.put(host, now)

    def rest(self, host: Host, now: float) -> None:
        """Puts a paused host aside that was about to become active."""
        self.aside.put(host, now)
        self._hosts.put_away(host)

    def must_yield(self, host: Host, now: float) -> bool:
        """True if the host must give way to others that wait for its place, or for a fetcher.

        It must if it has been in for long and no more queues fit, or if it is beyond its domain's share.
        """
        no_room = len(self._back) >= self._most and (self.others_wait() or bool(self._lines.queues))
        if host.stay >= STAY and no_room:
            return True
        return self._shares.exceeded(host) and (no_room or self._is_due(now))

    def _is_due(self, now: float) -> bool:
        due = self._back.next_due()
        return due is not None and due <= now

    def park(self, host: Host) -> None:
        """Moves the host out of the back-end, behind all others that wait like it; its URLs stay in its queue."""
        self.leave(host, State.PARKED)
        crowd = self._shares.crowd(host)
        if crowd is not None:
            self._lines.push(crowd, host.name.encode())
        else:
            self._parked.push(host.name.encode())
            self._source = 0  # so the next turn is the front-end's, and the host does not return at once


def _never(_: Group) -> bool:
    return False


def _host(record: bytes) -> str:
    """The host that a packed link is queued under."""
    name = authority_of(record)
    return name if ":" not in name else host_of(url_of(record))
