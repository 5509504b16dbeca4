"""Links of good pages come first, by the scores of a SCORER (docs/order-and-budgets.md#prefer-good-pages)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from webcrawl.base.model import Link
from webcrawl.base.page_values import PageScores
from webcrawl.base.url_text import host_of
from webcrawl.frontier.prioritizers import Popularity

# The power to which the score that a link gives is raised before all are added: a good one outweighs
# many middling ones. The mean of the links was worst where a good page is linked from many others.
SHARP = 4
SITE = 0.25  # what a site's history weighs beside one link of a page with the score 1
# average pages that are counted in with those of each site: of few pages little is known
DOUBT = 2.0
PENDING = 256  # pages whose links may still be heard: most are in the same turn of the event loop
# Names in the table, which has URLs and sites otherwise; none of these has a blank. ALL stands for the
# sum of all sites. PAGES is behind the name of a site, or ALL, for its number of pages.
ALL, PAGES = " all", " pages"


class ByFocus:
    """A URL is worth what the links to it say, by their pages and their words, and what its site
    has given so far.

    All links come in at the last level; of what waits the URLs that are worth most are chosen.
    """

    def __init__(self, levels: int) -> None:
        self._last = levels - 1
        self._table = Popularity(bytes(16), 0)
        self._site: Callable[[str], str] = str
        # by page: its value and scores, until its links are heard
        self._said: dict[str, tuple[float, PageScores]] = {}

    def focus(self, site: Callable[[str], str], languages: Sequence[str], /) -> None:
        del languages
        self._site = site

    def learn(self, table: Popularity, /) -> None:
        self._table = table

    def scored(self, page: str, scored: PageScores, /) -> None:
        """Add a page's value to the mean of its site and of all sites; keep it for its links."""
        value = self.value(scored)
        if value is None:
            return
        for name in (self._site(host_of(page)), ALL):
            self._table.add([name], value)
            self._table.add([name + PAGES], 1.0)
        if len(self._said) >= PENDING:
            del self._said[next(iter(self._said))]
        self._said[page] = value, scored

    def heard(self, page: str, urls: Sequence[str], /) -> None:
        """Add to each link's worth what the page says of it; nothing if the page has no score."""
        self._table.take(page)
        known = self._said.get(page)
        if known is None:
            return
        value, scored = known
        for url in urls:
            if url == page:
                continue
            said = self.of_link(url, value, scored)
            if said > 0:
                self._table.add([url], said**SHARP)

    def value(self, scored: PageScores, /) -> float | None:
        """Return the worth of a page, from 0 to 1; None if it has no score."""
        return scored.score

    def of_link(self, url: str, page: float, scored: PageScores, /) -> float:
        """Return what a link says: as much as its page, or the mean with better words of its own.

        Words that are worse than the page are as often just not about anything: `more`, `next`.
        """
        return (page + max(page, scored.anchors.get(url, 0.0))) / 2

    def level(self, link: Link) -> int:
        del link
        return self._last

    def worth(self, url: str, /) -> float:
        return self._table.of(url) + SITE * self.history(url)[0]

    def history(self, url: str, /) -> tuple[float, int]:
        """Return the mean value of the pages of a URL's site, and how many they are.

        DOUBT pages of the average of all sites are counted in, so a site without pages has that.

        As the table may have forgotten a part of the sum, it may be too small; it is never too
        large.
        """
        of = self._table.of
        site = self._site(host_of(url))
        pages = of(site + PAGES)
        usual = min(of(ALL) / (of(ALL + PAGES) or 1.0), 1.0)
        return (min(of(site), pages) + DOUBT * usual) / (pages + DOUBT), int(pages)
