"""The frontier's knowledge of single hosts, for those who watch the crawl.

Nothing changes by being looked at.
"""

from __future__ import annotations

from webcrawl.base.model import Link, unpack, url_of
from webcrawl.base.url_text import host_of
from webcrawl.frontier.core import Core
from webcrawl.frontier.fifo import Fifo
from webcrawl.frontier.health import URL_ERROR_WAIT_TIMES, blocked_retry_wait
from webcrawl.frontier.host_facts import (
    DomainFacts,
    HostFacts,
    domain_facts,
    facts_of,
    is_crawl_delay,
)
from webcrawl.frontier.host_origins import OF_HOST, text_at
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.wait_words import (
    BLOCKED,
    CRAWL_DELAY,
    DEFERRED,
    FAILURE,
    NEW,
    POLITENESS,
    RETRY_AFTER,
    WHY,
    Waits,
)
from webcrawl.store.jobdir.host_row import FailedRow, is_blocked

MOST = 1000  # URLs that are shown of one host
FEW, ROWS = 4, 256  # hosts that are named as reached, and rows that are read to find them: 5 ms


class HostInspection:
    """Answers questions about hosts and what waits; changes nothing.

    `facts` and `first` open one record, `in_memory` gives all that are objects.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._hosts = core.hosts
        self._budgets = core.queues.budgets
        self._back = core.back
        self._book = core.book
        self._deferred = core.deferred

    # -- all of it

    def figures(self) -> dict[str, int | float]:
        """Return the numbers of URLs and hosts that wait, by what they wait for."""
        return {
            "queued": self._core.queued,
            "in_flight": self._core.in_flight,
            "in_flight/more": self._more(),
            "over_budget": self._budgets.table.held,
            "over_budget/domains": self._budgets.table.over.domains,
            "over_budget/folded": self._budgets.table.folded.urls,
            "hosts": len(self._back),
            "deferred": self._deferred.urls,
            "hosts_deferred": self._deferred.hosts,
            "hosts_paused": len(self._deferred.held),
            "deferred_due": self._deferred.next_return() or 0.0,
        }

    def _more(self) -> int:
        """Return the requests in flight beyond the first one of each host.

        It takes 2 ms with 30,000 hosts.
        """
        if not self._book.varies_connections:
            return 0
        return sum(
            max(len(host.flights()) - 1, 0)
            for host in self._back.active.values()
            if host.lanes is not None
        )

    def levels(self) -> list[int]:
        """Return the number of URLs in each queue of the front-end."""
        return [*map(len, self._core.queues.front.queues)]

    def ready(self, now: float) -> int:
        """Return the number of hosts that are due."""
        return self._back.ready(now)

    # -- single hosts

    def facts(self, name: str) -> HostFacts:
        is_paused = name in self._deferred.held
        record = "in use" if name in self._back.active else self._hosts.place(name)
        if not record:
            return facts_of(self._hosts.blank(name), self._book, record="", is_paused=is_paused)
        with self._core.opened(name) as host:
            return facts_of(host, self._book, record=record, is_paused=is_paused)

    def record(self, name: str) -> tuple[int, bool, str]:
        """Return a host's failures in a row, whether it was ever requested, and its address if
        known.

        If an origin with a record of its own is being requested, its failures count.
        """
        with self._core.opened(name) as host:
            failures = (
                one.failures for one in (host.origins or {}).values() if one.given is not None
            )
            return max(host.failures, *failures, 0), bool(host.times), host.ip

    def reached(self) -> list[str]:
        """Return the names of a few hosts that have been reached, as of the last checkpoint."""
        return [name for name in self._hosts.names("", ROWS) if self.record(name)[1]][:FEW]

    def pause(self, name: str) -> tuple[float, str]:
        """Return for how long the host was left alone before the request of now, and by which rule.

        The time is in seconds.
        """
        host = self._back.active.get(name)
        if host is not None:  # nearly always, and each line of requests.log asks
            return self._pause(host)
        with self._core.opened(name) as opened:
            return self._pause(opened)

    def next_turn(self, link: Link) -> float | None:
        """Estimate the seconds until the next request to the host of a link just taken.

        None if its queue is empty.
        """
        host = self._back.active[host_of(link.url)]
        return self._book.wait(host) if host.waiting() else None

    def _pause(self, host: Host) -> tuple[float, str]:
        """Return the seconds of a host's pause, and its rule.

        The rule is a block page, a failure, a new host, its Crawl-delay, or the policy.
        """
        seconds = self._book.wait(host)
        if host.block_pages is not None and is_blocked(host):
            retry_wait = self._book.terms_of(host.name).limits.retry_wait
            return max(blocked_retry_wait(host.block_pages, retry_wait), seconds), BLOCKED
        if host.failed is not None:
            longer = self._pause_after_failure(host, host.failed, seconds)
            if longer is not None:
                return longer
        is_new = not (host.times or host.failures)
        if is_new:
            return seconds, NEW
        if is_crawl_delay(host, seconds, self._book):
            return seconds, CRAWL_DELAY
        return seconds, POLITENESS

    def _pause_after_failure(
        self, host: Host, row: FailedRow, seconds: float
    ) -> tuple[float, str] | None:
        """Return the pause of a host that has failed.

        None if its usual one, of so many seconds, is longer.
        """
        if row.errors_in_a_row and not host.failures:
            return URL_ERROR_WAIT_TIMES * seconds, FAILURE
        retry_after = self._book.retry_after(host)
        back_off = self._book.health.wait(host.failures, gone=row.gone) if host.failures else 0.0
        if retry_after and retry_after >= max(back_off, seconds):
            return retry_after, RETRY_AFTER
        if back_off > seconds:
            return back_off, FAILURE
        return None

    def waits(self, now: float) -> Waits:
        """Return the hosts that are waited for, counted by rule, and the next one to have its turn.

        Of deferred hosts only the next one is looked at, if no active host is waited for. It takes
        as long as `ready` of the back-end.
        """
        found = Waits()
        first: Host | None = None
        first_due = float("inf")
        for host in self._back.active.values():
            # Without a ticket it is in flight, or waits for its address. A retired host's URLs end
            # without a request.
            if not host.ticket or host.retired:
                continue
            due = host.due()
            if due <= now:
                continue
            found.rules[self._rule(_waited_for(host), due)] += 1
            if due < first_due:
                first = host
                first_due = due
        if first is not None:
            record = _waited_for(first)
            _name_next(found, first, record, self._rule(record, first_due))
            found.seconds = max(first_due - now, 0.0)
            return found
        deferred = self._deferred.first()
        if deferred is not None:
            deferred_due, name = deferred
            self._name_deferred(found, name, deferred_due)
            found.seconds = max(deferred_due - now, 0.0)
        return found

    def _name_deferred(self, found: Waits, name: str, due: float) -> None:
        """Name the next of the deferred hosts."""
        with self._core.opened(name) as host:
            record = _waited_for(host)
            has_failed = host.failing() or host.block_pages is not None
            rule = self._rule(record, due) if has_failed else self._pause(record)[1]
            _name_next(found, host, record, rule if rule in WHY else DEFERRED)

    def _rule(self, host: Host, at: float) -> str:
        """Return the rule by which a host is left alone until `at`, when its next URL is due.

        FAILURE also stands for a host of which only URLs are left that wait to be retried.
        """
        left_until, rule = host.left
        if left_until == host.ready_at == at:
            return rule
        is_resting = at <= host.rested_at()
        is_well = host.failed is None and host.block_pages is None
        if is_resting and is_well and not host.crawl_delay:
            return POLITENESS
        if is_resting or host.failures or host.block_pages is not None:
            return self._pause(host)[1]
        return FAILURE  # the host itself may be requested, but its URLs wait to be retried

    def in_flight(self, url: str) -> bool:
        """Return whether this URL was handed out and is not done."""
        host = self._back.active.get(host_of(url))
        return host is not None and url in map(url_of, host.flights())

    def wait(self, host: Host) -> float:
        """Return the seconds between two requests to it."""
        return self._book.wait(host)

    def first(self, name: str, most: int, now: float) -> list[tuple[float, Link]]:
        """Return the next URLs of a host, in their order.

        Before each stands when it is due, or 0 if it has no time of its own. Retries that are due
        come first, then the queues from the highest priority, then the retries that wait.
        """
        most = min(most, MOST)
        with self._core.opened(name) as host:
            retries = sorted(host.later)
            found = [(0.0, record) for at, record in retries if at <= now]
            for queue in _queues(host):
                if len(found) < most:
                    found += [(0.0, record) for record in queue.first(most - len(found))]
            found += [(at, record) for at, record in retries if at > now]
            return [(at, unpack(record)) for at, record in found[:most]]

    def in_memory(self) -> list[Host]:
        """Return all hosts that are objects."""
        return [*self._back.active.values(), *self._hosts.idle()]

    def domain(self, name: str) -> DomainFacts:
        """Return what is known of a registered domain."""
        return domain_facts(name, self._budgets)


def _queues(host: Host) -> list[Fifo]:
    """Return the host's queues, from the highest priority down."""
    ranked = host.ranked.queues if host.ranked is not None else ()
    queues = [(0, host.queue), *ranked]
    return [queue for _, queue in sorted(queues, key=lambda one: -one[0])]


def _waited_for(host: Host) -> Host:
    """Return the record whose wait is over first: the host's, or that of one of its origins."""
    if host.origins is None or host.has_due_always():
        return host
    waiting = [one for one in host.origins.values() if one.waiting() and one.given is None]
    if not waiting:
        return host
    first = min(waiting, key=Host.due)
    if not host.later:
        return first
    retry_at, _ = host.later[0]
    return host if retry_at <= first.due() else first


def _name_next(found: Waits, host: Host, record: Host, rule: str) -> None:
    """Name the host that is next; and its origin, if only that one has failed."""
    found.host = host.name
    found.rule = rule
    found.said = record.said
    found.of_robots = record.of_robots
    found.blocked_by = host.block_pages.vendor if host.block_pages is not None else ""
    if record is not host:
        found.origin = record.origin
    elif rule == FAILURE and host.said not in OF_HOST and host.failed is not None:
        found.origin = text_at(host, host.failed.origin)
