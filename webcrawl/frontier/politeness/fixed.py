"""Nielsen: the same wait for every host, 70 seconds."""

from __future__ import annotations

from collections.abc import Sequence

SECONDS = 70.0


class Fixed:
    """70 seconds, within POLITENESS_MIN_DELAY and POLITENESS_MAX_DELAY; set both alike for another fixed delay."""

    slows_down = False

    def __init__(self, factor: float, minimum: float, maximum: float) -> None:
        del factor  # part of the protocol, without effect here
        self.seconds = min(max(SECONDS, minimum), maximum)

    def wait(self, times: Sequence[float]) -> float:
        del times
        return self.seconds
