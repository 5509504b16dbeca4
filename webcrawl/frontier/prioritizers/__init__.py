"""Which front-end queue a link goes to: one small class per file, chosen by FRONTIER_PRIORITIZER."""

from __future__ import annotations

from typing import Protocol

from webcrawl.model import Link


class Prioritizer(Protocol):
    """A prioritizer is constructed with FRONTIER_LEVELS."""

    def __init__(self, levels: int) -> None: ...

    def level(self, link: Link) -> int:
        """The link's level, from 0 (first) to levels - 1 (last)."""
