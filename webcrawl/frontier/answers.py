"""Books how a download ended: on its host, its domain and the counters."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappush

from webcrawl.base.model import Link, Outcome
from webcrawl.base.url_text import host_of
from webcrawl.frontier.booking import Retry
from webcrawl.frontier.core import TRUNCATED_PAGES, Core
from webcrawl.frontier.domains import Domains
from webcrawl.frontier.health import (
    give_attempts_back,
    is_fault_of_url,
    take_blocked_links,
    unblocks_host,
)
from webcrawl.frontier.host_origins import OF_HOST
from webcrawl.frontier.host_queues import MAX_LISTED, SitemapQuota
from webcrawl.frontier.host_rows import is_worth_a_line
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.outcomes import is_kept_short
from webcrawl.frontier.parallel_hosts import ParallelHosts
from webcrawl.store.jobdir.host_row import FailedRow, given_up, is_blocked

Tell = Callable[[Link], None]


class HostNotes:
    """What answers tell of single hosts. Each method is for one fact."""

    def __init__(self, core: Core, domains: Domains) -> None:
        self._core = core
        self._domains = domains
        # by a number of pages: the functions to call with the page with which a host has so many
        self._grown: dict[int, list[Tell]] = {}
        # The largest of these numbers: of a host with as many pages no answer needs to be looked at.
        self.young = 1

    def when_grown(self, pages: int, tell: Tell) -> None:
        """Call `tell` with the page with which a host has given so many."""
        self._grown.setdefault(pages, []).append(tell)
        self.young = max(self.young, pages)

    def grew(self, host: Host, link: Link, before: int) -> None:
        """Book an answer of a host that had given `before` pages, fewer than `young`.

        The host's record has this answer's page already, if it is one.
        """
        if host.pages == before:
            return
        if not before:
            self._core.counters["hosts answered"] += 1
        for tell in self._grown.get(host.pages, ()):
            tell(link)

    def missing(self, name: str, shown: bytes | None = None) -> bytes:
        """Return what is kept of a host's answer for a URL that cannot exist (`Host.missing`).

        If `shown` is given, it is kept in the place of that, and returned.
        """
        with self._core.opened(name) as host:
            if shown is not None:
                host.missing = shown
                self._core.hosts.touch(host)
            return host.missing

    def http2(self, name: str, *, learned: bool = False, by_page: bool = False) -> bool:
        """Return whether the host speaks only HTTP/2, as far as is known.

        `learned`: an answer says so, which is noted in the host's record. `by_page`: only its answer
        to one URL says so, which counts for nothing if the host has given pages by HTTP/1.1. With
        `by_page` alone, return whether that is known, or such an answer would count; nothing is noted.
        """
        with self._core.opened(name) as host:
            is_refuted = by_page and host.pages > 0
            if learned and not host.http2 and not is_refuted:
                host.http2 = True
                self._core.hosts.touch(host)
            would_count = by_page and not learned and not is_refuted
            return host.http2 or would_count

    def take_listed(self, url: str, urls: int) -> int:
        """Return how many of the `urls` that the sitemap `url` names its host may have.

        They are counted, and from now on take turns with the URLs that pages link to.
        """
        with self._core.opened(host_of(url)) as host:
            if host.listed is None:
                host.listed = SitemapQuota()
            self._core.hosts.touch(host)
            return host.listed.grant_urls(urls, MAX_LISTED * max(self._domains.links_to(url), 1))


class Answers:
    """Calls the parts of the frontier that take part when a download has ended."""

    def __init__(
        self, core: Core, several: ParallelHosts, domains: Domains, notes: HostNotes
    ) -> None:
        self._core = core
        self._several = several
        self._domains = domains
        self._notes = notes
        self._hosts = core.hosts
        self._book = core.book
        self._slots = core.back.slots
        self._counters = core.counters
        self._origins = core.origins

    def booked(self, host: Host, link: Link, outcome: Outcome, now: float) -> bool:
        """Book how a download ended. Return False if the link comes again.

        `record`, below, is where failures and waits are booked: the host's, or that of one origin.
        """
        record = host if host.origins is None else self._record_for(host, link, outcome)
        # `_again` changes all of these; what follows compares.
        pages_before = host.pages
        ready_before = host.ready_at
        had_block_page = host.block_pages is not None
        was_blocked = had_block_page and is_blocked(host)
        failures_before = record.failures
        retired_before = record.retired
        failed_before = record.failed
        was_fault_of_url = is_fault_of_url(record, link, outcome)
        # A pardon after an outage of our own network restores the record as it is now
        # (outage_pardon.py).
        charge = self._core.charges.note(record, link, now) if outcome.doubtful else None

        again = self._again(record, link, outcome, now)
        has_failed = record.failures > failures_before
        if charge is not None:
            charge.booked(record, outcome, again)
        if pages_before < self._notes.young:
            self._notes.grew(host, link, pages_before)
        if had_block_page or outcome.blocked_by:
            self._book_block_pages(host, link, outcome, was_blocked=was_blocked)
        if outcome.status > 0:
            # Only an answer says how long answers take. A failure moves no median.
            self._slots.record_answer_time(host, outcome.seconds)
        else:
            self._slots.judge(host)  # the failure alone may change the host's standing
        if again is not None:
            self._comes_again(record, again, outcome)
        else:
            self._final(host, link, outcome)
        if has_failed:
            # What is the URL's own fault gives no other URL its attempts back.
            self._failed(record, retired_before, None if was_fault_of_url else failed_before)
        # The host's record reaches the disk with the next checkpoint. Until then a kill would
        # forget what it has asked for, so that has a file of its own (host_rows.py).
        if outcome.wait and is_worth_a_line(outcome.wait, failed=has_failed):
            self._core.queues.told.note(host.name, record.ready_at)
        host.ip = outcome.ip or host.ip
        if has_failed and record is host:
            self._origins.set_apart_failed(host, link, outcome, ready_before, now)
        if host.origins is not None:
            self._origins.end_flight(host, link)
        return again is None

    def _record_for(self, host: Host, link: Link, outcome: Outcome) -> Host:
        """Return the record that an outcome is booked on: the origin's, or that of the whole host."""
        if outcome.blocked_by or outcome.status in OF_HOST:
            return host
        return self._origins.record_for(host, link)

    def _again(self, host: Host, link: Link, outcome: Outcome, now: float) -> Retry | None:
        """Book the outcome. Return when the link comes again, or None if it is finished."""
        if outcome.blocked_by:
            return self._book.book_blocked(host, link, outcome, now)
        if host.whole is not None:
            return self._origins.book(host, link, outcome, now)
        if host.lanes is not None:
            return self._several.book(host, link, outcome, now)
        return self._book.book(host, link, outcome, now)

    def _final(self, host: Host, link: Link, outcome: Outcome) -> None:
        """Book the end of a link that is not retried: on its domain and in the counters."""
        self._domains.record_end(host, link, outcome.status)
        self._counters["finished"] += 1
        if outcome.short:
            self._counters[TRUNCATED_PAGES] += is_kept_short(link, outcome)

    def _failed(self, host: Host, retired: int, before: FailedRow | None) -> None:
        """Give attempts back that earlier errors used up, and count hosts deferred or given up.

        `host`: the record of the host, or of one origin. `retired`: its Status before the failure.
        `before`: its errors in a row before that; None: no attempts are given back.
        """
        give_attempts_back(host, before)
        if host.whole is not None:  # an origin is not counted as a host
            return
        self._counters["hosts deferred"] += host.failures == self._book.health.failures
        self._counters["hosts given up"] += host.retired != retired and given_up(host)

    def _comes_again(self, host: Host, again: Retry, outcome: Outcome) -> None:
        """Queue a link for its retry.

        After a block page it is the last in its host's queue; otherwise its time counts.
        """
        at, link = again
        self._counters["tried again"] += 1
        self._core.queued += 1
        # At the end, so that each probe is another URL: a front page that alone is blocked would
        # otherwise keep the whole host blocked.
        if outcome.blocked_by:
            record = link.pack()
            self._hosts.queue_for(host, record).push(record)
        else:
            heappush(host.later, (at, link.pack()))

    def _book_block_pages(
        self, host: Host, link: Link, outcome: Outcome, *, was_blocked: bool
    ) -> None:
        """Book whether the host gives block pages in place of its pages, as an answer shows.

        `was_blocked`: the host was known to be blocked before.
        """
        if not outcome.blocked_by:
            if unblocks_host(link, outcome):
                host.block_pages = None
                self._counters["hosts unblocked"] += was_blocked
            return
        # Links that got a block page before the host was known to be blocked are queued again.
        records = take_blocked_links(host)
        for record in records:
            self._hosts.queue_for(host, record).push(record)
        self._core.queued += len(records)
        self._counters["added"] += len(records)
        self._counters["hosts blocked"] += is_blocked(host) and not was_blocked
