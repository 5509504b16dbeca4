"""First come, first served."""

from __future__ import annotations

from webcrawl.model import Link


class ByArrival:
    """Everything in one queue: the plain breadth-first crawl, in the order of discovery."""

    def __init__(self, levels: int) -> None:
        del levels  # one is enough

    def level(self, link: Link) -> int:
        del link
        return 0
