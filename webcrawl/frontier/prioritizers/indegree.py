"""Pages that many known links lead to come first (Cho, Garcia-Molina and Page's backlink count)."""

from __future__ import annotations

from collections.abc import Sequence

from webcrawl.base.model import Link
from webcrawl.frontier.popularity import Popularity


class ByIndegree:
    """All links come in at the last level; of what waits the URLs with the most links are chosen."""

    def __init__(self, levels: int) -> None:
        self._last = levels - 1
        self._links = Popularity(bytes(16), 0)

    def learn(self, table: Popularity, /) -> None:
        self._links = table

    def heard(self, page: str, urls: Sequence[str], /) -> None:
        self._links.take(page)  # it need not be known any more
        self._links.add([url for url in urls if url != page], 1.0)

    def level(self, link: Link) -> int:
        del link
        return self._last

    def worth(self, url: str, /) -> float:
        return self._links.of(url)
