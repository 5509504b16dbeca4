"""The health of a host: the fault of a failure, the wait after it, and when a host is given up.

A host is healthy; failing, after its first failure; set aside, after HOST_MAX_FAILURES in a row; or
given up, when it has been away for HOST_PATIENCE. Any answer makes it healthy again.

An answer that reports an error of the server's is the fault of its URL, if it is a single one among
good answers. It is the host's if the server says how long to wait, if as many different URLs in a
row get one as make a ROW, or if the host has never answered well.

What follows from a block page (a wall, which a vendor's marks or its structure show):

    the answer    is archived, and has a line in crawl.log with the annotation `wall:VENDOR`. No
                  link of it is followed, and no output behind `news` gets it
    its host      has not failed. It is behind the wall after WALL_ANSWERS such answers, or after
                  the first if it has never given a page. Then one URL at a time is asked for, as a
                  probe, at intervals that grow to a day (`gap`), and the host waits set aside
    its URL       goes to the end of its host's queue, without losing an attempt. Until the host is
                  known to be behind the wall, it waits in the host's record (`met`, `brought_back`)
    its end       any other answer that says that a page is there or not opens the wall (`opens`).
                  A URL that meets a wall again while its host gives pages is walled alone, and ends

A wall that only words suggest (`wall:unknown`) is an annotation, and nothing follows for the host.
Nor does it from an answer to a spider's own request, which the spider gets.

docs/frontier-inside.md has the tables. There is no I/O here, and no clock.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from heapq import heapify
from typing import NamedTuple
from zlib import crc32

from webcrawl.base.doubling import wait_after
from webcrawl.base.model import Link, Outcome, Packed, Status, unpack
from webcrawl.frontier.families.shapes import CLOSE, shape_of
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.outcomes import rule
from webcrawl.store.jobdir.host_row import (
    FailedRow,
    Health,
    WallRow,
    behind_wall,
    given_up,
    health_of,
)

# no wait between two tries is longer; and a host given up is given another chance after so long
DAY = 86_400.0
# if its host was well before, so many failures of a URL that were no fault of its own are one after
# all
# With three, a host that says 503 to a third of all requests lost one URL in 27.
STRIKES = 6
# If permanent: no such name, one that leads inside, or a server that speaks only what the crawl
# does not
NOWHERE = frozenset((Status.DNS_FAILED, Status.EXCLUDED, Status.UNSUPPORTED))
# Seconds, and times HOST_RETRY_WAIT at most, after which a name that never led anywhere is asked
# for once more. A user with a misspelt seed waits for that; the resolver tells denials from lies
# (net/dns.py).
GONE, GONE_MOST = 3.0, 10.5
# A host may be tried so many times later than planned. A longer gap says only that we did not look.
# A clock that jumps, a machine that sleeps and a crawl that was stopped for a week cost no host its
# chances.
LATE = 2.0


class Failure(NamedTuple):
    """One more failure of a host in a row."""

    failed: FailedRow
    wait: float  # seconds for which the host is left alone
    is_final: bool  # the host is given up by it

    def apply(self, host: Host) -> None:
        """Book the failure; whether the host is given up is the caller's to write."""
        host.failures += 1
        host.failed = self.failed


@dataclass(frozen=True, slots=True)
class HealthRules:
    """The settings, as plain values."""

    failures: int = 5  # HOST_MAX_FAILURES
    retry_wait: float = 60.0  # HOST_RETRY_WAIT
    patience: float = 259_200.0  # HOST_PATIENCE

    def health(self, host: Host) -> Health:
        """Return the health of this host now.

        If all its URLs wait for origins that fail, it is that of the best one.
        """
        health = health_of(host, self.failures)
        if health is not Health.HEALTHY or not (failures := host.failing()):
            return health
        return Health.ASIDE if failures >= self.failures else Health.FAILING

    def is_charged(self, host: Host, link: Link, outcome: Outcome, *, last: bool) -> bool:
        """Return whether this outcome, not yet booked, uses up one of the URL's attempts.

        `last`: it would be the last one. What may be the URL's fault or the host's is the URL's
        until the host is set aside. But no URL ends while others of its host fail as well, unless
        the host answers them; nor while no page of the host is known.
        """
        verdict = rule(outcome)
        says_nothing_of_host = not verdict.failed or outcome.answered
        if says_nothing_of_host or outcome.retries is not None:
            return True
        is_set_aside = host.failures >= self.failures
        if not verdict.charged or is_set_aside:
            return False
        if not last:
            return True
        if not host.pages:
            return False
        # The other URLs of a host show whether it has failed, so none ends while they fail as well.
        has_failed_alone = host.failed is None or host.failed.only == sum_of(link)
        return has_failed_alone or is_own(host, link, outcome)

    def failure(
        self, host: Host, link: Link, outcome: Outcome, now: float, *, longest: float = DAY
    ) -> Failure:
        """Return what one more failure means for the host; nothing is booked.

        `longest`: RETRY_AFTER_MAX. A host that asks for years is not left alone for years.
        """
        before = host.failed
        away = 0.0
        only = sum_of(link)
        origin = origin_of(link.url)
        is_gone = _is_gone(host, outcome)
        was_gone = False
        if before is not None:
            away = before.away + min(max(now - before.at, 0.0), LATE * before.planned)
            only = only if only == before.only else 0
            origin = origin if before.origin in (-1, origin) else 0
            was_gone = before.gone
        failures = host.failures + 1
        wait = self.wait(failures, gone=is_gone)
        planned = float(max(wait, min(outcome.wait, longest)))
        asked = float(outcome.wait)
        failed = FailedRow(now, away, _status(link, outcome), only, is_gone, origin, planned, asked)
        is_over = failures >= self.failures and away >= self.patience
        # A name is looked up twice before its host is given up for it.
        is_denied_again = is_gone and was_gone
        return Failure(failed, wait, is_final=is_over or is_denied_again)

    def wait(self, failures: int, *, gone: bool) -> float:
        """Return the seconds for which a host is left alone that has failed so often in a row."""
        if gone:
            return min(GONE, GONE_MOST * self.retry_wait)
        return wait_after(failures, self.retry_wait, DAY)


def answered(host: Host) -> None:
    """Book that the host has answered: it is healthy."""
    host.failures = 0
    host.failed = None


def is_own(host: Host, link: Link, outcome: Outcome) -> bool:
    """Return whether a failure, not yet booked, says nothing of the host.

    That is so if the host has answered since the URL failed before.
    """
    return link.attempt > 0 and host.pages > 0 and not host.failures and rule(outcome).charged


def echoed(host: Host, link: Link) -> None:
    """Book that a request which was under way when the host failed has failed too.

    The failure counts once, and is of more than one URL.
    """
    failed = host.failed
    if failed is not None and failed.only != sum_of(link):
        host.failed = FailedRow(
            failed.at,
            failed.away,
            failed.status,
            0,
            failed.gone,
            failed.origin,
            failed.planned,
            failed.asked,
        )


def returns(host: Host, now: float) -> bool:
    """Give a host that was given up another chance, if that was long ago.

    Then it is due, and set aside if it fails. Return whether it was.
    """
    failed = host.failed
    if failed is None or now - failed.at < DAY or not given_up(host):
        return False
    host.retired = 0
    host.ready_at = min(host.ready_at, now)
    host.failed = FailedRow(now, 0.0, failed.status, 0, gone=False, origin=-1)
    return True


def _is_gone(host: Host, outcome: Outcome) -> bool:
    """Return whether there is no such host.

    Of one that has been reached the name servers may say so and be wrong.
    """
    reached = outcome.doubtful and bool(host.times)
    return outcome.permanent and outcome.status in NOWHERE and not reached


def _status(link: Link, outcome: Outcome) -> int:
    """Return the Status with which URLs end that were not even tried, because of this."""
    if link.is_prerequisite and outcome.status not in NOWHERE:
        return Status.ROBOTS_UNREACHABLE
    return outcome.status if outcome.status < 0 else Status.HOST_RETIRED


def origin_of(url: str) -> int:
    """Return a checksum of scheme, host and port."""
    return crc32(url[: url.find("/", url.find("//") + 2)].encode()) if url else 0


def sum_of(link: Link) -> int:
    """Return a checksum of the URL, above 0."""
    return crc32(link.url.encode()) or 1


# 408: the server, or what stands before it, got no whole request in time. 501 and 505 speak of the
# request: its method, its version of HTTP
UNWELL = frozenset((Status.CONNECTION_LOST, 408, 429, *range(500, 600))) - {501, 505}
ROW = 3  # different URLs in a row: the host is unwell
MAX_ROW = 16  # answers in a row that are remembered
# To wait for a last URL that alone says 503 cost hosts up to 1,562 times their crawl (five such
# pages, a second apart), and with this number 1.28 times at most. The price is a URL where a host
# falls over for hours just before its last one: 1 of 5,270.
FAMILIAR = 10  # pages of a host by which its last URL's 503 is told from a host that is down
LONGER = 2.0  # times its usual wait that a host waits after one that is its URL's own
# Until such a URL comes again: so many usual waits of its host, or this share of those that its
# pages took, so that it holds up no crawl; but not less seconds
TURNS, SHARE, SOONEST = 8.0, 1 / 16, 1.0


def is_unwell(link: Link, outcome: Outcome) -> bool:
    """Return whether an answer is an error that may be its URL's own or the host's.

    For a robots.txt, without which its host cannot be asked, that is no question. A dropped
    connection counts as one if the request says how often it is tried: its URL is tried again
    first.
    """
    if outcome.status == Status.CONNECTION_LOST and (outcome.retries is None or outcome.answered):
        return False
    return outcome.status in UNWELL and not link.is_prerequisite


def is_hosts(host: Host, link: Link, outcome: Outcome) -> bool:
    """Return whether such an answer, not yet booked, is the host's fault."""
    may_be_hosts = rule(outcome).failed
    if host.failures:
        return may_be_hosts or _has_failed_by_answers(host.failed)
    is_busy = may_be_hosts and outcome.status > 0  # a dropped connection does not say so
    if is_busy and outcome.wait:
        return True
    if _is_known(host, link):
        return False
    return _completes_row(host, link, outcome, is_busy=is_busy)


def _completes_row(host: Host, link: Link, outcome: Outcome, *, is_busy: bool) -> bool:
    """Return whether the answers in a row, and this one, show that the host is unwell.

    A host that has never answered well is at fault as soon as one of its URLs has got a second one.
    While few pages of it are known, so it is if that is a 429 or 503, which speak of the host (RFC
    6585, RFC 9110).
    """
    answers = errors_in_a_row(host)
    urls = {mark for mark in answers if mark > 0}
    is_first_of_url = _mark(link, outcome) not in answers
    if is_first_of_url:
        return len(urls) + 1 >= ROW
    if not host.pages:
        return True
    # Downloads that somebody awaits have no URL, and all one mark
    is_little_known = host.pages < FAMILIAR or len(urls) > 1 or not link.url
    return is_busy and is_little_known


def is_charged(host: Host, link: Link, outcome: Outcome, *, last: bool) -> bool:
    """Return whether such an answer, not yet booked, uses up one of the URL's attempts.

    `last`: it would be the last one. No URL ends by it while nothing good is known of its host.
    """
    if outcome.retries is not None:
        return True
    if not is_hosts(host, link, outcome):
        return host.pages > 0 or not last
    return not rule(outcome).failed and _is_known(host, link)


def soon(host: Host, turn: float) -> float:
    """Return the seconds until a URL comes again whose own fault such an answer was.

    `turn` is its host's usual wait. The last URLs of a host of which few pages are known wait like
    those of one that has failed.
    """
    if host.pages < FAMILIAR and host.waiting() == len(host.later):
        return DAY
    return max(max(TURNS, SHARE * host.pages) * turn, SOONEST)


def noted(host: Host, link: Link, outcome: Outcome, now: float) -> None:
    """Book such an answer as its URL's own, as far as one can say now."""
    if host.retired:
        return
    host.said = outcome.status
    host.of_robots = False
    before = host.failed
    if host.failures:
        answered(host)
    answers = errors_in_a_row(host)
    only = sum_of(link)
    origin = origin_of(link.url)
    if answers and before is not None:
        only = only if before.only == only else 0
        origin = origin if before.origin == origin else 0
    mark = -sum_of(link) if _is_known(host, link) else _mark(link, outcome)
    kept = (*answers, mark)[-MAX_ROW:]
    status = Status.HOST_RETIRED
    host.failed = FailedRow(now, 0.0, status, only, gone=False, origin=origin, unwell=kept)


def later(link: Link, now: float, first: float) -> float:
    """Return the time to retry the link at.

    The wait grows with each time, even if answers to others came in between.
    """
    return now + wait_after(link.tried + 1, first, DAY)


def recovered(host: Host, link: Link, now: float, first: float) -> None:
    """Book that the host has given a good answer: the errors before it were its URLs' own.

    They come sooner than after a failure of the host: as if they had been asked for now, with
    `first` as the first wait.
    """
    failed = host.failed
    if failed is not None and _leaves_errors_open(failed, link):
        return
    if failed is not None and failed.unwell and host.later:
        _bring_forward(host, failed, now, first)
    host.bad.pop(_kind(link), None)
    answered(host)


def _has_failed_by_answers(failed: FailedRow | None) -> bool:
    """Return whether answers that report errors are noted, and not failures to get any.

    Both `noted` and `_status` give these the Status HOST_RETIRED.
    """
    return failed is not None and failed.status == Status.HOST_RETIRED


def _leaves_errors_open(failed: FailedRow, link: Link) -> bool:
    """Return whether a good answer to this link says nothing of the errors before it."""
    if not _has_failed_by_answers(failed):
        return False
    # Many a server has a robots.txt while its pages fail: one of these has to come.
    return link.is_prerequisite or _is_of_another_origin(failed, link)


def _is_of_another_origin(failed: FailedRow, link: Link) -> bool:
    """Return whether all these errors came from one origin, and that origin is not the link's.

    A good answer from one origin (scheme, host and port) says nothing about another's errors.
    """
    return bool(link.url) and failed.origin not in (0, -1, origin_of(link.url))


def _bring_forward(host: Host, failed: FailedRow, now: float, first: float) -> None:
    """Let the URLs that got these errors come sooner: the host is well."""
    sums = {abs(mark) for mark in failed.unwell}
    waiting = [(when, unpack(record), record) for when, record in host.later]
    if not host.failures:
        links = (link for _, link, _ in waiting)
        _count_against(host, [link for link in links if sum_of(link) in sums])
    host.later = []
    for when, link, record in waiting:
        sooner = _sooner(when, link, sums, now, first)
        host.later.append((sooner, record))
    heapify(host.later)


def _count_against(host: Host, failed: Iterable[Link]) -> None:
    """Book that these have failed beside a good answer of a host that was well.

    That counts against their kinds.
    """
    for kind in map(_kind, failed):
        if kind and (kind in host.bad or len(host.bad) < MAX_ROW):
            host.bad[kind] = host.bad.get(kind, 0) + 1


def _kind(link: Link) -> int:
    """Return the kind of page that a link leads to, as far as its URL shows; 0 without a URL."""
    return shape_of(link.url).families[CLOSE] if link.url else 0


def _sooner(when: float, link: Link, sums: Collection[int], now: float, first: float) -> float:
    """Return the time of a retry; the link has been counted for it already."""
    if sum_of(link) not in sums:
        return when
    return min(when, later(link, now, first / 2))


def give_back(host: Host, failed: FailedRow | None) -> None:
    """Give the URLs that got these errors their attempts back, for now their host has failed."""
    if failed is not None and failed.unwell and host.later:
        host.later = [(at, returned(unpack(record), failed).pack()) for at, record in host.later]
        heapify(host.later)


def returned(link: Link, failed: FailedRow | None) -> Link:
    """Return the link with the attempts that these errors in a row have used up."""
    answers = failed.unwell if failed is not None else ()
    count = min(_times(link, answers), link.attempt) if answers else 0
    if not count:
        return link
    return replace(link, attempt=link.attempt - count, struck=link.struck + count)


def _mark(link: Link, outcome: Outcome) -> int:
    """Return the mark of an answer in a row.

    One whose request says itself how often it is tried gets another: it gets no attempt back.
    """
    return sum_of(link) + (outcome.retries is not None)


def errors_in_a_row(host: Host) -> tuple[int, ...]:
    """Return the answers in a row that reported an error of the server's, by their URLs."""
    return host.failed.unwell if host.failed is not None else ()


def _times(link: Link, answers: tuple[int, ...]) -> int:
    key = sum_of(link)
    return sum(abs(mark) == key for mark in answers)


def _is_known(host: Host, link: Link) -> bool:
    """Return whether a failure of the link says nothing of its host.

    The link has used up an attempt before this row, or its kind always fails.
    """
    if not host.pages:
        return False
    has_failed_before = link.attempt > _times(link, errors_in_a_row(host))
    return has_failed_before or host.bad.get(_kind(link), 0) >= ROW


WALLED = -1  # of Link.struck: the URL has met the wall before
THERE_OR_NOT = frozenset((*range(200, 400), 404, 410))  # a wall denies with others


def met(host: Host, link: Link, vendor: str, now: float) -> Link | None:
    """Book an answer of a wall, and return the link if it comes again.

    As long as it may be this URL's alone it does not: if the host turns out to be behind the wall,
    `brought_back` has it. It ends if it has met the wall before, and its host has given pages
    since: then it alone is walled.
    """
    was_behind_wall = behind_wall(host)
    before = host.wall or WallRow(vendor, now, 0)
    row = WallRow(vendor, before.since, before.answers + 1, before.walled)
    host.wall = row
    if _ends_at_wall(link):
        return None
    is_walled_alone = link.struck == WALLED and bool(host.pages) and not was_behind_wall
    if is_walled_alone:
        return None
    link = replace(link, struck=WALLED)
    if behind_wall(host):
        return link
    host.wall = WallRow(vendor, row.since, row.answers, (*row.walled, link.pack()))
    return None


def _ends_at_wall(link: Link) -> bool:
    """Return whether a link ends by any answer of a wall.

    Its answer goes to the maker of the request, which may be the crawl itself; and a page that is
    fetched again has its next time already.
    """
    is_awaited = bool(link.request) or link.is_own or not link.url
    return is_awaited or bool(link.history)


def brought_back(host: Host) -> tuple[Packed, ...]:
    """Return the links that were walled before the host was known to be behind a wall.

    They are asked for again.
    """
    row = host.wall
    if row is None or not row.walled or not behind_wall(host):
        return ()
    host.wall = WallRow(row.vendor, row.since, row.answers)
    return row.walled


def gap(row: WallRow, first: float) -> float:
    """Return the seconds until the wall is tried again."""
    return wait_after(row.answers, first, DAY)


def opens(link: Link, outcome: Outcome) -> bool:
    """Return whether this answer, which is no wall's, shows that there is none.

    A robots.txt is often let through.
    """
    return outcome.status in THERE_OR_NOT and bool(link.url) and not link.is_own
