"""The importance of a page beside others when it is decided which are fetched again, and how often.

A policy with a method `importance` says itself what a link is worth. Only the ratio of two pages counts: twice as
important is worth twice as many changes seen.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from math import isfinite

from webcrawl.base.model import Link

logger = logging.getLogger(__name__)

LEAST, MOST = 1e-6, 1e6  # of what somebody else's function says


def by_depth(link: Link) -> float:
    """1 for a seed, a half for what it links to, a third one link further."""
    return 1.0 / (1 + link.depth)


class Weighed:
    """Whatever it says, the weight of a page is a number above 0."""

    def __init__(self, importance: Callable[[Link], float]) -> None:
        self._importance = importance
        self._told = False

    def __call__(self, link: Link) -> float:
        try:
            weight = float(self._importance(link))
        except Exception:  # somebody else's code; a page must not be lost by it
            if not self._told:
                logger.exception("REVISIT_POLICY: %s counts as 1, and so do others that fail", link.url)
            self._told = True
            return 1.0
        return min(max(weight, LEAST), MOST) if isfinite(weight) else 1.0
