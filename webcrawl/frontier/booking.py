"""Books a download's outcome on its host: when the host is due again, and whether it is retired.

Who defers a host, and for how long (`Host.ready_at`; the longest wait counts):

    an answer, or a time-out    `Booking.wait`: POLITENESS_POLICY, by the host's last downloads
    Crawl-delay in robots.txt   `Booking.wait`: at least so long, up to CRAWL_DELAY_MAX
    strain: slower than usual   `Booking.wait`: up to `slow_down` times the policy's wait
    Retry-After                 `Booking.decide`: as asked, up to RETRY_AFTER_MAX
    an error of a single URL    `Booking.decide`: LONGER times the usual wait
    a failure of the host       `HealthRules.wait`: HOST_RETRY_WAIT, twice as long each time, to a day
    a name that leads nowhere   `HealthRules.wait`: GONE seconds, once; then the host is given up
    a block page (wall)         `health.gap`: HOST_RETRY_WAIT, twice as long each time, to a day
    a download that was cut     `Booking.cut`: HOST_RETRY_WAIT at least

Elsewhere: robots.txt that cannot be fetched (`RobotsAdmission.decide`, its origin alone), another
host at the same address (`addresses.Addresses`), a command (`ctl host NAME pause`: `SetAside.held`,
until it is resumed). While our own network is out nothing is fetched, and no host is charged
(`crawl/uplink.py`). A host that waits for more than hosts_set_aside.FAR seconds leaves the
back-end, whatever it waits for; that changes where it waits, and not for how long.

A host that answers more slowly, or fails more often, than it did at first is slowed down before it
asks. Mercator's wait is in proportion to the last answer already, which keeps our share of a busy
server's time as it was; here it becomes less. Strain is kept in memory only, of a bounded number of
hosts: after a restart a host is heard anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from math import exp, log
from typing import NamedTuple, Protocol

from webcrawl.base.model import Link, Outcome, Status, is_sitemap
from webcrawl.frontier.health import (
    DAY,
    LONGER,
    STRIKES,
    UNWELL,
    Failure,
    HealthRules,
    answered,
    echoed,
    gap,
    is_charged,
    is_hosts,
    is_unwell,
    later,
    met,
    noted,
    recovered,
    returned,
    soon,
)
from webcrawl.frontier.host_queues import Connections
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.outcomes import attempts, has_failed, is_plain
from webcrawl.frontier.politeness import Politeness
from webcrawl.frontier.wait_words import RETRY_AFTER
from webcrawl.store.jobdir.host_row import behind_wall

DOWNLOADS = 5  # of a host, the last ones, by whose seconds it is asked
# Hosts whose strain is remembered. The host that was heard longest ago is forgotten first.
HOSTS = 1 << 16
HEARD = 10  # answers until a host's usual time is known
USUAL = 1 / 64  # weight of an answer in its usual time, once it is known
# by which an answer under strain lengthens it: a host that stays as slow is usual after a thousand
DRIFT = 1 / 1024
# weight of an answer in what was lately, of which the geometric mean is taken: one odd one says
# little
LATELY = 1 / 8
SHORTEST = 1e-3  # seconds that an answer counts for at least
LEAST = 0.1  # seconds: a host that answers sooner than this is not busy, whatever it did at first
SLOWER = 2.0  # times its usual time: no strain yet
QUICK = log(SLOWER * LEAST)  # with late answers below this none is slow
FAILS = 0.2  # share of failures: no strain yet

# of a host: answers, usual seconds, log of late ones, share of failures
Heard = tuple[int, float, float, float]

# These kept the server busy too, a time-out longer than any answer, so they count for Mercator's
# wait.
UNANSWERED = frozenset((Status.TIMEOUT, Status.CONNECTION_LOST))


# A simulated server answers in 0.2 seconds, and in 2.5 while others keep it busy for 92 % of the
# time. In the next hour it gets 36 requests, and 131 without this (tests/frontier/test_strain.py).
class Strain:
    """The hosts under strain, and how many times longer than usual each of them is left alone, up
    to `most`.
    """

    def __init__(self, most: float) -> None:
        self.most = most
        self.times: dict[str, float] = {}  # of the hosts under strain, which are few
        self._known: dict[str, Heard] = {}  # the last one heard is the last

    def heard(self, host: str, seconds: float, *, failed: bool) -> None:
        """Take note of a download of this host that has ended."""
        now = log(max(seconds, SHORTEST))
        known = self._known.pop(host, None)
        count, usual, lately, fails = self._unknown(seconds, now) if known is None else known
        lately += LATELY * (now - lately)
        fails += LATELY * (failed - fails)
        if count < HEARD:  # what is usual is not known yet
            self._known[host] = count + 1, usual + (seconds - usual) / (count + 1), lately, fails
            return
        if seconds <= SLOWER * LEAST or seconds <= SLOWER * usual:
            usual += USUAL * (seconds - usual)
        else:
            usual += DRIFT * usual
        self._known[host] = count + 1, usual, lately, fails
        is_suspect = lately > QUICK or fails > FAILS
        times = self._times(usual, lately, fails) if is_suspect else 1.0
        if times > 1.0:
            self.times[host] = times
        else:
            self.times.pop(host, None)

    def _unknown(self, seconds: float, now: float) -> Heard:
        if len(self._known) >= HOSTS:
            oldest = next(iter(self._known))
            del self._known[oldest]
            self.times.pop(oldest, None)
        return 0, seconds, now, 0.0

    def _times(self, usual: float, lately: float, fails: float) -> float:
        slow = exp(lately) / (SLOWER * max(usual, LEAST))
        bad = 1.0 + (fails - FAILS) * self.most
        return min(max(slow, bad), self.most)


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


Own = tuple[Politeness, Limits]  # of one host


class WaitFacts(Protocol):
    """The fields that a host's wait depends on: of a host in memory, or of its row."""

    @property
    def name(self) -> str: ...

    @property
    def times(self) -> list[float]: ...

    @property
    def crawl_delay(self) -> float: ...


class Fault(Enum):
    """Whom an outcome is held against."""

    NOBODY = "the host has answered"
    URL = "the server reports an error, of this URL as far as is known"
    HOST = "the host has failed"


class Retry(NamedTuple):
    """When a link is fetched once more, and how it is queued until then."""

    at: float
    link: Link


class Consequences(NamedTuple):
    """What an outcome means for its link and its host. To find them out changes nothing."""

    fault: Fault
    failure: Failure | None  # the host's new failure; None: it has not failed, or that is known
    retry: Retry | None  # None: the link is finished
    is_page: bool  # it counts for HOST_MAX_PAGES
    times: list[float]  # seconds of the host's last downloads, with this one
    turn: float  # seconds between two requests to the host if none fails
    ready_at: float  # no request to the host before this time
    retry_after: float  # the server has asked to be left alone until then; 0: it has not
    retired: int  # if not 0, the Status with which all URLs of the host end


class Booking:
    """Records an outcome in its host's record."""

    def __init__(self, politeness: Politeness, limits: Limits) -> None:
        # of hosts for which other waits and limits are in force
        self.own: Mapping[str, Own | None] | None = None
        self._strain = Strain(limits.slow_down) if limits.slow_down > 1.0 else None
        self.change(politeness, limits)

    def change(self, politeness: Politeness, limits: Limits) -> None:
        """From now on these hold, for waits that begin from now on.

        Hosts under strain are still under strain.
        """
        self._general = (politeness, limits)
        self._limits = limits
        self.health = HealthRules(limits.host_failures, limits.retry_wait, limits.patience)

    def of(self, name: str) -> Own:
        """Return the politeness and limits of this host."""
        if self.own is None:
            return self._general
        return self.own[name] or self._general

    def book(
        self, host: Host, link: Link, outcome: Outcome, now: float, *, news: bool = True
    ) -> Retry | None:
        """Book an outcome.

        Return when to retry the link and how it is queued then, or None if it is finished.

        `news`: a failure says something of the host. It does not if the request was under way when
        the last one failed.
        """
        status = outcome.status
        if self._strain is not None and (status > 0 or status in UNANSWERED):
            is_bad = status < 0 or status >= 500
            self._strain.heard(host.name, outcome.seconds, failed=is_bad)
        consequences = self.decide(host, link, outcome, now, news=news)
        self._apply(consequences, host, link, outcome, now)
        return consequences.retry

    def decide(
        self, host: Host, link: Link, outcome: Outcome, now: float, *, news: bool = True
    ) -> Consequences:
        """Return what booking this outcome would do; nothing is changed. `news` is as for `book`.

        A prerequisite neither counts as a page nor is retried: admission asks for it again while a
        URL needs it. A probe is not retried either.
        """
        limits = self._limits if self.own is None else self.of(host.name)[1]
        is_usual = is_plain(outcome)  # nearly always
        fault = Fault.NOBODY if is_usual else _fault(host, link, outcome)
        failure = None
        # Requests that were under way to one host together count once if they fail. Else four would
        # bring it from well to set aside in a second.
        if fault is Fault.HOST and news:
            failure = self.health.failure(host, link, outcome, now, longest=limits.retry_after_max)
        is_surely_done = is_usual and self._limits.retry_codes is None
        most = 0 if is_surely_done else self._most(link, outcome)
        retry_link = self._retry_link(host, link, outcome, most) if most > 1 else None
        is_page = retry_link is None and _is_page(link, outcome)
        retired = host.retired or _retired_by(failure, host.pages + is_page, limits)

        has_kept_busy = outcome.status > 0 or outcome.status in UNANSWERED
        times = [*host.times, outcome.seconds][-DOWNLOADS:] if has_kept_busy else host.times
        turn = wait = self.wait(host, times)
        retry_after = 0.0
        if outcome.wait > turn:
            wait = max(turn, min(outcome.wait, limits.retry_after_max))
            retry_after = now + wait
        if failure is not None:
            wait = max(wait, failure.wait)
        elif fault is Fault.URL:
            wait = max(wait, LONGER * turn)
        ready_at = max(host.ready_at, now + wait)  # an inline download may have asked it since

        retry = None
        if retry_link is not None and not retired:
            first = soon(host, turn) if fault is Fault.URL else DAY
            at = later(link, now, min(limits.retry_wait, first))
            if fault is not Fault.NOBODY:
                at = max(at, _after_others(link, outcome, ready_at, turn))
            retry = Retry(at, retry_link)
        return Consequences(
            fault, failure, retry, is_page, times, turn, ready_at, retry_after, retired
        )

    def _apply(
        self, consequences: Consequences, host: Host, link: Link, outcome: Outcome, now: float
    ) -> None:
        """Write into the host's record what was decided for it as it is."""
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
                echoed(host, link)
        elif fault is Fault.URL:
            noted(host, link, outcome, now)
        elif host.failures or host.failed is not None or host.bad:
            limits = self._limits if self.own is None else self.of(host.name)[1]
            recovered(host, link, now, min(limits.retry_wait, soon(host, consequences.turn)))
        host.ready_at = consequences.ready_at
        host.retired = consequences.retired

    def walled(self, host: Host, link: Link, outcome: Outcome, now: float) -> Retry | None:
        """Book an answer of a wall: the host is well, and nothing is known of the page."""
        limits = self.of(host.name)[1]
        host.times.append(outcome.seconds)
        del host.times[:-DOWNLOADS]
        # A wall is no failure: one ends with HOST_PATIENCE, and `why` would name a wrong cause.
        answered(host)
        again = met(host, link, outcome.wall, now)
        wait = self.wait(host)
        if host.wall is not None and behind_wall(host):
            wait = max(wait, gap(host.wall, limits.retry_wait))
        asked = min(outcome.wait, limits.retry_after_max)
        host.ready_at = max(host.ready_at, now + max(wait, asked))
        if again is None or host.retired:
            return None
        return Retry(host.ready_at, again)

    def cut(self, host: Host, seconds: float, now: float) -> None:
        """Book a download that was cut because others needed its slot.

        It is no failure, but the host was busy with it.
        """
        host.times.append(seconds)
        del host.times[:-DOWNLOADS]
        host.ready_at = max(host.ready_at, now + max(self.wait(host), self._limits.retry_wait))

    def will_retry(
        self, host: Host, link: Link, outcome: Outcome, now: float, *, news: bool = True
    ) -> bool:
        """Return whether booking this outcome will lead to a retry.

        The answer of a wall is kept, whatever follows.
        """
        if outcome.wall or not self._most(link, outcome):  # most are answers
            return False
        return self.decide(host, link, outcome, now, news=news).retry is not None

    def ready_after(self, host: Host, link: Link, outcome: Outcome, now: float) -> float:
        """Return the time until which the host will wait once this outcome is booked."""
        return self.decide(host, link, outcome, now).ready_at

    def is_worth(self, link: Link, outcome: Outcome) -> bool:
        """Return whether the link is worth another attempt, if this one is charged to it."""
        return link.attempt + 1 < self._most(link, outcome)

    def _most(self, link: Link, outcome: Outcome) -> int:
        """Return how many attempts a link has that ended so; 0 if it does not come again."""
        most = attempts(outcome, self._limits.attempts, self._limits.retry_codes)
        return 0 if most and link.is_own else most

    def _retry_link(self, host: Host, link: Link, outcome: Outcome, most: int) -> Link | None:
        """Return the link as it is queued once more, or None.

        A failure of its host uses up none of the attempts.

        `most`: how many it has, more than one.
        """
        is_last = link.attempt + 1 >= most
        unwell = is_unwell(link, outcome)
        charged = is_charged if unwell else self.health.is_charged
        if charged(host, link, outcome, last=is_last):
            return None if is_last else replace(link, attempt=link.attempt + 1)
        if unwell:
            link = returned(link, host.failed)
        counts_as_strike = not host.failures and (outcome.wait > 0 or not unwell)
        if counts_as_strike and link.struck + 1 >= STRIKES:
            return None
        return replace(link, struck=link.struck + 1)

    def wait(self, host: WaitFacts, times: list[float] | None = None) -> float:
        """Return the seconds between two requests to the host if none fails.

        `times`: those of its last downloads, if they are not the ones in its record.
        """
        politeness, limits = self._general if self.own is None else self.of(host.name)
        wait = politeness.wait(host.times if times is None else times)
        strain = self._strain
        if strain is not None and host.name in strain.times:
            slows_down = getattr(politeness, "slows_down", True)
            if slows_down:
                longer = min(wait * strain.times[host.name], limits.max_delay)
                wait = max(wait, longer)
        if not host.crawl_delay:
            return wait
        return max(wait, min(host.crawl_delay, limits.crawl_delay_max))

    @property
    def varies_connections(self) -> bool:
        """Return whether there may be a host that may have several requests at once."""
        return self.own is not None or self._limits.connections is not None

    def connections(self, host: WaitFacts) -> int:
        """Return the number of its requests at once.

        A Crawl-delay is between any two: its robots.txt goes first.
        """
        limits = self.of(host.name)[1]
        # A Crawl-delay is the site's own word, and outranks the operator's rule.
        if limits.connections is None or (host.crawl_delay and limits.crawl_delay_max):
            return 1
        return limits.connections.of(host.name)

    def asked(self, host: Host) -> float:
        """Seconds for which the host has asked to be left alone after its last failure."""
        if host.failed is None:
            return 0.0
        return min(host.failed.asked, self.of(host.name)[1].retry_after_max)

    def is_spent(self, host: Host) -> bool:
        """Return whether the host has had all the pages that it may have."""
        return 0 < self.of(host.name)[1].host_pages <= host.pages


def _after_others(link: Link, outcome: Outcome, ready_at: float, turn: float) -> float:
    """Return when other URLs of the host have had their turn: they tell whose fault it is."""
    return ready_at + turn if is_unwell(link, outcome) else ready_at


def _fault(host: Host, link: Link, outcome: Outcome) -> Fault:
    """Return whom an outcome that is not plain, and not yet booked, is held against."""
    if is_unwell(link, outcome):
        return Fault.HOST if is_hosts(host, link, outcome) else Fault.URL
    return Fault.HOST if has_failed(link, outcome) else Fault.NOBODY


def _retired_by(failure: Failure | None, pages: int, limits: Limits) -> int:
    """Return the Status with which all URLs of a host end that has so many pages now.

    It is 0 if they do not end.
    """
    if failure is not None and failure.is_final:
        return failure.failed.status
    return Status.HOST_BUDGET if 0 < limits.host_pages <= pages else 0


def _is_page(link: Link, outcome: Outcome) -> bool:
    """Return whether an answer counts for HOST_MAX_PAGES.

    It does not if it is a server's error, a robots.txt, a sitemap, or a page that is fetched again.
    """
    if outcome.status <= 0 or outcome.status in UNWELL:
        return False
    if link.history or link.is_prerequisite or is_sitemap(link.path):
        return False
    # The downloads of lent hosts have no URL (lending.NO_PAGE).
    return link.url != ""
