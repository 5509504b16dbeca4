"""Tells an outage of our own network from hosts that are dead.

It does no I/O, and time is an argument.

Evidence is counted in points. An unrelated host that answered last time and now fails is one point,
any answer takes three away, and at nine points our own network is out: docs/decisions/net-outage.md
has the reasons and the figures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from math import log

from webcrawl.net.errors import Sign

OUTAGE_POINTS = 9.0  # points that make an outage
# points that any answer takes away: where a quarter of all hosts answer, there is a network
POINTS_OFF_PER_ANSWER = 3.0
# points of a host that never answered: dead ones come together in lists, fifty in a row
NEW_HOST_POINTS = 0.1
# All of them together: at the end of a crawl only dead hosts may be left, and none could end a
# false alarm. So three known hosts must have failed, which have URLs left and will be requested.
MOST_NEW_HOST_POINTS = 6.0
# points of a host that this machine has no route to, whatever the host's record
NO_ROUTE_POINTS = 3.0
# An outage makes nearly every host fail, and usually one in fifty does. The worse known hosts have
# failed lately, the less one more failure says: the ratio of the two likelihoods decides, as in a
# sequential test.
OUTAGE_FAILURE_RATE, USUAL_FAILURE_RATE = 0.9, 0.02
LEAST_KNOWN_HOST_POINTS = 0.1  # points of a known host at the least
USUAL_RATE_OUTCOMES = 1000.0  # outcomes that the usual rate is taken from
EVIDENCE_WINDOW = 600.0  # seconds after which failures that were not enough count no more
# unrelated hosts that must answer before an outage is over; a second answer of one is half
ANSWERS_UNTIL_OVER = 3.0
# seconds: an outage that is over sooner was none, perhaps, and the next one needs twice the points
FALSE_ALARM_SECONDS = 10.0
MOST_STRICTNESS = 8.0  # times as many points at most
CALM_SECONDS = 3600.0  # seconds after which OUTAGE_POINTS is enough again


class HostPast(Enum):
    """The past of a host that fails now."""

    KNOWN = "it answered last time"
    NEW = "it was never requested"
    FAILING = "it failed last time, too: that it fails again says nothing"


@dataclass(frozen=True, slots=True)
class FailedDownload:
    """A download that failed with DOUBT, NO_NAME or NO_ROUTE."""

    host: str
    # empty if it is not known; hosts of one address count as one, like those of a domain
    address: str
    sign: Sign
    record: HostPast


class Detector:
    """Decides by the ends of all downloads whether the local network is out.

    `domain` returns a host's registered domain.
    """

    def __init__(self, domain: Callable[[str], str]) -> None:
        """Begin with the network well and no evidence against it."""
        self._domain = domain
        self.out = False
        # the outage began after this time, when the network was last seen to be well
        self.since = 0.0
        self.failures = 0  # of any host since then
        self.stirred = False  # whether answers matter now; else counting them is enough
        self.answers = 0  # to be counted by the caller while it is not stirred
        self.answered_at = 0.0  # when the last one came; the same
        self._usual = (1.0, 1 / USUAL_FAILURE_RATE)  # failures of known hosts, and outcomes
        self._points = 0.0
        self._new = 0.0  # of these, points of hosts that never answered
        self._known = 0
        # domains and addresses that have failed, or answered in an outage
        self._unrelated: set[str] = set()
        self._began = 0.0
        self._factor = 1.0
        self._raised = 0.0

    def failed(self, failure: FailedDownload, begun: float, now: float) -> bool:
        """Book that a download failed, which lasted from `begun` until now.

        Return whether an outage is recognised by it.
        """
        record = failure.record
        if self.out:
            self.failures += 1
            # A probe that fails takes back what an answer has shown.
            if record is HostPast.KNOWN and begun >= self._began:
                self._points = max(self._points - 1.0, 0.0)
            return False
        if self._points and now - self._began > EVIDENCE_WINDOW:
            self._calm()
        if not self._points:
            self._begin(now)
        self.failures += 1
        points = self._worth(failure, begun)
        domain = self._domain(failure.host)
        address = failure.address
        is_unrelated = domain not in self._unrelated and address not in self._unrelated
        if points and is_unrelated:
            self._unrelated.update((domain, address) if address else (domain,))
            self._known += record is HostPast.KNOWN
            self._points += points
            self.stirred = True
        if self._points < OUTAGE_POINTS * self._factor:
            return False
        self.out = True
        self._points = 0.0
        self._began = now
        self._unrelated.clear()
        return True

    def record_answer(self, host: str, now: float) -> bool:
        """Book that something came back from a host. Return whether that ends an outage."""
        self.answers += 1
        self.answered_at = now
        if not self.out:
            self._points -= POINTS_OFF_PER_ANSWER
            if self._points <= 0.0:
                self._calm()
            return False
        domain = self._domain(host)
        self._points += 0.5 if domain in self._unrelated else 1.0
        self._unrelated.add(domain)
        if self._points < ANSWERS_UNTIL_OVER:
            return False
        self.out = False
        self._judge(now - self._began < FALSE_ALARM_SECONDS, now)
        self._known = 0  # what failed in an outage is not usual
        self._calm()
        return True

    def _worth(self, failure: FailedDownload, begun: float) -> float:
        """Return the points by which this failure makes an outage more likely."""
        is_known = failure.record is HostPast.KNOWN
        is_new = failure.record is HostPast.NEW
        if failure.sign is Sign.NO_ROUTE:
            return NO_ROUTE_POINTS
        if failure.sign is Sign.NO_NAME and not is_known:
            return 0.0  # lists are full of names that do not exist
        if is_known:
            return self._known_worth()
        return self._take_new_worth(begun) if is_new else 0.0

    def _take_new_worth(self, begun: float) -> float:
        """Return the points of a host that was never requested, and book them: they are limited."""
        nothing_has_answered = not self.answered_at
        if nothing_has_answered:
            return self._known_worth()
        # Of a thousand hosts that are requested at once, all dead ones time out at once too: after
        # others have answered.
        began_before_an_answer = begun <= self.answered_at
        if began_before_an_answer or self._new >= MOST_NEW_HOST_POINTS:
            return 0.0
        self._new += NEW_HOST_POINTS
        return NEW_HOST_POINTS

    def _known_worth(self) -> float:
        """Return the points of a host that answered last time."""
        failed, outcomes = self._usual
        rate = max(failed / (outcomes + self.answers), USUAL_FAILURE_RATE)
        if rate >= OUTAGE_FAILURE_RATE:
            return LEAST_KNOWN_HOST_POINTS
        return max(
            log(OUTAGE_FAILURE_RATE / rate) / log(OUTAGE_FAILURE_RATE / USUAL_FAILURE_RATE),
            LEAST_KNOWN_HOST_POINTS,
        )

    def _begin(self, now: float) -> None:
        """Book the first failure after a calm.

        What fails from the last answer on may be due to an outage.
        """
        if self._factor > 1.0 and now - self._raised > CALM_SECONDS:
            self._factor = 1.0
        self._began = now
        self.since = self.answered_at
        self.failures = 0
        self._settle(0)

    def _calm(self) -> None:
        self._settle(self._known)
        self._points = 0.0
        self._new = 0.0
        self._known = 0
        self._unrelated.clear()
        self.stirred = False

    def _settle(self, failed: int) -> None:
        """Add what has come to the usual rate of failures of known hosts."""
        before, outcomes = self._usual
        total = outcomes + self.answers + failed
        shrink = min(USUAL_RATE_OUTCOMES / total, 1.0)
        self._usual = ((before + failed) * shrink, total * shrink)
        self.answers = 0

    def _judge(self, doubtful: bool, now: float) -> None:  # noqa: FBT001 - private
        self._factor = min(2 * self._factor, MOST_STRICTNESS) if doubtful else 1.0
        self._raised = now
