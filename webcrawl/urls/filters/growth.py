"""The trap of URLs that grow with each step: longer paths, escaped escapes, repeated parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from webcrawl.urls.filters.lines import Lines, leave_out

if TYPE_CHECKING:
    from webcrawl.urls.filters.protocol import Origin, Setup

MAX_SEGMENTS = 30  # the deepest of 50,000 real URLs has 23 (docs/urls.md)


class GrowthFilter:
    """Drops paths of more than 30 segments, fourfold escapes, and parameters that occur three times unchanged."""

    name = "trap_growth"

    def __init__(self, max_segments: int = MAX_SEGMENTS) -> None:
        deep = rf"^[^/]+//[^/]+(?:/[^/?]+){{{max_segments + 1}}}|%25252525|(?:amp;){{4}}"
        queries = r"\?(?:[^&]*&){2}"
        self.suspects = f"{deep}|{queries}"
        self._deep = Lines(deep)
        self._queries = Lines(queries)

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self | None:
        return cls() if setup.settings["TRAP_RULES"] else None

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        trapped = set(self._deep.among(urls))
        trapped.update(url for url in self._queries.among(urls) if _repeats(url.partition("?")[2].split("&")))
        return leave_out(urls, trapped)


def _repeats(parameters: list[str]) -> bool:
    named = [one for one in parameters if one]
    return len(named) - len(set(named)) > 1 and any(named.count(one) > 2 for one in set(named))
