"""Tells the operator of a budget for revisits that is larger than can be used."""

from __future__ import annotations

import logging
from collections.abc import Callable

from webcrawl.crawl.split import Split
from webcrawl.text.quantities import count

logger = logging.getLogger(__name__)

EVERY = 60.0  # seconds between two looks
HOUR = 3600.0  # between two lines


class Unused:
    """Looks at REVISIT_RATE alone: a share of all fetches is never more than there is."""

    def __init__(self, split: Split, pages: Callable[[], int], floor: float) -> None:
        """`floor`: seconds between two fetches of a page at least."""
        self._split, self._pages, self._floor = split, pages, floor
        self._next: float | None = None

    def look(self, now: float) -> None:
        """Call it often."""
        if self._next is None or now + 2 * HOUR < self._next:  # the first call, or the clock was set back
            self._next = now + EVERY
        if now < self._next:
            return
        self._next = now + EVERY
        pages, split = self._pages(), self._split
        most = pages / (self._floor if split.early else split.age)
        if not (split.is_fixed and pages and split.rate() > most):
            return
        self._next = now + HOUR
        why = f"within {self._floor:g} s" if split.early else f"before it is as old as REVISIT_AGE, {split.age:g} s"
        logger.warning(
            "REVISIT_RATE allows %g revisits per second, of which %g can be used: %s, and none is fetched again %s",
            split.rate(),
            round(most, 4),
            count(pages, "page"),
            why,
        )
