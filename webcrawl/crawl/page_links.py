"""Follows the links of a page: which kinds of them, and how many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import itemgetter

from webcrawl.base.model import Link, redirects_in_a_row
from webcrawl.base.row_bound import FEW
from webcrawl.content.html.link_kinds import FoundLink, is_nofollow
from webcrawl.content.page import Page
from webcrawl.crawl.discovery import Discovery, fitting_links
from webcrawl.crawl.moments import Moments
from webcrawl.crawl.page_reading import LISTINGS
from webcrawl.crawl.withholding import forget_links

KIND, ADDRESS = itemgetter(0), itemgetter(1)  # of a link
# Heritrix's letters for the ways to a URL; all other kinds of links are L.
HOPS = {**dict.fromkeys(("img", "srcset", "script", "style", "media", "object", "link"), "E"), "refresh": "R"}

# Links of one page that are followed, the first ones: room for any index, and a bound for a page that is made to flood
# the frontier (docs/hostile.md). FTP listings and Gopher menus are never cut.
MOST_LINKS = 50_000


@dataclass(frozen=True, slots=True)
class LinkRules:
    """The settings about links and bodies seen before."""

    followed: frozenset[str]  # kinds of links
    redirects: int  # how many in a row
    skip_seen: bool
    obey_nofollow: bool
    most: int = MOST_LINKS  # of one page
    requisites: bool = False  # what pages need to be shown is fetched beyond the scope

    @property
    def hops(self) -> Mapping[str, str]:
        """The letters of some kinds of links in a discovery path; where E means a requisite, a link is none."""
        return {**HOPS, "link": "L"} if self.requisites else HOPS

    def forbids(self, page: Page) -> bool:
        """True if no link of this page is to be followed."""
        return self.obey_nofollow and "nofollow" in page.said_so_far.directives


class PageLinks:
    """Submits links of pages that were visited."""

    def __init__(self, discovery: Discovery, rules: LinkRules, wanted: frozenset[str], moments: Moments) -> None:
        """`wanted`: the kinds of links that are read."""
        self._discovery, self._takes, self._rules = discovery, moments.links, rules
        self._followed, self._redirects, self._most = rules.followed, rules.redirects, rules.most
        self._obey_nofollow, self._hops = rules.obey_nofollow, rules.hops
        self._reads_more = not wanted <= rules.followed

    def follow(self, page: Page, links: Sequence[FoundLink] | None = None) -> None:
        """Submits the links of a page that was visited, or only these."""
        link = page.link
        if link is not None:
            page.followed = ()
            found = page.found.links if page.found is not None else ()
            self._follow(page, link, found, found if links is None else links)
        if page.exchange is not None and page.exchange.withheld is not None:
            forget_links(page)

    def _follow(self, page: Page, link: Link, own: Sequence[FoundLink], found: Sequence[FoundLink]) -> None:
        """`own`: all that the page has."""
        for take in self._takes:
            found = take(page, link, found)
        if not found or (self._obey_nofollow and self._rules.forbids(page)):
            return
        flags, wanted = None, found
        if self._obey_nofollow or self._reads_more or redirects_in_a_row(link.path) >= self._redirects:
            flags = self._wanted(link, found)
            wanted = list(compress(found, flags))
        kept = self.cut(page, link, wanted)
        page.flags = flags if found is own and kept is wanted else None  # they are of all that the page has
        page.followed = [*page.followed, *kept] if page.followed else kept
        self.submit(page, link, kept, self._hops)

    def submit(
        self,
        page: Page,
        link: Link,
        found: Sequence[FoundLink],
        hops: Mapping[str, str],
        other: str = "L",
        *,
        needed: bool = False,
    ) -> None:
        """These links of a page. `hops`: the letters of some kinds; those of all others are `other`."""
        letters = "".join({hops.get(kind, other) for kind in set(map(KIND, found))})
        if len(letters) > 1:
            letters = "".join([hops.get(one[0], other) for one in found])
        addresses = [*map(ADDRESS, found)]
        read = page.found  # outputs ask for the canonical forms only if links of all kinds were read
        targets = read.targets if read is not None and read.whole and read.base == page.base else None
        self._discovery.discover(link, addresses, letters, base=page.base, needed=needed, targets=targets)

    def cut(self, page: Page, link: Link, found: Sequence[FoundLink]) -> Sequence[FoundLink]:
        """The first links of a page that has too many, or too long ones."""
        if len(found) <= min(FEW, self._most):
            return found
        first = found if page.content_type in LISTINGS else found[: self._most]
        kept = fitting_links(link, page.base, [*map(ADDRESS, first)])
        if kept == len(found):
            return found
        self._discovery.count_truncated_links(len(found) - kept)
        if page.exchange is not None:
            page.exchange.links_cut += len(found) - kept
        return found[:kept]

    def _wanted(self, link: Link, found: Sequence[FoundLink]) -> list[bool]:
        """Of each link, whether it is of a kind that is followed and does not say otherwise."""
        kinds = self._followed
        if redirects_in_a_row(link.path) >= self._redirects:
            kinds -= {"refresh"}
        if self._obey_nofollow:
            return [one[0] in kinds and not (one[3] and is_nofollow(one[3])) for one in found]
        return list(map(kinds.__contains__, map(KIND, found)))
