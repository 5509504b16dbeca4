"""The health of a host: whose fault a failure is, how long the host is left alone, and when it is given up.

A host is healthy; failing, after its first failure; set aside, after HOST_MAX_FAILURES in a row; or given up, when it
has been away for HOST_PATIENCE. Any answer makes it healthy again. docs/frontier.md has the table. There is no I/O
here, and no clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

from webcrawl.base.model import Link, Outcome, Status
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.outcomes import rule
from webcrawl.store.jobdir.host_row import FailedRow, Health, given_up, health_of

DAY = 86_400.0  # no wait between two tries is longer; and a host given up is given another chance after so long
STRIKES = 6  # if its host was well before, so many failures of a URL that were no fault of its own are one after all
# If permanent: no such name, one that leads inside, or a server that speaks only what the crawl does not
NOWHERE = frozenset((Status.DNS_FAILED, Status.EXCLUDED, Status.UNSUPPORTED))
# Seconds, and times HOST_RETRY_WAIT at most, after which a name that never led anywhere is asked for once more. A user
# with a misspelt seed waits for that; the resolver tells denials from lies (net/dns.py).
GONE, GONE_MOST = 3.0, 10.5
LATE = 2.0  # a host may be tried so many times later than planned; of longer gaps we know only that we did not look


@dataclass(frozen=True, slots=True)
class HealthRules:
    """The settings, as plain values."""

    failures: int = 5  # HOST_MAX_FAILURES
    retry_wait: float = 60.0  # HOST_RETRY_WAIT
    patience: float = 259_200.0  # HOST_PATIENCE

    def health(self, host: Host) -> Health:
        """The health of this host now; if all its URLs wait for origins that fail, that of the best one."""
        health = health_of(host, self.failures)
        if health is not Health.HEALTHY or not (failures := host.failing()):
            return health
        return Health.ASIDE if failures >= self.failures else Health.FAILING

    def is_charged(self, host: Host, link: Link, outcome: Outcome, *, last: bool) -> bool:
        """True if this outcome, not yet booked, uses up one of the URL's attempts; `last`: it would be the last one.

        What may be the URL's fault or the host's is the URL's until the host is set aside. But no URL ends while
        others of its host fail as well, unless the host answers them; nor while no page of the host is known.
        """
        verdict = rule(outcome)
        if not verdict.failed or outcome.answered or outcome.retries is not None:
            return True
        if not verdict.charged or host.failures >= self.failures:
            return False
        if not last:
            return True
        alone = host.row is None or host.row.only == sum_of(link)
        return host.pages > 0 and (alone or is_own(host, link, outcome))

    def failed(self, host: Host, link: Link, outcome: Outcome, now: float, *, longest: float = DAY) -> float:
        """Books a failure; returns how long the host is left alone. It may be given up by this.

        `longest`: RETRY_AFTER_MAX. A host that asks for years is not left alone for years.
        """
        before, only, away = host.row, sum_of(link), 0.0
        origin = origin_of(link.url)
        gone = _is_gone(host, outcome)
        if before is not None:
            away = before.away + min(max(now - before.at, 0.0), LATE * before.planned)
            only = only if only == before.only else 0
            origin = origin if before.origin in (-1, origin) else 0
        host.failures += 1
        wait = self.wait(host.failures, gone=gone)
        planned, asked = float(max(wait, min(outcome.wait, longest))), float(outcome.wait)
        row = FailedRow(now, away, _status(link, outcome), only, gone, origin, planned, asked)
        host.row = row
        is_over = host.failures >= self.failures and away >= self.patience
        if not host.retired and (is_over or (gone and before is not None and before.gone)):
            host.retired = row.status
        return wait

    def wait(self, failures: int, *, gone: bool) -> float:
        """The seconds for which a host is left alone that has failed so often in a row."""
        if gone:
            return min(GONE, GONE_MOST * self.retry_wait)
        return min(self.retry_wait * 2.0 ** min(failures - 1, 60), DAY)


def answered(host: Host) -> None:
    """The host has answered: it is healthy."""
    host.failures, host.row = 0, None


def is_own(host: Host, link: Link, outcome: Outcome) -> bool:
    """True if a failure, not yet booked, says nothing of the host: it has answered since the URL failed before."""
    return rule(outcome).charged and link.attempt > 0 and host.pages > 0 and not host.failures


def echoed(host: Host, link: Link) -> None:
    """A request that was under way when the host failed has failed too: one failure, of more than one URL."""
    row = host.row
    if row is not None and row.only != sum_of(link):
        host.row = FailedRow(row.at, row.away, row.status, 0, row.gone, row.origin, row.planned, row.asked)


def returns(host: Host, now: float) -> bool:
    """Gives a host that was given up another chance, if that was long ago: it is due, and set aside if it fails."""
    row = host.row
    if row is None or now - row.at < DAY or not given_up(host):
        return False
    host.retired, host.ready_at = 0, min(host.ready_at, now)
    host.row = FailedRow(now, 0.0, row.status, 0, gone=False, origin=-1)
    return True


def _is_gone(host: Host, outcome: Outcome) -> bool:
    """True if there is no such host. Of one that has been reached the name servers may say so and be wrong."""
    reached = outcome.doubtful and bool(host.times)
    return outcome.permanent and outcome.status in NOWHERE and not reached


def _status(link: Link, outcome: Outcome) -> int:
    """The Status with which URLs end that were not even tried, because of this."""
    if link.is_prerequisite and outcome.status not in NOWHERE:
        return Status.ROBOTS_UNREACHABLE
    return outcome.status if outcome.status < 0 else Status.HOST_RETIRED


def origin_of(url: str) -> int:
    """A checksum of scheme, host and port."""
    return crc32(url[: url.find("/", url.find("//") + 2)].encode()) if url else 0


def sum_of(link: Link) -> int:
    """A checksum of the URL, above 0."""
    return crc32(link.url.encode()) or 1
