"""How many pages may be fetched again by now: so many per second, and never many at once."""

from __future__ import annotations

from collections.abc import Callable

SAVED = 5.0  # seconds for which unused tokens are kept: a crawl that was busy does not rush afterwards
DEBT = 60.0  # seconds of the budget that signals may use in advance


class Tokens:
    """One per page. The rate may differ at each call."""

    def __init__(self, rate: Callable[[], float]) -> None:
        """`rate`: per second."""
        self._rate = rate
        self._left = 1.0
        self._at: float | None = None

    def __repr__(self) -> str:
        return f"<Tokens {self._left:.1f} at {self._at}>"

    def whole(self, now: float) -> int:
        """How many pages may be taken now."""
        rate = max(self._rate(), 0.0)
        most = max(1.0, rate * SAVED)
        since = self._at if self._at is not None else now
        self._left = min(self._left + max(now - since, 0.0) * rate, most)
        self._at = max(now, since)
        return max(int(self._left), 0)

    def spend(self, count: int) -> None:
        self._left -= count

    def owe(self) -> None:
        """One page is fetched without asking; it is saved on the next ones, up to a limit."""
        self._left = max(self._left - 1.0, -1.0 - max(self._rate(), 0.0) * DEBT)

    def next(self, now: float) -> float | None:
        """When there is a token; None if that cannot be said, since nothing is allowed at present."""
        if self.whole(now):
            return now
        rate = self._rate()
        return now + (1.0 - self._left) / rate if rate > 0.0 else None
