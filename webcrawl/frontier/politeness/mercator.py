"""Mercator 3.1: ten times as long as the last download took."""

from __future__ import annotations

from collections.abc import Sequence


class Mercator:
    """A multiple of the last download's duration: a slow server gets fewer requests than a fast one."""

    def __init__(self, factor: float, minimum: float, maximum: float) -> None:
        self.factor, self.minimum, self.maximum = factor, minimum, maximum

    def wait(self, times: Sequence[float]) -> float:
        last = times[-1] if times else 0.0
        return min(max(self.factor * last, self.minimum), self.maximum)
