"""First come, first served."""

from __future__ import annotations

from webcrawl.base.model import Link


class ByArrival:
    """One queue for all links: a plain breadth-first crawl, in the order of discovery."""

    def __init__(self, levels: int) -> None:
        del levels  # only the first is used

    def level(self, link: Link) -> int:
        del link
        return 0
