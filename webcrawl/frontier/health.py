"""The health of a host: the fault of a failure, the wait after it, and when a host is given up.

A host is healthy; failing, after its first failure; deferred, after HOST_MAX_FAILURES in a row; or
given up, when it has been away for HOST_PATIENCE. Any answer makes it healthy again.

An answer that reports an error of the server's is the fault of its URL, if it is a single one among
good answers. It is the host's if the server says how long to wait, if as many different URLs in a
row get one as make a ROW, or if the host has never answered well.

What follows from a block page (which a vendor's marks or its structure show):

    the answer    is archived, and has a line in crawl.log with the annotation `wall:VENDOR`. No
                  link of it is followed, and no output behind `news` gets it
    its host      has not failed. It is blocked after MIN_BLOCK_PAGES in a row, or after the first if
                  it has never given a page. Then it is deferred, and one URL at a time is
                  requested, as a probe, at intervals that grow to a day (`blocked_retry_wait`)
    its URL       goes to the end of its host's queue, without losing an attempt. Until the host is
                  known to be blocked, it waits in the host's record
                  (`book_block_page`, `take_blocked_links`)
    its end       any other answer that says whether a page is there shows that the host is blocked
                  no more (`unblocks_host`). A URL that gets a block page again while its host gives
                  pages is blocked alone, and ends

A block page that only words suggest (`wall:unknown`) is an annotation, and nothing follows for the
host. Nor does it from an answer to a spider's own request, which the spider gets.

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
    BlockPageRow,
    FailedRow,
    Health,
    given_up,
    health_of,
    is_blocked,
)

# Seconds: the longest wait between two tries, and the time after which a host that was given up is
# given another chance
DAY = 86_400.0
# A URL that has failed so often, each time as the first failure of a host that was well, ends: the
# failures are its own after all.
# With three, a host that says 503 to a third of all requests lost one URL in 27.
STRIKES = 6
# If permanent: no such name, one that leads inside, or a server that speaks only what the crawl
# does not
NOWHERE = frozenset((Status.DNS_FAILED, Status.EXCLUDED, Status.UNSUPPORTED))
# A name that never led anywhere is asked for once more after GONE seconds, or GONE_RETRY_WAITS
# times HOST_RETRY_WAIT if that is sooner. A user with a misspelt seed waits for that; the resolver
# tells denials from lies (net/dns.py).
GONE, GONE_RETRY_WAITS = 3.0, 10.5
# Times the planned wait: as much of the time since the last failure counts towards HOST_PATIENCE. A
# longer gap says only that we did not look.
# A clock that jumps, a machine that sleeps and a crawl that was stopped for a week cost no host its
# chances.
LATE_LOOK_TIMES = 2.0


class Failure(NamedTuple):
    """One more failure of a host in a row."""

    failed: FailedRow
    wait: float  # seconds for which the host is left alone
    is_final: bool  # the host is given up by it

    def apply(self, host: Host) -> None:
        """Book the failure in the host's record, except `is_final`: the caller gives it up."""
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

        If all URLs of a healthy host wait for origins that fail, the health is that of the origin
        with the fewest failures.
        """
        health = health_of(host, self.failures)
        if health is not Health.HEALTHY or not (failures := host.failing()):
            return health
        return Health.DEFERRED if failures >= self.failures else Health.FAILING

    def uses_up_attempt(self, host: Host, link: Link, outcome: Outcome, *, last: bool) -> bool:
        """Return whether this outcome, not yet booked, uses up one of the URL's attempts.

        `last`: the attempt would be the URL's last one. An ambiguous failure is charged to the URL
        until its host is deferred. But the last attempt is not used up while other URLs of the
        host fail as well, nor while the host has given no page.
        """
        verdict = rule(outcome)
        is_of_url_alone = not verdict.failed or outcome.answered
        if is_of_url_alone or outcome.retries is not None:
            return True
        is_deferred = host.failures >= self.failures
        if not verdict.charged or is_deferred:
            return False
        if not last:
            return True
        if not host.pages:
            return False
        # The other URLs of a host show whether it has failed, so none ends while they fail as well.
        has_failed_alone = host.failed is None or host.failed.only == url_checksum(link)
        return has_failed_alone or is_fault_of_url(host, link, outcome)

    def failure(
        self, host: Host, link: Link, outcome: Outcome, now: float, *, longest: float = DAY
    ) -> Failure:
        """Return what one more failure means for the host. Nothing is booked.

        `longest`: RETRY_AFTER_MAX, the bound of the wait that the host may ask for.
        """
        before = host.failed
        away = 0.0  # seconds since the first failure in a row, as far as we looked
        only = url_checksum(link)  # 0 once failures of several URLs are in the row
        origin = origin_of(link.url)
        is_gone = _is_gone(host, outcome)
        was_gone = False
        if before is not None:
            away = before.away + min(max(now - before.at, 0.0), LATE_LOOK_TIMES * before.planned)
            only = only if only == before.only else 0
            origin = origin if before.origin in (-1, origin) else 0
            was_gone = before.gone
        failures = host.failures + 1
        wait = self.wait(failures, gone=is_gone)
        planned = float(max(wait, min(outcome.wait, longest)))
        retry_after = float(outcome.wait)
        failed = FailedRow(
            now, away, _status(link, outcome), only, is_gone, origin, planned, retry_after
        )
        is_over = failures >= self.failures and away >= self.patience
        # A name is looked up twice before its host is given up for it.
        is_denied_again = is_gone and was_gone
        return Failure(failed, wait, is_final=is_over or is_denied_again)

    def wait(self, failures: int, *, gone: bool) -> float:
        """Return the seconds for which a host is left alone after so many failures in a row.

        `gone`: its name leads nowhere, as far as is known.
        """
        if gone:
            return min(GONE, GONE_RETRY_WAITS * self.retry_wait)
        return wait_after(failures, self.retry_wait, DAY)


def mark_healthy(host: Host) -> None:
    """Forget the host's failures, because it has answered."""
    host.failures = 0
    host.failed = None


def is_fault_of_url(host: Host, link: Link, outcome: Outcome) -> bool:
    """Return whether a failure, not yet booked, is the URL's alone and says nothing of its host.

    That is so if the URL failed before, and the host has answered others since.
    """
    return link.attempt > 0 and host.pages > 0 and not host.failures and rule(outcome).charged


def book_concurrent_failure(host: Host, link: Link) -> None:
    """Book the failure of a request that was under way when its host failed.

    It does not count as one more failure of the host. The host's failure is then known to be of
    more than one URL (`only` is 0).
    """
    failed = host.failed
    if failed is not None and failed.only != url_checksum(link):
        # all but `only`; a host that has failed has no `errors_in_a_row`
        host.failed = FailedRow(
            failed.at,
            failed.away,
            failed.status,
            0,
            failed.gone,
            failed.origin,
            failed.planned,
            failed.retry_after,
        )


def give_another_chance(host: Host, now: float) -> bool:
    """Give a host another chance that was given up more than a DAY ago. Return whether it was.

    The host is retired no more and due at once; its failures still count, so it is deferred again
    if it fails.
    """
    failed = host.failed
    if failed is None or now - failed.at < DAY or not given_up(host):
        return False
    host.retired = 0
    host.ready_at = min(host.ready_at, now)
    host.failed = FailedRow(now, 0.0, failed.status, 0, gone=False, origin=-1)
    return True


def _is_gone(host: Host, outcome: Outcome) -> bool:
    """Return whether the outcome says for good that there is no such host.

    A doubtful denial by name servers does not count for a host that has been reached before.
    """
    was_reached = outcome.doubtful and bool(host.times)
    return outcome.permanent and outcome.status in NOWHERE and not was_reached


def _status(link: Link, outcome: Outcome) -> int:
    """Return the Status with which a host's untried URLs end if it is given up for this."""
    if link.is_prerequisite and outcome.status not in NOWHERE:
        return Status.ROBOTS_UNREACHABLE
    return outcome.status if outcome.status < 0 else Status.HOST_RETIRED


def origin_of(url: str) -> int:
    """Return a checksum of scheme, host and port."""
    return crc32(url[: url.find("/", url.find("//") + 2)].encode()) if url else 0


def url_checksum(link: Link) -> int:
    """Return a checksum of the URL, above 0."""
    return crc32(link.url.encode()) or 1


# 408: the server, or what stands before it, got no whole request in time. 501 and 505 speak of the
# request: its method, its version of HTTP
AMBIGUOUS_ERRORS = frozenset((Status.CONNECTION_LOST, 408, 429, *range(500, 600))) - {501, 505}
ROW = 3  # different URLs in a row: the host is failing
MAX_ROW = 16  # answers in a row that are remembered
# To wait for a last URL that alone says 503 cost hosts up to 1,562 times their crawl (five such
# pages, a second apart), and with this number 1.28 times at most. The price is a URL where a host
# falls over for hours just before its last one: 1 of 5,270.
FAMILIAR = 10  # pages of a host by which its last URL's 503 is told from a host that is down
# Times its usual wait that a host waits after an error that is its URL's own
URL_ERROR_WAIT_TIMES = 2.0
# A URL with an error of its own comes again after so many usual waits of its host, or after this
# share of the waits that all pages of the host took, if that is longer; after SOONEST seconds at
# least. So it holds up no crawl.
URL_RETRY_TURNS, URL_RETRY_SHARE, SOONEST = 8.0, 1 / 16, 1.0


def is_ambiguous_error(link: Link, outcome: Outcome) -> bool:
    """Return whether an answer is an error that may be its URL's own or the host's.

    A robots.txt is not ambiguous, since its host cannot be requested without it. A dropped
    connection is ambiguous only if the request says how often it is tried (`Outcome.retries`), and
    nothing of an answer came.
    """
    if outcome.status == Status.CONNECTION_LOST and (outcome.retries is None or outcome.answered):
        return False
    return outcome.status in AMBIGUOUS_ERRORS and not link.is_prerequisite


def is_fault_of_host(host: Host, link: Link, outcome: Outcome) -> bool:
    """Return whether an ambiguous error, not yet booked, is the host's fault."""
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
    """Return whether the answers in a row, and this one, show that the host is failing.

    ROW different URLs in a row show it. So does a second error of one URL if the host has given no
    page, or if few pages of the host are known and the error is a 429 or 503, which are about the
    host (RFC 6585, RFC 9110): `is_busy`.
    """
    answers = errors_in_a_row(host)
    urls = {mark for mark in answers if mark > 0}
    is_first_of_url = _mark(link, outcome) not in answers
    if is_first_of_url:
        return len(urls) + 1 >= ROW
    if not host.pages:
        return True
    # Inline downloads are booked without their URL, so all of them have the same mark.
    is_little_known = host.pages < FAMILIAR or len(urls) > 1 or not link.url
    return is_busy and is_little_known


def error_uses_up_attempt(host: Host, link: Link, outcome: Outcome, *, last: bool) -> bool:
    """Return whether an ambiguous error, not yet booked, uses up one of the URL's attempts.

    `last`: the attempt would be the URL's last one. It is not used up while the host has given no
    page.
    """
    if outcome.retries is not None:
        return True
    if not is_fault_of_host(host, link, outcome):
        return host.pages > 0 or not last
    return not rule(outcome).failed and _is_known(host, link)


def seconds_until_url_retry(host: Host, turn: float) -> float:
    """Return the seconds until a URL comes again that got an error of its own.

    `turn` is the seconds between two requests to its host. If few pages of the host are known and
    it has no URLs but retries, the result is a DAY: the caller takes HOST_RETRY_WAIT if that is
    less, as after a failure of the host.
    """
    if host.pages < FAMILIAR and host.waiting() == len(host.later):
        return DAY
    return max(max(URL_RETRY_TURNS, URL_RETRY_SHARE * host.pages) * turn, SOONEST)


def book_url_error(host: Host, link: Link, outcome: Outcome, now: float) -> None:
    """Book an ambiguous error as its URL's own, as far as one can say now.

    The host has no failures then, and the error is noted in the host's errors in a row
    (`FailedRow.errors_in_a_row`), by which later errors are judged.
    """
    if host.retired:
        return
    host.said = outcome.status
    host.of_robots = False
    before = host.failed
    if host.failures:
        mark_healthy(host)
    answers = errors_in_a_row(host)
    only = url_checksum(link)
    origin = origin_of(link.url)
    if answers and before is not None:
        only = only if before.only == only else 0
        origin = origin if before.origin == origin else 0
    # A negative mark does not count for a ROW: the link would have failed on a healthy host, too.
    mark = -url_checksum(link) if _is_known(host, link) else _mark(link, outcome)
    kept = (*answers, mark)[-MAX_ROW:]
    status = Status.HOST_RETIRED
    host.failed = FailedRow(now, 0.0, status, only, gone=False, origin=origin, errors_in_a_row=kept)


def retry_time(link: Link, now: float, first: float) -> float:
    """Return the time at which to retry the link.

    `first`: seconds to wait before its first retry. They double with each retry of this link, even
    if its host answered others in between.
    """
    return now + wait_after(link.tried + 1, first, DAY)


def book_recovery(host: Host, link: Link, now: float, first: float) -> None:
    """Book a good answer of a host that has failed, or of whose URLs some have.

    `Booking` calls this for each answer that is no fault, if such failures are noted in the host's
    record. The answer shows that the errors before it were their URLs' own:

    - The URLs that wait after these errors come sooner than after a failure of the host: as if they
      had been requested now, with `first` seconds as the first wait.
    - URLs of the link's kind are no longer held to be bad.
    - The host is healthy.

    Nothing changes if the answer says nothing of these errors.
    """
    failed = host.failed
    if failed is not None:
        if _leaves_errors_open(failed, link):
            return
        if failed.errors_in_a_row and host.later:
            _bring_forward(host, failed, now, first)
    host.bad.pop(_kind(link), None)
    mark_healthy(host)


def _has_failed_by_answers(failed: FailedRow | None) -> bool:
    """Return whether these failures are answers that report errors, and not missing answers.

    Both `book_url_error` and `_status` give these the Status HOST_RETIRED.
    """
    return failed is not None and failed.status == Status.HOST_RETIRED


def _leaves_errors_open(failed: FailedRow, link: Link) -> bool:
    """Return whether a good answer to this link says nothing of the errors before it."""
    if not _has_failed_by_answers(failed):
        return False
    # Many a server gives its robots.txt while its pages fail, so only a page shows that it is well.
    return link.is_prerequisite or _is_of_another_origin(failed, link)


def _is_of_another_origin(failed: FailedRow, link: Link) -> bool:
    """Return whether all these errors came from one origin, and that origin is not the link's.

    A good answer from one origin (scheme, host and port) says nothing about another's errors.
    """
    return bool(link.url) and failed.origin not in (0, -1, origin_of(link.url))


def _bring_forward(host: Host, failed: FailedRow, now: float, first: float) -> None:
    """Let the URLs that got these errors come sooner, because their host is well.

    `host.later` is rebuilt. `first`: seconds of the first wait. The errors also count against the
    kinds of their URLs, unless the host has failed.
    """
    sums = {abs(mark) for mark in failed.errors_in_a_row}
    waiting = [(when, unpack(record), record) for when, record in host.later]
    if not host.failures:
        links = (link for _, link, _ in waiting)
        _count_against(host, [link for link in links if url_checksum(link) in sums])
    host.later = []
    for when, link, record in waiting:
        sooner = _sooner(when, link, sums, now, first)
        host.later.append((sooner, record))
    heapify(host.later)


def _count_against(host: Host, failed: Iterable[Link]) -> None:
    """Count the failed links in `host.bad`, each against its kind of URL.

    The caller has seen a good answer of the host, which was well while these failed.
    """
    for kind in map(_kind, failed):
        if kind and (kind in host.bad or len(host.bad) < MAX_ROW):
            host.bad[kind] = host.bad.get(kind, 0) + 1


def _kind(link: Link) -> int:
    """Return the kind of page that a link leads to, as far as its URL shows; 0 without a URL."""
    return shape_of(link.url).families[CLOSE] if link.url else 0


def _sooner(when: float, link: Link, sums: Collection[int], now: float, first: float) -> float:
    """Return the time of a retry planned for `when`, which is sooner if the link is in `sums`.

    The link has this retry in its count already, so `first` is halved.
    """
    if url_checksum(link) not in sums:
        return when
    return min(when, retry_time(link, now, first / 2))


def give_attempts_back(host: Host, failed: FailedRow | None) -> None:
    """Give the URLs that got these errors their attempts back, because their host has failed.

    `failed`: the host's errors in a row, from before its failure was booked.
    """
    if failed is not None and failed.errors_in_a_row and host.later:
        host.later = [
            (at, with_attempts_given_back(unpack(record), failed).pack())
            for at, record in host.later
        ]
        heapify(host.later)


def with_attempts_given_back(link: Link, failed: FailedRow | None) -> Link:
    """Return the link with those attempts restored that these errors in a row have used up.

    Each of them counts as a strike instead.
    """
    answers = failed.errors_in_a_row if failed is not None else ()
    count = min(_count_in_row(link, answers), link.attempt) if answers else 0
    if not count:
        return link
    return replace(link, attempt=link.attempt - count, struck=link.struck + count)


def _mark(link: Link, outcome: Outcome) -> int:
    """Return the mark of an error in a row: its URL's checksum.

    If the request says itself how often it is tried, the mark is another number, so that the URL
    gets no attempt back.
    """
    return url_checksum(link) + (outcome.retries is not None)


def errors_in_a_row(host: Host) -> tuple[int, ...]:
    """Return the marks of the host's errors in a row, the oldest first: checksums of their URLs."""
    return host.failed.errors_in_a_row if host.failed is not None else ()


def _count_in_row(link: Link, answers: tuple[int, ...]) -> int:
    """Return how many of these errors in a row are of the link."""
    key = url_checksum(link)
    return sum(abs(mark) == key for mark in answers)


def _is_known(host: Host, link: Link) -> bool:
    """Return whether a failure of the link says nothing of its host.

    The link has used up an attempt before this row, or its kind always fails.
    """
    if not host.pages:
        return False
    has_failed_before = link.attempt > _count_in_row(link, errors_in_a_row(host))
    return has_failed_before or host.bad.get(_kind(link), 0) >= ROW


MET_BLOCK_PAGE = -1  # of Link.struck: the URL has got a block page before
THERE_OR_NOT = frozenset((*range(200, 400), 404, 410))  # block pages that deny have others


def book_block_page(host: Host, link: Link, vendor: str, now: float) -> Link | None:
    """Book a block page in `host.block_pages`. Return the link if it is queued again, else None.

    A link of a blocked host is queued again. While perhaps only this URL is blocked, the link waits
    in `host.block_pages`, and `take_blocked_links` returns it once the host is known to be blocked.
    A link ends if it got a block page before and its host has given pages since.
    """
    was_blocked = is_blocked(host)
    before = host.block_pages or BlockPageRow(vendor, now, 0)
    row = BlockPageRow(vendor, before.since, before.answers + 1, before.waiting_links)
    host.block_pages = row
    if _ends_at_block_page(link):
        return None
    is_blocked_alone = link.struck == MET_BLOCK_PAGE and bool(host.pages) and not was_blocked
    if is_blocked_alone:
        return None
    link = replace(link, struck=MET_BLOCK_PAGE)
    if is_blocked(host):
        return link
    waiting_links = (*row.waiting_links, link.pack())
    host.block_pages = BlockPageRow(vendor, row.since, row.answers, waiting_links)
    return None


def _ends_at_block_page(link: Link) -> bool:
    """Return whether a link ends with its first block page.

    An awaited answer goes to the maker of the request, which may be the crawl itself. A page that
    is fetched again has its next time already.
    """
    is_awaited = bool(link.request) or link.is_own or not link.url
    return is_awaited or bool(link.history)


def take_blocked_links(host: Host) -> tuple[Packed, ...]:
    """Remove and return the links that wait in `host.block_pages`, to be queued again.

    They got a block page before the host was known to be blocked; empty while that is not known.
    """
    row = host.block_pages
    if row is None or not row.waiting_links or not is_blocked(host):
        return ()
    host.block_pages = BlockPageRow(row.vendor, row.since, row.answers)
    return row.waiting_links


def blocked_retry_wait(row: BlockPageRow, first: float) -> float:
    """Return the seconds until a blocked host is tried again.

    They double with each block page, from `first` on, to a DAY.
    """
    return wait_after(row.answers, first, DAY)


def unblocks_host(link: Link, outcome: Outcome) -> bool:
    """Return whether this answer, which is no block page, shows that the host is blocked no more.

    A robots.txt does not show it, since blocked hosts often give it all the same.
    """
    return outcome.status in THERE_OR_NOT and bool(link.url) and not link.is_own
