"""Nielsen: the same for every host, 70 seconds."""

from __future__ import annotations

from collections.abc import Sequence

SECONDS = 70.0


class Fixed:
    """Always 70 seconds, or what POLITENESS_MIN_DELAY and _MAX_DELAY make of it (both alike: that delay)."""

    def __init__(self, factor: float, minimum: float, maximum: float) -> None:
        del factor  # nothing is multiplied here
        self.seconds = min(max(SECONDS, minimum), maximum)

    def wait(self, times: Sequence[float]) -> float:
        del times
        return self.seconds
