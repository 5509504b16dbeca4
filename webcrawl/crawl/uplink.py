"""Our own connection to the web: while it is out only probes go, and no host is charged."""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Callable
from math import inf

from webcrawl.base.model import Link, Outcome, Status
from webcrawl.base.readable import count
from webcrawl.base.url_text import host_of
from webcrawl.crawl.clock import CrawlClock
from webcrawl.frontier.protocol import Frontier
from webcrawl.net.errors import FetchError, Sign
from webcrawl.net.outage_detector import Detector, FailedDownload, HostPast
from webcrawl.net.robots_book import RobotsBook
from webcrawl.net.robots_entry import Row

logger = logging.getLogger(__name__)

# Three answers end an outage, so that a false alarm costs a few seconds: at least three hosts that
# had answered have failed, and are requested again.
HOSTS_PER_ROUND = 3  # hosts that are requested in each round
# the same as long as none has ever answered: they may be dead ones at the beginning of a list
HOSTS_PER_FIRST_ROUND = 10
SHORTEST_PAUSE, LONGEST_PAUSE = 2.0, 20.0  # seconds between two rounds, which grow
PAUSE_GROWTH = 1.5
NO_HOST_DUE_WAIT = 1.0  # seconds until the next look if no host is due
# seconds before the last answer from which on failures are forgiven: outcomes come a little out of
# order
FORGIVEN_BEFORE = 1.0
REMINDER_INTERVAL = 3600.0  # seconds between two lines about an outage that lasts
# failures of a robots.txt for which an outage of our own network may be to blame
MAY_BE_OURS = frozenset(
    (
        Status.DNS_FAILED,
        Status.EXCLUDED,
        Status.CONNECT_FAILED,
        Status.CONNECTION_LOST,
        Status.TIMEOUT,
    )
)
ROBOTS_FAILURES_KEPT = 4096  # failures of robots.txt that can be forgiven


class Uplink:
    """Hears how downloads end, says when to probe, and takes back what an outage made fail.

    In an outage of our own network fetching is paused. Only *probes* go out: links of a few hosts
    per round, with pauses between the rounds that grow. Failures since the outage began are
    *forgiven*: hosts and robots.txt get back the records that they had before, and the URLs come
    again (they are *put back*).
    """

    def __init__(
        self,
        detector: Detector,
        frontier: Frontier,
        robots: RobotsBook,
        clock: CrawlClock,
        counters: Counter[str],
    ) -> None:
        """`detector` judges by the outcomes of requests whether our network is out."""
        self._detector = detector
        self._frontier = frontier
        self._robots = robots
        self._clock = clock
        self._counters = counters
        self.on_return: Callable[[], None] | None = None  # called when an outage is over
        self._can_resolve = True  # whether names can be resolved
        # Of each robots.txt that failed: when, its origin, and its row before the failure.
        self._robots_failures: deque[tuple[float, str, Row]] = deque(maxlen=ROBOTS_FAILURES_KEPT)
        # All times are by the crawl's clock, in seconds.
        self._last_answer_at = 0.0  # before the outage; when it was noticed if there was none
        self._noticed_at = 0.0
        self._reported_at = 0.0  # when the log last had a line about the outage
        self._over_at = -inf  # when the last outage ended
        self._put_back = 0  # requests that the outage made fail, and that are repeated
        self._hosts_in_round = HOSTS_PER_ROUND
        self._hosts_left = HOSTS_PER_ROUND  # to be probed in this round
        self._pause = SHORTEST_PAUSE  # seconds after this round
        self.next_probe = 0.0
        self._next_awaited_at = 0.0  # when the next download that a page awaits may go out

    @property
    def out(self) -> bool:
        return self._detector.out

    @property
    def seconds(self) -> float:
        """Return the seconds for which it has been out; 0 if it is not."""
        return self._clock() - self._noticed_at if self._detector.out else 0.0

    def reached(self) -> list[str]:
        """Return the names of a few hosts that earlier runs have reached."""
        return self._frontier.look.reached()

    # -- what it hears

    def record_answer(self, url: str, ended: float) -> None:
        """Note that a host has answered; `ended` is by time.monotonic. Called for every page."""
        detector = self._detector
        # Nearly always: then an answer costs this call alone, 0.2 us.
        if not detector.stirred:
            detector.answers += 1
            detector.answered_at = self._clock.at(ended)
            return
        now = self._clock.at(ended)
        if detector.record_answer(host_of(url), now):
            self._end_outage(now)
        elif detector.out:
            # The network may be back, but one answer is not enough: the next round begins at once.
            self._pause = SHORTEST_PAUSE
            self._hosts_left = self._hosts_in_round
            self.next_probe = now
            self._next_awaited_at = now

    def failed(self, url: str, error: FetchError, begun: float, ended: float) -> float | None:
        """Note that a download has failed.

        Return None if its host may be charged for that, or the seconds until it may be repeated if
        our own network is to blame. `begun` and `ended` are by time.monotonic.
        """
        # LIFE: something has come back from the host. NOTHING: it never came to asking.
        if error.sign is Sign.LIFE:
            self.record_answer(url, ended)
        if error.sign in (Sign.LIFE, Sign.NOTHING):
            return None
        start = self._clock.at(begun)
        now = self._clock.at(ended)
        host = host_of(url)
        # It began before the last outage was over: the detector need not hear of it.
        began_in_outage = start < self._over_at and not self._detector.out
        if began_in_outage:
            self._count_repeated(1)
            return SHORTEST_PAUSE
        failures_in_a_row, was_requested, address = self._frontier.look.record(host)
        # A name that does not exist is evidence only if it is known to have led to its host: lists
        # of seeds are full of names that nobody has, and a crawl of nothing else must end.
        is_known = bool(address) if error.sign is Sign.NO_NAME else was_requested
        past = _past(failures_in_a_row, is_known=is_known)
        failure = FailedDownload(host, error.address or address, error.sign, past)
        if self._detector.failed(failure, start, now):
            self._begin_outage(now)
        if not self._detector.out:
            return None
        self._count_repeated(1)
        return LONGEST_PAUSE

    def excuse(self, outcome: Outcome) -> None:
        """Excuse a failure heard right before the outage was known, and about to be booked."""
        # Doubtful: our own network may be to blame, which was not known when the download failed.
        if outcome.doubtful and self._detector.out:
            outcome.status = Status.UNTRIED
            outcome.wait = LONGEST_PAUSE
            outcome.doubtful = False
            self._count_repeated(1)

    def robots_fails(self, origin: str, status: int, now: float) -> bool:
        """Note a robots.txt about to be booked as unreachable; return False if it must not be."""
        if self._detector.out and status in MAY_BE_OURS:
            return False
        # The row as it was: an outage that is noticed later puts it back.
        self._robots_failures.append((now, origin, self._robots.row(origin)))
        return True

    def _count_repeated(self, requests: int) -> None:
        """Count requests that are repeated because of an outage, of this one and of the crawl."""
        self._put_back += requests
        self._counters["outage/put_back"] += requests

    # -- probes

    def may_probe(self, now: float) -> bool:
        """Return whether it is time to ask one more host."""
        if now - self._reported_at >= REMINDER_INTERVAL:
            self._reported_at = now
            logger.warning(
                "still no network after %s; fetching stays paused until it is back",
                count(int((now - self._noticed_at) / 3600), "hour"),
            )
        return now >= self.next_probe

    def probe(self, now: float) -> Link | None:
        """Return a link of a host that answered lately, or None if none is due.

        The last link of a round may be of any host.
        """
        link = self._frontier.outage.probe(now, anyone=self._hosts_left == 1)
        self._schedule_probe(now, found=link is not None)
        return link

    def may_await(self, now: float) -> bool:
        """Return whether a download that a page awaits may go out.

        In an outage one in LONGEST_PAUSE seconds may, as a probe. If such pages hold all hosts,
        nothing else finds out that the network is back.
        """
        return not self._detector.out or now >= self._next_awaited_at

    def awaited(self, now: float) -> None:
        """Note that a download that a page awaits goes out: the next may LONGEST_PAUSE s later."""
        self._next_awaited_at = now + LONGEST_PAUSE

    def _schedule_probe(self, now: float, *, found: bool) -> None:
        """Set when to try the next host in an outage; `found`: there was one to try.

        Within a round the next host is tried at once. After a round there is a pause, longer each
        time.
        """
        self._hosts_left -= found
        is_round_empty = not found and self._hosts_left == self._hosts_in_round
        is_round_over = not found or not self._hosts_left
        if is_round_empty:
            self.next_probe = now + NO_HOST_DUE_WAIT
        elif is_round_over:
            self.next_probe = now + self._pause
            self._hosts_left = self._hosts_in_round
            self._pause = min(PAUSE_GROWTH * self._pause, LONGEST_PAUSE)

    # -- its begin and end

    def _begin_outage(self, now: float) -> None:
        """Begin an outage: forgive what has failed since the last answer, and log that.

        The first probe goes out after SHORTEST_PAUSE.
        """
        detector = self._detector
        forgiven = self._forgive(detector.since - FORGIVEN_BEFORE)
        self._last_answer_at = detector.since or now
        self._noticed_at = now
        self._reported_at = now
        self._put_back = 0  # of this outage alone: before `_count_repeated`, which adds to it
        self._count_repeated(forgiven)
        self._hosts_in_round = HOSTS_PER_ROUND if detector.answered_at else HOSTS_PER_FIRST_ROUND
        self._hosts_left = self._hosts_in_round
        self._pause = SHORTEST_PAUSE
        self.next_probe = now + SHORTEST_PAUSE
        self._next_awaited_at = now + LONGEST_PAUSE
        self._counters["outage/count"] += 1
        logger.warning(
            "no network since %s: %d of the last %d requests failed. Fetching is paused; up to %d "
            "hosts are tried every %.0f to %.0f seconds",
            time.strftime("%H:%M:%S", time.localtime(self._clock.wall(self._last_answer_at))),
            detector.failures,
            detector.failures + detector.answers,
            self._hosts_in_round,
            SHORTEST_PAUSE,
            LONGEST_PAUSE,
        )

    def _forgive(self, since: float) -> int:
        """Take back the failures since then, of robots.txt too; return how many of other URLs.

        `since`: by the crawl's clock.
        """
        # The last one first: of an origin that failed several times the earliest row stays.
        while self._robots_failures and self._robots_failures[-1][0] >= since:
            _, origin, row = self._robots_failures.pop()
            self._robots.restore(origin, row)
        return self._frontier.outage.pardon(since)

    def names_lost(self, since: float) -> None:
        """Note that no name server answers.

        The last answer came at `since`, in time.monotonic terms.
        """
        self._can_resolve = False
        self._counters["outage/names"] += 1
        self._count_repeated(self._forgive(self._clock.at(since)))

    def names_found(self) -> None:
        """Note that a name server answers again."""
        self._can_resolve = True
        if self.on_return is not None:
            self.on_return()

    @property
    def trouble(self) -> str:
        """Return the trouble, in words; empty if there is none."""
        if self._detector.out:
            return "no network"
        return "" if self._can_resolve else "no name server"

    def _end_outage(self, now: float) -> None:
        """End an outage: count its time, say so, and have fetching resumed."""
        self._over_at = now
        self._counters["outage/seconds"] += round(now - self._noticed_at)
        # Hosts have waited meanwhile: that is no reason to cancel downloads for them.
        self._frontier.demand.paused_until(now)
        logger.info(
            "the network is back after %.0f seconds; %s will be repeated",
            now - self._last_answer_at,
            count(self._put_back, "request"),
        )
        if self.on_return is not None:
            self.on_return()


def _past(failures_in_a_row: int, *, is_known: bool) -> HostPast:
    """Return what the host's record says of it; only a known host that fails is full evidence."""
    if failures_in_a_row:
        return HostPast.FAILING
    return HostPast.KNOWN if is_known else HostPast.NEW
