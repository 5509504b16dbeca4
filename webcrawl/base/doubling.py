"""A wait that doubles with each failure in a row."""

from __future__ import annotations

MOST = 60  # doublings: no wait is longer than so many of a first one


def wait_after(failures: int, first: float, longest: float) -> float:
    """The wait after so many failures in a row, at least one, for whoever keeps their number."""
    return min(first * 2.0 ** min(failures - 1, MOST), longest)


class DoublingWait:
    """The same for whoever keeps the wait: `last`, in seconds, is 0 if there was no failure since the last success."""

    __slots__ = ("_first", "_longest", "last")

    def __init__(self, first: float, longest: float) -> None:
        self._first, self._longest, self.last = first, longest, 0.0

    def next(self) -> float:
        """After one more failure: the first wait, or twice the last one, up to the longest."""
        self.last = min(2 * self.last, self._longest) or self._first
        return self.last

    def reset(self) -> None:
        """After a success."""
        self.last = 0.0
