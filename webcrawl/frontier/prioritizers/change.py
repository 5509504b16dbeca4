"""Mercator 2, continuous crawling: what does not change from one download to the next is asked for less often."""

from __future__ import annotations

from webcrawl.model import Link

CHANGED, UNCHANGED = "c", "u"  # a letter for each earlier download, the last one last


class ByChange:
    """One level lower for each download in a row that found the document unchanged; a new link is first."""

    def __init__(self, levels: int) -> None:
        self.last = levels - 1

    def level(self, link: Link) -> int:
        history = link.history
        return min(len(history) - len(history.rstrip(UNCHANGED)), self.last)
