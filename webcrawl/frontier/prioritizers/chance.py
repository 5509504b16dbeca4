"""Any page may be next."""

from __future__ import annotations

from random import Random

from webcrawl.base.model import Link


class ByChance:
    """All links come in at the last level; of what waits some are chosen by chance.

    With it a crawl can be compared whose order means something. It is no sample of the web: what is found depends on
    what was fetched before.
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
