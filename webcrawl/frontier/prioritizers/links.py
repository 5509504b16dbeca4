"""Orders by who links to a page: the number of links, OPIC's cash, the reputation of the domain."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from webcrawl.base.model import Link
from webcrawl.frontier.prioritizers import Popularity


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


OWN = 1.0  # cash that each page brings


class ByOpic:
    """A page that is fetched gives its own cash, and all that it was given, to those it links to,
    in equal parts.

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


class ByReputation:
    """The last level for up to one other domain that links to a link's domain, one level higher for
    each doubling.

    The links of a page are counted before they come here, and written once per checkpoint: a new
    domain begins low.
    """

    def __init__(self, levels: int) -> None:
        self.last = levels - 1
        self._links_to: Callable[[str], int] = _none

    def inform(self, links_to: Callable[[str], int], /) -> None:
        self._links_to = links_to

    def level(self, link: Link) -> int:
        links = self._links_to(link.url)
        return max(self.last - max(links, 1).bit_length() + 1, 0)


def _none(_: str) -> int:
    return 0
