"""The hosts that have a queue in the back-end: they enter in turns, and their number follows demand."""

from __future__ import annotations

from collections.abc import Sequence

from webcrawl.base.model import Packed, Status, is_revisit, unpack, url_of
from webcrawl.frontier.back_end import PROVEN
from webcrawl.frontier.core import Core
from webcrawl.frontier.health import give_another_chance
from webcrawl.frontier.host_state import HostStates
from webcrawl.frontier.hosts import Host, host_name
from webcrawl.frontier.place_shares import Group
from webcrawl.store.jobdir.host_row import HostState

# URLs of one source that one turn (`begin`) may move to hosts' queues: a few milliseconds
URLS_MOVED_PER_TURN = 256
FRONT_SOURCE = 1  # the index of the front-end in `Rotation._sources`
# Steps of a look at all domains' budgets that are done in one call: some 10 ms
BUDGET_STEPS_AT_ONCE = 8
# While hosts are active: the wait between two looks, and the wait until an unfinished look goes on
SECONDS_BETWEEN_LOOKS, SECONDS_BETWEEN_STEPS = 1.0, 0.4
# A host that was deferred may come back so much early; it waits in the back-end then.
EARLY_RETURN_SECONDS = 1.0


class Rotation:
    """Gives hosts their places: Mercator 3.1's refill, and BUbiNG's required front.

    Hosts take turns when there is no room for all. Hosts of a domain that has its share of the
    places wait in a line of that domain: docs/frontier-inside.md.
    """

    def __init__(self, core: Core, states: HostStates, min_queues: int) -> None:
        """`min_queues`: the number n of active hosts never shrinks below it."""
        queues = core.queues
        self.states = states
        self._core = core
        self._queues = queues
        self._shares = states.shares
        self._min_queues = min_queues
        self._front = queues.front
        self._lines = queues.lines
        self._budgets = queues.budgets
        self._hosts = core.hosts
        self._back = core.back
        self._deferred = core.deferred
        self._sources = (
            self._from_parked,
            self._from_front,  # at FRONT_SOURCE
            self._from_lines,
            self._from_deferred,
            self._from_budgets,
        )
        self._moves_left = URLS_MOVED_PER_TURN  # of this turn, from the front-end
        # no look at budgets before this time, unless no host is active
        self._next_look_at = 0.0

    def can_grow(self) -> bool:
        """Return whether `grow` may let in one more host, or may find out that it can."""
        if self.states.is_full():
            return False
        if self._lines.queues or self._queues.others_wait(self._back.now):
            return True
        return self._may_look_at_budgets()

    def _may_look_at_budgets(self) -> bool:
        """Return whether the time of the next look at budgets has come."""
        look_at = self.next_budget_look()
        return look_at is not None and look_at <= self._back.now

    def next_budget_look(self) -> float | None:
        """Return the time from which idle fetchers may search the budgets for held URLs.

        0 is now. None if no held URL could be found, or no host has a place.
        """
        if not self._budgets.unsettled or self.states.is_full():
            return None
        must_wait = self._back.active and not self._budgets.idle
        return self._next_look_at if must_wait else 0.0

    def others_wait(self) -> bool:
        """Return whether URLs wait outside the back-end whose domains do not have their share."""
        return self._queues.others_wait(self._back.now)

    def next_deferred(self) -> float | None:
        """Return the time at which the next deferred host could come back.

        None if no host is deferred, or the back-end has no place for one.
        """
        return None if self.states.is_full() else self._deferred.next_due()

    @property
    def lines_wait(self) -> bool:
        """Return whether hosts wait because their domain or address has its share."""
        return bool(self._lines.queues)

    def grow(self, *, beyond_share: bool = False) -> bool:
        """Make one more host active, because fetchers are idle while URLs wait.

        This is BUbiNG's required front: the width grows with it. Return whether a host was found.
        Call `can_grow` first. With `beyond_share`, a host whose domain has its share of the places
        is taken if no other host waits.
        """
        if self._may_look_at_budgets():
            self._look_at_budgets()
        has_grown = self.refill() or (beyond_share and self._from_lines(beyond_share=True))
        if not has_grown:
            return False
        self._core.width = max(self._core.width, len(self._back))
        return True

    def shrink(self) -> None:
        """Reduce the width by one host, because active hosts wait for fetchers."""
        self._core.width = max(self._core.width - 1, self._min_queues)

    def refill(self) -> bool:
        """Make one waiting host active. Return whether one was found.

        The sources take turns: parked hosts, the front-end, domains' lines, deferred hosts, URLs
        whose domains had no budget.
        """
        queues = self._queues
        others_than_front = (
            queues.parked.count
            or queues.lines.queues
            or self._budgets.listed
            or queues.deferred.heads
        )
        if others_than_front:
            if self._from_next_source():
                return True
        # In nearly all calls only the front-end has URLs.
        elif self._front.filled and self._from_front():
            self.states.source = FRONT_SOURCE
            return True
        return self._from_budgets_after_look()

    def _from_next_source(self) -> bool:
        """Try each source once, from the one whose turn it is, until one makes a host active.

        `states.source` is left at that source. Return whether there was one.
        """
        states = self.states
        for _ in self._sources:
            states.source = (states.source + 1) % len(self._sources)
            if self._sources[states.source]():
                return True
        return False

    def _from_budgets_after_look(self) -> bool:
        """Make a host active from URLs that budgets hold, after a new look at these budgets.

        This is the last resort, when no host is active and no other source has URLs.
        """
        if self._back.active or not self._budgets.unsettled:
            return False
        self._look_at_budgets()
        return self._from_budgets()

    def _look_at_budgets(self) -> None:
        """Search the budgets for domains whose held URLs may go on, in a few steps.

        While hosts are active, the search waits for `_next_look_at`, which is set anew here.
        Domains that have become idle are tried at once.
        """
        # With fewer steps, or if an idle domain waited for the next look, unknown hosts would get
        # the domain's slots.
        budgets = self._budgets
        now = self._back.now
        budgets.try_idle_domains(self._shares.has_active)
        if self._back.active and self._next_look_at > now:
            return
        for _ in range(BUDGET_STEPS_AT_ONCE):
            budgets.look(self._domains_at_work)
            if not budgets.is_looking:
                break
        self._next_look_at = now + (
            SECONDS_BETWEEN_STEPS if budgets.is_looking else SECONDS_BETWEEN_LOOKS
        )

    def _domains_at_work(self) -> set[str]:
        """Return the domains of active hosts that answer well.

        Their folded URLs wait for these hosts. A host that fails or is slow holds up no URL.
        """
        return self._shares.domains_of(
            host for host in self._back.active.values() if host.standing == PROVEN
        )

    def begin(self) -> None:
        """Begin a turn, i.e. the search for the next link to hand out.

        One more host is made active if there are fewer than the width.
        """
        self._moves_left = URLS_MOVED_PER_TURN
        if len(self._back.active) < self._core.width:
            self.refill()

    def _from_parked(self) -> bool:
        """Make the host active that has been parked for the longest."""
        name = self._queues.parked.pop()
        return name is not None and self._admit_by_name(name)

    def _from_front(self) -> bool:
        """Move URLs from the front-end to their hosts until one makes a host active.

        Return whether one did. `Budgets.admits` holds URLs without a budget.
        """
        front = self._front
        gate = self._core.gate
        # Once per call: the URLs that are moved beyond have a turn of choice at their hosts.
        if front.sift is not None:
            front.choose()
        # Each URL moves to its host once. Nielsen's crawler appended those that could not be
        # requested yet to the front again, and runs of one domain's URLs grew.
        while front.filled and self._moves_left:
            self._moves_left -= 1
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

    def admit_revisits(self, max_urls: int) -> None:
        """Move URLs that are fetched again from the front-end to their hosts, beyond the width.

        Stops after `max_urls`, or when all places are taken. The URLs enter the front-end only as
        fast as revisits are wanted; behind the long queues of active hosts they would starve.
        """
        # By the chooser's weights alone a page that is due waited for 50 minutes, behind 3,000 URLs
        # of a host that is requested once per second.
        front = self._front
        gate = self._core.gate
        for _ in range(max_urls):
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
        """Move URLs whose domain has a budget again to their hosts until one makes a host active.

        Return whether one did.
        """
        for _ in range(URLS_MOVED_PER_TURN if self._budgets.listed else 0):
            record = self._budgets.pop()
            if record is None:
                break
            if self._route(record, host_name(record)):
                return True
        return False

    def _from_lines(self, *, beyond_share: bool = False) -> bool:
        """Move URLs and parked hosts out of domains' lines until one host becomes active.

        Return whether one did. `beyond_share`: also from lines of domains without room.
        """
        for _ in range(URLS_MOVED_PER_TURN if self._lines.queues else 0):
            record = self._lines.pop(_no_group_is_full if beyond_share else self._shares.is_full)
            if record is None:
                break
            # A packed link has spaces, and the name of a parked host has none.
            if b" " not in record:
                entered = self._admit_by_name(record, beyond_share=beyond_share)
            else:
                entered = self._route(record, host_name(record), beyond_share=beyond_share)
            if entered:
                return True
        return False

    def _from_deferred(self) -> bool:
        """Make a host active that was deferred, if its time has come.

        Return whether there was one. Most of these hosts are then tried with one URL.
        """
        now = self._back.now
        host = self.states.next_back(now)
        if host is None:
            return False
        if not host.retired and self._deferred.should_defer(
            host, host.due(), now + EARLY_RETURN_SECONDS
        ):
            # An inline download has requested the host meanwhile, so it has to wait once more.
            self.states.defer(host, now)
            return False
        return self._admit(host)

    def _admit_by_name(self, name: bytes, *, beyond_share: bool = False) -> bool:
        """Make the parked host of this name active, unless it has to wait in a line.

        Return whether it is active.
        """
        return self._admit(self._hosts.get(name.decode()), beyond_share=beyond_share)

    def _admit(self, host: Host, *, beyond_share: bool = False) -> bool:
        """Make a parked host active. Return whether it is; otherwise it is put away.

        A foreign host leaves for its own crawl. A host whose domain or address has its share of the
        places waits in that group's line, unless `beyond_share`.
        """
        if self._core.is_foreign(host.name):
            self.states.leave_hive(host)
            self._hosts.put_away(host)
            return False
        may_wait_in_line = not beyond_share and not self._deferred.keeps(host)
        full_group = self._shares.full_group_of(host) if may_wait_in_line else None
        if full_group is not None:
            self._lines.push(full_group, host.name.encode())
            self._hosts.put_away(host)
            return False
        # its row says that it is parked, and no queue of parked hosts has its name now
        self._hosts.touch(host)
        return self.states.wake(host)

    def _route(self, record: bytes, name: str, *, beyond_share: bool = False) -> bool:
        """Move a URL to the host `name`, whatever that host's state.

        Return whether this made the host active. The URL is turned away if the host is foreign, and
        waits in a line if the host's domain or origin has its share of the places; with
        `beyond_share` it does not wait.
        """
        gate = self._core.gate
        if gate is not None and gate.foreign(name):
            gate.turn_away(record, True)  # its domain was charged for it
            return False
        host = self._back.active.get(name)
        if host is not None:
            self._add_to_active(host, record)
            return False  # the host was active before
        domain = self._shares.domain_of(name)
        origin = self._shares.origin_of(record, domain)
        full_group = None if beyond_share else self._full_group_of_url(domain, origin)
        # The queue of a full group has URLs, and no hosts: the host's record is not read, and a
        # flood of 84,000 hosts writes no rows.
        if full_group is not None:
            self._lines.push(full_group, record)
            return False
        return self._add_to_inactive(
            self._hosts.get(name), record, origin, beyond_share=beyond_share
        )

    def _full_group_of_url(self, domain: Group, origin: Group) -> Group | None:
        """Return the first of a URL's two groups that has its share of the places, or None."""
        if self._shares.is_full(domain):
            return domain
        return origin if origin and self._shares.is_full(origin) else None

    def _add_to_active(self, host: Host, record: bytes) -> None:
        """Queue a URL at an active host, which is scheduled anew if it had no such URL."""
        self._hosts.touch(host)
        queue = self._hosts.queue_for(host, record)
        queue.push(record)
        if self._sets_origin_apart(host, record) or queue.count == 1:
            self._schedule_for_new_url(host)

    def _add_to_inactive(
        self, host: Host, record: bytes, origin: Group, *, beyond_share: bool
    ) -> bool:
        """Queue a URL at a host that is not active. Return whether this made the host active.

        Otherwise the host is put away. The URL is dropped if the host is retired.
        """
        if host.retired and not self._has_another_chance(host, record):
            self._core.queued -= 1
            self._core.drop(unpack(record), host.retired)
            self._hosts.put_away(host)
            return False
        # Any other inactive host waits by its name, and keeps its URLs in its own queue.
        is_idle = host.state is HostState.IDLE
        full_group = self._shares.full_group_of(host) if is_idle and not beyond_share else None
        if full_group is not None:
            self._lines.push(full_group, record)
            self._hosts.put_away(host)
            return False
        self._hosts.touch(host)
        self._hosts.queue_for(host, record).push(record)
        self._sets_origin_apart(host, record)
        if not is_idle:
            self.states.joined(host, self._back.now)
            self._hosts.put_away(host)
            return False
        if not self.states.wake(host):
            return False
        self._shares.set_origin(host, origin)
        return True

    def _has_another_chance(self, host: Host, record: bytes) -> bool:
        """Return whether a retired host takes this URL after all.

        The host may be due for another chance, which is booked; another of its origins alone may
        have failed, which is then set apart; or HOST_MAX_PAGES allows the URL, a revisit.
        """
        if give_another_chance(host, self._back.now):
            return True
        if self._core.origins.set_apart_for(host, url_of(record)):
            return True
        return host.retired == Status.HOST_BUDGET and is_revisit(record)

    def _sets_origin_apart(self, host: Host, record: bytes) -> bool:
        """Give another origin than the URL's its own record, if the host has failed for that alone.

        Return whether it was set apart.
        """
        return host.failures > 0 and self._core.origins.set_apart_for(host, url_of(record))

    def _schedule_for_new_url(self, host: Host) -> None:
        """Schedule an active host anew that had no URL that was due, and now has one."""
        if host.ticket:  # the host was scheduled for a retry
            self._back.renew(host)
        elif host.lanes is not None:
            self.states.several.go_on(host, self._back.now)


def _no_group_is_full(_: Group) -> bool:
    """Stands in for `PlaceShares.is_full` where shares do not count."""
    return False


REVISITS_MOVED_PER_TURN = 256  # URLs to be fetched again that are moved to their hosts in one turn


class RevisitTurns:
    """Queues the URLs that are fetched again, and lets them in by their share of all turns."""

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
        """Move queued revisits to their hosts, as far as there are places."""
        revisits = self._front.old
        if revisits is not None and revisits.count:
            self._core.back.now = now
            self._rotation.admit_revisits(REVISITS_MOVED_PER_TURN)

    def set_share(self, share: float) -> None:
        """Give this part of the turns to what is fetched again, in the front-end and at each host."""
        self._front.set_revisit_share(share)
