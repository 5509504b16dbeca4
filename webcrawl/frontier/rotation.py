"""The hosts that have a queue in the back-end: they enter in turns, and their number follows demand."""

from __future__ import annotations

from collections.abc import Sequence

from webcrawl.base.model import Packed, Status, is_revisit, unpack, url_of
from webcrawl.frontier.back_end import PROVEN
from webcrawl.frontier.core import Core
from webcrawl.frontier.health import returns
from webcrawl.frontier.host_state import HostStates
from webcrawl.frontier.hosts import Host, host_name
from webcrawl.frontier.place_shares import Group
from webcrawl.store.jobdir.host_row import HostState

# URLs of one source that are moved to active hosts' queues in one look: a few milliseconds
MOVES = 256
FRONT = 1  # the place of the front-end among the sources
STEPS = 8  # of a look at budgets that are done at once: some 10 ms
# seconds between two looks while hosts are active, and until one goes on
LOOKS_APART, STEPS_APART = 1.0, 0.4
# seconds by which a host that was set aside may come back early: it waits in the back-end then
EARLY = 1.0


class Rotation:
    """Gives hosts their places: Mercator 3.1's refill, and BUbiNG's required front.

    Hosts take turns when there is no room for all. Hosts of a domain that has its share of the
    places wait in a line of that domain: docs/frontier-inside.md.
    """

    def __init__(self, core: Core, states: HostStates, least: int) -> None:
        """`least`: n is never below."""
        queues = core.queues
        self.states = states
        self._core = core
        self._queues = queues
        self._shares = states.shares
        self._least = least
        self._front = queues.front
        self._lines = queues.lines
        self._budgets = queues.budgets
        self._hosts = core.hosts
        self._back = core.back
        self._aside = core.aside
        self._sources = (
            self._from_parked,
            self._from_front,  # FRONT
            self._from_lines,
            self._from_aside,
            self._from_budgets,
        )
        self._moves = MOVES  # that are left
        self._look_at = 0.0  # no look at budgets before this time, unless no host is active

    def can_grow(self) -> bool:
        """Return whether `grow` may let in one more host, or may find out that it can."""
        if self.states.is_full():
            return False
        if self._lines.queues or self._queues.others_wait(self._back.now):
            return True
        return self._may_look()

    def _may_look(self) -> bool:
        look_at = self.next_look()
        return look_at is not None and look_at <= self._back.now

    def next_look(self) -> float | None:
        """Return when fetchers that starve may look at budgets.

        None if no URL would be found, or none has a place.
        """
        if not self._budgets.unsettled or self.states.is_full():
            return None
        must_wait = self._back.active and not self._budgets.idle
        return self._look_at if must_wait else 0.0

    def others_wait(self) -> bool:
        """Return whether URLs wait outside the back-end whose domains do not have their share."""
        return self._queues.others_wait(self._back.now)

    def next_aside(self) -> float | None:
        """Return when the next host that is set aside could come back.

        None if there is none, or no place.
        """
        return None if self.states.is_full() else self._aside.next_due()

    @property
    def lines_wait(self) -> bool:
        """Return whether hosts wait because their domain or address has its share."""
        return bool(self._lines.queues)

    def grow(self, *, anyone: bool = False) -> bool:
        """Add a queue, because fetchers starve while URLs wait (BUbiNG's required front).

        Ask `can_grow` before. `anyone`: if only hosts wait that are beyond their domain's share,
        then one of them.
        """
        if self._may_look():
            self._look()
        has_grown = self.refill() or (anyone and self._from_lines(anyone=True))
        if not has_grown:
            return False
        self._core.width = max(self._core.width, len(self._back))
        return True

    def shrink(self) -> None:
        """Remove a queue, because hosts wait for fetchers."""
        self._core.width = max(self._core.width - 1, self._least)

    def refill(self) -> bool:
        """Make a host active. Return False if there is none.

        The sources take turns: parked hosts, the front-end, domains' lines, those set aside, what
        had no budget.
        """
        queues = self._queues
        others = (
            queues.parked.count or queues.lines.queues or self._budgets.listed or queues.aside.heads
        )
        if others:
            if self._from_next_source():
                return True
        elif self._front.filled and self._from_front():  # nearly always
            self.states.source = FRONT
            return True
        return self._from_unsettled()

    def _from_next_source(self) -> bool:
        states = self.states
        for _ in self._sources:
            states.source = (states.source + 1) % len(self._sources)
            if self._sources[states.source]():
                return True
        return False

    def _from_unsettled(self) -> bool:
        """Make a host active if nothing is left but URLs at which no look has been taken since.

        They are over their domains' budgets, or folded.
        """
        if self._back.active or not self._budgets.unsettled:
            return False
        self._look()
        return self._from_budgets()

    def _look(self) -> None:
        """Look for domains that may go on, in a few steps.

        While hosts are active, the next look comes later. If a look had fewer domains, or an idle
        one waited for the next, unknown hosts would get its slots.
        """
        budgets = self._budgets
        now = self._back.now
        budgets.try_idle(self._shares.has_active)
        if self._back.active and self._look_at > now:
            return
        for _ in range(STEPS):
            budgets.look(self._domains_at_work)
            if not budgets.is_looking:
                break
        self._look_at = now + (STEPS_APART if budgets.is_looking else LOOKS_APART)

    def _domains_at_work(self) -> set[str]:
        """Return the domains of active hosts that answer well.

        A host that fails or is slow holds up no other URL.
        """
        return self._shares.domains_of(
            host for host in self._back.active.values() if host.standing == PROVEN
        )

    def begin(self) -> None:
        """Begin a look for the next link, which may move MOVES URLs from the front-end."""
        self._moves = MOVES
        if len(self._back.active) < self._core.width:
            self.refill()

    def _from_parked(self) -> bool:
        name = self._queues.parked.pop()
        return name is not None and self._resume(name)

    def _from_front(self) -> bool:
        """Move URLs from the front-end until one makes a host active."""
        front = self._front
        gate = self._core.gate
        # Once per call: the URLs that are moved beyond have a turn of choice at their hosts.
        if front.sift is not None:
            front.choose()
        # Each URL moves to its host once. Nielsen's crawler appended those that could not be asked
        # for yet to the front again, and runs of one domain's URLs grew.
        while front.filled and self._moves:
            self._moves -= 1
            record = front.pop()
            if record is None:
                break
            name = host_name(record)
            if gate is not None and gate.foreign(name):
                gate.turn_away(record, False)
                continue
            needs_budget = not self._hosts.revisits or not is_revisit(record)
            if needs_budget and not self._budgets.admits(self._shares.domain_of(name), record):
                continue
            if self._route(record, name):
                return True
        return False

    def bring(self, most: int) -> None:
        """Let in what is fetched again, beyond the width.

        It is let into the front-end only as fast as is wanted. Behind long queues of hosts that
        have a place it would never come to its turn.
        """
        # By the chooser's weights alone a page that is due waited for 50 minutes, behind 3,000 URLs
        # of a host that is asked once per second.
        front = self._front
        gate = self._core.gate
        for _ in range(most):
            if self.states.is_full():
                break
            record = front.pop_old()
            if record is None:
                break
            if gate is not None and gate.foreign(host_name(record)):
                gate.turn_away(record, False)
            else:
                self._route(record, host_name(record))

    def _from_budgets(self) -> bool:
        """Move URLs whose domain has pages left again, until one makes a host active."""
        for _ in range(MOVES if self._budgets.listed else 0):
            record = self._budgets.pop()
            if record is None:
                break
            if self._route(record, host_name(record)):
                return True
        return False

    def _from_lines(self, *, anyone: bool = False) -> bool:
        """Move URLs from the lines of domains that have room until one makes a host active.

        `anyone`: of all domains.
        """
        for _ in range(MOVES if self._lines.queues else 0):
            record = self._lines.pop(_never if anyone else self._shares.is_full)
            if record is None:
                break
            # A packed link has spaces, and the name of a parked host has none.
            if b" " not in record:
                entered = self._resume(record, anyone=anyone)
            else:
                entered = self._route(record, host_name(record), anyone=anyone)
            if entered:
                return True
        return False

    def _from_aside(self) -> bool:
        """Make a host active whose time has come: most are tried with one URL."""
        now = self._back.now
        host = self.states.next_back(now)
        if host is None:
            return False
        if not host.retired and self._aside.wants(host, host.due(), now + EARLY):
            self.states.set_aside(host, now)  # an inline download has asked it meanwhile
            return False
        return self._admit(host)

    def _resume(self, name: bytes, *, anyone: bool = False) -> bool:
        """Make a parked host active, unless it has to wait in a line."""
        return self._admit(self._hosts.get(name.decode()), anyone=anyone)

    def _admit(self, host: Host, *, anyone: bool = False) -> bool:
        """Make a parked host active, unless it has to wait.

        Return whether it is active; else it is put away.
        """
        if self._core.is_foreign(host.name):
            self.states.leave_hive(host)
            self._hosts.put_away(host)
            return False
        may_wait_in_line = not anyone and not self._aside.keeps(host)
        full_group = self._shares.full_group_of(host) if may_wait_in_line else None
        if full_group is not None:
            self._lines.push(full_group, host.name.encode())
            self._hosts.put_away(host)
            return False
        # its row says that it is parked, and no queue of parked hosts has its name now
        self._hosts.touch(host)
        return self.states.wake(host)

    def _route(self, record: bytes, name: str, *, anyone: bool = False) -> bool:
        """Move a URL to its host `name`, whatever that host's state.

        Return whether it made the host active. `anyone`: it may, even if the host's domain has its
        share of the places.
        """
        gate = self._core.gate
        if gate is not None and gate.foreign(name):
            gate.turn_away(record, True)
            return False
        host = self._back.active.get(name)
        if host is not None:
            self._add_to_active(host, record)
            return False
        domain = self._shares.domain_of(name)
        origin = self._shares.origin_of(record, domain)
        full_group = None if anyone else self._full_group(domain, origin)
        # The queue of a full group has URLs, and no hosts: the host's record is not read, and a
        # flood of 84,000 hosts writes no rows.
        if full_group is not None:
            self._lines.push(full_group, record)
            return False
        return self._add_to_inactive(self._hosts.get(name), record, origin, anyone=anyone)

    def _full_group(self, domain: Group, origin: Group) -> Group | None:
        """Return which of these has its share of the places, or None."""
        if self._shares.is_full(domain):
            return domain
        return origin if origin and self._shares.is_full(origin) else None

    def _add_to_active(self, host: Host, record: bytes) -> None:
        self._hosts.touch(host)
        queue = self._hosts.queue_for(host, record)
        queue.push(record)
        if self._sets_apart(host, record) or queue.count == 1:
            self._has_more(host)

    def _add_to_inactive(self, host: Host, record: bytes, origin: Group, *, anyone: bool) -> bool:
        """Queue a URL at a host without a place.

        Return whether that made the host active; else it is put away.
        """
        if host.retired and not self._has_another_chance(host, record):
            self._core.queued -= 1
            self._core.drop(unpack(record), host.retired)
            self._hosts.put_away(host)
            return False
        # Any other host without a place waits by its name, and keeps its URLs in its own queue.
        is_idle = host.state is HostState.IDLE
        full_group = self._shares.full_group_of(host) if is_idle and not anyone else None
        if full_group is not None:
            self._lines.push(full_group, record)
            self._hosts.put_away(host)
            return False
        self._hosts.touch(host)
        self._hosts.queue_for(host, record).push(record)
        self._sets_apart(host, record)
        if not is_idle:
            self.states.joined(host, self._back.now)
            self._hosts.put_away(host)
            return False
        if not self.states.wake(host):
            return False
        self._shares.set_origin(host, origin)
        return True

    def _has_another_chance(self, host: Host, record: bytes) -> bool:
        """Return whether a host that was given up takes this URL.

        If so, it is given up no more, or one origin is.
        """
        if returns(host, self._back.now):
            return True
        if self._core.origins.set_apart_for(host, url_of(record)):
            return True
        return host.retired == Status.HOST_BUDGET and is_revisit(record)

    def _sets_apart(self, host: Host, record: bytes) -> bool:
        """Set another origin apart if the host has failed for that alone. Return whether it did."""
        return host.failures > 0 and self._core.origins.set_apart_for(host, url_of(record))

    def _has_more(self, host: Host) -> None:
        """Schedule an active host that had no URL that is due, and now has one."""
        if host.ticket:  # it was scheduled for a retry
            self._back.renew(host)
        elif host.lanes is not None:
            self.states.several.go_on(host, self._back.now)


def _never(_: Group) -> bool:
    return False


BRINGS = 256  # URLs to be fetched again that are moved to their hosts in one turn


class RevisitTurns:
    """Lets in what is fetched again. Its part of all turns is the front-end's `share`."""

    def __init__(self, core: Core, rotation: Rotation) -> None:
        self._core = core
        self._front = core.queues.front
        self._rotation = rotation

    def add(self, records: Sequence[Packed]) -> None:
        """Queue packed links to pages that are due again, in the level reserved for them."""
        for record in records:
            self._front.push_old(record)
        self._core.queued += len(records)
        self._core.counters["due again"] += len(records)

    def bring(self, now: float) -> None:
        """Move these to their hosts, as far as there are places."""
        old = self._front.old
        if old is not None and old.count:
            self._core.back.now = now
            self._rotation.bring(BRINGS)

    def set_share(self, share: float) -> None:
        """Give this part of the turns to what is fetched again, in the front-end and at each host."""
        self._front.set_revisit_share(share)
