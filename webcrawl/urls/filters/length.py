"""Drops URLs that are too long (LARM's URLLengthFilter)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from webcrawl.urls.filters.protocol import Origin, Setup


class LengthFilter:
    """Checks again after `canonical`, because escaping and joining can make a URL longer than the link."""

    name = "length"

    def __init__(self, longest: int) -> None:
        self._longest = longest

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self:
        return cls(setup.settings["URL_MAX_LENGTH"])

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        longest = self._longest
        if max(map(len, urls), default=0) <= longest:
            return urls
        return [url for url in urls if len(url) <= longest]
