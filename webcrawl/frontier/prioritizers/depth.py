"""Links closer to a seed come first."""

from __future__ import annotations

from webcrawl.model import Link


class ByDepth:
    """Breadth first across hosts: pages near the seeds are better, and traps are deep."""

    def __init__(self, levels: int) -> None:
        self.last = levels - 1

    def level(self, link: Link) -> int:
        return min(link.depth, self.last)
