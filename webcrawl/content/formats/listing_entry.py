"""One entry of a sitemap or a feed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from webcrawl.content.html.found_links import FoundLink


@dataclass(slots=True)
class Entry:
    """One address, and what may be of use to whoever decides when to fetch it again."""

    url: str  # as written
    kind: str  # of link: what it is to a crawl
    role: str = "item"  # item, alternate, sitemap, guid, enclosure, image, video, player, home, self, page, hub
    title: str = ""
    modified: float | None = None  # seconds since 1970: a sitemap's lastmod, an item's date
    changefreq: str = ""
    priority: float | None = None

    @property
    def link(self) -> FoundLink:
        return self.kind, self.url, self.title, ""


@dataclass(slots=True)
class Listing:
    """The result of a reader."""

    form: str = ""  # urlset, sitemapindex, text, rss, feed (Atom), RDF, json; empty: nothing that can be read
    title: str = ""
    entries: list[Entry] = field(default_factory=list)

    def urls(self, *roles: str) -> list[str]:
        """The addresses of these roles, in document order."""
        return [entry.url for entry in self.entries if entry.role in roles]


class Reader(Protocol):
    """Reads the links of one format. Never raises, whatever the bytes; time and memory are bounded by their number."""

    def __call__(self, body: bytes, content_type: str, url: str, /) -> tuple[Sequence[FoundLink], Sequence[Entry]]:
        """The links of `body`, which came from `url`, and what is said of their targets."""
        ...
