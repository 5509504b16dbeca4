"""Waits that are the same for every host: Nielsen's 70 seconds, and Mercator's weak guarantee."""

from __future__ import annotations

from collections.abc import Sequence

SECONDS = 70.0


class Fixed:
    """70 seconds, within POLITENESS_MIN_DELAY and POLITENESS_MAX_DELAY.

    Set both alike for another fixed delay.
    """

    slows_down = False

    def __init__(self, factor: float, minimum: float, maximum: float) -> None:
        del factor  # part of the protocol, without effect here
        self.seconds = min(max(SECONDS, minimum), maximum)

    def wait(self, times: Sequence[float]) -> float:
        del times
        return self.seconds


# Without a pause, the busiest host of a simulated crawl worked for it for 98 % of the time.
class Weak:
    """Waits for POLITENESS_MIN_DELAY only; set that to 0 for no pause at all."""

    slows_down = False

    def __init__(self, factor: float, minimum: float, maximum: float) -> None:
        del factor, maximum  # part of the protocol, without effect here
        self.seconds = minimum

    def wait(self, times: Sequence[float]) -> float:
        del times
        return self.seconds
