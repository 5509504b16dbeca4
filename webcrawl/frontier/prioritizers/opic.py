"""Pages with the most cash come first: OPIC (Abiteboul, Preda, Cobena 2003)."""

from __future__ import annotations

from collections.abc import Sequence

from webcrawl.base.model import Link
from webcrawl.frontier.popularity import Popularity

OWN = 1.0  # cash that each page brings


class ByOpic:
    """A page that is fetched gives its own cash, and all that it was given, to those it links to, in equal parts.

    All links come in at the last level; of what waits the URLs with the most cash are chosen.
    """

    def __init__(self, levels: int) -> None:
        self._last = levels - 1
        self._cash = Popularity(bytes(16), 0)

    def learn(self, table: Popularity, /) -> None:
        self._cash = table

    def heard(self, page: str, urls: Sequence[str], /) -> None:
        others = [url for url in urls if url != page]
        if others:
            self._cash.add(others, (OWN + self._cash.take(page)) / len(others))

    def level(self, link: Link) -> int:
        del link
        return self._last

    def worth(self, url: str, /) -> float:
        return self._cash.of(url)
