"""Hosts lent to inline downloads, which a callback, a pipeline or a spider's `start` awaits.

Such a download cannot be queued: its host may be in flight with the very page that awaits it. But a
host that is in flight is only requested while the download lasts, not while its page is processed,
and so it can be lent from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from webcrawl.base.model import Link, Outcome, Packed, Status
from webcrawl.base.url_text import host_of
from webcrawl.frontier.core import Core, Decision
from webcrawl.frontier.deferred_hosts import FAR
from webcrawl.frontier.health import give_another_chance, give_attempts_back
from webcrawl.frontier.host_origins import OF_HOST
from webcrawl.frontier.host_rows import is_worth_a_line
from webcrawl.frontier.host_state import HostStates
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.wait_words import FAILURE
from webcrawl.store.jobdir.host_row import given_up

# for the time being: the end of the request that uses the host must be waited for
NEVER = float("inf")
NO_PAGE = Link("")  # counts for the host's times and failures, not as a page of its budget
ROBOTS = Link("", "P")  # the same for a robots.txt, whose failures are all the host's
# What came of the request in flight for this record, and when it ended; None while it is being
# downloaded
InFlight = Callable[[Packed], tuple[Outcome, float] | None]


class HostLender:
    """Lends hosts to inline downloads.

    A host for which one waits is reserved: `take` does not hand it out, until `release`. It is lent
    to one download at a time, and given back with an outcome.
    """

    def __init__(self, core: Core, states: HostStates) -> None:
        self._states = states
        self._core = core
        self._book = core.book
        self._addresses = core.addresses
        self._deferred = core.deferred
        self.reserved: set[str] = set()
        self.lent: dict[str, str] = {}  # host name -> the address that is lent with it
        self._requested: dict[str, Link] = {}  # host name -> what is requested

    def lend(self, link: Link, now: float, in_flight: InFlight) -> Decision:
        """Lend the link's host, and return what to ask it for.

        None stands for the link; another Link (robots.txt) goes first. Otherwise nothing is lent: a
        time says when to try again (NEVER: when a request has ended), a Status that the link is not
        to be fetched. `in_flight` is asked for the outcome of requests that are not booked yet.
        """
        name = host_of(link.url)
        if self._core.is_foreign(name):
            return Status.HOST_RETIRED  # it is requested by another crawl
        if name in self._deferred.held:
            # A caller cannot be asked to wait until an operator resumes the host.
            return Status.HOST_RETIRED
        self.reserved.add(name)
        if name in self.lent:
            return NEVER
        host, active = self._core.open(name)
        try:
            decision = self._decide(host, link, now, in_flight)
            requested = decision if isinstance(decision, Link) else link
            is_lent = not decision or requested is decision
            if is_lent:
                self.lent[name] = host.ip
                self._requested[name] = requested
                if self._addresses is not None and host.ip:
                    self._addresses.lend(host.ip)
            return decision
        finally:
            self._core.close(host, active=active)

    def _decide(self, host: Host, link: Link, now: float, in_flight: InFlight) -> Decision:
        """Decide on an inline download.

        Return None or another link to fetch now, a time to try again at, or the Status with which
        the link ends.
        """
        origin = self._core.origins.own(host, link.url)
        records = (host,) if origin is None else (host, origin)
        end = _given_up(records, now)
        if end:
            return end
        decision = self._core.admission(link, now) if self._core.admission is not None else None
        may_be_fetched = not decision or isinstance(decision, Link)
        if not may_be_fetched:
            return decision
        ready = self._ready(host, in_flight)
        if origin is not None and origin.ready_at > max(ready, now):
            return self._when_origin_is_ready(origin, now)
        if ready <= now:
            return decision
        if ready < NEVER and self._deferred.should_defer(host, ready, now):
            # A caller cannot be asked to wait for hours.
            return Status.HOST_RETIRED
        return ready

    def _when_origin_is_ready(self, origin: Host, now: float) -> Decision:
        """Return the time from which an origin may be requested, or a Status if that is too late."""
        has_failed_often = origin.failures >= self._book.health.failures
        if has_failed_often or origin.ready_at - now > FAR:
            return Status.HOST_RETIRED
        return origin.ready_at

    def _ready(self, host: Host, in_flight: InFlight) -> float:
        """Return when the host may be requested, as far as is known now.

        NEVER while a request to it, or to another host at its address, is in flight.
        """
        ready = self._after_flight(host, in_flight)
        if self._addresses is None or not host.ip:
            return ready
        ready = max(ready, self._addresses.ready_at(host.ip))
        other = self._addresses.holder(host.ip)
        if other is None or other == host.name:
            return ready
        return max(ready, self._after_flight(self._core.back.active[other], in_flight))

    def _after_flight(self, host: Host, in_flight: InFlight) -> float:
        """Return when the host may be requested, by what is known of its requests in flight.

        NEVER if one has not ended. One that has ended, and is booked when its page is done, counts.
        """
        if self._core.resumed:  # as for every host that enters the back-end
            host.ready_at = max(host.ready_at, self._core.resumed + self._book.wait(host))
        ready = host.rested_at()
        for record in host.flights():
            ended = in_flight(record)
            if ended is None:
                return NEVER
            outcome, at = ended
            # It will be booked when its page is done. Then the host waits as long as this.
            if outcome.status != Status.UNTRIED:
                ready = max(ready, self._book.ready_after(host, NO_PAGE, outcome, at))
        return ready

    def again(self, link: Link, outcome: Outcome) -> bool:
        """Return whether a link has another attempt after this outcome.

        `lend` says when, and whether the host is retired.
        """
        return self._book.has_attempts_left(link, outcome)

    def ready_at(self, name: str) -> float:
        """Return the time at which the host may be requested again; NEVER while it is lent."""
        if name in self.lent:
            return NEVER
        with self._core.opened(name) as host:
            ready = host.ready_at
        if self._addresses is None or not host.ip:
            return ready
        return max(ready, self._addresses.ready_at(host.ip))

    def is_retired(self, name: str) -> bool:
        with self._core.opened(name) as host:
            return host.retired != 0

    def is_failing(self, url: str) -> bool:
        """Return whether the last requests to the URL's host, or to its origin, have failed."""
        with self._core.opened(host_of(url)) as host:
            origin = self._core.origins.own(host, url)
            return host.failures > 0 or (origin is not None and origin.failures > 0)

    def wait(self, name: str) -> float:
        """Return the seconds between two requests to the host if none fails."""
        with self._core.opened(name) as host:
            return self._book.wait(host)

    def give_back(self, name: str, outcome: Outcome | None, now: float) -> None:
        """End the loan of a host, and book what it has answered.

        Without an outcome it was requested, and it is not known how that ended: it has its usual
        wait.
        """
        ip = self.lent.pop(name)
        requested = self._requested.pop(name)
        host, active = self._core.open(name)
        if outcome is None:
            host.ready_at = max(host.ready_at, now + self._book.wait(host))
        elif outcome.status != Status.UNTRIED:
            self._booked(host, requested, outcome, now)
        self._core.hosts.touch(host)
        # The download may have ended the reason for which the host was deferred.
        if host.retired or not self._deferred.should_defer(host, host.ready_at, now):
            self._states.recall(host)
        if self._addresses is not None:
            woken = self._addresses.take_back(ip, host.ready_at) if ip else None
            if host.ip:
                self._addresses.delay_address(host.ip, host.ready_at)
            if woken is not None:
                self._core.back.schedule(woken, host.ready_at)
        self._core.close(host, active=active)

    def _booked(self, host: Host, requested: Link, outcome: Outcome, now: float) -> None:
        """Book the outcome of an inline download, as `Answers.booked` does for all others.

        It changes the record of the host or of the URL's origin, and the counters.
        """
        url = requested.url
        link = ROBOTS if requested.is_prerequisite else NO_PAGE
        origins = self._core.origins
        is_of_host = host.origins is None or outcome.status in OF_HOST
        record = host if is_of_host else origins.record_for(host, Link(url))
        # Booking changes all of these; what follows compares.
        retired_before = record.retired
        failures_before = record.failures
        failed_before = record.failed
        ready_before = host.ready_at
        charge = self._core.charges.note(record, link, now) if outcome.doubtful else None
        if record is host:
            self._book.book(host, link, outcome, now)
        else:
            origins.book(record, link, outcome, now)
        if charge is not None:
            charge.failures = record.failures
        host.ip = outcome.ip or host.ip
        self._core.counters["lent"] += 1
        has_failed = record.failures > failures_before
        if has_failed:
            # The page in flight, which is booked later, makes the host well again, and leaves the wait
            if record.ready_at > ready_before and record.left[0] != record.ready_at:
                record.left = record.ready_at, FAILURE
            give_attempts_back(record, failed_before)
            is_given_up_by_it = record.retired != retired_before and given_up(record)
            self._core.counters["hosts given up"] += is_given_up_by_it
        if is_worth_a_line(outcome.wait, failed=has_failed):
            self._core.queues.told.note(host.name, record.ready_at)
        if has_failed and record is host:
            origins.set_apart_lent(host, url, outcome, failed_before, ready_before, now)

    def release(self, name: str, now: float) -> None:
        """Let `take` hand the host out again, as no caller waits for it any more."""
        self.reserved.discard(name)
        host = self._core.back.active.get(name)
        if host is None or not host.waiting():
            return
        may_be_requested = host.given is None or host.lanes is not None
        if not may_be_requested:
            return
        self._core.dismiss(name.__eq__)
        # The download has changed its record, so its standing and its entry may be old.
        self._core.back.slots.judge(host)
        self._core.back.schedule(host, now if host.retired else host.due())


def _given_up(records: Iterable[Host], now: float) -> int:
    """Return the Status of the first record that is given up and gets no other chance; else 0."""
    for record in records:
        if given_up(record) and not give_another_chance(record, now):
            return record.retired
    return 0
