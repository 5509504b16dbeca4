"""Counts what Scrapy's scheduler, dupefilter and retry middleware count, under Scrapy's names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from scrapy.exceptions import IgnoreRequest
from scrapy.statscollectors import StatsCollector
from scrapy.utils.response import response_status_message

from webcrawl.base.model import Status
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.trip import Trip

# The frontier's counters of URLs that it has queued again; "cut" is that of cancelled downloads
REQUEUED_COUNTERS = ("tried again", "put back", "cut", "due again")
FAILED_STATUSES = (408, 429)  # and 5xx
SHORT_ERRORS = {  # Scrapy's names for a body that is not whole
    "disconnect": "scrapy.exceptions.ResponseDataLossError",
    "time": "scrapy.exceptions.DownloadTimeoutError",
}


class DuplicateRequest(IgnoreRequest):
    """A request is dropped because its URL is already known."""


@dataclass(slots=True)
class RequestCounts:
    """The numbers of this run's requests at the places that they pass."""

    submitted: int = 0  # to the seen store
    known: int = 0  # duplicates among requests that need no host
    is_own_filter: bool = True  # the dupefilter is ours; another one counts in its own `log`
    inserted: int = 0  # into the frontier, without the seen test
    handed_out: int = 0  # to be fetched, without the crawl's own such as robots.txt
    unkept: int = 0  # lost, because they cannot be kept on disk
    _before: dict[str, int] = field(default_factory=dict)

    def begin(self, crawl: Crawl) -> None:
        """Note what earlier runs have counted, so that only this run's requests count."""
        self._before = {name: crawl.parts.frontier.counters[name] for name in REQUEUED_COUNTERS}
        # Requests of earlier runs that the seen store has not decided yet
        self.submitted = crawl.parts.seen.pending

    def stats(self, crawl: Crawl, *, pages: bool) -> Iterator[tuple[str, int]]:
        """Yield the names and present values of Scrapy's stats.

        `pages`: the spider makes pages, whose links the crawl submits itself. Duplicates are then
        not counted.
        """
        parts = crawl.parts
        fed = crawl.fed
        requeued = sum(
            parts.frontier.counters[name] - before for name, before in self._before.items()
        )
        enqueued = fed + self.inserted + requeued
        decided = self.submitted - parts.seen.pending
        yield "scheduler/enqueued", enqueued
        yield "scheduler/enqueued/disk", enqueued
        yield "scheduler/dequeued", self.handed_out
        yield "scheduler/dequeued/disk", self.handed_out
        yield "scheduler/unserializable", self.unkept
        if self.is_own_filter and not pages:
            yield "dupefilter/filtered", self.known + max(decided - fed, 0)


def count_retry(stats: StatsCollector, trip: Trip, *, again: bool) -> None:
    """Count a download that is retried (`again`), or failed for good, as RetryMiddleware does."""
    link = trip.link
    outcome = trip.outcome
    if link is None or outcome is None:
        return
    # Scrapy does not know these retries
    is_own_retry = link.is_own or outcome.blocked_by
    if is_own_retry:
        return
    if again:
        stats.inc_value("retry/count")
        stats.inc_value(f"retry/reason_count/{_reason(trip, outcome.status, outcome.short)}")
    elif link.tried and _is_failure(outcome.status, outcome.short):
        stats.inc_value("retry/max_reached")


def _is_failure(status: int, short: str) -> bool:
    """Return whether RetryMiddleware would retry an answer of this status; `short`: why it is
    truncated.
    """
    # A middleware has refused the request
    if status == Status.OUT_OF_SCOPE:
        return False
    is_error_status = status >= 500 or status in FAILED_STATUSES
    has_no_answer = status < 0
    return has_no_answer or is_error_status or bool(short)


def _reason(trip: Trip, status: int, short: str) -> str:
    if status > 0 and not short:
        return response_status_message(status)
    return trip.failure or SHORT_ERRORS.get(short, "")
