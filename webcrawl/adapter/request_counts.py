"""Counts what Scrapy's scheduler, dupefilter and retry middleware count, under the same names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from scrapy.exceptions import IgnoreRequest
from scrapy.statscollectors import StatsCollector
from scrapy.utils.response import response_status_message

from webcrawl.base.model import Status
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.trip import Trip

# the frontier's counters of URLs that it has queued again
RETURNED = ("tried again", "put back", "cut", "due again")
FAILED_STATUSES = (408, 429)  # and 5xx
SHORT_ERRORS = {  # how Scrapy calls a body that is not whole
    "disconnect": "scrapy.exceptions.ResponseDataLossError",
    "time": "scrapy.exceptions.DownloadTimeoutError",
}


class DuplicateRequest(IgnoreRequest):
    """A request refused on the spot, because its URL is already known."""


@dataclass(slots=True)
class RequestCounts:
    """Counts requests of this run where they pass."""

    submitted: int = 0  # to the seen store
    known: int = 0  # among those that need no host
    is_ours: bool = True  # the dupefilter; another one counts by itself, in its `log`
    inserted: int = 0  # into the frontier, without the seen test
    given: int = 0  # to Scrapy's engine, without the crawl's own
    unkept: int = 0  # lost: they cannot be kept on disk
    _before: dict[str, int] = field(default_factory=dict)

    def begin(self, crawl: Crawl) -> None:
        """Note what earlier runs have counted."""
        self._before = {name: crawl.parts.frontier.counters[name] for name in RETURNED}
        # Requests of earlier runs that the seen store has not decided yet
        self.submitted = crawl.parts.seen.pending

    def stats(self, crawl: Crawl, *, pages: bool) -> Iterator[tuple[str, int]]:
        """Yield Scrapy's stats as of now.

        `pages`: the crawl follows links itself, and they count as requests.
        """
        parts = crawl.parts
        fed = crawl.fed
        returned = sum(
            parts.frontier.counters[name] - before for name, before in self._before.items()
        )
        enqueued = fed + self.inserted + returned
        decided = self.submitted - parts.seen.pending
        yield "scheduler/enqueued", enqueued
        yield "scheduler/enqueued/disk", enqueued
        yield "scheduler/dequeued", self.given
        yield "scheduler/dequeued/disk", self.given
        yield "scheduler/unserializable", self.unkept
        if self.is_ours and not pages:
            yield "dupefilter/filtered", self.known + max(decided - fed, 0)


def count_retry(stats: StatsCollector, trip: Trip, *, again: bool) -> None:
    """Count a download that is retried or has failed for good, as RetryMiddleware does."""
    link = trip.link
    outcome = trip.outcome
    if link is None or outcome is None:
        return
    # The crawl's own retries: of robots.txt, and behind a block page
    if link.is_own or outcome.wall:
        return
    if again:
        stats.inc_value("retry/count")
        stats.inc_value(f"retry/reason_count/{_reason(trip, outcome.status, outcome.short)}")
    elif link.tried and _is_failure(outcome.status, outcome.short):
        stats.inc_value("retry/max_reached")


def _is_failure(status: int, short: str) -> bool:
    # A middleware has refused it
    if status == Status.OUT_OF_SCOPE:
        return False
    return status < 0 or status >= 500 or status in FAILED_STATUSES or bool(short)


def _reason(trip: Trip, status: int, short: str) -> str:
    if status > 0 and not short:
        return response_status_message(status)
    return trip.failure or SHORT_ERRORS.get(short, "")
