"""Ends a crawl although URLs are left, if all of them are of hosts that are set aside."""

from __future__ import annotations


class Ending:
    """Such a crawl waits for a while, and tries the hosts that come due meanwhile. Any answer of theirs goes on."""

    def __init__(self, wait: float) -> None:
        """`wait`: OUTAGE_END_WAIT."""
        self.wait = wait
        self._since: float | None = None

    def begin_again(self) -> None:
        """Nothing was tried for a while: that time does not count."""
        self._since = None

    def reached(self, now: float, *, resting: bool, busy: bool) -> bool:
        """True if nothing but hosts set aside has been there for so long; `busy`: one of them is being asked."""
        if not resting:
            self._since = None
            return False
        if self._since is None:
            self._since = now
        return now - self._since >= self.wait and not busy

    def after(self, now: float) -> float | None:
        """The time at which the crawl is going to end, if that is known, and not over."""
        end = None if self._since is None else self._since + self.wait
        return end if end is not None and end > now else None
