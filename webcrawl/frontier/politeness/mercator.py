"""Waits that are multiples of a host's download times: Mercator's (3.1), and Mischel's mean."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean


class Mercator:
    """Waits a multiple of the last download's duration, so that a slow server gets fewer requests
    than a fast one.
    """

    def __init__(self, factor: float, minimum: float, maximum: float) -> None:
        self.factor = factor
        self.minimum = minimum
        self.maximum = maximum

    def wait(self, times: Sequence[float]) -> float:
        # By the default factor of 10 a host works for us for 9 % of the time, however slow it is.
        last = times[-1] if times else 0.0
        return min(max(self.factor * last, self.minimum), self.maximum)


FIRST = 60.0  # before the first download from a host: "probably one minute"
FLOOR = 15.0  # with less, "smaller sites will be annoyed"


class MeanOfFive:
    """Steadier than the last duration alone: a single slow or fast page changes the wait little."""

    def __init__(self, factor: float, minimum: float, maximum: float) -> None:
        self.factor = factor
        self.minimum = minimum
        self.maximum = maximum

    def wait(self, times: Sequence[float]) -> float:
        seconds = max(self.factor * fmean(times), FLOOR) if times else FIRST
        return min(max(seconds, self.minimum), self.maximum)
