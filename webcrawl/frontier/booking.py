"""What a download's outcome means for its host: when it is due again, and whether it is retired."""

from __future__ import annotations

from dataclasses import dataclass

from webcrawl.frontier.hosts import Host
from webcrawl.frontier.outcomes import rule
from webcrawl.frontier.politeness import Politeness
from webcrawl.model import Link, Outcome, Status

LONGEST = 86_400.0  # a failing host's wait is not doubled beyond this
# These kept the server busy too, a time-out longer than any answer, so they count for Mercator's wait.
UNANSWERED = frozenset((Status.TIMEOUT, Status.CONNECTION_LOST))


@dataclass(frozen=True, slots=True)
class Limits:
    """The settings that bound the frontier, as plain values."""

    queues: int  # FRONTIER_QUEUES: the minimum of n
    max_queues: int  # FRONTIER_MAX_QUEUES
    fetchers: int = 0  # CONCURRENT_REQUESTS; 0: no limit
    host_pages: int = 0  # HOST_MAX_PAGES
    host_failures: int = 5  # HOST_MAX_FAILURES
    retry_wait: float = 60.0  # HOST_RETRY_WAIT
    crawl_delay_max: float = 300.0  # CRAWL_DELAY_MAX
    attempts: int = 3  # per URL, the first included: RETRY_TIMES + 1
    retry_codes: frozenset[int] | None = None  # RETRY_HTTP_CODES; None: those of the table in outcomes.py
    domain_share: int = 16  # FRONTIER_DOMAIN_SHARE: a domain may have one queue in this many while others wait


class Booking:
    """Records an outcome in its host's record."""

    def __init__(self, politeness: Politeness, limits: Limits) -> None:
        self._politeness, self._limits = politeness, limits

    def __call__(self, host: Host, link: Link, outcome: Outcome, now: float) -> float | None:
        """Returns when to retry the link, or None if it is finished.

        A prerequisite neither counts as a page nor is retried: admission asks for it again while a URL needs it.
        """
        limits, status = self._limits, outcome.status
        verdict = rule(status)
        if status > 0 or status in UNANSWERED:
            host.times.append(outcome.seconds)
            del host.times[:-5]
        host.pages += _is_page(link, outcome)
        wait = self.wait(host)
        if outcome.wait:
            wait = max(wait, min(outcome.wait, limits.crawl_delay_max))
        failed = verdict.failed and not outcome.answered
        if failed:
            host.failures += 1
            wait = max(wait, min(limits.retry_wait * 2.0 ** (host.failures - 1), LONGEST))
        else:
            host.failures = 0
        host.ready_at = max(host.ready_at, now + wait)  # an inline download may have asked it since
        if limits.host_pages or host.failures:
            host.retired = self._retired(host.failures, host.pages) or host.retired
        if host.retired or not self.is_worth(link, outcome):
            return None
        # The wait grows with each attempt, even if an answer to another URL has reset the host's failures.
        later = now + limits.retry_wait * 2.0**link.attempt
        return max(host.ready_at, later) if failed else later

    def cut(self, host: Host, seconds: float, now: float) -> None:
        """Books a download that was cut because others needed its slot: no failure, but the host was busy with it."""
        host.times.append(seconds)
        del host.times[:-5]
        host.ready_at = now + max(self.wait(host), self._limits.retry_wait)

    def tries_again(self, host: Host, link: Link, outcome: Outcome) -> bool:
        """Whether booking this outcome will lead to a retry."""
        failures = host.failures + 1 if rule(outcome.status).failed and not outcome.answered else 0
        retired = host.retired or self._retired(failures, host.pages + _is_page(link, outcome))
        return not retired and self.is_worth(link, outcome)

    def is_worth(self, link: Link, outcome: Outcome) -> bool:
        """Whether the link is worth another attempt, if its host is."""
        status, codes = outcome.status, self._limits.retry_codes
        again = rule(status).again if status < 0 or codes is None else status in codes
        most = self._limits.attempts if outcome.retries is None else outcome.retries + 1
        return again and not link.path.endswith("P") and link.attempt + 1 < most

    def wait(self, host: Host) -> float:
        """Seconds between two requests to the host if none fails."""
        wait = self._politeness.wait(host.times)
        return max(wait, min(host.crawl_delay, self._limits.crawl_delay_max)) if host.crawl_delay else wait

    def _retired(self, failures: int, pages: int) -> int:
        """The Status that retires the host, or 0: it keeps failing, or its page budget is used up."""
        if failures >= self._limits.host_failures:
            return Status.HOST_RETIRED
        return Status.HOST_BUDGET if 0 < self._limits.host_pages <= pages else 0


def _is_page(link: Link, outcome: Outcome) -> bool:
    return outcome.status > 0 and not link.path.endswith("P")
