"""Links closer to a seed come first."""

from __future__ import annotations

from webcrawl.base.model import NEAR, Link, requisite_hops


class ByDepth:
    """Breadth first across hosts: pages near the seeds are better, and traps are deep.

    What a page needs to be shown is as deep as the page: so it is soon shown whole.
    """

    by_way = True

    def __init__(self, levels: int) -> None:
        self.last = levels - 1

    def level(self, link: Link) -> int:
        depth = link.depth
        if link.path.endswith("E"):
            depth -= min(requisite_hops(link.path), NEAR)
        return min(depth, self.last)
