"""How a download ended: what that says of host, machine and network, and whether to ask again."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from webcrawl.base.errors import lack
from webcrawl.base.model import Exchange, Link, Outcome, Status
from webcrawl.crawl.crawl import NO_OUTCOMES
from webcrawl.crawl.trip import Trip
from webcrawl.crawl.uplink import Uplink
from webcrawl.frontier.outcomes import ACCEPTED
from webcrawl.net.errors import DOUBTFUL, FetchError, NoNetwork, NotRunning, ProxyFailed, Untried
from webcrawl.net.header_times import NAMES, retry_after_of
from webcrawl.net.protocols import Proxy
from webcrawl.net.shortage import RunningClock, is_ours
from webcrawl.store.jobdir.index_line import NOT_MODIFIED

logger = logging.getLogger(__name__)

WHOLE = "download_fail_on_dataloss"  # in the meta of a request: whether the answer is to be whole
# Reasons for which a body is truncated that may be whole next time. The others are final: `length`
# is the crawl's own choice, and broken chunks (`unspecified`) are the server's way.
RETRYABLE_TRUNCATIONS = ("disconnect", "time")
# seconds, and the host's usual wait, until what failed while this process was stopped is requested
# again
RETRY_WAIT_AFTER_STOP = 2.0
# seconds: if any request was answered within so many, a proxy that fails is itself at fault, and not
# the network that all requests need
RECENT_ANSWER = 300.0


class RequestLike(Protocol):
    """A request that was sent, or an object with its URL and meta."""

    @property
    def url(self) -> str: ...
    @property
    def meta(self) -> Mapping[str, Any]: ...


class Outcomes:
    """Notes the outcome of each download in its trip.

    A failure is *doubtful* if our own network may be to blame. Time is *lost* while this process does
    not run, such as when the machine sleeps: what failed then is not charged to the host.
    """

    uplink: Uplink | None = None  # of the crawl that is open

    def __init__(
        self,
        failed: Sequence[Callable[[Link, FetchError], object]],
        unfinished: Sequence[Callable[[Trip], object]],
        clock: RunningClock,
        *,
        whole: bool,
        ours: Collection[Proxy] = (),
        retry_times: int = 2,
    ) -> None:
        """`failed` hears of failures of the crawl's own clients, `unfinished` of partial answers.

        `whole`: whether answers must be whole, unless a request says otherwise. `ours`: the proxies
        of all requests. `retry_times`: how often a spider's own request is retried whose connection
        was dropped.
        """
        self._failed = failed
        self._unfinished = unfinished
        self._clock = clock
        self._whole = whole
        self._ours = ours
        self._retry_times = retry_times
        self._answered_at = float("-inf")  # the last answer, whatever the proxy; time.monotonic

    def note_answer(self, request: RequestLike, trip: Trip, status: int) -> None:
        """Note the outcome of a download that has an answer, whole or not."""
        outcome = outcome_of(status, trip.begun)
        trip.outcome = outcome
        self._answered_at = outcome.ended
        exchange = trip.exchange
        if self.uplink is not None and _shows_network(trip):
            self.uplink.record_answer(request.url, outcome.ended)
        if status >= 400:
            outcome.retries = _retries(request.meta)
        if exchange is not None:  # by one of the crawl's own handlers
            _add(outcome, exchange, trip.fetched)
            self._note_unfinished(request, trip, outcome, exchange)

    def note_failure(self, request: RequestLike, trip: Trip, error: Exception) -> None:
        """Note the outcome of a download that has failed, by the error and its cause.

        `error` has been `judged`.
        """
        cause = fetch_error(error)
        status = Status.YIELDED if trip.cancelled else self._status(error, request)
        outcome = outcome_of(status, trip.begun)
        trip.outcome = outcome
        trip.failure = self.name_of(error)
        outcome.seconds -= self._clock.lost_since(trip.begun)
        outcome.wait = wait_of(error)
        outcome.retries = self._retries_after(status, request, trip)
        outcome.answered = trip.exchange is not None  # it came, and then something failed
        outcome.permanent = _permanent(error)
        outcome.doubtful = _doubtful(error)
        outcome.short = _retryable_truncation(trip.exchange)
        # Code that awaits an answer chose the proxy itself, and gets the error as it is.
        if isinstance(cause, ProxyFailed) and not trip.inline and self._is_its_own(cause):
            outcome.status = Status.CONNECT_FAILED
            outcome.by_proxy = True
        trip.comes_again = outcome.status in NO_OUTCOMES
        self._tell_failure(trip, cause)

    def _retries_after(self, status: int, request: RequestLike, trip: Trip) -> int | None:
        """Return how many retries a failed request has, or None if its host decides."""
        retries = _retries(request.meta)
        if retries is None and status == Status.CONNECTION_LOST and _has_errback(trip):
            # As in Scrapy: its errback is called, whatever is known of the host.
            return self._retry_times
        return retries

    def _tell_failure(self, trip: Trip, cause: FetchError | None) -> None:
        """Tell a failure of the crawl's own clients, unless the crawl itself has ended the download."""
        if trip.link is None or cause is None or trip.cancelled or trip.abandoned:
            return
        for hear in self._failed:
            hear(trip.link, cause)

    def _is_its_own(self, error: ProxyFailed) -> bool:
        """Return whether the failure is that of one request's own proxy, while other routes to the
        web still work.
        """
        has_recent_answer = time.monotonic() - self._answered_at < RECENT_ANSWER
        return error.proxy not in self._ours and has_recent_answer

    def _note_unfinished(
        self, request: RequestLike, trip: Trip, outcome: Outcome, exchange: Exchange
    ) -> None:
        """Note that a part of the answer is missing, or all of it for now.

        Code that awaits an answer gets what there is.
        """
        if trip.inline:
            return
        is_page = 200 <= outcome.status < 300 or outcome.status == NOT_MODIFIED
        if is_page and exchange.truncated in RETRYABLE_TRUNCATIONS:
            self._note_short(request, trip, outcome, exchange.truncated)
        if _is_unfinished(outcome) and not trip.is_prerequisite:
            for hear in self._unfinished:
                hear(trip)

    def _note_short(self, request: RequestLike, trip: Trip, outcome: Outcome, reason: str) -> None:
        """Note that a part of a page is missing.

        Where answers need not be whole, the URL is retried only if our own network turns out to
        have been out.
        """
        outcome.short = reason
        outcome.doubtful = True
        must_be_whole = request.meta.get(WHOLE, self._whole)
        outcome.retries = _retries(request.meta) if must_be_whole else 0
        # While this process did not run, the server may have given up on it.
        if self._clock.lost_since(trip.begun):
            outcome.status = Status.UNTRIED
            outcome.wait = RETRY_WAIT_AFTER_STOP
            outcome.doubtful = False

    def judged(self, request: RequestLike, error: Exception, begun: float) -> Exception:
        """Return the error of a download; it is Untried if our network or process was to blame.

        Untried is charged neither to the URL nor to its host.
        """
        cause = fetch_error(error)
        if cause is None:
            return error
        if cause.sign in DOUBTFUL and self._clock.lost_since(begun):
            return NotRunning(str(error), wait=RETRY_WAIT_AFTER_STOP)
        if self.uplink is None:
            return error
        wait = self.uplink.failed(request.url, cause, begun, time.monotonic())
        return error if wait is None else NoNetwork(str(error), wait=wait)

    def name_of(self, error: Exception) -> str:
        """Return the name under which statistics know this error."""
        return f"{type(error).__module__}.{type(error).__qualname__}"

    def _status(self, error: Exception, request: RequestLike) -> int:
        """Return the status that stands for an error: the machine's, the download's, or a bug's."""
        if is_untried(error) or lack(error):
            return Status.UNTRIED
        cause = fetch_error(error)
        return cause.status if cause is not None else self.status_of_other(error, request)

    def status_of_other(self, error: Exception, request: RequestLike) -> int:
        """Return the status of a download that failed by a mistake in code, and log the error."""
        logger.error("Error downloading %s", request, exc_info=error)
        return Status.UNEXPECTED


def _shows_network(trip: Trip) -> bool:
    """Return whether an answer shows that our network is there: one that is truncated does not."""
    if trip.exchange is None:
        return trip.link is not None  # a `data:` URL has none
    return trip.exchange.truncated not in RETRYABLE_TRUNCATIONS


def fetch_error(error: Exception) -> FetchError | None:
    """Return the error that one of the crawl's clients raised: `error` itself or its cause.

    Return None if it is neither.
    """
    found = error if isinstance(error, FetchError) else error.__cause__
    return found if isinstance(found, FetchError) else None


def _has_errback(trip: Trip) -> bool:
    """Return whether a spider has queued this request, so that it may have an errback."""
    return trip.link is not None and bool(trip.link.request)


def is_untried(error: Exception) -> bool:
    """Return whether no request was sent because this machine lacked something, in any handler."""
    return isinstance(fetch_error(error), Untried) or (
        isinstance(error, OSError) and is_ours(error)
    )


def _doubtful(error: Exception) -> bool:
    """Return whether the failure may be our own network's."""
    cause = fetch_error(error)
    return cause is not None and cause.sign in DOUBTFUL


def _is_unfinished(outcome: Outcome) -> bool:
    """Return whether an answer may be requested again: an error, a part, or "come back later"."""
    asks_to_wait = outcome.status == ACCEPTED and bool(outcome.wait)
    return outcome.status >= 400 or bool(outcome.short) or asks_to_wait


def _retryable_truncation(exchange: Exchange | None) -> str:
    """Return why a part of the answer is missing that the next try may bring; empty if none is."""
    if exchange is None or exchange.truncated not in RETRYABLE_TRUNCATIONS:
        return ""
    return exchange.truncated


def wait_of(error: Exception) -> float:
    """Return for how many seconds this machine will lack what the request needed."""
    cause = fetch_error(error)
    return cause.wait if isinstance(cause, Untried) else 0.0


def _permanent(error: Exception) -> bool:
    """Return whether asking again soon would end in the same way."""
    cause = fetch_error(error)
    return cause is not None and cause.permanent


def _retries(meta: Mapping[str, Any]) -> int | None:
    """Return how many retries a request allows, or None if it does not say."""
    if meta.get("dont_retry"):
        return 0
    most = meta.get("max_retry_times")
    return max(most, 0) if isinstance(most, int) else None


def outcome_of(status: int, begun: float) -> Outcome:
    """Return the outcome of a download that ends now."""
    # first: if the core is taken away in between, the host's wait is longer than the log says
    at = time.time()
    ended = time.monotonic()
    return Outcome(status, ended - begun, at=at, ended=ended)


def _add(outcome: Outcome, exchange: Exchange, fetched: Outcome | None) -> None:
    """Complete an outcome from the answer: address, times, a 304, and the wait that it asks for.

    `fetched`: the outcome of the download before a browser rendered the answer.
    """
    outcome.ip = exchange.ip
    if fetched is not None:  # its host has rested since, while a browser rendered the answer
        outcome.at = fetched.at
        outcome.ended = fetched.ended
    outcome.seconds = exchange.timings.total  # of the server: a browser may have taken longer
    if exchange.unmodified:  # the page is another one's
        outcome.status = NOT_MODIFIED
    if not NAMES.isdisjoint(exchange.names):
        outcome.wait = retry_after_of(exchange.headers, outcome.at)
