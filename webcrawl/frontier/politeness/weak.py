"""Mercator's weak guarantee: one request at a time per host, and no pause between them."""

from __future__ import annotations

from collections.abc import Sequence


class Weak:
    """Waits for POLITENESS_MIN_DELAY only; set that to 0 for no pause at all."""

    slows_down = False

    def __init__(self, factor: float, minimum: float, maximum: float) -> None:
        del factor, maximum  # part of the protocol, without effect here
        self.seconds = minimum

    def wait(self, times: Sequence[float]) -> float:
        del times
        return self.seconds
