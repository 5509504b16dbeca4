"""Answers that report an error of the server's: whether one is the fault of its URL or of its host.

A single one among good answers is its URL's. It is the host's if the server says how long to wait, if as many
different URLs in a row get one as make a ROW, or if the host has never answered well (docs/frontier.md). There is no
I/O here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from heapq import heapify
from typing import TYPE_CHECKING

from webcrawl.base.model import Link, Outcome, Status, unpack
from webcrawl.frontier.families.shapes import CLOSE, shape_of
from webcrawl.frontier.health import DAY, answered, origin_of, sum_of
from webcrawl.frontier.outcomes import rule
from webcrawl.store.jobdir.host_row import FailedRow

if TYPE_CHECKING:
    from webcrawl.frontier.hosts import Host

# 408: the server, or what stands before it, got no whole request in time. 501 and 505 speak of the request: its method,
# its version of HTTP
UNWELL = frozenset((Status.CONNECTION_LOST, 408, 429, *range(500, 600))) - {501, 505}
ROW = 3  # different URLs in a row: the host is unwell
KEPT = 16  # answers in a row that are remembered
FAMILIAR = 10  # pages of a host by which its last URL's 503 is told from a host that is down
LONGER = 2.0  # times its usual wait that a host waits after one that is its URL's own
# Until such a URL comes again: so many usual waits of its host, or this share of those that its pages took, so that it
# holds up no crawl; but not less seconds
TURNS, SHARE, SOONEST = 8.0, 1 / 16, 1.0


def is_unwell(link: Link, outcome: Outcome) -> bool:
    """True if such an answer came; for a robots.txt, without which its host cannot be asked, there is no question.

    A dropped connection counts as one if the request says how often it is tried: its URL is tried again first.
    """
    if outcome.status == Status.CONNECTION_LOST and (outcome.retries is None or outcome.answered):
        return False
    return outcome.status in UNWELL and not link.is_prerequisite


def is_hosts(host: Host, link: Link, outcome: Outcome) -> bool:
    """True if such an answer, not yet booked, is the host's fault.

    A host that has never answered well is at fault as soon as one of its URLs has got a second one. While few pages of
    it are known, so it is if that is a 429 or 503, which speak of the host (RFC 6585, RFC 9110).
    """
    may_be_hosts = rule(outcome).failed
    if host.failures:
        return may_be_hosts or (host.row is not None and host.row.status == Status.HOST_RETIRED)
    busy = may_be_hosts and outcome.status > 0  # a dropped connection does not say so
    if busy and outcome.wait:
        return True
    row, key = row_of(host), _mark(link, outcome)
    if _is_known(host, link):
        return False
    urls = {one for one in row if one > 0}
    if key in row:  # downloads that somebody awaits have no URL, and all one key
        return not host.pages or (busy and (host.pages < FAMILIAR or len(urls) > 1 or not link.url))
    return len(urls) + 1 >= ROW


def is_charged(host: Host, link: Link, outcome: Outcome, *, last: bool) -> bool:
    """True if such an answer, not yet booked, uses up one of the URL's attempts; `last`: it would be the last one.

    No URL ends by it while nothing good is known of its host.
    """
    if outcome.retries is not None:
        return True
    if not is_hosts(host, link, outcome):
        return host.pages > 0 or not last
    return not rule(outcome).failed and _is_known(host, link)


def soon(host: Host, turn: float) -> float:
    """Seconds until a URL comes again whose own fault such an answer was; `turn` is its host's usual wait.

    The last URLs of a host of which few pages are known wait like those of one that has failed.
    """
    if host.pages < FAMILIAR and host.waiting() == len(host.later):
        return DAY
    return max(max(TURNS, SHARE * host.pages) * turn, SOONEST)


def noted(host: Host, link: Link, outcome: Outcome, now: float) -> None:
    """Such an answer was its URL's own, as far as one can say now."""
    row, key, origin = host.row, sum_of(link), origin_of(link.url)
    if host.retired:
        return
    host.said, host.of_robots = outcome.status, False
    if host.failures:
        answered(host)
    answers = row_of(host)
    if answers and row is not None:
        key, origin = key if row.only == key else 0, origin if row.origin == origin else 0
    mark = -sum_of(link) if _is_known(host, link) else _mark(link, outcome)
    kept = (*answers, mark)[-KEPT:]
    host.row = FailedRow(now, 0.0, Status.HOST_RETIRED, key, gone=False, origin=origin, unwell=kept)


def later(link: Link, now: float, first: float) -> float:
    """The time to retry the link at. The wait grows with each time, even if answers to others came in between."""
    return now + min(first * 2.0 ** min(link.tried, 60), DAY)


def recovered(host: Host, link: Link, now: float, first: float) -> None:
    """The host has given a good answer: it is healthy, and what was thought to be its URLs' own was so.

    They come sooner than after a failure of the host: as if they had been asked for now, with `first` as the first
    wait. Many a server has a robots.txt while its pages fail: one of those has to come.
    """
    row = host.row
    if row is not None and row.status == Status.HOST_RETIRED and (link.is_prerequisite or _is_others(row, link)):
        return
    if row is not None and row.unwell and host.later:
        sums = {*map(abs, row.unwell)}
        waiting = [(when, unpack(one), one) for when, one in host.later]
        if not host.failures:
            _count_against(host, [one for _, one, _ in waiting if sum_of(one) in sums])
        host.later = [(_sooner(when, one, sums, now, first), record) for when, one, record in waiting]
        heapify(host.later)
    host.bad.pop(_kind(link), None)
    answered(host)


def _is_others(row: FailedRow, link: Link) -> bool:
    """Return whether all answers in this row are of one origin, and not of that of the link.

    A good answer of one origin (scheme, host and port) says nothing of the errors of another.
    """
    return bool(link.url) and row.origin not in (0, -1, origin_of(link.url))


def _count_against(host: Host, failed: Iterable[Link]) -> None:
    """These have failed beside a good answer of a host that was well: that counts against their kinds."""
    for kind in map(_kind, failed):
        if kind and (kind in host.bad or len(host.bad) < KEPT):
            host.bad[kind] = host.bad.get(kind, 0) + 1


def _kind(link: Link) -> int:
    """The kind of page that it is, as far as its URL shows; 0 if it has none."""
    return shape_of(link.url).families[CLOSE] if link.url else 0


def _sooner(when: float, link: Link, sums: Collection[int], now: float, first: float) -> float:
    """The time of a retry; the link has been counted for it already."""
    return min(when, later(link, now, first / 2)) if sum_of(link) in sums else when


def give_back(host: Host, row: FailedRow | None) -> None:
    """The host has failed, with `row` before: the URLs that wait for another try because of that lose no attempt."""
    if row is not None and row.unwell and host.later:
        host.later = [(at, returned(unpack(record), row).pack()) for at, record in host.later]
        heapify(host.later)


def returned(link: Link, row: FailedRow | None) -> Link:
    """The link with the attempts that answers in this row have used up."""
    answers = row.unwell if row is not None else ()
    count = min(_times(link, answers), link.attempt) if answers else 0
    return replace(link, attempt=link.attempt - count, struck=link.struck + count) if count else link


def _mark(link: Link, outcome: Outcome) -> int:
    """The mark of an answer in a row: one whose request says itself how often it is tried gets no attempt back."""
    return sum_of(link) + (outcome.retries is not None)


def row_of(host: Host) -> tuple[int, ...]:
    """The answers in a row that reported an error of the server's, by their URLs."""
    return host.row.unwell if host.row is not None else ()


def _times(link: Link, row: tuple[int, ...]) -> int:
    key = sum_of(link)
    return sum(abs(one) == key for one in row)


def _is_known(host: Host, link: Link) -> bool:
    """True if it says nothing of its host: it has used up an attempt before this row, or its kind always fails."""
    return host.pages > 0 and (link.attempt > _times(link, row_of(host)) or host.bad.get(_kind(link), 0) >= ROW)
