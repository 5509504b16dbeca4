"""The pace of the queue of revisits: how long a round of all pages takes, and how many may be fetched by now."""

from __future__ import annotations

from collections.abc import Callable
from math import exp
from struct import Struct

from webcrawl.crawl.revisit.policy import PolicyOptions

_LAYOUT = Struct("<4d")
SIZE = _LAYOUT.size  # of its state
BACK = 1 / 32  # a page that comes late, because it is new in the queue, sets the queue back by so much of its lateness
SMOOTH = 3600.0  # seconds over which the budget is averaged: a share of all fetches wavers with them
SMOOTH_AHEAD = 86400.0  # the same for fetches at signals: a sitemap has the news of a day
YEAR = 365 * 86400.0  # the longest round: a budget of nothing may be one of something tomorrow

SAVED = 5.0  # seconds for which unused tokens are kept: a crawl that was busy does not rush afterwards
PART = 0.5  # of the rate: what is owed is saved on so much of it, and the rest goes on
_TOKENS = Struct("<2d")


class Pace:
    """The due time that the queue has come to, and the budget.

    Pages are taken at the rate of the budget, whatever their due times say. So a page's next place is counted from
    where the queue is, not from the clock: then pages keep their proportions while the queue is late, after a pause of
    a month too. (Counted from the clock, each page of a late queue would be fetched once per round, however often it
    changes.) The queue stands still when nothing is taken.
    """

    __slots__ = ("_options", "ahead", "ahead_rate", "front", "rate", "told")

    def __init__(self, options: PolicyOptions) -> None:
        self._options = options
        self.front = 0.0  # the due time that the queue has come to; 0: nothing was taken yet
        self.rate = 0.0  # revisits per second, averaged
        # Pages that were fetched at a signal since then, out of the budget, less those that need none in their turns.
        self.ahead = 0.0
        self.ahead_rate = 0.0  # of these per second, averaged
        self.told = 0.0  # when the average was brought up to date

    def took(self, due: float) -> None:
        """A page that was due then is taken."""
        self.front = due if due > self.front else self.front + (due - self.front) * BACK

    def place(self, now: float) -> float:
        """The time that the queue has come to; before it has begun, that is the present."""
        return self.front or now

    def round(self, now: float) -> float:
        """Seconds in which the budget suffices for every page once."""
        rate, passed = self._options.rate(), max(now - self.told, 0.0)
        if self.rate > 0 and passed > 0:
            self.rate += (rate - self.rate) * min(passed / SMOOTH, 1.0)
            self.ahead_rate += (self.ahead / passed - self.ahead_rate) * min(passed / SMOOTH_AHEAD, 1.0)
            self.ahead, self.told = 0.0, now
        elif not self.rate:
            self.rate, self.told = rate, now
        pages = max(self._options.pages(), 1)
        return pages / self.rate if self.rate * YEAR > pages else YEAR

    def state(self) -> bytes:
        return _LAYOUT.pack(self.front, self.rate, self.ahead_rate, self.told)

    def restore(self, data: bytes) -> None:
        if len(data) == _LAYOUT.size:
            self.front, self.rate, self.ahead_rate, self.told = _LAYOUT.unpack(data)


class Tokens:
    """One per page. The rate may differ at each call."""

    def __init__(self, rate: Callable[[], float], saved: float = SAVED) -> None:
        """`rate`: per second; `saved`: seconds for which unused ones are kept."""
        self._rate, self._saved = rate, saved
        self._left = 1.0
        self._owed = 0.0
        self._at: float | None = None

    def whole(self, now: float) -> int:
        """The number of pages that may be taken now."""
        rate = max(self._rate(), 0.0)
        most = max(1.0, rate * self._saved)
        since = self._at if self._at is not None else now
        passed = max(now - since, 0.0)
        paid = min(self._owed, passed * rate * PART)
        self._owed -= paid
        if self._left > most:  # more than is saved at this rate: it wavers, so they are not forgotten at once
            self._left = most + (self._left - most) * exp(-passed / self._saved)
        else:
            self._left = min(self._left + passed * rate - paid, most)
        self._at = max(now, since)
        return max(int(self._left), 0)

    def spend(self, count: int) -> None:
        self._left -= count

    def owe(self) -> None:
        """One page is fetched without asking; it is saved on the next ones."""
        self._owed += 1.0

    def next(self, now: float) -> float | None:
        """The time at which there is a token; None if that cannot be said, since nothing is allowed at present."""
        if self.whole(now):
            return now
        rate, needed = self._rate(), 1.0 - self._left
        return now + (needed + min(self._owed, needed * PART / (1 - PART))) / rate if rate > 0.0 else None

    def state(self) -> bytes:
        """The state for a checkpoint, of those whose number matters for long."""
        return _TOKENS.pack(self._left, self._owed)

    def restore(self, data: bytes) -> None:
        """Goes on from a state; the time in between gives nothing."""
        if len(data) == _TOKENS.size:
            self._left, self._owed = _TOKENS.unpack(data)
