"""The result of reading a document: its links, and what its head says about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

# Kind, attribute value, anchor text if requested, rel as written. A bare tuple: a named tuple costs 0.25 µs more for
# each of a page's 40 links, in total an eighth of the parsing time.
FoundLink = tuple[str, str, str, str]
Said = tuple[
    str, str
]  # what a document says of its use: the name of a meta element and its content, or LICENSE and an address
LICENSE = "license"


class LinkColumns(NamedTuple):
    """All links of a page, a sequence for each of their parts: a row for each link would cost as much as the rest."""

    kinds: Sequence[str]
    addresses: Sequence[str]  # as written
    texts: Sequence[str]
    rels: Sequence[str]
    targets: Sequence[str]  # canonical URLs, empty for what has none


@dataclass(slots=True)
class PageLink:
    """A link as pipelines and spiders see it."""

    kind: str
    address: str  # as written
    text: str = ""  # of the anchor
    rel: str = ""  # as written
    url: str = ""  # resolved by the URL Standard; empty if that is impossible

    @property
    def nofollow(self) -> bool:
        return is_nofollow(self.rel)

    @property
    def found(self) -> FoundLink:
        return self.kind, self.address, self.text, self.rel


@dataclass(slots=True)
class Found:
    """A document's links in document order, and what its head says about them."""

    base: str  # what the links are relative to
    encoding: str
    links: list[FoundLink] = field(default_factory=list)
    refresh: tuple[int, str] | None = None  # seconds, URL as written ("" for the page itself)
    canonical: str = ""  # as written
    meta_robots: frozenset[str] = frozenset()
    said: Sequence[Said] = ()  # beside them, of the use of the document
    title: str = ""
    language: str = ""  # as the root element declares it
    whole: bool = True  # whether links of all kinds were read, with their texts
    text: str = ""  # of a PDF, if an output wants it
    note: str = ""  # of a PDF: why it may have more links, and more text
    targets: dict[str, str | None] = field(default_factory=dict)  # canonical URLs of addresses, where known
    entries: Sequence[
        Any
    ] = ()  # of a sitemap or a feed: what it says of each address (webcrawl.content.formats.xml_listings.Entry)


def is_nofollow(rel: str) -> bool:
    """Return whether this value of a `rel` attribute has the word."""
    return "nofollow" in rel.lower().split()
