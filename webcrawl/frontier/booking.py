"""Books a download's outcome on its host: when the host is due again, and whether it is retired.

Who makes a host wait, and for how long (`Host.ready_at`; the longest wait counts):

    an answer, or a time-out    `Booking.wait`: POLITENESS_POLICY, by the host's last downloads
    Crawl-delay in robots.txt   `Booking.wait`: at least so long, up to CRAWL_DELAY_MAX
    strain: slower than usual   `Booking.wait`: up to `slow_down` times the policy's wait
    Retry-After                 `Booking.decide`: as asked, up to RETRY_AFTER_MAX
    an error of a single URL    `Booking.decide`: URL_ERROR_WAIT_TIMES times the usual wait
    a failure of the host       `HealthRules.wait`: HOST_RETRY_WAIT, twice as long each time, to a day
    a name that leads nowhere   `HealthRules.wait`: GONE seconds, once; then the host is given up
    a block page                `blocked_retry_wait`: HOST_RETRY_WAIT, doubled each time, to a day
    a cancelled download        `Booking.book_cancelled`: HOST_RETRY_WAIT at least

Elsewhere: robots.txt that cannot be fetched (`RobotsAdmission.decide`, its origin alone), another
host at the same address (`addresses.Addresses`), a command (`ctl host NAME pause`:
`DeferredHosts.held`, until it is resumed). While our own network is out nothing is fetched, and no
host is charged (`crawl/uplink.py`). A host that waits for more than deferred_hosts.FAR seconds
leaves the back-end, whatever it waits for; that changes where it waits, and not for how long.

A host that answers more slowly, or fails more often, than it did at first is slowed down before it
asks. Mercator's wait is in proportion to the last answer already, which keeps our share of a busy
server's time as it was; here it becomes less. Strain is kept in memory only, of a bounded number of
hosts: after a restart each host is measured anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from math import exp, log
from typing import NamedTuple, Protocol

from webcrawl.base.model import Link, Outcome, Status, is_sitemap
from webcrawl.frontier.health import (
    AMBIGUOUS_ERRORS,
    DAY,
    STRIKES,
    URL_ERROR_WAIT_TIMES,
    Failure,
    HealthRules,
    blocked_retry_wait,
    book_block_page,
    book_concurrent_failure,
    book_recovery,
    book_url_error,
    error_uses_up_attempt,
    is_ambiguous_error,
    is_fault_of_host,
    mark_healthy,
    retry_time,
    seconds_until_url_retry,
    with_attempts_given_back,
)
from webcrawl.frontier.host_queues import Connections
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.outcomes import attempts, has_failed, is_plain
from webcrawl.frontier.politeness import Politeness
from webcrawl.frontier.wait_words import RETRY_AFTER
from webcrawl.store.jobdir.host_row import is_blocked

DOWNLOADS_KEPT = 5  # the last downloads of a host, by whose seconds its wait is computed

# Hosts whose answers are remembered. The host whose last answer is the oldest is forgotten first.
HOSTS_REMEMBERED = 1 << 16
ANSWERS_UNTIL_USUAL = 10  # of a host, until its usual time is known
USUAL_WEIGHT = 1 / 64  # weight of an answer in its host's usual time, once that is known
# An answer under strain lengthens the usual time by this part of it: a host that stays as slow is
# usual after a thousand answers.
USUAL_DRIFT = 1 / 1024
# Weight of an answer in the recent time of its host. The logarithms are averaged, i.e. the mean is
# geometric, so that a single unusual answer changes little.
RECENT_WEIGHT = 1 / 8
SHORTEST_SECONDS = 1e-3  # an answer counts for so much at least
# A host that answers sooner is not busy, whatever it did at first.
NEVER_BUSY_SECONDS = 0.1
STRAIN_TIMES = 2.0  # times the usual time beyond which a host is under strain
LOG_OF_QUICK = log(STRAIN_TIMES * NEVER_BUSY_SECONDS)  # of recent times below this none is strain
STRAIN_FAILED_SHARE = 0.2  # share of failed downloads beyond which a host is under strain

# The number of a host's answers, its usual seconds, the logarithm of its recent seconds, and its
# share of failures. A plain tuple, because one is made for each answer.
AnswerRecord = tuple[int, float, float, float]

# These kept the server busy too, a time-out longer than any answer, so they count for Mercator's
# wait.
UNANSWERED = frozenset((Status.TIMEOUT, Status.CONNECTION_LOST))


# A simulated server answers in 0.2 seconds, and in 2.5 while others keep it busy for 92 % of the
# time. In the next hour it gets 36 requests, and 131 without this (tests/frontier/test_strain.py).
class Strain:
    """Finds hosts that answer more slowly, or fail more often, than they usually do.

    `slowdowns`: the factor by which each of them is left alone for longer.
    """

    def __init__(self, max_slowdown: float) -> None:
        self.max_slowdown = max_slowdown
        self.slowdowns: dict[str, float] = {}  # of the hosts under strain, which are few
        # by the host's name; the host with the oldest last answer is first
        self._records: dict[str, AnswerRecord] = {}

    def note_download(self, host: str, seconds: float, *, failed: bool) -> None:
        """Add a download that has ended to its host's record, and update the host's slowdown.

        A host has no slowdown until ANSWERS_UNTIL_USUAL downloads are noted.
        """
        log_of_seconds = log(max(seconds, SHORTEST_SECONDS))
        # The record is stored anew below, as the last one: the first is the next to be forgotten.
        known = self._records.pop(host, None)
        count, usual, recent_log, failed_share = (
            self._new_record(seconds, log_of_seconds) if known is None else known
        )
        recent_log += RECENT_WEIGHT * (log_of_seconds - recent_log)
        failed_share += RECENT_WEIGHT * (failed - failed_share)
        if count < ANSWERS_UNTIL_USUAL:  # the mean of all so far
            usual += (seconds - usual) / (count + 1)
            self._records[host] = count + 1, usual, recent_log, failed_share
            return
        if seconds <= STRAIN_TIMES * NEVER_BUSY_SECONDS or seconds <= STRAIN_TIMES * usual:
            usual += USUAL_WEIGHT * (seconds - usual)
        else:
            usual += USUAL_DRIFT * usual
        self._records[host] = count + 1, usual, recent_log, failed_share
        is_suspect = recent_log > LOG_OF_QUICK or failed_share > STRAIN_FAILED_SHARE
        slowdown = self._slowdown(usual, recent_log, failed_share) if is_suspect else 1.0
        if slowdown > 1.0:
            self.slowdowns[host] = slowdown
        else:
            self.slowdowns.pop(host, None)

    def _new_record(self, seconds: float, log_of_seconds: float) -> AnswerRecord:
        """Return the first record of a host; the oldest host is forgotten if there are too many."""
        if len(self._records) >= HOSTS_REMEMBERED:
            oldest = next(iter(self._records))
            del self._records[oldest]
            self.slowdowns.pop(oldest, None)
        return 0, seconds, log_of_seconds, 0.0

    def _slowdown(self, usual: float, recent_log: float, failed_share: float) -> float:
        """Return the factor for a host of this record; 1.0 or less: it is not under strain."""
        by_slowness = exp(recent_log) / (STRAIN_TIMES * max(usual, NEVER_BUSY_SECONDS))
        by_failures = 1.0 + (failed_share - STRAIN_FAILED_SHARE) * self.max_slowdown
        return min(max(by_slowness, by_failures), self.max_slowdown)


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
    slow_down: float = 1.0  # at most so many times the wait for a host under strain; 1: never
    max_delay: float = 300.0  # POLITENESS_MAX_DELAY, beyond which no host is slowed down
    patience: float = 259_200.0  # HOST_PATIENCE
    attempts: int = 3  # per URL, the first included: RETRY_TIMES + 1
    # RETRY_HTTP_CODES; None: those of the table in outcomes.py
    retry_codes: frozenset[int] | None = None
    # a domain may have one queue in this many, at least 4, while others wait: none has all
    domain_share: int = 16
    connections: Connections | None = None  # HOST_CONNECTIONS; None: every host has one


class HostTerms(NamedTuple):
    """The politeness and the limits by which one host, or every host, is requested."""

    politeness: Politeness
    limits: Limits


class WaitFacts(Protocol):
    """The fields that a host's wait depends on: of a host in memory, or of its row."""

    @property
    def name(self) -> str: ...

    @property
    def times(self) -> list[float]: ...

    @property
    def crawl_delay(self) -> float: ...


class Fault(Enum):
    """Whose fault an outcome is."""

    NOBODY = "the host has answered"
    URL = "the server reports an error, of this URL as far as is known"
    HOST = "the host has failed"


class Retry(NamedTuple):
    """When a link is fetched once more, and how it is queued until then."""

    at: float
    link: Link


class Consequences(NamedTuple):
    """What an outcome means for its link and its host: decided first, then written by `book`."""

    fault: Fault
    # the host's new failure; None: it has not failed, or its failure is booked already
    failure: Failure | None
    retry: Retry | None  # None: the link is finished
    is_page: bool  # it counts for HOST_MAX_PAGES
    times: list[float]  # seconds of the host's last downloads, with this one
    usual_wait: float  # seconds between two requests to the host if none fails
    ready_at: float  # no request to the host before this time
    retry_after: float  # the server has asked to be left alone until then; 0: it has not
    retired: int  # if not 0, the Status with which all URLs of the host end


class Booking:
    """Decides what each outcome means for its link and host, and writes the host's record."""

    def __init__(self, politeness: Politeness, limits: Limits) -> None:
        # Terms of hosts that have others than the general ones: for each host's name, its terms or
        # None. None for the whole: all hosts have the general terms, and nothing is looked up.
        self.host_terms: Mapping[str, HostTerms | None] | None = None
        self._strain = Strain(limits.slow_down) if limits.slow_down > 1.0 else None
        self.change(politeness, limits)

    def change(self, politeness: Politeness, limits: Limits) -> None:
        """Set the general politeness and limits, for waits that begin from now on.

        Hosts under strain remain so.
        """
        self._general = HostTerms(politeness, limits)
        self._limits = limits
        self.health = HealthRules(limits.host_failures, limits.retry_wait, limits.patience)

    def terms_of(self, name: str) -> HostTerms:
        """Return the politeness and limits of this host: its own, or the general ones."""
        if self.host_terms is None:
            return self._general
        return self.host_terms[name] or self._general

    def book(
        self, host: Host, link: Link, outcome: Outcome, now: float, *, news: bool = True
    ) -> Retry | None:
        """Book an outcome: on the host's strain, and in the host's record.

        Return when to retry the link and how it is queued then, or None if it is finished. `news`:
        a failure counts as one more of the host. It does not if the request was under way when the
        host's last failure was booked.
        """
        status = outcome.status
        if self._strain is not None and (status > 0 or status in UNANSWERED):
            is_bad = status < 0 or status >= 500
            self._strain.note_download(host.name, outcome.seconds, failed=is_bad)
        consequences = self.decide(host, link, outcome, now, news=news)
        self._write_consequences(consequences, host, link, outcome, now)
        return consequences.retry

    def decide(
        self, host: Host, link: Link, outcome: Outcome, now: float, *, news: bool = True
    ) -> Consequences:
        """Return what booking this outcome would do. Nothing is changed. `news` is as for `book`.

        A prerequisite neither counts as a page nor is retried: admission asks for it again while a
        URL needs it. A probe is not retried either.
        """
        # This is `terms_of`, without its call for each page.
        limits = self._limits if self.host_terms is None else self.terms_of(host.name).limits
        is_plain_answer = is_plain(outcome)  # nearly always
        fault = Fault.NOBODY if is_plain_answer else _fault(host, link, outcome)
        failure = None
        # Requests that were under way to one host together count once if they fail. Else four would
        # bring it from well to deferred in a second.
        if fault is Fault.HOST and news:
            failure = self.health.failure(host, link, outcome, now, longest=limits.retry_after_max)
        # Without codes of the operator's, no plain answer is retried.
        is_surely_done = is_plain_answer and self._limits.retry_codes is None
        max_attempts = 0 if is_surely_done else self._max_attempts(link, outcome)
        retry_link = None
        if max_attempts > 1:
            retry_link = self._link_to_retry(host, link, outcome, max_attempts)
        is_page = retry_link is None and _is_page(link, outcome)
        retired = host.retired or _retired_by(failure, host.pages + is_page, limits)

        has_kept_host_busy = outcome.status > 0 or outcome.status in UNANSWERED
        times = host.times
        if has_kept_host_busy:
            times = [*times, outcome.seconds][-DOWNLOADS_KEPT:]
        usual_wait = wait = self.wait(host, times)
        retry_after = 0.0
        if outcome.wait > usual_wait:
            wait = max(usual_wait, min(outcome.wait, limits.retry_after_max))
            retry_after = now + wait
        if failure is not None:
            wait = max(wait, failure.wait)
        elif fault is Fault.URL:
            wait = max(wait, URL_ERROR_WAIT_TIMES * usual_wait)
        # An inline download may have requested the host since, and set a later time.
        ready_at = max(host.ready_at, now + wait)

        retry = None
        if retry_link is not None and not retired:
            first_wait = min(limits.retry_wait, DAY)
            if fault is Fault.URL:
                first_wait = min(first_wait, seconds_until_url_retry(host, usual_wait))
            at = retry_time(link, now, first_wait)
            if fault is not Fault.NOBODY:
                at = max(at, _after_others(link, outcome, ready_at, usual_wait))
            retry = Retry(at, retry_link)
        return Consequences(
            fault, failure, retry, is_page, times, usual_wait, ready_at, retry_after, retired
        )

    def _write_consequences(
        self, consequences: Consequences, host: Host, link: Link, outcome: Outcome, now: float
    ) -> None:
        """Write what was decided into the host's record, which has not changed since.

        These are its times, pages, waits, failures or recovery, and whether it is retired.
        """
        fault = consequences.fault
        failure = consequences.failure
        host.times[:] = consequences.times  # in place: records of its origins have the same list
        host.pages += consequences.is_page
        if consequences.retry_after:
            host.left = consequences.retry_after, RETRY_AFTER
        if fault is Fault.HOST:
            host.said = outcome.status
            host.of_robots = link.is_prerequisite
            if failure is not None:
                failure.apply(host)
            else:
                book_concurrent_failure(host, link)
        elif fault is Fault.URL:
            book_url_error(host, link, outcome, now)
        elif host.failures or host.failed is not None or host.bad:
            limits = self._limits if self.host_terms is None else self.terms_of(host.name).limits
            url_retry_wait = seconds_until_url_retry(host, consequences.usual_wait)
            first_wait = min(limits.retry_wait, url_retry_wait)
            book_recovery(host, link, now, first_wait)
        host.ready_at = consequences.ready_at
        host.retired = consequences.retired

    def book_blocked(self, host: Host, link: Link, outcome: Outcome, now: float) -> Retry | None:
        """Book a block page: the host is well, and nothing is known of the page.

        Return when to retry the link, or None if it ends or waits in `host.block_pages`.
        """
        limits = self.terms_of(host.name).limits
        host.times.append(outcome.seconds)
        del host.times[:-DOWNLOADS_KEPT]
        # A block page is no failure: after failures the host would be given up at HOST_PATIENCE, and
        # `why` would name a wrong cause.
        mark_healthy(host)
        retry_link = book_block_page(host, link, outcome.blocked_by, now)
        wait = self.wait(host)
        if host.block_pages is not None and is_blocked(host):
            wait = max(wait, blocked_retry_wait(host.block_pages, limits.retry_wait))
        retry_after = min(outcome.wait, limits.retry_after_max)
        host.ready_at = max(host.ready_at, now + max(wait, retry_after))
        if retry_link is None or host.retired:
            return None
        return Retry(host.ready_at, retry_link)

    def book_cancelled(self, host: Host, seconds: float, now: float) -> None:
        """Book a download that was cancelled after so many seconds because others needed its slot.

        It is no failure, but the host was busy with it, and waits for HOST_RETRY_WAIT at least.
        """
        host.times.append(seconds)
        del host.times[:-DOWNLOADS_KEPT]
        host.ready_at = max(host.ready_at, now + max(self.wait(host), self._limits.retry_wait))

    def will_retry(
        self, host: Host, link: Link, outcome: Outcome, now: float, *, news: bool = True
    ) -> bool:
        """Return whether booking this outcome will lead to a retry, so that the answer is not kept.

        It is False for a block page, which is archived even if the link comes again.
        """
        # Most outcomes are plain answers, for which no attempts are left.
        if outcome.blocked_by or not self._max_attempts(link, outcome):
            return False
        return self.decide(host, link, outcome, now, news=news).retry is not None

    def ready_after(self, host: Host, link: Link, outcome: Outcome, now: float) -> float:
        """Return the time until which the host will wait once this outcome is booked."""
        return self.decide(host, link, outcome, now).ready_at

    def has_attempts_left(self, link: Link, outcome: Outcome) -> bool:
        """Return whether the link has another attempt after this one, if this one uses one up."""
        return link.attempt + 1 < self._max_attempts(link, outcome)

    def _max_attempts(self, link: Link, outcome: Outcome) -> int:
        """Return how many attempts a link with this outcome has, or 0 if it is not retried.

        The crawl's own requests (`Link.is_own`) are never retried.
        """
        max_attempts = attempts(outcome, self._limits.attempts, self._limits.retry_codes)
        return 0 if max_attempts and link.is_own else max_attempts

    def _link_to_retry(
        self, host: Host, link: Link, outcome: Outcome, max_attempts: int
    ) -> Link | None:
        """Return the link as it is queued for its retry, or None if it is finished.

        A failure of the URL uses up one of its `max_attempts`, which are more than one. A failure
        of the host is a strike; the link ends with STRIKES of them if the host was well before.
        """
        is_last = link.attempt + 1 >= max_attempts
        is_ambiguous = is_ambiguous_error(link, outcome)
        uses_up_attempt = error_uses_up_attempt if is_ambiguous else self.health.uses_up_attempt
        if uses_up_attempt(host, link, outcome, last=is_last):
            return None if is_last else replace(link, attempt=link.attempt + 1)
        if is_ambiguous:
            link = with_attempts_given_back(link, host.failed)
        may_be_last_strike = not host.failures and (outcome.wait > 0 or not is_ambiguous)
        if may_be_last_strike and link.struck + 1 >= STRIKES:
            return None
        return replace(link, struck=link.struck + 1)

    def wait(self, host: WaitFacts, times: list[float] | None = None) -> float:
        """Return the seconds between two requests to the host if none fails.

        That is the policy's wait, longer for a host under strain, and not below its Crawl-delay.
        `times`: the seconds of its last downloads, if not those in its record.
        """
        politeness, limits = self._general if self.host_terms is None else self.terms_of(host.name)
        wait = politeness.wait(host.times if times is None else times)
        strain = self._strain
        if strain is not None and host.name in strain.slowdowns:
            slows_down = getattr(politeness, "slows_down", True)
            if slows_down:
                longer = min(wait * strain.slowdowns[host.name], limits.max_delay)
                wait = max(wait, longer)
        if not host.crawl_delay:
            return wait
        return max(wait, min(host.crawl_delay, limits.crawl_delay_max))

    @property
    def varies_connections(self) -> bool:
        """Return whether there may be a host that may have several requests at once."""
        return self.host_terms is not None or self._limits.connections is not None

    def connections(self, host: WaitFacts) -> int:
        """Return how many requests the host may have at once; 1 if it has a Crawl-delay."""
        limits = self.terms_of(host.name).limits
        # A Crawl-delay is the site's own word, and outranks the operator's rule.
        if limits.connections is None or (host.crawl_delay and limits.crawl_delay_max):
            return 1
        return limits.connections.of(host.name)

    def retry_after(self, host: Host) -> float:
        """Return the seconds of Retry-After with the host's last failure; 0 if it sent none."""
        if host.failed is None:
            return 0.0
        return min(host.failed.retry_after, self.terms_of(host.name).limits.retry_after_max)

    def is_spent(self, host: Host) -> bool:
        """Return whether the host has had all the pages that it may have."""
        return 0 < self.terms_of(host.name).limits.host_pages <= host.pages


def _after_others(link: Link, outcome: Outcome, ready_at: float, usual_wait: float) -> float:
    """Return the time from which a failed URL may be retried, given when its host is ready.

    After an ambiguous error another URL of the host goes first: it shows whose fault the error was.
    """
    return ready_at + usual_wait if is_ambiguous_error(link, outcome) else ready_at


def _fault(host: Host, link: Link, outcome: Outcome) -> Fault:
    """Return whose fault an outcome is that is not plain and not yet booked."""
    if is_ambiguous_error(link, outcome):
        return Fault.HOST if is_fault_of_host(host, link, outcome) else Fault.URL
    return Fault.HOST if has_failed(link, outcome) else Fault.NOBODY


def _retired_by(failure: Failure | None, pages: int, limits: Limits) -> int:
    """Return the Status with which all URLs of a host end after this outcome; 0: they do not end.

    `failure`: the host's, if it has failed. `pages`: the host's pages, with this outcome's.
    """
    if failure is not None and failure.is_final:
        return failure.failed.status
    return Status.HOST_BUDGET if 0 < limits.host_pages <= pages else 0


def _is_page(link: Link, outcome: Outcome) -> bool:
    """Return whether an outcome counts for HOST_MAX_PAGES.

    No failure, server's error, robots.txt, sitemap or revisit counts, nor an inline download.
    """
    if outcome.status <= 0 or outcome.status in AMBIGUOUS_ERRORS:
        return False
    if link.history or link.is_prerequisite or is_sitemap(link.path):
        return False
    # Inline downloads, of lent hosts, are booked without their URL (lending.NO_PAGE).
    return link.url != ""
