"""Drops links that are too far from a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from webcrawl.urls.filters.protocol import Origin, Setup


class DepthFilter:
    """All links of a page have the same depth: they pass together or not at all."""

    name = "depth"

    def __init__(self, deepest: int) -> None:
        self._deepest = deepest

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self:
        return cls(setup.settings["URL_MAX_DEPTH"])

    def keep(self, urls: list[str], origin: Origin, /) -> list[str]:
        return urls if origin.depth <= self._deepest else []
