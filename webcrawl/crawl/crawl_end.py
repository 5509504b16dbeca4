"""Says whether a crawl may end although URLs are left, all of them of hosts that do not answer."""

from __future__ import annotations

SHORTEST_WAIT = 30.0  # seconds for which such hosts are waited for, however short the crawl was


class CrawlEnd:
    """Decides how long the crawl waits for deferred and failing hosts (`Crawl.pending` asks).

    The wait is in proportion: OUTAGE_END_WAIT, or the time that the run took until then if that is
    shorter. A run that has not requested any host yet waits for OUTAGE_END_WAIT, so that a crawl
    that is resumed asks before it ends again.
    """

    def __init__(self, wait: float, begun: float = 0.0, *, shortens: bool = True) -> None:
        """`wait`: OUTAGE_END_WAIT, in seconds.

        `begun`: the time at which the run began. `shortens`: False to wait for OUTAGE_END_WAIT even
        if the run was shorter.
        """
        self.wait = wait
        self._begun = begun
        self._shortens = shortens
        self._has_requested = False  # a download of this run has ended
        # Whether `note_download` changes anything. Nearly never, and every page would call it.
        self.needs_downloads = True
        # Since when only hosts that do not answer have been left; None: others are
        self._since: float | None = None

    def begin_again(self) -> None:
        """Begin the wait anew: no host was tried for a while, and that time does not count."""
        self._since = None

    def note_download(self, *, answered: bool) -> None:
        """Note that a download has ended.

        An answer begins the wait anew, and so does the first download of the run.
        """
        if answered or not self._has_requested:
            self._since = None
        self._has_requested = True
        self.needs_downloads = self._since is not None

    def is_reached(
        self, now: float, *, resting: bool, busy: bool, may_recover: bool = False
    ) -> bool:
        """Return whether only hosts that do not answer have been left for as long as the wait.

        `resting`: no other hosts are left now. `busy`: one of them has a request in flight.
        `may_recover`: one of them has answered before, and was not requested again since it failed.
        It is requested once more before the crawl ends, if that is within OUTAGE_END_WAIT.
        """
        if not resting:
            self._since = None
            return False
        if self._since is None:
            self._since = now
            self.needs_downloads = True
        if busy or now < self._since + self._shorter_wait(self._since):
            return False
        return not may_recover or now >= self._since + self.wait

    def next_time(self, now: float) -> float | None:
        """Return the next time at which the crawl may end, or None if there is none after now."""
        if self._since is None:
            return None
        ends = self._since + self._shorter_wait(self._since), self._since + self.wait
        return min((end for end in ends if end > now), default=None)

    def _shorter_wait(self, since: float) -> float:
        if not self._shortens or not self._has_requested:
            return self.wait
        return min(self.wait, max(SHORTEST_WAIT, since - self._begun))
