"""Follows the links of a page: which kinds, how many, what it needs to be shown, and what sitemaps name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from operator import itemgetter

from webcrawl.base.model import Link, is_sitemap, redirects_in_a_row
from webcrawl.base.room import FEW
from webcrawl.content.html.found_links import FoundLink, is_nofollow
from webcrawl.content.page import Page
from webcrawl.crawl.discovery import Discovery, fitting_links
from webcrawl.crawl.listings import LISTINGS
from webcrawl.crawl.requisites import FRAMES, is_needed, is_requisite, may_need
from webcrawl.crawl.sitemaps import Sitemaps, concerns
from webcrawl.crawl.withholding import forget_links
from webcrawl.net.robots_book import robots_url

KIND, ADDRESS = itemgetter(0), itemgetter(1)  # of a link
# Heritrix's letters for the ways to a URL; all other kinds of links are L.
HOPS = {**dict.fromkeys(("img", "srcset", "script", "style", "media", "object", "link"), "E"), "refresh": "R"}
NEEDED = {"refresh": "R"}  # all other requisites are E


@dataclass(frozen=True, slots=True)
class LinkRules:
    """The settings about links and bodies seen before."""

    followed: frozenset[str]  # kinds of links
    redirects: int  # how many in a row
    cookies: bool  # whether these get the cookies that were set on the way
    skip_seen: bool
    obey_nofollow: bool
    most: int = 0  # links of one page; 0: no limit
    home: Callable[[str], str] | None = None
    """Names whose page a URL is, where the scope judges links by that: `host` or `domain`."""
    requisites: bool = False  # what pages need to be shown is fetched beyond the scope


class PageLinks:
    """Submits links of pages that were visited."""

    def __init__(
        self, discovery: Discovery, rules: LinkRules, wanted: frozenset[str], sitemaps: Sitemaps | None
    ) -> None:
        """`wanted`: the kinds of links that are read."""
        self._discovery, self.sitemaps = discovery, sitemaps
        self._followed, self._redirects, self._most = rules.followed, rules.redirects, rules.most
        self._obey_nofollow, self._requisites = rules.obey_nofollow, rules.requisites
        self._hops = {**HOPS, "link": "L"} if rules.requisites else HOPS  # then E means a requisite
        self._reads_more = not wanted <= rules.followed

    def follow(self, page: Page, links: Sequence[FoundLink] | None = None) -> None:
        """Submits the links of a page that was visited, or only these."""
        link = page.link
        if link is not None and concerns(link.path) and self.sitemaps is not None and page.found is not None:
            self._follow_with(self.sitemaps, page, link, page.found.links if links is None else links)
        else:
            self._follow(page, links)
        if page.exchange is not None and page.exchange.withheld is not None:
            forget_links(page)

    def _follow_with(self, sitemaps: Sitemaps, page: Page, link: Link, links: Sequence[FoundLink]) -> None:
        """A seed's page may need its host's sitemaps; of a sitemap all links to sitemaps and pages are followed."""
        if not is_sitemap(link.path):
            sitemaps.begun(link, len(links))
            self._follow(page, links)
        elif page.found is not None and not (self._obey_nofollow and "nofollow" in page.said_so_far.directives):
            kinds = self._followed | {"sitemap"}
            links = sitemaps.taken(link, self._cut(page, link, [one for one in links if one[0] in kinds]))
            page.followed, page.flags = links, None
            letter = sitemaps.letter(page.found)
            hops = "".join([letter if one[0] == "sitemap" else self._hops.get(one[0], "L") for one in links])
            self._discovery.discover(link, [*map(ADDRESS, links)], hops, base=page.base)

    def _follow(self, page: Page, links: Sequence[FoundLink] | None) -> None:
        link, found = page.link, links
        if found is None:
            found = page.found.links if page.found is not None else ()
        if link is None or not found or (self._obey_nofollow and "nofollow" in page.said_so_far.directives):
            return
        needed: Sequence[FoundLink] = ()
        flags: Sequence[bool] | None = None
        if self._requisites:
            found, needed = self._apart(page, link, found)
        if self._obey_nofollow or self._reads_more or redirects_in_a_row(link.path) >= self._redirects:
            flags = self._wanted(link, found)
            found = list(compress(found, flags))
        kept = self._cut(page, link, found)
        if needed:
            needed = self._cut(page, link, needed)
        if links is not None or self._requisites or kept is not found:
            flags = None  # they are of these, and not of all that the page has
        found = kept
        page.followed, page.flags = [*needed, *found] if needed else found, flags
        if needed:  # first: a page is shown by these
            self._discover(page, link, needed, needed=True)
        self._discover(page, link, found)

    def _discover(self, page: Page, link: Link, found: Sequence[FoundLink], *, needed: bool = False) -> None:
        hops, other = (NEEDED, "E") if needed else (self._hops, "L")
        letters = "".join({hops.get(kind, other) for kind in set(map(KIND, found))})
        if len(letters) > 1:
            letters = "".join([hops.get(one[0], other) for one in found])
        addresses = [*map(ADDRESS, found)]
        read = page.found  # outputs ask for the canonical forms only if links of all kinds were read
        targets = read.targets if read is not None and read.whole and read.base == page.base else None
        self._discovery.discover(link, addresses, letters, base=page.base, needed=needed, targets=targets)

    def _cut(self, page: Page, link: Link, found: Sequence[FoundLink]) -> Sequence[FoundLink]:
        """The first links of a page that has too many, or too long ones."""
        if len(found) <= FEW and not 0 < self._most < len(found):
            return found
        first = found if self._most == 0 or page.content_type in LISTINGS else found[: self._most]
        kept = fitting_links(link, page.base, [*map(ADDRESS, first)])
        if kept == len(found):
            return found
        self._discovery.count_truncated_links(len(found) - kept)
        if page.exchange is not None:
            page.exchange.links_cut += len(found) - kept
        return found[:kept]

    def _apart(
        self, page: Page, link: Link, found: Sequence[FoundLink]
    ) -> tuple[Sequence[FoundLink], Sequence[FoundLink]]:
        """The links that may be followed, and what the page needs to be shown, wherever that is.

        Of a page that is shown in another, and not one of the crawl itself, no link is followed. A frame is a link
        too: it is followed as one if it passes the filters.
        """
        home = not is_needed(link.path) or self._discovery.is_within(page.url)
        links, needed = [], []
        near, frames = may_need(link.path), self._passing_frames(page, link, found) if home else frozenset()
        for one in found:
            if near and is_requisite(one) and one[1] not in frames:
                needed.append(one)
            elif home:
                links.append(one)
            elif one[0] == "refresh" and redirects_in_a_row(link.path) < self._redirects:
                needed.append(one)
        return links, needed

    def _passing_frames(self, page: Page, link: Link, found: Sequence[FoundLink]) -> frozenset[str]:
        addresses = [one[1] for one in found if one[0] in FRAMES and one[0] in self._followed]
        return self._discovery.passing(link, addresses, page.base) if addresses else frozenset()

    def _wanted(self, link: Link, found: Sequence[FoundLink]) -> list[bool]:
        """Of each link, whether it is of a kind that is followed and does not say otherwise."""
        kinds = self._followed
        if redirects_in_a_row(link.path) >= self._redirects:
            kinds -= {"refresh"}
        if self._obey_nofollow:
            return [one[0] in kinds and not (one[3] and is_nofollow(one[3])) for one in found]
        return list(map(kinds.__contains__, map(KIND, found)))

    def follow_robots(self, page: Page) -> None:
        """Submits the sitemaps that a robots.txt names: links of the page that needed the rules, found there."""
        if page.link is not None and page.found is not None and self.sitemaps is not None:
            link = replace(page.link, path=page.link.path.removesuffix("P"))
            page.followed = page.found.links
            self.sitemaps.follow(link, page.found.base, [*map(ADDRESS, page.found.links)])

    def follow_named(self, link: Link, named: Sequence[str]) -> None:
        """The same, of a robots.txt that another drone has fetched."""
        if named and self.sitemaps is not None:
            self.sitemaps.follow(replace(link, path=link.path.removesuffix("P")), robots_url(link.history), named)
