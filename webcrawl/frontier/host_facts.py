"""The facts of a host and of its domain: the one record that `ctl host` and `why` show.

It is filled from the frontier's own objects: those of a crawl that runs, or those that
`state.read_core` opens on a checkpoint. Times are the crawl's own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from webcrawl.base.model import url_of
from webcrawl.frontier.booking import Booking
from webcrawl.frontier.budgets import Budgets
from webcrawl.frontier.hosts import Host
from webcrawl.store.jobdir.host_row import (
    PLACES,
    BlockPageRow,
    FailedRow,
    Health,
    HostState,
    given_up,
    health_of,
    is_blocked,
)


class Delay(NamedTuple):
    """The time between two requests to a host that is well, and what asks for it."""

    seconds: float
    is_crawl_delay: bool  # its robots.txt asks for it; else it is the policy's
    policy: str  # the name of the politeness policy's class


@dataclass(frozen=True, slots=True)
class OriginFacts:
    """The facts about one origin (scheme, host and port) that fails or waits while others of its
    host are requested.
    """

    origin: str
    health: Health
    failures: int  # in a row
    failed: FailedRow | None
    retired: int  # if not 0, the Status with which its URLs end
    queued: int
    next_turn: float | None  # None if nothing is to be requested

    @property
    def health_in_words(self) -> str:
        return _health_in_words(self.health, self.failures, self.retired)


@dataclass(frozen=True, slots=True)
class HostFacts:
    """The facts about a host. Of one that the crawl does not know they are those of a new host."""

    name: str
    record: str  # where its record is; empty: the crawl does not know the host
    place: HostState
    state: str  # what it is doing, in words
    health: Health  # its own
    # if all its URLs wait for origins that fail, that of the best origin; else its own
    health_of_urls: Health
    is_paused: bool  # by command
    in_flight: str | None  # a URL that is being requested
    requests: int  # under way
    queued: int  # its URLs, but for those under way
    retries: int  # of these, those that wait for a time of their own
    ready_at: float  # no request before this time; 0: it was never requested
    # when it may be requested next; None if nothing is to be requested, or that is not known
    next_turn: float | None
    delay: Delay
    crawl_delay: float  # that its robots.txt asks for
    connections: int  # requests that it may have at once
    failures: int  # in a row
    failed: FailedRow | None  # what is known of these failures
    retired: int  # if not 0, the Status with which all its URLs end
    block_pages: BlockPageRow | None  # if it is blocked
    pages: int
    downloads: tuple[float, ...]  # seconds of the last five
    address: str
    is_http2: bool  # it speaks nothing else
    origins: tuple[OriginFacts, ...]

    @property
    def is_known(self) -> bool:
        return self.record != ""

    @property
    def health_in_words(self) -> str:
        """Its health in a few words, the first of which are those of `Health`."""
        if self.health is Health.BLOCKED and self.block_pages is not None:
            row = self.block_pages
            return f"{self.health.value}: {row.vendor}, {row.answers} in a row"
        if self.health is Health.HEALTHY and not self.downloads:
            return f"{self.health.value}: no answer yet"
        return _health_in_words(self.health, self.failures, self.retired)


def facts_of(host: Host, book: Booking, *, record: str, is_paused: bool) -> HostFacts:
    """Return the facts about a host. `record`: where its record is."""
    given = url_of(host.given) if host.given is not None else None
    # While a host is deferred, its row says when it comes back.
    is_deferred = host.state is HostState.DEFERRED
    origins = [_origin(one, host, book) for one in (host.origins or {}).values()]
    return HostFacts(
        name=host.name,
        record=record,
        place=host.state,
        state=_state(host, is_paused=is_paused),
        health=health_of(host, book.health.failures),
        health_of_urls=book.health.health(host),
        is_paused=is_paused,
        in_flight=given,
        requests=len(host.flights()),
        queued=host.waiting(),
        retries=len(host.later),
        ready_at=host.deferred_until if is_deferred else host.rested_at(),
        next_turn=None if is_paused else _next_turn(host),
        delay=delay_of(host, book),
        crawl_delay=host.crawl_delay,
        connections=book.connections(host),
        failures=host.failures,
        failed=host.failed,
        retired=host.retired,
        block_pages=host.block_pages if is_blocked(host) else None,
        pages=host.pages,
        downloads=tuple(host.times),
        address=host.ip,
        is_http2=host.http2,
        origins=tuple(origins),
    )


def delay_of(host: Host, book: Booking) -> Delay:
    """Return the time between two requests to a host that is well, and what asks for it."""
    seconds = book.wait(host)
    return Delay(
        seconds,
        is_crawl_delay(host, seconds, book),
        type(book.terms_of(host.name).politeness).__name__,
    )


def is_crawl_delay(host: Host, seconds: float, book: Booking) -> bool:
    """Return whether the host's robots.txt asks for these seconds between two requests."""
    if not host.crawl_delay:
        return False
    return 0 < min(host.crawl_delay, book.terms_of(host.name).limits.crawl_delay_max) >= seconds


def _state(host: Host, *, is_paused: bool) -> str:
    """Return the word for what the host is doing: in flight, paused, its end, or its place."""
    if host.given is not None:
        return "in flight"
    if is_paused:
        return "paused"
    if given_up(host):
        return Health.GIVEN_UP.value
    if host.retired:
        return Health.SPENT.value
    return PLACES[host.state]


def _next_turn(host: Host) -> float | None:
    """Return the time of the host's next request; None: none is planned, or one is in flight."""
    if host.given is not None or not host.waiting() or host.retired:
        return None
    return host.deferred_until if host.state is HostState.DEFERRED else host.due()


def _origin(one: Host, host: Host, book: Booking) -> OriginFacts:
    """Return the facts about one origin of a host that has a record of its own."""
    waits = one.waiting() and not one.retired
    next_turn = max(one.due(), host.ready_at) if waits else None
    name = one.origin or "other ports"
    return OriginFacts(
        name,
        book.health.health(one),
        one.failures,
        one.failed,
        one.retired,
        one.waiting(),
        next_turn,
    )


def _health_in_words(health: Health, failures: int, retired: int) -> str:
    if health is Health.GIVEN_UP:
        return f"{health.value}: its URLs end with {retired}"
    if health is Health.SPENT:
        return f"{health.value}: it has given all its pages (HOST_MAX_PAGES)"
    return f"{health.value}: {failures} in a row" if failures else health.value


@dataclass(frozen=True, slots=True)
class DomainFacts:
    """The pages that a registered domain has had of its budget, and the URLs that wait beyond it."""

    name: str
    pages: int  # let in so far
    budget: int | None  # None: there is no limit
    linking_domains: int  # other ones that link to it; no more than 64 are counted
    seed: bool  # it has one
    over_budget: int  # URLs that wait
    debt: int  # pages that are not answered, or had nothing new and are not paid for
    lead: float  # how many these may be

    def to_json(self) -> dict[str, Any]:
        """Return the facts as JSON output has them, in which null is no limit."""
        return {
            "domain": self.name,
            "budget": self.budget,
            "used": self.pages,
            "linked_from": self.linking_domains,
            "seed": self.seed,
            "over_budget": self.over_budget,
            "debt": self.debt,
            "lead": None if math.isinf(self.lead) else int(self.lead),
        }


def domain_facts(name: str, budgets: Budgets) -> DomainFacts:
    """Return the facts about a domain, by what links to it now."""
    domain = budgets.rated(name)
    budget = None if math.isinf(domain.most) else int(domain.most)
    waiting = domain.queue.count if domain.queue is not None else 0
    return DomainFacts(
        name, domain.used, budget, domain.rank, domain.seed, waiting, domain.debt, domain.lead
    )
