"""A wait that doubles with each failure in a row."""

from __future__ import annotations

# Doublings: from 1,024 of them on 2.0 ** n is an OverflowError
MOST = 60


def wait_after(failures: int, first: float, longest: float) -> float:
    """Return the wait after this number of failures in a row, which is at least one.

    The caller keeps the number.
    """
    return min(first * 2.0 ** min(failures - 1, MOST), longest)


class DoublingWait:
    """A wait that doubles with each failure.

    `last` is in seconds, and 0 if nothing has failed since the last success.
    """

    __slots__ = ("_first", "_longest", "last")

    def __init__(self, first: float, longest: float) -> None:
        self._first = first
        self._longest = longest
        self.last = 0.0

    def next(self) -> float:
        """Return the wait after one more failure: at first the first wait, then twice the last one.

        It is never longer than the longest wait.
        """
        self.last = min(2 * self.last, self._longest) or self._first
        return self.last

    def reset(self) -> None:
        """Forget the failures: something has succeeded."""
        self.last = 0.0
