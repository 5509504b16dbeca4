"""The importance of a page beside others when it is decided which are fetched again, and how often."""

from __future__ import annotations

import logging
from collections.abc import Callable
from math import isfinite, log2
from typing import Protocol

from webcrawl.base.model import Link

logger = logging.getLogger(__name__)

IMPORTANCES = {  # what REVISIT_IMPORTANCE may say instead of a dotted path
    "depth": "webcrawl.crawl.revisit.importance.by_depth",
    "reputation": "webcrawl.crawl.revisit.importance.ByReputation",
}
LEAST, MOST = 1e-6, 1e6  # of what somebody else's function says
LinksTo = Callable[[str], int]  # how many other domains link to that of a URL


class Importance(Protocol):
    """A function of a page's link, or a class that is constructed with a function: how many domains link to a URL's.

    Only the ratio of two pages counts: twice as important is worth twice as many changes seen.
    """

    def __call__(self, link: Link, /) -> float: ...


def by_depth(link: Link) -> float:
    """1 for a seed, a half for what it links to, a third one link further."""
    return 1.0 / (1 + link.depth)


class ByReputation:
    """1 for a domain to which no other links, 2 for one other, and 1 more each time there are twice as many."""

    def __init__(self, links_to: LinksTo) -> None:
        self._links_to = links_to

    def __call__(self, link: Link, /) -> float:
        return 1.0 + log2(1 + self._links_to(link.url))


class Weighed:
    """Whatever it says, the weight of a page is a number above 0."""

    def __init__(self, importance: Importance) -> None:
        self._importance = importance
        self._told = False

    def __call__(self, link: Link) -> float:
        try:
            weight = float(self._importance(link))
        except Exception:  # somebody else's code; a page must not be lost by it
            if not self._told:
                logger.exception("REVISIT_IMPORTANCE: %s counts as 1, and so do others that fail", link.url)
            self._told = True
            return 1.0
        return min(max(weight, LEAST), MOST) if isfinite(weight) else 1.0
