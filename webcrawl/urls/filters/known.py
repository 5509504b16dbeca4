"""Paths that are known to lead nowhere (LARM's KnownPathsFilter): other views of the same pages, forms, buttons.

They belong to software that many sites run; the quirks of a single site belong in URL_EXCLUDE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from webcrawl.urls.filters.known_rules import RULES
from webcrawl.urls.filters.lines import Lines

if TYPE_CHECKING:
    from webcrawl.urls.filters.protocol import Origin, Setup


class KnownPathsFilter:
    """Searches the whole batch for all of them as one expression."""

    name = "known_path"

    suspects = "|".join(RULES.values())

    def __init__(self) -> None:
        self._lines = Lines(self.suspects)

    @classmethod
    def from_setup(cls, _setup: Setup, /) -> Self:
        return cls()

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        return self._lines.without(urls)
