"""Mercator 2, continuous crawling: documents that do not change between downloads are fetched less often."""

from __future__ import annotations

from webcrawl.model import Link

CHANGED, UNCHANGED = "c", "u"  # one letter per earlier download, oldest first


class ByChange:
    """One level lower for each download in a row that found the document unchanged; new links are at level 0."""

    def __init__(self, levels: int) -> None:
        self.last = levels - 1

    def level(self, link: Link) -> int:
        history = link.history
        return min(len(history) - len(history.rstrip(UNCHANGED)), self.last)
