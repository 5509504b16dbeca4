"""Turns an answer into a page: a redirect becomes a link, robots.txt is booked, a new page's links are submitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.listings import LISTINGS
from webcrawl.crawl.redirect_chain import follow
from webcrawl.formats.documents import DocumentReader
from webcrawl.html.found import Found, FoundLink, is_nofollow
from webcrawl.items import Page
from webcrawl.model import Exchange, Link
from webcrawl.net.robots_book import robots_url
from webcrawl.net.robots_policy import REDIRECTS
from webcrawl.seen.shells import SIZE, Shells
from webcrawl.urls.canonical import InvalidUrl, canonical

# Heritrix's letters for the ways to a URL; all other kinds of links are L.
HOPS = {**dict.fromkeys(("img", "srcset", "script", "style", "media", "object", "link"), "E"), "refresh": "R"}


@dataclass(frozen=True, slots=True)
class LinkRules:
    """What the settings say about links and bodies seen before."""

    followed: frozenset[str]  # kinds of links
    redirects: int  # how many in a row
    cookies: bool  # whether these get the cookies that were set on the way
    skip_seen: bool
    obey_nofollow: bool
    most: int = 0  # links of one page; 0: no limit
    home: Callable[[str], str] | None = None
    """Whose page a URL is, where the scope judges links by that: `host` or `domain`."""
    sitemaps: bool = False  # whether those are fetched that robots.txt names


class Visitor:
    """Turns every answer into a Page, and tells the crawl what follows from it."""

    def __init__(
        self,
        crawl: Crawl,
        digests: Callable[[bytes], bytes],
        readers: tuple[DocumentReader, DocumentReader],
        rules: LinkRules,
        shells: Shells,
    ) -> None:
        """The second of the readers, which are equal, is for `read_ahead`."""
        self._crawl, self._digests, self._shells = crawl, digests, shells
        self._reader, self._ahead = readers
        self._followed, self._redirects, self._cookies = rules.followed, rules.redirects, rules.cookies
        self._skip_seen, self._obey_nofollow, self._home = rules.skip_seen, rules.obey_nofollow, rules.home
        self._most, self._sitemaps = rules.most, rules.sitemaps
        self._reads_more = not self._reader.wanted <= rules.followed

    def visit(self, link: Link, exchange: Exchange) -> Page:
        """The page of this answer; `follow` submits its links."""
        page = Page.of(link, exchange)
        location = _location(exchange)
        if link.path.endswith("P"):
            chain = self._chain(link, exchange) if location else ""
            now = self._crawl.now()
            named = self._crawl.robots_answered(link, exchange.status, exchange.body, location, now, chain)
            if named and self._sitemaps:
                page.base = robots_url(link.history)
                page.found = Found(page.base, page.encoding, [("sitemap", url, "", "") for url in named])
        elif location:
            if _redirects(link) < self._redirects:
                self._crawl.redirected(link, location, self._chain(link, exchange))
        elif 200 <= exchange.status < 300 and exchange.body:
            page.digest = self._digests(exchange.body)
            page.duplicate = self._crawl.seen_body(page.digest)
            known = self._knows_links(page)
            if page.duplicate and self._crawl.comes_again(link):  # it was first seen as this very page
                page.duplicate = known = False
            if not page.duplicate:
                self._crawl.new_body(link, exchange.body)
            exchange.duplicate = page.duplicate
            if not (known and self._skip_seen):
                self._read(page, exchange)
            elif len(exchange.body) <= SIZE and self._home is None:
                self._read_shell(page, exchange, _redirects(link))
        return page

    def _chain(self, link: Link, exchange: Exchange) -> str:
        """What the target of a redirect takes with it."""
        if not self._cookies:
            return ""
        lines = [value for name, value in exchange.headers if name.lower() == b"set-cookie"]
        return follow(link.chain, self._crawl.key(link.url), link.url, lines, exchange.started)

    def _knows_links(self, page: Page) -> bool:
        """Whether the links of this body were submitted before.

        The same body on another site has the same links, but there others of them are in scope.
        """
        if self._home is None:
            return page.duplicate
        return self._crawl.seen_body(self._digests(page.digest + self._home(page.url).encode()))

    def _read_shell(self, page: Page, exchange: Exchange, redirects: int) -> None:
        """Reads a body whose links were submitted on another site, if they may lead to other pages on this one."""
        notes = self._shells.follows(page.digest, page.url, redirects)
        if not notes:
            return
        self._read(page, exchange)
        if page.links:
            exchange.followed = True
            for note in notes:
                self._crawl.seen_body(note)

    def robots_said(self, link: Link, status: int, body: bytes = b"") -> None:
        """An answer to a robots.txt request of which no exchange is known, or none."""
        self._crawl.robots_answered(link, status, body, None, self._crawl.now())

    def read_ahead(self, link: Link, exchange: Exchange) -> None:
        """Reads the links of a large page, before `visit`; one call at a time, from any thread."""
        if 200 <= exchange.status < 300:
            exchange.found = self._ahead.links(exchange.body, exchange.content_type, link.url)

    def _read(self, page: Page, exchange: Exchange) -> None:
        links = LISTINGS.get(page.content_type)
        if links is not None:
            found = links(exchange.body, exchange.content_type, page.url)
        else:  # a browser may have followed a redirect
            found = exchange.found or self._reader.links(exchange.body, exchange.content_type, exchange.url)
            self._reader.add_headers(found, exchange.headers, exchange.url)
            if found.note:
                exchange.notes += (found.note,)
                self._crawl.count([found.note.replace(":", "/")])
        page.base, page.encoding, page.found = found.base, found.encoding, found
        page.title, page.meta_robots = found.title, found.meta_robots

    def follow_robots(self, page: Page) -> None:
        """Submits the sitemaps that a robots.txt names: links of the page that needed the rules, found there."""
        if page.link is not None and page.found is not None:
            link = replace(page.link, path=page.link.path.removesuffix("P"))
            self._crawl.discover(link, [one[1] for one in page.found.links], lambda _: "L", base=page.base)

    def follow(self, page: Page, links: Sequence[FoundLink] | None = None) -> None:
        """Submits the links of a page that was visited, or only these."""
        link, found = page.link, links
        if found is None:
            found = page.found.links if page.found is not None else ()
        if link is None or not found or (self._obey_nofollow and "nofollow" in page.meta_robots):
            return
        if self._obey_nofollow or self._reads_more or _redirects(link) >= self._redirects:
            found = [one for one in found if self._follows(link, one[0], one[3])]
        if 0 < self._most < len(found) and page.content_type not in LISTINGS:
            self._crawl.cut(len(found) - self._most)
            if page.exchange is not None:
                page.exchange.links_cut = len(found) - self._most
            found = found[: self._most]
        self._crawl.discover(link, [one[1] for one in found], lambda at: HOPS.get(found[at][0], "L"), base=page.base)

    def _follows(self, link: Link, kind: str, rel: str) -> bool:
        if kind == "refresh" and _redirects(link) >= self._redirects:
            return False
        return kind in self._followed and not (self._obey_nofollow and is_nofollow(rel))


def _redirects(link: Link) -> int:
    """How many redirects in a row led here; a refresh is one."""
    return len(link.path) - len(link.path.rstrip("Rr"))


def _location(exchange: Exchange) -> str:
    """The canonical URL that the answer redirects to; empty if there is none, or none that can be fetched."""
    location = exchange.header(b"location") if exchange.status in REDIRECTS else None
    if location is None:
        return ""
    try:
        return canonical(location.decode("utf-8", "replace").strip(), exchange.url)
    except InvalidUrl:
        return ""
