"""The frontier: URLs go in by priority and come out politely (Mercator 3.1, Figure 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heapify, heappush
from time import thread_time

from webcrawl.base.model import Link, Outcome, Status, unpack
from webcrawl.base.url_text import host_of
from webcrawl.frontier.answers import Answers, HostNotes
from webcrawl.frontier.booking import HostTerms, Limits
from webcrawl.frontier.core import Core, Hooks, Queues, Rules
from webcrawl.frontier.demand import LATE, Demand
from webcrawl.frontier.domains import Domains
from webcrawl.frontier.host_handover import HostHandover
from webcrawl.frontier.host_inspection import HostInspection
from webcrawl.frontier.host_origins import OF_HOST
from webcrawl.frontier.host_state import HostStates
from webcrawl.frontier.hosts import FIRST, Host
from webcrawl.frontier.lending import NO_PAGE, HostLender
from webcrawl.frontier.outage_pardon import Outage
from webcrawl.frontier.politeness import Politeness
from webcrawl.frontier.protocol import DiscoverySink
from webcrawl.frontier.rotation import RevisitTurns, Rotation
from webcrawl.frontier.url_selection import COSTLY_TURN_SECONDS, UrlSelection
from webcrawl.frontier.wait_words import NO_WAY
from webcrawl.store.jobdir.host_row import FailedRow, Health, HostState, given_up, is_blocked


# A paused host is a deferred host. With a state of its own, each place that moves hosts would have
# to know it, and older versions could not read the row.
class Steering:
    """What an operator may command for single hosts: pause, resume, retry, drop, own terms.

    A paused host is deferred and stays so, with its URLs and what is found of it meanwhile.
    """

    def __init__(self, core: Core, states: HostStates) -> None:
        self._core = core
        self._states = states
        self._hosts = core.hosts
        self._back = core.back
        self._book = core.book
        self._deferred = core.deferred
        self.held = core.deferred.held  # names of paused hosts

    def set_host_terms(self, terms: Mapping[str, HostTerms | None] | None) -> None:
        """Let other waits and limits hold for some hosts than for all.

        `terms` by the host's name; a host for which they are None has those of all hosts.
        """
        self._book.host_terms = terms
        self._states.several.renew()

    # -- paused hosts

    def pause(self, names: Iterable[str], now: float) -> None:
        """Pause these hosts: they get no more requests. A request under way ends as ever."""
        self.held.update(names)
        for name in names:
            host = self._back.active.get(name)
            if host is None or host.given is not None or host.retired:
                # It is deferred when it is about to become active, or when its request ends.
                continue
            self._core.dismiss(name.__eq__)
            self._states.pause(host, now)

    def resume(self, name: str, now: float) -> None:
        """Resume a paused host, which then waits for its turn like any other."""
        self.held.discard(name)
        host, active = self._core.open(name)
        if active or host.state is not HostState.DEFERRED or self._core.is_foreign(name):
            self._core.close(host, active=active)
        else:
            self._states.release(host)
            self._states.place(host, now)

    # -- a host that fails

    def retry(self, name: str, now: float) -> float:
        """End all waits of a host but those that politeness demands; return when it is due.

        A host that was given up is tried again. Its failures are not forgotten: if it fails once
        more, it waits as if this had not been called.
        """
        host, active = self._core.open(name)
        # `failures` stays as it is: without it a dead host would be requested twelve more times.
        if given_up(host) or not self._book.is_spent(host):
            host.retired = 0
        wait = self._book.wait(host)
        if host.ready_at > now + wait:  # not for politeness, which counts from a request before now
            host.ready_at = self._due_by_politeness(host, now, wait)
        _hurry(host, now)
        for origin in (host.origins or {}).values():
            origin.retired = 0
            origin.ready_at = min(origin.ready_at, max(host.ready_at, now))
            _hurry(origin, now)
        self._hosts.touch(host)
        # If a request is in flight and no other may be, its end schedules the host.
        can_be_requested = host.given is None or host.ticket
        if active and can_be_requested and not host.retired:
            self._core.dismiss(name.__eq__)  # it waits for its address no more
            self._back.schedule(host, host.due())
            if name in self.held:  # paused while its URLs ended
                self.pause([name], now)
        self._let_in(host, now, active=active)
        return host.ready_at

    def _due_by_politeness(self, host: Host, now: float, wait: float) -> float:
        """Return when a host whose other waits have ended is due. `wait`: between two requests."""
        due = now + wait
        failed = host.failed
        if failed is None:
            return due
        # A host that has failed was requested last when it failed, or maybe right before the crawl
        # was resumed.
        if host.failures:
            due = max(failed.at, self._core.resumed) + wait
        # What the host itself has asked for (Retry-After) is kept to.
        return max(due, failed.at + self._book.retry_after(host))

    def drop(self, name: str, now: float) -> tuple[int, bool]:
        """Give the host up: its URLs end, some hundred per turn.

        URLs that surface later end too, until the host is tried again: by `retry`, or for a link
        that is found a day later. Return how many URLs it has, and whether it waits for a place;
        then they end when it has one.
        """
        host, active = self._core.open(name)
        urls = host.waiting()
        failed = host.failed
        # `retry` keeps to what the host itself has asked for.
        retry_after = max(failed.at + failed.retry_after - now, 0.0) if failed is not None else 0.0
        # The rules for hosts that are given up do the rest: URLs end in turns, later URLs end too,
        # and the host is tried again a day later.
        host.retired = Status.DROPPED
        host.failures = 0
        if is_blocked(host):  # none of its URLs waits for the end of its block pages any more
            host.block_pages = None
            self._core.counters["hosts unblocked"] += 1
        host.failed = FailedRow(now, 0.0, Status.DROPPED, 0, gone=False, retry_after=retry_after)
        self._hosts.touch(host)
        if active and (host.given is None or host.ticket):
            self._core.dismiss(name.__eq__)
            self._back.schedule(host, now)
        waits = host.state is HostState.PARKED
        self._let_in(host, now, active=active)
        return urls, waits

    # -- where they are

    def _let_in(self, host: Host, now: float, *, active: bool) -> None:
        """Make a deferred host active, even if no place is free. The caller no longer holds it.

        Any other host stays as it is. So does a deferred host that is paused, or of another crawl.
        """
        must_stay = self._core.is_foreign(host.name) or self._deferred.keeps(host)
        if active or host.state is not HostState.DEFERRED or must_stay:
            self._core.close(host, active=active)
            return
        self._states.release(host)
        self._states.activate(host)
        if host.retired:
            self._back.schedule(host, now)


def _hurry(host: Host, now: float) -> None:
    """Let URLs that wait for another try come as soon as the host may be requested."""
    if host.later:
        host.later = [(min(at, max(host.ready_at, now)), record) for at, record in host.later]
        heapify(host.later)


STEPS = 64  # hosts examined by one `take` before it gives up for this turn of the event loop
NOT_ANSWERING = (Health.FAILING, Health.DEFERRED, Health.BLOCKED)


class Frontier:
    """Links go in with `add`, come out with `take`, and end with `done`.

    All else is what one of its parts does.
    """

    def __init__(self, queues: Queues, rules: Rules, hooks: Hooks, *, resumed: float = 0.0) -> None:
        core = self.core = Core(queues, rules, hooks, resumed)
        self.counters = core.counters
        self.found: DiscoverySink | None = None
        self.domains = Domains(core, rules)
        if hooks.dropped is not None:
            core.dropped.append(hooks.dropped)
        states = self._states = HostStates(core, rules)
        rotation = self.rotation = Rotation(core, states, rules.limits.queues)
        self.demand = Demand(core, rotation)
        self.lending = HostLender(core, states)
        selection = self._selection = UrlSelection(
            core, states, self.lending.reserved, self.domains.folds
        )
        self.notes = HostNotes(core, self.domains)
        self._answers = Answers(core, states.several, self.domains, self.notes)
        self.outage = Outage(core, rotation, selection)
        self.look = HostInspection(core)
        self.steering = Steering(core, states)
        self.revisits = RevisitTurns(core, rotation)
        self.moves = HostHandover(core, states, self.lending, self.domains.refund)
        self._remember(queues.told.until)

    def _remember(self, told: dict[str, float]) -> None:
        """Take over the hosts that the last checkpoint left in the back-end.

        `told`: by name, until when hosts have asked to be left alone since then (Retry-After).
        """
        core = self.core
        hosts = self.core.hosts
        for host in hosts.active():
            # A note in told.N is newer than the record, so the longer wait holds.
            if host.name in told:
                hosts.touch(host)
                host.ready_at = max(host.ready_at, told.pop(host.name))
            if host.ip and core.addresses is not None:
                core.addresses.delay_address(host.ip, host.ready_at)
            self._states.activate(host)
            if core.resumed and core.deferred.should_defer(host, host.due(), core.resumed):
                self._states.deactivate(host, HostState.DEFERRED, core.resumed)
        for name, until in told.items():
            with core.opened(name) as host:
                host.ready_at = max(host.ready_at, until)
                hosts.touch(host)

    def __len__(self) -> int:
        """Return the number of URLs that are not finished."""
        return self.core.queued + self.core.in_flight

    def __repr__(self) -> str:
        core = self.core
        counts = f"queued={core.queued} in_flight={core.in_flight} hosts={len(core.back)}"
        return f"<Frontier {counts} n={core.width}>"

    @property
    def queued(self) -> int:
        """The number of URLs that wait."""
        return self.core.queued

    @property
    def in_flight(self) -> int:
        """The number of URLs that are out."""
        return self.core.in_flight

    @property
    def over_budget(self) -> int:
        """The number of URLs that can only wait for their domains' budgets to grow.

        It is 0 as long as their budgets are not looked at, once nothing else is left to do.
        """
        budgets = self.core.queues.budgets
        return 0 if budgets.unsettled or budgets.listed else budgets.table.held

    def resting(self) -> bool:
        """Return whether the URLs that are left are all of hosts that do not answer, or over
        budgets.
        """
        core = self.core
        # Of the URLs that are not deferred or over budgets, those of failing hosts are taken off.
        left = len(self) - core.deferred.urls - self.over_budget
        for host in core.back.active.values():
            if not left:
                break
            if core.book.health.health(host) not in NOT_ANSWERING:
                break
            left -= host.waiting() + len(host.flights())
        return not left

    def may_recover(self) -> bool:
        """Return whether a host that answered before has failed once since, and has not been
        requested again.

        An answer that asks for a wait (Retry-After) counts as one. Deferred hosts are not
        looked at.
        """
        for host in self.core.back.active.values():
            has_answered = host.pages > 0 or (
                host.failed is not None and host.failed.retry_after > 0
            )
            if host.failures == 1 and has_answered:
                return True
        return False

    def change(self, politeness: Politeness, limits: Limits) -> None:
        """Book by other waits and limits from now on: those of hosts and URLs, not those of the
        rotation.
        """
        self.core.book.change(politeness, limits)
        self.core.deferred.failures = limits.host_failures
        self._states.several.renew()

    # -- in

    def add(self, records: Iterable[bytes]) -> None:
        """Put packed links into the front-end, each at the level that prioritizer and priority give
        it.
        """
        new = [*records]
        if self.domains.folds is not None:
            self.domains.known.entered(new)
        added = self.core.queues.front.add(new)
        self.core.queued += added
        self.counters["added"] += added

    def expedite(self, record: bytes) -> None:
        """Put a link that others wait for before all other links of its host."""
        link = unpack(record)
        core = self.core
        name = host_of(link.url)
        if core.gate is not None and core.gate.foreign(name):
            core.gate.pass_on(record)
            return
        host, active = core.open(name)
        core.hosts.touch(host)
        # before what was put back: that may wait itself, for another host's
        heappush(host.later, (FIRST, record))
        core.queued += 1
        self.counters["added"] += 1
        if host.state is HostState.IDLE:
            self._states.wake(host)
        elif not active:
            self._states.joined(host, core.back.now)
            core.hosts.put_away(host)
        elif host.ticket:
            core.back.renew(host)
        elif host.lanes is not None:
            self._states.several.go_on(host, core.back.now)

    # -- out

    def take(self, now: float, *, spare: bool = True) -> Link | None:
        """Return the next link, whose host is due, or None: call again at `next_ready`.

        Here the host is picked; `UrlSelection.hand_out` picks its URL.

        Without `spare`, unproven hosts and domains keep to their shares: others may have URLs that
        have not arrived here yet.
        """
        back = self.core.back
        rotation = self.rotation
        demand = self.demand
        back.now = now
        rotation.begin()
        begun = 0.0  # this thread's time at the first host without a link; 0: none so far
        for step in range(STEPS):
            entry = back.pop_due(now)
            if entry is None:
                # A host from outside may answer sooner than an unproven one beyond its share.
                if rotation.can_grow() and demand.grow(now, step, spare=spare):
                    continue
                entry = back.pop_spare(now) if spare else None
                if entry is None:
                    return None
            due_at, _, host = entry
            if now - due_at > LATE:
                demand.late(host, now - due_at, now)
            link = self._selection.hand_out(host, now)
            if link is not None:
                return link
            # This host's URLs have ended, or wait. Verdicts of a robots.txt may have been dear.
            begun = begun or thread_time()
            if thread_time() - begun > COSTLY_TURN_SECONDS:
                break
        return None

    def next_ready(self) -> float | None:
        """Return the time at which `take` may return a link (0 is now), or None until something is
        added or done.
        """
        times = self.core.back.next_due(), self.rotation.next_deferred(), self.demand.next_growth()
        return min((at for at in times if at is not None), default=None)

    # -- done

    def crawl_delay(self, name: str, seconds: float) -> None:
        """Set the delay between requests that a host's robots.txt asks for; 0 withdraws it."""
        with self.core.opened(name) as host:
            if host.crawl_delay != seconds:
                host.crawl_delay = seconds
                self.core.hosts.touch(host)
                if host.lanes is not None:
                    self._states.several.change(host)

    def will_retry(self, link: Link, outcome: Outcome, now: float) -> bool:
        """Return whether `done` would return False, i.e. the link would be retried."""
        core = self.core
        host = core.back.active[host_of(link.url)]
        news = self._states.several.is_news(host, link)
        whole = host.origins is None or outcome.status in OF_HOST
        record = host if whole else core.origins.record_for(host, link)
        return core.book.will_retry(record, link, outcome, now, news=news)

    def done(self, link: Link, outcome: Outcome, now: float) -> bool:
        """Book the outcome of a download, and return False if the link will be retried."""
        core = self.core
        rotation = self.rotation
        host = self._selection.received(link)
        final = self._answers.booked(host, link, outcome, now)
        # Last, because the record may leave memory with it.
        self._states.settle(host, now)
        if len(core.back.active) < core.width:
            rotation.refill()
        return final

    def end_without_request(self, link: Link, now: float) -> None:
        """End a link for which no host was requested, because a middleware had the answer.

        The host's record stays.
        """
        host = self._selection.received(link)
        self.domains.record_end(host, link)
        self.core.origins.end_flight(host, link)
        self.counters["finished"] += 1
        self._states.settle(host, now)

    def put_back(self, link: Link, now: float, wait: float = 0.0) -> None:
        """Take back a link that was not requested, for a lack of ours: it goes first again.

        `wait`: seconds for which the lack will last. If there are any, the host waits for as long,
        and for its usual wait at least, because it may have been requested.
        """
        host = self._selection.received(link)
        if wait:
            usual = self.core.book.wait(host)
            host.ready_at = max(host.ready_at, now + max(wait, usual))
            if wait > usual:
                host.left = host.ready_at, NO_WAY
        self._return(host, link, "put back", now)

    def cancelled(self, link: Link, seconds: float, now: float) -> None:
        """Take back a link that was in flight for so long that others get its slot.

        It goes first again when its host, which waits for HOST_RETRY_WAIT at least, is due.
        """
        core = self.core
        host = self._selection.received(link)
        # A pardon after an outage takes the time of the cancelled download back too.
        charge = core.charges.note(host, NO_PAGE, now)
        core.book.book_cancelled(host, seconds, now)
        charge.failures = host.failures
        core.back.slots.judge(host)
        self._return(host, link, "cut", now)  # a counter's name, which crawls have in their states

    def _return(self, host: Host, link: Link, why: str, now: float) -> None:
        """Queue a link before all others of its host, and settle the host. `why`: the counter."""
        heappush(self.core.origins.record_for(host, link).later, (FIRST, link.pack()))
        self.core.origins.end_flight(host, link)
        self.domains.forget(link)
        self.core.queued += 1
        self.counters[why] += 1
        self._states.settle(host, now)
