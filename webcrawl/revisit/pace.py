"""Where the queue of revisits is, and how long a round of all pages takes."""

from __future__ import annotations

from struct import Struct

from webcrawl.revisit.policy import PolicyOptions

_LAYOUT = Struct("<3d")
STEP = 1 / 32  # a take counts so much: some are out of order
SMOOTH = 3600.0  # seconds over which the budget is averaged: a share of all fetches wavers with them
YEAR = 365 * 86400.0  # the longest round: a budget of nothing may be one of something tomorrow


class Pace:
    """The due time that the queue has come to, and the budget.

    Pages are taken at the rate of the budget, whatever their due times say. So a page's next place is counted from
    where the queue is, not from the clock: then pages keep their proportions while the queue is late, after a pause of
    a month too. (Counted from the clock, each page of a late queue would be fetched once per round, however often it
    changes.)
    """

    __slots__ = ("_options", "lag", "rate", "told")

    def __init__(self, options: PolicyOptions) -> None:
        self._options = options
        self.lag = 0.0  # seconds that the queue is behind the clock; negative: ahead of it
        self.rate = 0.0  # revisits per second, averaged
        self.told = 0.0  # when the average was brought up to date

    def took(self, now: float, due: float) -> None:
        """A page that was due then is taken now."""
        self.lag += (now - due - self.lag) * STEP

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
        return _LAYOUT.pack(self.lag, self.rate, self.told)

    def restore(self, data: bytes) -> None:
        if len(data) == _LAYOUT.size:
            self.lag, self.rate, self.told = _LAYOUT.unpack(data)
