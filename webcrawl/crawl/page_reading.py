"""Reads the links of a page's body, by what it is: a document, a listing of FTP or Gopher, a sitemap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from urllib.parse import quote

from webcrawl.base.model import Exchange, Link, is_sitemap
from webcrawl.content.formats.document_reader import NAMES, DocumentReader
from webcrawl.content.html.link_kinds import Found, FoundLink
from webcrawl.content.page import Page
from webcrawl.crawl.clock import CrawlClock
from webcrawl.crawl.moments import Moments
from webcrawl.net.ftp import split_type
from webcrawl.net.ftp_listing import LISTING, entries
from webcrawl.net.gopher import MENU, item_url, items


def ftp_links(body: bytes, content_type: str, url: str) -> Found:
    """Files, folders and symbolic links of this folder; names that point elsewhere are left out."""
    base = split_type(url)[0]
    found = Found(base if base.endswith("/") else f"{base}/", _encoding(body))
    for entry in entries(body, mlsd=content_type.endswith("format=mlsd")):
        if entry.kind != "other" and entry.name not in (b".", b"..") and b"/" not in entry.name:
            slash = "/" if entry.kind == "folder" else ""
            found.links.append(_link(quote(entry.name, safe="") + slash, entry.name, found.encoding))
    return found


def menu_links(body: bytes, _: str, url: str) -> Found:
    """Items that are resources; searches are not."""
    found = Found(url, _encoding(body))
    for item in items(body):
        link = item_url(item)
        if link:
            found.links.append(_link(link, item.display, found.encoding))
    return found


LISTINGS: dict[str, Callable[[bytes, str, str], Found]] = {LISTING: ftp_links, MENU: menu_links}
"""Content type -> the function that extracts the links of such a body, as LinkReader.links does for HTML."""


def _link(href: str, name: bytes, encoding: str) -> FoundLink:
    return "a", href, name.decode(encoding, "replace").strip(), ""


def _encoding(body: bytes) -> str:
    """Neither protocol declares it: UTF-8 if the bytes are valid (RFC 2640 for FTP), else windows-1252."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return "windows-1252"
    return "utf-8"


class PageReading:
    """The second of each pair of readers, which are equal, is for `read_ahead`."""

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
        self._of_sitemaps, self._counters, self._moments, self._clock = of_sitemaps, counters, moments, clock

    def read_ahead(self, link: Link, exchange: Exchange) -> None:
        """Reads the links of a large page, before `visit`; one call at a time, from any thread."""
        if 200 <= exchange.status < 300:
            sitemap = is_sitemap(link.path)
            reader = self._of_sitemaps[1] if sitemap else self._ahead
            body = exchange.body if sitemap else exchange.body[: self.most]
            exchange.found = reader.links(body, exchange.content_type, link.url, headers=exchange.headers)

    def read(self, page: Page, exchange: Exchange) -> None:
        links = LISTINGS.get(page.content_type)
        if links is not None:
            found = links(exchange.body[: self.most], exchange.content_type, page.url)
        else:  # a browser may have followed a redirect
            link = page.link
            sitemap = link is not None and is_sitemap(link.path)
            reader = self._of_sitemaps[0] if sitemap else self._reader
            body = exchange.body if sitemap else exchange.body[: self.most]
            found = exchange.found or reader.links(body, exchange.content_type, exchange.url, headers=exchange.headers)
            if not NAMES.isdisjoint(exchange.names):
                self._reader.add_headers(found, exchange.headers, exchange.url)
            if found.note:
                exchange.notes += (found.note,)
                self._counters.update([found.note.replace(":", "/")])
        page.base, page.encoding, page.found = found.base, found.encoding, found
        page.title, page.meta_robots = found.title, found.meta_robots
        for read in self._moments.read:
            read(page, self._clock())
