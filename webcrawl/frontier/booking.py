"""What a download's outcome means for its host: when it is due again, and whether it is retired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from webcrawl.frontier.connections import Connections
from webcrawl.frontier.health import DAY, STRIKES, HealthRules, answered, echoed
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.outcomes import has_failed, rule
from webcrawl.frontier.politeness import Politeness
from webcrawl.frontier.strain import Strain
from webcrawl.model import Link, Outcome, Status

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
    retry_after_max: float = 86_400.0  # RETRY_AFTER_MAX
    slow_down: float = 1.0  # SLOW_DOWN_MAX; 1: never
    patience: float = 259_200.0  # HOST_PATIENCE
    attempts: int = 3  # per URL, the first included: RETRY_TIMES + 1
    retry_codes: frozenset[int] | None = None  # RETRY_HTTP_CODES; None: those of the table in outcomes.py
    domain_share: int = 16  # FRONTIER_DOMAIN_SHARE: a domain may have one queue in this many while others wait
    connections: Connections | None = None  # HOST_CONNECTIONS; None: every host has one


Own = tuple[Politeness, Limits]  # of one host


class Booking:
    """Records an outcome in its host's record."""

    def __init__(self, politeness: Politeness, limits: Limits) -> None:
        self.own: Mapping[str, Own | None] | None = None  # of hosts for which other waits and limits are in force
        self._strain = Strain(limits.slow_down) if limits.slow_down > 1.0 else None
        self.change(politeness, limits)

    def change(self, politeness: Politeness, limits: Limits) -> None:
        """From now on these hold, for waits that begin from now on. Hosts under strain are still under strain."""
        self._general, self._limits = (politeness, limits), limits
        self.health = HealthRules(limits.host_failures, limits.retry_wait, limits.patience)

    def of(self, name: str) -> Own:
        """What holds for this host."""
        return self._general if self.own is None else self.own[name] or self._general

    def __call__(
        self, host: Host, link: Link, outcome: Outcome, now: float, *, news: bool = True, happened: bool = True
    ) -> tuple[float, Link] | None:
        """Returns when to retry the link, and how it is queued then; None if it is finished.

        `news`: a failure says something of the host. It does not if the request was under way when the last one failed.
        `happened`: if not, somebody only wants to know what would follow, and strain is not told.

        A prerequisite neither counts as a page nor is retried: admission asks for it again while a URL needs it.
        """
        limits, status = self._limits if self.own is None else self.of(host.name)[1], outcome.status
        most = self._most(link, outcome)
        again = self._again(host, link, outcome, most) if most > 1 else None
        if status > 0 or status in UNANSWERED:
            host.times.append(outcome.seconds)
            del host.times[:-5]
            if self._strain is not None and happened:
                self._strain.heard(host.name, outcome.seconds, failed=status < 0 or status >= 500)
        host.pages += _is_page(link, outcome)
        wait = self.wait(host)
        if outcome.wait:
            wait = max(wait, min(outcome.wait, limits.retry_after_max))
        failed = has_failed(link, outcome)
        if failed and news:
            wait = max(wait, self.health.failed(host, link, outcome, now))
        elif failed:
            echoed(host, link)
        elif host.failures:
            answered(host)
        host.ready_at = max(host.ready_at, now + wait)  # an inline download may have asked it since
        if limits.host_pages and host.pages >= limits.host_pages:
            host.retired = host.retired or Status.HOST_BUDGET
        if host.retired or again is None:
            return None
        return self._later(host, link, now, failed=failed), again

    def _later(self, host: Host, link: Link, now: float, *, failed: bool) -> float:
        """When to retry the link. The wait grows with each time, even if answers to others came in between."""
        later = now + min(self._limits.retry_wait * 2.0 ** min(link.attempt + link.struck, 60), DAY)
        return max(host.ready_at, later) if failed else later

    def cut(self, host: Host, seconds: float, now: float) -> None:
        """Books a download that was cut because others needed its slot: no failure, but the host was busy with it."""
        host.times.append(seconds)
        del host.times[:-5]
        host.ready_at = max(host.ready_at, now + max(self.wait(host), self._limits.retry_wait))

    def tries_again(self, host: Host, link: Link, outcome: Outcome, now: float, *, news: bool = True) -> bool:
        """Whether booking this outcome will lead to a retry."""
        if not self._most(link, outcome):  # most are answers
            return False
        return self(replace(host, times=[*host.times]), link, outcome, now, news=news, happened=False) is not None

    def is_worth(self, link: Link, outcome: Outcome) -> bool:
        """Whether the link is worth another attempt, if this one is charged to it."""
        return link.attempt + 1 < self._most(link, outcome)

    def _most(self, link: Link, outcome: Outcome) -> int:
        """How many attempts a link has that ended so; 0: it does not come again."""
        status, codes = outcome.status, self._limits.retry_codes
        again = rule(outcome).again if status < 0 or codes is None else status in codes
        if not again or link.path.endswith("P"):
            return 0
        return self._limits.attempts if outcome.retries is None else outcome.retries + 1

    def _again(self, host: Host, link: Link, outcome: Outcome, most: int) -> Link | None:
        """The link as it is queued once more, or None. A failure of its host uses up none of the attempts."""
        last = link.attempt + 1 >= most
        if self.health.is_charged(host, link, outcome, last=last):
            return None if last else replace(link, attempt=link.attempt + 1)
        over = not host.failures and link.struck + 1 >= STRIKES
        return None if over else replace(link, struck=link.struck + 1)

    def wait(self, host: Host) -> float:
        """Seconds between two requests to the host if none fails."""
        politeness, limits = self._general if self.own is None else self.of(host.name)
        wait = politeness.wait(host.times)
        if self._strain is not None and host.name in self._strain.times and getattr(politeness, "slows_down", True):
            wait *= self._strain.times[host.name]
        return max(wait, min(host.crawl_delay, limits.crawl_delay_max)) if host.crawl_delay else wait

    @property
    def varies_connections(self) -> bool:
        """Whether there may be a host that may have several requests at once."""
        return self.own is not None or self._limits.connections is not None

    def connections(self, host: Host) -> int:
        """How many requests it may have at once. A Crawl-delay is between any two: its robots.txt goes first."""
        limits = self.of(host.name)[1]
        if limits.connections is None or (host.crawl_delay and limits.crawl_delay_max):
            return 1
        return limits.connections.of(host.name)

    def asked(self, host: Host) -> float:
        """Seconds for which the host has asked to be left alone after its last failure."""
        return min(host.row.asked, self.of(host.name)[1].retry_after_max) if host.row is not None else 0.0

    def is_spent(self, host: Host) -> bool:
        """Whether the host has had all the pages that it may have."""
        return 0 < self.of(host.name)[1].host_pages <= host.pages


def _is_page(link: Link, outcome: Outcome) -> bool:
    """Neither a robots.txt nor one that is fetched again."""
    return outcome.status > 0 and not link.history and not link.path.endswith("P") and link.url != ""
