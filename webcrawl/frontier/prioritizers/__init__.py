"""Which front-end queue a link goes to: one small class a file, chosen by FRONTIER_PRIORITIZER."""

from __future__ import annotations

from typing import Protocol

from webcrawl.model import Link


class Prioritizer(Protocol):
    """Made with the number of levels, FRONTIER_LEVELS."""

    def __init__(self, levels: int) -> None: ...

    def level(self, link: Link) -> int:
        """The link's queue, from 0 (first) to levels - 1 (last), by the link and its history."""
