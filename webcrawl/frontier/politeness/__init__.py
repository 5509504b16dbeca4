"""The wait of a host after an answer: small classes, of which POLITENESS_POLICY names one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Politeness(Protocol):
    """A policy is constructed with POLITENESS_FACTOR, POLITENESS_MIN_DELAY and
    POLITENESS_MAX_DELAY.

    One that has an attribute `slows_down = False` is kept to even for a host under strain
    (frontier/booking.py).
    """

    def __init__(self, factor: float, minimum: float, maximum: float) -> None: ...

    def wait(self, times: Sequence[float]) -> float:
        """Return the seconds until the host's next request.

        `times`: those of its last downloads, at most five, oldest first.
        """
