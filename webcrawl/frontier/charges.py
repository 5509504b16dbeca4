"""The marks that the last failures left on their hosts, to be taken back if they were our own network's."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from webcrawl.base.model import Link, Outcome, Packed, Status
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.outcomes import is_cut_short, is_kept_short
from webcrawl.store.jobdir.host_row import FailedRow

CUT_SHORT = "cut short"  # the counter of URLs that have ended with a body that is not whole
NEVER = -1  # failures of no host
KEPT = 4096  # failures; 1 KB each at the most


@dataclass(slots=True)
class Charge:
    """A failure before it was booked, and afterwards when its link comes again."""

    at: float
    host: str
    link: Link
    before: tuple[float, int, int, FailedRow | None]  # the host's time, failures and reason to be retired
    times: list[float]
    failures: int = 0  # of the host, once it is booked
    again: tuple[float, Link] | None = None  # when the link comes again, and how it is queued then
    short: bool = False  # it ended with a body that is not whole, and is counted so

    def booked(self, host: Host, outcome: Outcome, again: tuple[float, Link] | None) -> None:
        """Notes what became of it. A host that has answered, even if not to the end, keeps its record."""
        self.failures = NEVER if is_cut_short(outcome) else host.failures
        self.again, self.short = again, again is None and is_kept_short(self.link, outcome)

    def undo(self, host: Host) -> None:
        """Restores the host's record, unless more has happened to it, be it by command."""
        if host.failures == self.failures and host.retired != Status.DROPPED:
            host.ready_at, host.failures, host.retired, host.row = self.before
            host.times[:] = self.times

    @property
    def retry(self) -> tuple[float, Packed] | None:
        """The entry among the host's retries; None if the link was finished."""
        if self.again is None:
            return None
        at, link = self.again
        return at, link.pack()


class Charges:
    """The last failures, in the order in which they were booked."""

    def __init__(self) -> None:
        self._kept: deque[Charge] = deque(maxlen=KEPT)

    def note(self, host: Host, link: Link, now: float) -> Charge:
        """A failure that is about to be booked."""
        before = (host.ready_at, host.failures, host.retired, host.row)
        charge = Charge(now, host.name, link, before, [*host.times])
        self._kept.append(charge)
        return charge

    def take(self, since: float) -> Iterator[Charge]:
        """Those of this time and later, the last one first, so that of several failures of a host the first counts."""
        while self._kept and self._kept[-1].at >= since:
            yield self._kept.pop()
