"""Where the queue of revisits is, and how long a round of all pages takes."""

from __future__ import annotations

from struct import Struct

from webcrawl.revisit.policy import PolicyOptions

_LAYOUT = Struct("<3d")
SIZE = _LAYOUT.size  # of its state
BACK = 1 / 32  # a page that comes late, because it is new in the queue, sets the queue back by so much of its lateness
SMOOTH = 3600.0  # seconds over which the budget is averaged: a share of all fetches wavers with them
YEAR = 365 * 86400.0  # the longest round: a budget of nothing may be one of something tomorrow


class Pace:
    """The due time that the queue has come to, and the budget.

    Pages are taken at the rate of the budget, whatever their due times say. So a page's next place is counted from
    where the queue is, not from the clock: then pages keep their proportions while the queue is late, after a pause of
    a month too. (Counted from the clock, each page of a late queue would be fetched once per round, however often it
    changes.) The queue stands still when nothing is taken.
    """

    __slots__ = ("_options", "front", "rate", "told")

    def __init__(self, options: PolicyOptions) -> None:
        self._options = options
        self.front = 0.0  # the due time that the queue has come to; 0: nothing was taken yet
        self.rate = 0.0  # revisits per second, averaged
        self.told = 0.0  # when the average was brought up to date

    def took(self, due: float) -> None:
        """A page that was due then is taken."""
        self.front = due if due > self.front else self.front + (due - self.front) * BACK

    def place(self, now: float) -> float:
        """Where the queue is; before it has begun, that is the present."""
        return self.front or now

    def round(self, now: float) -> float:
        """Seconds in which the budget suffices for every page once."""
        rate = self._options.rate()
        if self.rate > 0:
            part = min(max(now - self.told, 0.0) / SMOOTH, 1.0)
            self.rate += (rate - self.rate) * part
        else:
            self.rate = rate
        self.told = now
        pages = max(self._options.pages(), 1)
        return pages / self.rate if self.rate * YEAR > pages else YEAR

    def state(self) -> bytes:
        return _LAYOUT.pack(self.front, self.rate, self.told)

    def restore(self, data: bytes) -> None:
        if len(data) == _LAYOUT.size:
            self.front, self.rate, self.told = _LAYOUT.unpack(data)
