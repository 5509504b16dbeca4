"""How long a host is left alone after an answer: one small class a file, chosen by POLITENESS_POLICY."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Politeness(Protocol):
    """A policy is made of the three settings POLITENESS_FACTOR, _MIN_DELAY and _MAX_DELAY."""

    def __init__(self, factor: float, minimum: float, maximum: float) -> None: ...

    def wait(self, times: Sequence[float]) -> float:
        """Seconds until the host's next request, after downloads that took `times` (last one last, at most five)."""
