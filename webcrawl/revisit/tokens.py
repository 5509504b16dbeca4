"""How many pages may be fetched again by now: so many per second, and never many at once."""

from __future__ import annotations

from collections.abc import Callable
from math import exp
from struct import Struct

SAVED = 5.0  # seconds for which unused tokens are kept: a crawl that was busy does not rush afterwards
PART = 0.5  # of the rate: what is owed is saved on so much of it, and the rest goes on
_LAYOUT = Struct("<2d")


class Tokens:
    """One per page. The rate may differ at each call."""

    def __init__(self, rate: Callable[[], float], saved: float = SAVED) -> None:
        """`rate`: per second; `saved`: seconds for which unused ones are kept."""
        self._rate, self._saved = rate, saved
        self._left = 1.0
        self._owed = 0.0
        self._at: float | None = None

    def __repr__(self) -> str:
        return f"<Tokens {self._left:.1f} owed={self._owed:.1f} at {self._at}>"

    def whole(self, now: float) -> int:
        """How many pages may be taken now."""
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
        """When there is a token; None if that cannot be said, since nothing is allowed at present."""
        if self.whole(now):
            return now
        rate, needed = self._rate(), 1.0 - self._left
        return now + (needed + min(self._owed, needed * PART / (1 - PART))) / rate if rate > 0.0 else None

    def state(self) -> bytes:
        """What a checkpoint keeps of those whose number matters for long."""
        return _LAYOUT.pack(self._left, self._owed)

    def restore(self, data: bytes) -> None:
        """Goes on from a state; the time in between gives nothing."""
        if len(data) == _LAYOUT.size:
            self._left, self._owed = _LAYOUT.unpack(data)
