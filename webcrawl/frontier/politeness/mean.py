"""Mischel: the mean of the last five downloads times a factor, with a floor."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

FIRST = 60.0  # before the first download from a host: "probably one minute"
FLOOR = 15.0  # with less, "smaller sites will be annoyed"


class MeanOfFive:
    """Steadier than the last duration alone: a single slow or fast page changes the wait little."""

    def __init__(self, factor: float, minimum: float, maximum: float) -> None:
        self.factor, self.minimum, self.maximum = factor, minimum, maximum

    def wait(self, times: Sequence[float]) -> float:
        seconds = max(self.factor * fmean(times), FLOOR) if times else FIRST
        return min(max(seconds, self.minimum), self.maximum)
