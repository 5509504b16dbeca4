"""Looks once for /sitemap.xml on hosts that have several pages and whose robots.txt names no sitemap.

The usual name is worth one request in ten, but not one per host: most hosts of a broad crawl have a few pages only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from webcrawl.model import Link
from webcrawl.urls.hosts import host_of

NAME = "/sitemap.xml"


class SitemapsByName:
    """`discover` submits a link of a page; `has_listing`: whether a sitemap of a host was read already."""

    def __init__(self, discover: Callable[[Link, str], None], has_listing: Callable[[str], bool]) -> None:
        self._discover, self._has_listing = discover, has_listing

    def grown(self, page: Link) -> None:
        """A host has so many pages now that one more request is worth it. The seen store lets it happen once."""
        if page.request or not page.url.startswith(("http:", "https:")) or self._has_listing(host_of(page.url)):
            return
        origin = page.url[: page.url.index("/", 8)]
        self._discover(replace(page, history="", chain=""), origin + NAME)
