"""Orders that need to know nothing but the link itself."""

from __future__ import annotations

from random import Random

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


class ByArrival:
    """One queue for all links: a plain breadth-first crawl, in the order of discovery."""

    def __init__(self, levels: int) -> None:
        del levels  # only the first is used

    def level(self, link: Link) -> int:
        del link
        return 0


class ByChance:
    """All links come in at the last level; of what waits some are chosen by chance.

    With it a crawl can be compared whose order means something. It is no sample of the web: what is
    found depends on what was fetched before.
    """

    def __init__(self, levels: int) -> None:
        self._last = levels - 1
        self._chance = Random(levels).random  # the same in each run of the same crawl

    def level(self, link: Link) -> int:
        del link
        return self._last

    def worth(self, url: str, /) -> float:
        del url
        return self._chance()
