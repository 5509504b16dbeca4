"""Reads the links of a page's body, by what it is, and follows them: which kinds, and how many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, repeat
from operator import itemgetter
from urllib.parse import quote

from webcrawl.base.model import Exchange, Link, is_sitemap, redirects_in_a_row
from webcrawl.base.numbers import FEW
from webcrawl.content.formats.document_reader import NAMES, DocumentReader
from webcrawl.content.html.link_kinds import REFRESH, DocumentLinks, FoundLink, is_nofollow
from webcrawl.content.page import Page
from webcrawl.crawl.clock import CrawlClock
from webcrawl.crawl.discovery import Discovery, fitting_links
from webcrawl.crawl.moments import Moments
from webcrawl.crawl.withholding import forget_links
from webcrawl.net.ftp import split_type
from webcrawl.net.ftp_listing import LISTING, entries
from webcrawl.net.gopher import MENU, item_url, items


def ftp_links(body: bytes, content_type: str, url: str) -> DocumentLinks:
    """Return the entries of an FTP folder as links, without names that point elsewhere."""
    base = split_type(url)[0]
    if not base.endswith("/"):  # else the names would replace that of the folder
        base += "/"
    found = DocumentLinks(base, _encoding(body))
    for entry in entries(body, mlsd=content_type.endswith("format=mlsd")):
        points_elsewhere = entry.name in (b".", b"..") or b"/" in entry.name
        if entry.kind == "other" or points_elsewhere:
            continue
        address = quote(entry.name, safe="")
        if entry.kind == "folder":
            address += "/"
        found.links.append(_link(address, entry.name, found.encoding))
    return found


def menu_links(body: bytes, _: str, url: str) -> DocumentLinks:
    """Return the items of a Gopher menu that are resources; searches are not."""
    found = DocumentLinks(url, _encoding(body))
    for item in items(body):
        link = item_url(item)
        if link:
            found.links.append(_link(link, item.display, found.encoding))
    return found


LISTINGS: dict[str, Callable[[bytes, str, str], DocumentLinks]] = {
    LISTING: ftp_links,
    MENU: menu_links,
}
"""Content type -> the function that extracts the links of such a body, as LinkReader.links does for HTML."""


def _link(href: str, name: bytes, encoding: str) -> FoundLink:
    return "a", href, name.decode(encoding, "replace").strip(), ""


def _encoding(body: bytes) -> str:
    """Return UTF-8 if the bytes are valid (RFC 2640 for FTP), else windows-1252.

    Neither protocol declares an encoding.
    """
    try:
        body.decode()
    except UnicodeDecodeError:
        return "windows-1252"
    return "utf-8"


class PageReading:
    """Reads documents and sitemaps.

    The two readers of each pair are equal; the second one is for `read_ahead`, which may run in a
    thread beside `read`.
    """

    def __init__(
        self,
        readers: tuple[DocumentReader, DocumentReader],
        of_sitemaps: tuple[DocumentReader, DocumentReader],
        counters: Counter[str],
        moments: Moments,
        clock: CrawlClock,
        *,
        most: int,
    ) -> None:
        """`most`: bytes of a document that are read; a sitemap and a PDF are read whole."""
        self.most = most
        self._reader, self._ahead = readers
        self._of_sitemaps = of_sitemaps
        self._counters = counters
        self._moments = moments
        self._clock = clock

    def read_ahead(self, link: Link, exchange: Exchange) -> None:
        """Read the links of a large page, before `visit`; one call at a time, from any thread."""
        if 200 <= exchange.status < 300:
            reads_sitemap = is_sitemap(link.path)
            reader = self._of_sitemaps[1] if reads_sitemap else self._ahead
            body = exchange.body if reads_sitemap else exchange.body[: self.most]
            exchange.state.found = reader.links(
                body, exchange.content_type, link.url, headers=exchange.headers
            )

    def read(self, page: Page, exchange: Exchange) -> None:
        """Read a body, set the page's links, base, encoding and title, and tell the hearers.

        What `read_ahead` has found of it is taken in place of a second reading.
        """
        listing_links = LISTINGS.get(page.content_type)
        if listing_links is not None:
            found = listing_links(exchange.body[: self.most], exchange.content_type, page.url)
        else:
            link = page.link
            reads_sitemap = link is not None and is_sitemap(link.path)
            reader = self._of_sitemaps[0] if reads_sitemap else self._reader
            body = exchange.body if reads_sitemap else exchange.body[: self.most]
            # By the URL of the exchange, not of the page: a browser may have followed a redirect.
            found = exchange.state.found or reader.links(
                body, exchange.content_type, exchange.url, headers=exchange.headers
            )
            if not NAMES.isdisjoint(exchange.names):
                self._reader.add_headers(found, exchange.headers, exchange.url)
            if found.note:  # why a PDF may have more links, for the crawl log
                exchange.state.notes += (found.note,)
                self._counters.update([found.note.replace(":", "/")])
        page.base = found.base
        page.encoding = found.encoding
        page.found = found
        page.title = found.title
        page.meta_robots = found.meta_robots
        for on_body_read in self._moments.on_body_read:
            on_body_read(page, self._clock())


KIND, ADDRESS = itemgetter(0), itemgetter(1)  # of a link
# Heritrix's letters for the ways to a URL; all other kinds of links are L.
HOPS = {
    **dict.fromkeys(("img", "srcset", "script", "style", "media", "object", "link"), "E"),
    "refresh": "R",
}

# Links of one page that are followed, the first ones: room for any index, and a bound for a page
# that is made to flood the frontier (docs/hostile-and-secure.md). FTP listings and Gopher menus are
# never truncated.
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
        """Return the letters of some kinds of links in a discovery path.

        Where E means a requisite, `link` is not one.
        """
        return {**HOPS, "link": "L"} if self.requisites else HOPS

    def forbids(self, page: Page) -> bool:
        """Return whether no link of this page may be followed."""
        return self.obey_nofollow and "nofollow" in page.said_so_far.directives


class PageLinks:
    """Submits links of pages that were visited.

    A link is a FoundLink, a tuple of kind, address, text and rel. A *hop* is its letter in the
    discovery path.
    """

    def __init__(
        self, discovery: Discovery, rules: LinkRules, wanted: frozenset[str], moments: Moments
    ) -> None:
        """`wanted`: the kinds of links that are read."""
        self._discovery = discovery
        self._takes = moments.next_links
        self._rules = rules
        self._followed = rules.followed
        self._redirects = rules.redirects
        self._most = rules.most
        self._obey_nofollow = rules.obey_nofollow
        self._hops = rules.hops
        # Kinds that are read for the link log alone are not followed.
        reads_more = not wanted <= rules.followed
        self._selects = rules.obey_nofollow or reads_more

    def follow(self, page: Page, links: Sequence[FoundLink] | None = None) -> None:
        """Submit the links of a page that was visited, or only these.

        Sets `page.followed`. Of a page that is withheld the links are forgotten afterwards.
        """
        link = page.link
        if link is not None:
            page.followed = ()
            found = page.found.links if page.found is not None else ()
            self._follow(page, link, found, found if links is None else links)
        if page.exchange is not None and page.exchange.state.withheld is not None:
            forget_links(page)

    def _follow(
        self, page: Page, link: Link, own: Sequence[FoundLink], found: Sequence[FoundLink]
    ) -> None:
        """Submit the `found` links, unless a rule or a feature wants otherwise.

        `own`: all links that the page has. Sets `page.followed`, and `page.flags`: for each of the
        page's links whether it was followed, or None if that is not known.
        """
        for next_links in self._takes:
            found = next_links(page, link, found)
        if not found or (self._obey_nofollow and self._rules.forbids(page)):
            return
        # Usually all kinds that are read are followed: then no link is looked at here.
        flags = None
        wanted = found
        is_last_hop = redirects_in_a_row(link.path) >= self._redirects
        if self._selects or is_last_hop:
            flags = self._wanted(found, is_last_hop=is_last_hop)
            wanted = list(compress(found, flags))
        if is_last_hop and REFRESH in self._followed:
            for one in found:
                if one[0] == REFRESH:
                    self._discovery.redirected_too_often(link, one[1], page.base)
        kept = self.truncated(page, link, wanted)
        has_flag_for_each = found is own and kept is wanted  # flags are of all links of the page
        page.flags = flags if has_flag_for_each else None
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
        """Submit these links of a page.

        `hops`: the letters of some kinds; those of all others are `other`. `needed`: the page needs
        them to be shown (requisites.py).
        """
        # Most pages have links of one letter, which then stands for all of them.
        letters = "".join(set(map(hops.get, set(map(KIND, found)), repeat(other))))
        if len(letters) > 1:
            letters = "".join([hops.get(one[0], other) for one in found])
        addresses = [*map(ADDRESS, found)]
        # Where canonical addresses are kept, for outputs. They ask for them only if links of all
        # kinds were read.
        document = page.found
        targets = None
        if document is not None and document.whole and document.base == page.base:
            targets = document.targets
        self._discovery.discover(
            link, addresses, letters, base=page.base, needed=needed, targets=targets
        )

    def truncated(self, page: Page, link: Link, found: Sequence[FoundLink]) -> Sequence[FoundLink]:
        """Return the links of a page, only the first ones if they are too many or too long."""
        if len(found) <= min(FEW, self._most):  # so few are never too long
            return found
        first = found if page.content_type in LISTINGS else found[: self._most]
        kept = fitting_links(link, page.base, [*map(ADDRESS, first)])
        if kept == len(found):
            return found
        self._discovery.count_truncated_links(len(found) - kept)
        if page.exchange is not None:
            page.exchange.state.truncated_links += len(found) - kept
        return found[:kept]

    def _wanted(self, found: Sequence[FoundLink], *, is_last_hop: bool) -> list[bool]:
        """Return for each link whether its kind is followed, and its rel allows that.

        `is_last_hop`: no further redirect in a row is followed, and so no refresh.
        """
        kinds = self._followed
        if is_last_hop:
            kinds -= {REFRESH}
        if self._obey_nofollow:
            # By kind, and by rel if the link has one.
            return [one[0] in kinds and not (one[3] and is_nofollow(one[3])) for one in found]
        return list(map(kinds.__contains__, map(KIND, found)))
