"""Turns an answer into a page: a redirect becomes a link, robots.txt is booked, a new page's links are submitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.listings import LISTINGS
from webcrawl.html.links import LinkReader
from webcrawl.items import Page
from webcrawl.model import Exchange, Link, Outcome
from webcrawl.net.robots_policy import REDIRECTS
from webcrawl.urls.canonical import InvalidUrl, canonical

# Heritrix's letters for the ways to a URL; all other kinds of links are L.
HOPS = {**dict.fromkeys(("img", "srcset", "script", "style", "media", "object", "link"), "E"), "refresh": "R"}


@dataclass(frozen=True, slots=True)
class LinkRules:
    """What the settings say about links and bodies seen before."""

    followed: frozenset[str]  # kinds of links
    redirects: int  # how many in a row
    skip_seen: bool
    obey_nofollow: bool
    home: Callable[[str], str] | None = None
    """Whose page a URL is, where the scope judges links by that: `host` or `domain`."""


class Visitor:
    """Turns every answer into a Page, and tells the crawl what follows from it."""

    def __init__(self, crawl: Crawl, digests: Callable[[bytes], bytes], reader: LinkReader, rules: LinkRules) -> None:
        self._crawl, self._digests, self._reader = crawl, digests, reader
        self._followed, self._redirects = rules.followed, rules.redirects
        self._skip_seen, self._obey_nofollow, self._home = rules.skip_seen, rules.obey_nofollow, rules.home
        self._reads_more = not reader.wanted <= rules.followed

    def visit(self, link: Link, exchange: Exchange) -> Page:
        """The page of this answer; `follow` submits its links."""
        page = Page.of(link, exchange)
        location = _location(exchange)
        if link.path.endswith("P"):
            self._crawl.robots_answered(link, exchange.status, exchange.body, location, self._crawl.now())
        elif location:
            if _redirects(link) < self._redirects:
                self._crawl.discover(link, [location], lambda _: "R", redirect=True)
        elif 200 <= exchange.status < 300 and exchange.body:
            page.digest = self._digests(exchange.body)
            page.duplicate = self._crawl.seen_body(page.digest)
            if not (self._knows_links(page) and self._skip_seen):
                self._read(page, exchange)
        return page

    def _knows_links(self, page: Page) -> bool:
        """Whether the links of this body were submitted before.

        The same body on another site has the same links, but there others of them are in scope.
        """
        if self._home is None:
            return page.duplicate
        return self._crawl.seen_body(self._digests(page.digest + self._home(page.url).encode()))

    def robots_failed(self, link: Link, outcome: Outcome) -> None:
        """No answer for robots.txt."""
        self._crawl.robots_answered(link, outcome.status, b"", None, self._crawl.now())

    def _read(self, page: Page, exchange: Exchange) -> None:
        links = LISTINGS.get(page.content_type, self._reader.links)
        found = links(exchange.body, exchange.content_type, exchange.url)  # a browser may have followed a redirect
        page.base, page.encoding, page.links = found.base, found.encoding, found.links
        page.title, page.meta_robots = found.title, found.meta_robots

    def follow(self, page: Page) -> None:
        """Submits the links of a page that was visited."""
        link = page.link
        if link is None or not page.links or (self._obey_nofollow and "nofollow" in page.meta_robots):
            return
        found = page.links
        if self._obey_nofollow or self._reads_more or _redirects(link) >= self._redirects:
            found = [one for one in found if self._follows(link, *one)]
        self._crawl.discover(
            link, [raw for _, raw, _, _ in found], lambda at: HOPS.get(found[at][0], "L"), base=page.base
        )

    def _follows(self, link: Link, kind: str, _raw: str, _text: str, nofollow: bool) -> bool:  # noqa: FBT001 - a FoundLink
        if kind == "refresh" and _redirects(link) >= self._redirects:
            return False
        return kind in self._followed and not (nofollow and self._obey_nofollow)


def _redirects(link: Link) -> int:
    """How many redirects in a row led here; a refresh is one."""
    return len(link.path) - len(link.path.rstrip("R"))


def _location(exchange: Exchange) -> str:
    """The canonical URL that the answer redirects to; empty if there is none, or none that can be fetched."""
    location = exchange.header(b"location") if exchange.status in REDIRECTS else None
    if location is None:
        return ""
    try:
        return canonical(location.decode("utf-8", "replace").strip(), exchange.url)
    except InvalidUrl:
        return ""
