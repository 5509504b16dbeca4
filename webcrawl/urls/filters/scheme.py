"""Drops URLs whose scheme is not wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from webcrawl.urls.canonical import SCHEMES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawl.urls.filters.protocol import Origin, Setup


class SchemeFilter:
    """Keeps those of the four schemes of canonical URLs that URL_SCHEMES names."""

    name = "scheme"

    def __init__(self, schemes: Iterable[str]) -> None:
        self._starts = tuple(f"{scheme}://" for scheme in schemes)

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self | None:
        schemes = setup.settings["URL_SCHEMES"]
        return cls(schemes) if set(SCHEMES) - set(schemes) else None

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        return [url for url in urls if url.startswith(self._starts)]
