"""Which sitemaps hosts are asked for, and when; how many URLs they may bring.

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
from webcrawl.content.html.link_kinds import FoundLink
from webcrawl.content.page import Page
from webcrawl.crawl.discovery import Discovery, fitting_links
from webcrawl.crawl.moments import Feature
from webcrawl.crawl.page_links import ADDRESS, LinkRules, PageLinks
from webcrawl.crawl.parts import Parts
from webcrawl.frontier.protocol import Frontier
from webcrawl.net.robots_book import SCHEMES, origin_of, robots_url

GROWN = 10  # pages with which a host is worth a sitemap
NAME = "/sitemap.xml"


class Sitemaps(Feature):
    """Submits sitemaps as links of the page that made them worth a request, and bounds what they
    name.
    """

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
        """`named`: what the robots.txt of a URL's host names. `has_listing`: whether a sitemap of a
        host was read.

        With it hosts are asked for the usual name, too, if nothing is known.
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
        """Have sitemaps read in this crawl. `looks`: hosts are asked for the usual name as well."""
        has_listing = (
            parts.signalling.signals.has_listing
            if parts.signalling is not None
            else lambda _: False
        )
        sitemaps = cls(
            parts.discovery,
            rules,
            page_links,
            parts.frontier,
            parts.robots.book.sitemaps,
            parts.counters,
            has_listing if looks else None,
        )
        parts.moments.join(sitemaps)
        return sitemaps

    def next_links(self, page: Page, link: Link, found: Sequence[FoundLink]) -> Sequence[FoundLink]:
        """A seed's page may need its host's sitemaps; of a sitemap all links to sitemaps and pages
        are followed.
        """
        if page.found is None or not _concerns(link.path):
            return found
        if not is_sitemap(link.path):
            if len(found) < GROWN:  # it leads nowhere
                self._ask(link, [])
            return found
        if not self._rules.forbids(page):
            wanted = [one for one in found if one[0] in self._kinds]
            page.followed = taken = self._taken(link, self._page_links.cut(page, link, wanted))
            page.flags = None
            # else it names pages
            index = any(entry.role == "sitemap" for entry in page.found.entries)
            letter, hops = SITEMAP if index else "L", self._rules.hops
            letters = "".join(
                [letter if one[0] == "sitemap" else hops.get(one[0], "L") for one in taken]
            )
            self._discovery.discover(link, [*map(ADDRESS, taken)], letters, base=page.base)
        return ()

    def of_robots(self, page: Page) -> None:
        """Submits the sitemaps that a robots.txt names: links of the page that needed the rules,
        found there.
        """
        if page.link is not None and page.found is not None:
            page.followed = page.found.links
            self.named(page.link, page.found.base, [*map(ADDRESS, page.found.links)])

    def named(self, robots: Link, base: str, named: Sequence[str]) -> None:
        """The same, given by the robots.txt `base` and what it names."""
        self.follow(replace(robots, path=robots.path.removesuffix("P")), base, named)

    def follow(self, page: Link, base: str, named: Sequence[str]) -> None:
        """Submits the sitemaps that the robots.txt `base` names: links of the page that needed the
        rules.
        """
        kept = fitting_links(page, base, named)
        if kept < len(named):
            self._discovery.count_truncated_links(len(named) - kept)
        if kept:
            self._frontier.notes.take_listed(base, 0)
            self._discovery.discover(page, named[:kept], SITEMAP, base=base)

    def grown(self, page: Link) -> None:
        """A host has so many pages now that more requests are worth it.

        The seen store lets each happen once.
        """
        looks = self._has_listing is not None and not self._has_listing(host_of(page.url))
        self._ask(page, [NAME] if looks else [])

    def _ask(self, page: Link, usual: Sequence[str]) -> None:
        if page.url.startswith(SCHEMES) and not page.request:
            base = robots_url(origin_of(page.url))
            # else they would be its deepest
            page = self._discovery.at_entrance(replace(page, history="", chain=""))
            self.follow(page, base, self._named(page.url) or usual)

    def _taken(self, sitemap: Link, links: Sequence[FoundLink]) -> Sequence[FoundLink]:
        """The first links of a sitemap, as many as its host may have.

        One that is read again has had its turn.
        """
        if sitemap.history:
            return links
        most = self._frontier.notes.take_listed(sitemap.url, len(links) + 1) - 1
        kept = links[: max(most, 0)]
        self._counters["sitemaps/urls"] += len(kept)
        if len(kept) < len(links):
            self._counters["sitemaps/cut"] += len(links) - len(kept)
            self._discovery.count_truncated_links(len(links) - len(kept))
        return kept


@lru_cache(1024)  # as of all functions of a path, of which a crawl has few
def _concerns(path: str) -> bool:
    """True of a sitemap, and of a page that no link led to."""
    return is_sitemap(path) or depth_of(path) == 0
