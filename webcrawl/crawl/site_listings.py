"""Asks hosts for llms.txt, in which a site lists its documents in Markdown."""

from __future__ import annotations

from webcrawl.base.model import Link, depth_of
from webcrawl.content.formats.markdown import LISTING
from webcrawl.content.page import Page
from webcrawl.crawl.discovery import Discovery
from webcrawl.crawl.moments import Feature, FoundLinks
from webcrawl.crawl.parts import Parts
from webcrawl.crawl.sitemaps import GROWN
from webcrawl.net.robots_book import SCHEMES, origin_of


class SiteListings(Feature):
    """Submits the listing of a host as a link of its first page, if that is a seed, or of its tenth.

    It is one more request for each such host. The seen store lets each be fetched once.
    """

    def __init__(self, discovery: Discovery) -> None:
        self._discovery = discovery

    @classmethod
    def open(cls, parts: Parts) -> None:
        """Take part in this crawl."""
        listings = cls(parts.discovery)
        parts.moments.join(listings)
        parts.frontier.notes.when_grown(GROWN, listings.ask)

    def next_links(self, _page: Page, link: Link, found: FoundLinks) -> FoundLinks:
        """Ask the host of a page to which no link led. All links are left."""
        if depth_of(link.path) == 0:
            self.ask(link)
        return found

    def ask(self, page: Link) -> None:
        """Submit the listing of this page's host."""
        if page.url.startswith(SCHEMES) and not page.request:
            page = self._discovery.at_entrance(page)
            self._discovery.discover(page, [origin_of(page.url) + LISTING], "L")
