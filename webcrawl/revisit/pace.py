"""Where the queue of revisits is, and how long a round of all pages takes."""

from __future__ import annotations

from struct import Struct

from webcrawl.revisit.policy import PolicyOptions

_LAYOUT = Struct("<4d")
SIZE = _LAYOUT.size  # of its state
BACK = 1 / 32  # a page that comes late, because it is new in the queue, sets the queue back by so much of its lateness
SMOOTH = 3600.0  # seconds over which the budget is averaged: a share of all fetches wavers with them
SMOOTH_AHEAD = 86400.0  # the same for fetches at signals: a sitemap has the news of a day
YEAR = 365 * 86400.0  # the longest round: a budget of nothing may be one of something tomorrow


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
        """Where the queue is; before it has begun, that is the present."""
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
