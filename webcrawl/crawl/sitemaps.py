"""Which sitemaps are requested from hosts, and when; how many URLs they may bring.

A sitemap is a request more, and brings as many links as ten pages have, or a thousand. Most hosts
of a broad crawl have a few pages only. So the sitemaps that a robots.txt names wait until the host
has given GROWN pages, unless nothing else is known of it: a seed's page with fewer links than that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Self

from webcrawl.base.model import SITEMAP, Link, depth_of, is_sitemap
from webcrawl.base.url_text import host_of
from webcrawl.content.html.link_kinds import DocumentLinks, FoundLink
from webcrawl.content.page import Page
from webcrawl.crawl.discovery import Discovery, fitting_links
from webcrawl.crawl.moments import Feature
from webcrawl.crawl.page_links import ADDRESS, LinkRules, PageLinks
from webcrawl.crawl.parts import Parts
from webcrawl.frontier.protocol import Frontier
from webcrawl.net.robots_book import SCHEMES, origin_of, robots_url

# Of 1,927 real robots.txt files 57 % name sitemaps, 4.4 each: 2.5 requests more for each host of a
# broad crawl, if all were requested at once.
GROWN = 10  # pages with which a host is worth a sitemap
NAME = "/sitemap.xml"


class Sitemaps(Feature):
    """Submits sitemaps as links of the page that made them worth a request; bounds their links."""

    def __init__(
        self,
        discovery: Discovery,
        rules: LinkRules,
        page_links: PageLinks,
        frontier: Frontier,
        named: Callable[[str], Sequence[str]],
        counters: Counter[str],
        has_listing: Callable[[str], bool] | None = None,
    ) -> None:
        """`named` gives the sitemaps that the robots.txt of a URL's host names.

        `has_listing` says whether a sitemap of a host was read. With it, hosts get requests for the
        usual name, too, if no sitemap is known.
        """
        self._discovery = discovery
        self._frontier = frontier
        self._named = named
        self._rules = rules
        self._page_links = page_links
        self._kinds = rules.followed | {"sitemap"}
        self._counters = counters
        self._has_listing = has_listing
        frontier.notes.when_grown(GROWN, self.grown)

    @classmethod
    def open(cls, parts: Parts, rules: LinkRules, page_links: PageLinks, *, looks: bool) -> Self:
        """Set up the reading of sitemaps for this crawl.

        `looks`: whether a sitemap is also requested under the usual name.
        """
        has_listing: Callable[[str], bool] | None = None
        if looks:
            known = parts.signalling
            has_listing = known.signals.has_listing if known is not None else _has_none
        sitemaps = cls(
            parts.discovery,
            rules,
            page_links,
            parts.frontier,
            parts.robots.book.sitemaps,
            parts.counters,
            has_listing,
        )
        parts.moments.join(sitemaps)
        return sitemaps

    def next_links(self, page: Page, link: Link, found: Sequence[FoundLink]) -> Sequence[FoundLink]:
        """Submit the links of a sitemap, or the sitemaps of a seed's host whose page has few links.

        Return the links that are left for others: none of a sitemap.
        """
        if page.found is None or not _concerns(link.path):
            return found
        if is_sitemap(link.path):
            if not self._rules.forbids(page):
                self._follow_sitemap(page, link, page.found, found)
            return ()
        if len(found) < GROWN:  # the page leads nowhere: the host need not have grown first
            self._ask(link, [])
        return found

    def _follow_sitemap(
        self, page: Page, link: Link, document: DocumentLinks, found: Sequence[FoundLink]
    ) -> None:
        """Submit the links of a sitemap: to pages, or to further sitemaps if it is an index."""
        wanted = [one for one in found if one[0] in self._kinds]
        taken = self._taken(link, self._page_links.truncated(page, link, wanted))
        page.followed = taken
        page.flags = None
        is_index = any(entry.role == "sitemap" for entry in document.entries)
        # links of kind "sitemap" lead to sitemaps in an index, else to pages
        hops = {**self._rules.hops, "sitemap": SITEMAP if is_index else "L"}
        letters = "".join([hops.get(one[0], "L") for one in taken])
        self._discovery.discover(link, [*map(ADDRESS, taken)], letters, base=page.base)

    def of_robots(self, page: Page) -> None:
        """Submit the sitemaps of a robots.txt, as links of the page that needed the rules."""
        if page.link is not None and page.found is not None:
            page.followed = page.found.links
            self.named(page.link, page.found.base, [*map(ADDRESS, page.found.links)])

    def named(self, robots: Link, base: str, named: Sequence[str]) -> None:
        """Submit the sitemaps that the robots.txt `base` names, which was fetched for this link."""
        self.follow(replace(robots, path=robots.path.removesuffix("P")), base, named)

    def follow(self, page: Link, base: str, named: Sequence[str]) -> None:
        """Submit the sitemaps that the robots.txt `base` names, as links of this page."""
        kept = fitting_links(page, base, named)
        if kept < len(named):
            self._discovery.count_truncated_links(len(named) - kept)
        if kept:
            self._frontier.notes.take_listed(base, 0)
            self._discovery.discover(page, named[:kept], SITEMAP, base=base)

    def grown(self, page: Link) -> None:
        """Submit the sitemaps of a host that has given so many pages that they are worth it.

        The seen store lets each be fetched once.
        """
        looks = self._has_listing is not None and not self._has_listing(host_of(page.url))
        self._ask(page, [NAME] if looks else [])

    def _ask(self, page: Link, usual: Sequence[str]) -> None:
        """Submit the sitemaps that the robots.txt of the page's host names; else the usual ones."""
        if page.url.startswith(SCHEMES) and not page.request:
            base = robots_url(origin_of(page.url))
            page = self._discovery.at_entrance(page)
            self.follow(page, base, self._named(page.url) or usual)

    def _taken(self, sitemap: Link, links: Sequence[FoundLink]) -> Sequence[FoundLink]:
        """Return the first links of a sitemap, as many as its host may have.

        All links of a sitemap that is read again are returned: they were counted the first time.
        """
        if sitemap.history:
            return links
        # The sitemap itself counts as one of them, even if it is empty.
        most = self._frontier.notes.take_listed(sitemap.url, len(links) + 1) - 1
        kept = links[: max(most, 0)]
        self._counters["sitemaps/urls"] += len(kept)
        if len(kept) < len(links):
            # The name is in the states of crawls.
            self._counters["sitemaps/cut"] += len(links) - len(kept)
            self._discovery.count_truncated_links(len(links) - len(kept))
        return kept


def _has_none(_url: str) -> bool:
    """Return False: without revisits nothing is remembered of a listing."""
    return False


@lru_cache(1024)  # as of all functions of a path, of which a crawl has few
def _concerns(path: str) -> bool:
    """Return whether a URL is a sitemap, or a page to which no link led."""
    return is_sitemap(path) or depth_of(path) == 0
