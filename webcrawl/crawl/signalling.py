"""Passes what sitemaps, feeds and hubs say of pages on to revisits (docs/revisits.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from webcrawl.base.model import Link
from webcrawl.base.url_text import host_of
from webcrawl.content.formats.listings import ListingEntry
from webcrawl.content.page import Page
from webcrawl.crawl.moments import Feature
from webcrawl.crawl.revisit.signals import Dated, Signals
from webcrawl.urls.canonical import canonical_links
from webcrawl.urls.link_pipeline import LinkPipeline

ROLES = frozenset(("item", "sitemap", "guid"))
Tell = Callable[[str, float, str], bool]


class Signalling(Feature):
    """Has pages fetched again of which listings say that they have changed.

    A *listing* is a sitemap or a feed; a *hub* sends the new entries of a feed by itself (WebSub).
    A sitemap speaks for its own host, and a feed for its registered domain; all other URLs that
    they name are links only.
    """

    def __init__(
        self,
        signals: Signals,
        tell: Tell,
        pipeline: LinkPipeline,
        site_of: Callable[[str], str],
        is_ours: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """`tell` has a page fetched ahead of its turn; it returns False if that is not done.

        `is_ours`: whether this drone of a hive fetches a URL.
        """
        self.signals = signals
        self._tell = tell
        self._pipeline = pipeline
        self.site_of = site_of
        self.is_ours = is_ours
        self.offered: Callable[[Page], None] | None = None  # gets every page that may name a hub

    def on_body_read(self, page: Page, now: float) -> None:
        """Heed a page whose body was read. Call it once for each fetch that brought one."""
        if self.offered is not None:
            self.offered(page)
        if page.found is None or page.link is None or not page.found.entries:
            return
        entries = dated(page.found.entries, page.url, page.base, self.site_of)
        # The URLs whose dates say that they have changed, and that are worth a fetch.
        newer = self.signals.read(page.url, entries, now, whole=not page.truncated)
        self.signals.count_news(page.url, self._fetch_ahead(newer, page.link, now))

    def pushed(self, topic: Link, entries: Sequence[ListingEntry], now: float) -> None:
        """Heed what a hub has sent: entries of this feed, or none if the page itself has news."""
        found = dated(entries, topic.url, topic.url, self.site_of)
        self._fetch_ahead(self.signals.pushed(topic.url, found, now), topic, now)

    def _fetch_ahead(self, urls: list[str], page: Link, now: float) -> int:
        """Have these URLs fetched ahead of their turns; return how many are.

        Not those that another drone fetches, or that a filter drops as links of this page.
        """
        ours = list(filter(self.is_ours, urls))
        if len(ours) < len(urls):
            self.signals.counters["signals/elsewhere"] += len(urls) - len(ours)
        if not ours:
            return 0
        kept = self._pipeline.passing(page.url, page.depth + 1, ours, "", f"{page.path}L")
        return sum(self._tell(url, now, page.url) for url in ours if url in kept)


def dated(
    entries: Sequence[ListingEntry], url: str, base: str, site_of: Callable[[str], str]
) -> list[Dated]:
    """Return URLs and dates of the entries that a listing at `url` may speak for, in its order.

    `base`: the URL that its links are relative to; empty: its own. `site_of` returns the registered
    domain.
    """
    wanted = [entry for entry in entries if entry.role in ROLES]
    addresses = canonical_links(base or url, [entry.url for entry in wanted], Counter())
    host = host_of(url)
    site = site_of(url)
    own: list[Dated] = []
    for entry in wanted:
        address = addresses[entry.url]
        if address is None:  # no valid URL
            continue
        is_own = host_of(address) == host
        if not is_own and entry.kind == "feed":
            # Last: a registered domain takes longer to find than a host
            is_own = site_of(address) == site
        if is_own:
            own.append((address, entry.modified))
    return own
