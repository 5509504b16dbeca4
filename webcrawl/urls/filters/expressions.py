"""The operator's expressions: what a URL must match, and what it must not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import re2

from webcrawl.base.errors import RulesError
from webcrawl.urls.filters.filter_protocol import Origin, Setup, quiet

MEMORY = 64 << 20  # limit of the automaton; 344 expressions of a real archiving crew need 2 MiB


class ExpressionFilter:
    """Drops URLs that match none of URL_INCLUDE, or any of URL_EXCLUDE.

    Each list is compiled into one set, which RE2 searches in time linear in the URL's length.
    """

    name = "expression"

    def __init__(self, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> None:
        self._include = search_set(include, "URL_INCLUDE")
        self._exclude = search_set(exclude, "URL_EXCLUDE")
        self.for_requisites: ExpressionFilter | None = self
        # URL_INCLUDE says what the crawl is about. What URL_EXCLUDE names is never fetched
        if include:
            self.for_requisites = ExpressionFilter((), exclude) if exclude else None

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self | None:
        include = setup.settings["URL_INCLUDE"]
        exclude = setup.settings["URL_EXCLUDE"]
        return cls(include, exclude) if include or exclude else None

    def within(self, url: str) -> bool:
        return self._include is None or bool(self._include.Match(url))

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        include = self._include
        if include is not None:
            urls = [url for url in urls if include.Match(url)]
        exclude = self._exclude
        if exclude is not None:
            urls = [url for url in urls if not exclude.Match(url)]
        return urls


def search_set(expressions: Sequence[str], setting: str) -> re2.Set | None:
    """Return the expressions as one set, or None if there are none.

    Raise RulesError if one is bad; the message names it and the setting.
    """
    if not expressions:
        return None
    found = re2.Set.SearchSet(quiet(MEMORY))
    for expression in expressions:
        try:
            found.Add(expression)
        except re2.error as error:
            raise RulesError(
                f"{setting}: {expression!r} is not an RE2 expression: {error}"
            ) from error
    try:
        found.Compile()
    except re2.error as error:
        raise RulesError(
            f"{setting}: the expressions together need more than {MEMORY >> 20} MiB"
        ) from error
    return found
