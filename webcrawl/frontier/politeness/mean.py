"""Mischel: the mean of the last five downloads times a factor, and never less than a floor."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

FIRST = 60.0  # before anything is known of a host: "probably one minute"
FLOOR = 15.0  # "smaller sites will be annoyed" by less


class MeanOfFive:
    """Steadier than the last duration alone: one slow page does not slow the host down, one fast one not hurry it."""

    def __init__(self, factor: float, minimum: float, maximum: float) -> None:
        self.factor, self.minimum, self.maximum = factor, minimum, maximum

    def wait(self, times: Sequence[float]) -> float:
        seconds = max(self.factor * fmean(times), FLOOR) if times else FIRST
        return min(max(seconds, self.minimum), self.maximum)
