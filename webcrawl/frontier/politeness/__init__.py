"""The wait of a host after an answer: small classes, of which POLITENESS_POLICY names one.

A policy knows how long downloads took, and nothing else. All that makes a host wait is listed in
frontier/booking.py. A rule for the whole crawl, such as no requests at night, pauses the crawl as
crawl/outputs/stream.py does (`Parts.set_pause_reason`, with itself as the holder: a pause lasts
until each of its holders has ended it).
"""

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
        """Return the shortest time until the host's next request, in seconds.

        Strain, Crawl-delay, Retry-After and failures lengthen it (frontier/booking.py). `times`:
        those of the host's last downloads, at most five, oldest first.
        """
