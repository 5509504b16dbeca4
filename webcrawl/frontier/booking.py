"""Books a download's outcome on its host: when the host is due again, and whether it is retired.

A host that answers more slowly, or fails more often, than it did at first is slowed down before it asks. Mercator's
wait is in proportion to the last answer already, which keeps our share of a busy server's time as it was; here it
becomes less. Strain is kept in memory only, of a bounded number of hosts: after a restart a host is heard anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp, log
from typing import Protocol

from webcrawl.base.model import Link, Outcome, Status, is_sitemap
from webcrawl.frontier.health import (
    DAY,
    LONGER,
    STRIKES,
    UNWELL,
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

HOSTS = 1 << 16
HEARD = 10  # answers until a host's usual time is known
USUAL = 1 / 64  # weight of an answer in its usual time, once it is known
DRIFT = 1 / 1024  # by which an answer under strain lengthens it: a host that stays as slow is usual after a thousand
LATELY = 1 / 8  # weight of an answer in what was lately, of which the geometric mean is taken: one odd one says little
SHORTEST = 1e-3  # seconds that an answer counts for at least
LEAST = 0.1  # seconds: a host that answers sooner than this is not busy, whatever it did at first
SLOWER = 2.0  # times its usual time: no strain yet
QUICK = log(SLOWER * LEAST)  # with late answers below this none is slow
FAILS = 0.2  # share of failures: no strain yet

Heard = tuple[int, float, float, float]  # of a host: answers, usual seconds, log of late ones, share of failures

# These kept the server busy too, a time-out longer than any answer, so they count for Mercator's wait.
UNANSWERED = frozenset((Status.TIMEOUT, Status.CONNECTION_LOST))


class Strain:
    """The hosts under strain, and how many times longer than usual each of them is left alone, up to `most`."""

    def __init__(self, most: float) -> None:
        self.most = most
        self.times: dict[str, float] = {}  # of the hosts under strain, which are few
        self._known: dict[str, Heard] = {}  # the last one heard is the last

    def heard(self, host: str, seconds: float, *, failed: bool) -> None:
        """A download of this host has ended."""
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
        times = self._times(usual, lately, fails) if lately > QUICK or fails > FAILS else 1.0
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
    retry_codes: frozenset[int] | None = None  # RETRY_HTTP_CODES; None: those of the table in outcomes.py
    domain_share: int = 16  # a domain may have one queue in this many, at least 4, while others wait: none has all
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
        """The politeness and limits of this host."""
        return self._general if self.own is None else self.own[name] or self._general

    def book(
        self, host: Host, link: Link, outcome: Outcome, now: float, *, news: bool = True, happened: bool = True
    ) -> tuple[float, Link] | None:
        """Returns when to retry the link, and how it is queued then; None if it is finished.

        `news`: a failure says something of the host. It does not if the request was under way when the last one failed.
        `happened`: if not, somebody only wants to know what would follow, and strain is not told.

        A prerequisite neither counts as a page nor is retried: admission asks for it again while a URL needs it. A
        probe is not retried either.
        """
        limits = self._limits if self.own is None else self.of(host.name)[1]
        status = outcome.status
        plain = is_plain(outcome)
        most = 0 if plain and self._limits.retry_codes is None else self._most(link, outcome)
        again = self._retry_link(host, link, outcome, most) if most > 1 else None
        if status > 0 or status in UNANSWERED:
            host.times.append(outcome.seconds)
            del host.times[:-5]
            if self._strain is not None and happened:
                self._strain.heard(host.name, outcome.seconds, failed=status < 0 or status >= 500)
        unwell = status in UNWELL and is_unwell(link, outcome)
        failed = is_hosts(host, link, outcome) if unwell else not plain and has_failed(link, outcome)
        host.pages += again is None and _is_page(link, outcome)
        turn = wait = self.wait(host)
        if outcome.wait > turn:
            wait = max(turn, min(outcome.wait, limits.retry_after_max))
            host.left = now + wait, RETRY_AFTER
        if failed:
            wait = max(wait, self._failed(host, link, outcome, now, news=news))
        elif unwell:
            wait = max(wait, LONGER * turn)
            noted(host, link, outcome, now)
        elif host.failures or host.row is not None or host.bad:
            recovered(host, link, now, min(limits.retry_wait, soon(host, turn)))
        host.ready_at = max(host.ready_at, now + wait)  # an inline download may have asked it since
        if limits.host_pages and host.pages >= limits.host_pages:
            host.retired = host.retired or Status.HOST_BUDGET
        if host.retired or again is None:
            return None
        first = soon(host, turn) if unwell and not failed else DAY
        at = later(link, now, min(limits.retry_wait, first))
        if failed or unwell:
            at = max(at, host.ready_at + turn * unwell)  # others go first: they tell whose fault it is
        return at, again

    def walled(self, host: Host, link: Link, outcome: Outcome, now: float) -> tuple[float, Link] | None:
        """Books an answer of a wall: the host is well, and nothing is known of the page."""
        limits = self.of(host.name)[1]
        host.times.append(outcome.seconds)
        del host.times[:-5]
        answered(host)
        again, wait = met(host, link, outcome.wall, now), self.wait(host)
        if host.wall is not None and behind_wall(host):
            wait = max(wait, gap(host.wall, limits.retry_wait))
        host.ready_at = max(host.ready_at, now + max(wait, min(outcome.wait, limits.retry_after_max)))
        return None if again is None or host.retired else (host.ready_at, again)

    def _failed(self, host: Host, link: Link, outcome: Outcome, now: float, *, news: bool) -> float:
        """Books a failure of the host; returns how long it is left alone."""
        host.said, host.of_robots = outcome.status, link.is_prerequisite
        if news:
            longest = self.of(host.name)[1].retry_after_max
            return self.health.failed(host, link, outcome, now, longest=longest)
        echoed(host, link)
        return 0.0

    def cut(self, host: Host, seconds: float, now: float) -> None:
        """Books a download that was cut because others needed its slot: no failure, but the host was busy with it."""
        host.times.append(seconds)
        del host.times[:-5]
        host.ready_at = max(host.ready_at, now + max(self.wait(host), self._limits.retry_wait))

    def will_retry(self, host: Host, link: Link, outcome: Outcome, now: float, *, news: bool = True) -> bool:
        """True if booking this outcome will lead to a retry. A wall's answer is kept, whatever follows."""
        if outcome.wall or not self._most(link, outcome):  # most are answers
            return False
        return self.book(_copied(host), link, outcome, now, news=news, happened=False) is not None

    def ready_after(self, host: Host, link: Link, outcome: Outcome, now: float) -> float:
        """The time until which the host waits once this outcome is booked."""
        booked = _copied(host)
        self.book(booked, link, outcome, now, happened=False)
        return booked.ready_at

    def is_worth(self, link: Link, outcome: Outcome) -> bool:
        """True if the link is worth another attempt, if this one is charged to it."""
        return link.attempt + 1 < self._most(link, outcome)

    def _most(self, link: Link, outcome: Outcome) -> int:
        """The number of attempts that a link has if it ended so; 0: it does not come again."""
        most = attempts(outcome, self._limits.attempts, self._limits.retry_codes)
        return 0 if most and link.is_own else most

    def _retry_link(self, host: Host, link: Link, outcome: Outcome, most: int) -> Link | None:
        """The link as it is queued once more, or None. A failure of its host uses up none of the attempts."""
        last, unwell = link.attempt + 1 >= most, is_unwell(link, outcome)
        charged = is_charged if unwell else self.health.is_charged
        if charged(host, link, outcome, last=last):
            return None if last else replace(link, attempt=link.attempt + 1)
        if unwell:
            link = returned(link, host.row)
        over = not host.failures and link.struck + 1 >= STRIKES and (outcome.wait > 0 or not unwell)
        return None if over else replace(link, struck=link.struck + 1)

    def wait(self, host: WaitFacts) -> float:
        """Seconds between two requests to the host if none fails."""
        politeness, limits = self._general if self.own is None else self.of(host.name)
        wait = politeness.wait(host.times)
        if self._strain is not None and host.name in self._strain.times and getattr(politeness, "slows_down", True):
            wait = max(wait, min(wait * self._strain.times[host.name], limits.max_delay))
        return max(wait, min(host.crawl_delay, limits.crawl_delay_max)) if host.crawl_delay else wait

    @property
    def varies_connections(self) -> bool:
        """True if there may be a host that may have several requests at once."""
        return self.own is not None or self._limits.connections is not None

    def connections(self, host: WaitFacts) -> int:
        """The number of its requests at once. A Crawl-delay is between any two: its robots.txt goes first."""
        limits = self.of(host.name)[1]
        if limits.connections is None or (host.crawl_delay and limits.crawl_delay_max):
            return 1
        return limits.connections.of(host.name)

    def asked(self, host: Host) -> float:
        """Seconds for which the host has asked to be left alone after its last failure."""
        return min(host.row.asked, self.of(host.name)[1].retry_after_max) if host.row is not None else 0.0

    def is_spent(self, host: Host) -> bool:
        """True if the host has had all the pages that it may have."""
        return 0 < self.of(host.name)[1].host_pages <= host.pages


def _copied(host: Host) -> Host:
    """A record in which may be booked what is only looked at."""
    return replace(host, times=[*host.times], bad={**host.bad})


def _is_page(link: Link, outcome: Outcome) -> bool:
    """Neither a server's error, nor a robots.txt, nor a sitemap, nor one that is fetched again."""
    answered = outcome.status > 0 and outcome.status not in UNWELL
    return answered and not (link.history or link.is_prerequisite or is_sitemap(link.path)) and link.url != ""
