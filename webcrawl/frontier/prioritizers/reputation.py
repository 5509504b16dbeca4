"""Links to domains that many others link to come first (IRLbot)."""

from __future__ import annotations

from collections.abc import Callable

from webcrawl.base.model import Link


class ByReputation:
    """The last level for up to one other domain that links to a link's domain, one level higher for each doubling.

    The links of a page are counted before they come here, and written once per checkpoint: a new domain begins low.
    """

    def __init__(self, levels: int) -> None:
        self.last = levels - 1
        self._links_to: Callable[[str], int] = _none

    def inform(self, links_to: Callable[[str], int], /) -> None:
        self._links_to = links_to

    def level(self, link: Link) -> int:
        links = self._links_to(link.url)
        return max(self.last - max(links, 1).bit_length() + 1, 0)


def _none(_: str) -> int:
    return 0
