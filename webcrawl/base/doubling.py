"""A wait that doubles with each failure in a row."""

from __future__ import annotations


class Doubling:
    """`last` is the wait of the last failure in seconds, 0 if there was none since the last success."""

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
