"""Which front-end queue a link goes to: one small class per file, chosen by FRONTIER_PRIORITIZER."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from webcrawl.model import Link


class Prioritizer(Protocol):
    """A prioritizer is constructed with FRONTIER_LEVELS."""

    def __init__(self, levels: int) -> None: ...

    def level(self, link: Link) -> int:
        """The link's level, from 0 (first) to levels - 1 (last)."""


@runtime_checkable
class Informed(Protocol):
    """A prioritizer that wants to know how many other domains link to that of a URL: it is given a function."""

    def inform(self, links_to: Callable[[str], int], /) -> None: ...
