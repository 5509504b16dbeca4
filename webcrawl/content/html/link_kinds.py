"""Links: the kinds in LINK_SOURCES, their elements and attributes, and the result of reading."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

FOLLOWED = ("a", "area", "frame", "iframe", "refresh", "canonical")
KINDS = (
    *FOLLOWED,
    "link",
    "img",
    "srcset",
    "script",
    "style",
    "media",
    "object",
    "form",
    "jsonld",
    "data",
)
# The kinds that are read from every page if all are wanted: the two others cost 30 µs
LOGGED = frozenset(KINDS) - {"jsonld", "data"}
REFRESH = "refresh"  # of a page's links: it counts as a redirect
REDIRECT = "redirect"  # in a link log, where an answer redirects to: no kind of a page's links
# tag -> (attribute that holds one URL, kind), in the order in which they are read
ATTRIBUTES: dict[str, tuple[tuple[str, str], ...]] = {
    "a": (("href", "a"), ("xlink:href", "a")),
    "area": (("href", "area"),),
    "frame": (("src", "frame"),),
    "iframe": (("src", "iframe"),),
    "img": (("src", "img"),),
    "image": (("href", "img"), ("xlink:href", "img")),
    "use": (("href", "img"), ("xlink:href", "img")),
    "input": (("src", "img"), ("formaction", "form")),
    "body": (("background", "img"),),
    "table": (("background", "img"),),
    "td": (("background", "img"),),
    "th": (("background", "img"),),
    "script": (("src", "script"),),
    "audio": (("src", "media"),),
    "video": (("poster", "img"), ("src", "media")),
    "source": (("src", "media"),),
    "track": (("src", "media"),),
    "embed": (("src", "object"),),
    "object": (("data", "object"),),
    "form": (("action", "form"),),
    "button": (("formaction", "form"),),
}
SRCSETS = {"img": "srcset", "source": "srcset", "link": "imagesrcset"}
DATA_SETS = ("data-srcset", "data-lazy-srcset")
# Attributes that scripts move to `src` or `href`
_DATA = """
    data-href data-url data-link data-src data-lazy-src data-original data-image
    data-bg data-background data-poster
"""
DATA_ATTRIBUTES = (*_DATA.split(), *DATA_SETS)
DATA_SELECTOR = ",".join(f"[{name}]" for name in DATA_ATTRIBUTES)
# read from every page, whatever kinds are wanted
HEAD = ("html", "base", "link", "meta", "title", "noframes")

_ALL = frozenset(kind for pairs in ATTRIBUTES.values() for _, kind in pairs) | {"srcset"}
# The most frequent first: an element that has one of them is not compared with those behind it.
_HOLDERS = dict.fromkeys(
    [
        "href",
        "src",
        *(name for pairs in ATTRIBUTES.values() for name, _ in pairs),
        *SRCSETS.values(),
    ]
)


def tags(kinds: Iterable[str]) -> frozenset[str]:
    """Return the elements that can have links of these kinds; empty means all elements."""
    wanted = set(kinds)
    # Any element may have a style or an attribute for a script
    if wanted & {"style", "data"}:
        return frozenset()
    found = set(HEAD)
    for tag, attributes in ATTRIBUTES.items():
        if any(kind in wanted for _, kind in attributes):
            found.add(tag)
    if "jsonld" in wanted:
        found.add("script")
    if "srcset" in wanted:
        found |= SRCSETS.keys()
    return frozenset(found)


def selector(kinds: Iterable[str]) -> str:
    """Return the elements of `tags` as a CSS selector.

    If all attributes that hold URLs are wanted, it names these and not the elements, and what else
    has one of them is found as well: 11 conditions in place of 30 for each element of a page, 13 us
    for a small page in place of 21.
    """
    wanted = set(kinds)
    wants_all = wanted >= _ALL
    parts = sorted(tags(wanted - {"style", "data"}))
    if wants_all:
        parts = [f"[{name}]".replace(":", "\\:") for name in _HOLDERS]
        parts += ["html", "meta", "title", "noframes"]
        if "jsonld" in wanted:
            parts.append("script")
    elements = len(parts)
    if "style" in wanted:
        parts.append("style,[style]")
    if "data" in wanted:
        parts.append(DATA_SELECTOR)
    # A selector list reports an element once for every part that matches, `:is` once; it costs 3 %
    # of the parsing. In a list of elements' names only one can match.
    if wants_all or len(parts) > elements:
        return f":is({','.join(parts)})"
    return ",".join(parts)


OF_DOCUMENTS = ("sitemap", "feed", "xlink")  # read in this process
MARKDOWN_TYPES = ("text/markdown", "text/x-markdown")
MARKDOWN = "markdown"  # links of documents in Markdown, and a page's link to its own text in it
OTHER_KINDS = ("header", *OF_DOCUMENTS, "pdf")
HUB = "hub"  # where a feed's news are subscribed to: known, never followed
ALL = (*KINDS, *OTHER_KINDS)
"""The names that LINK_SOURCES may have."""
ALL_LOGGED = LOGGED.union(OTHER_KINDS, (HUB,)) - {"pdf"}
"""The kinds that a link log has, whatever is followed: all but what costs much to look for."""


# Kind, attribute value, anchor text if requested, rel as written. A bare tuple: a named tuple costs
# 0.25 µs more for each of a page's 40 links, in total an eighth of the parsing time.
FoundLink = tuple[str, str, str, str]
# what a document says of its use: the name of a meta element and its content, or LICENSE and an address
Said = tuple[str, str]
LICENSE = "license"


class LinkColumns(NamedTuple):
    """All links of a page in columns: a row for each link would cost as much as all the rest."""

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
class DocumentLinks:
    """A document's links in document order, and what its head says about them."""

    base: str  # what the links are relative to
    encoding: str
    links: list[FoundLink] = field(default_factory=list)
    refresh: tuple[int, str] | None = None  # seconds, URL as written ("" for the page itself)
    canonical: str = ""  # as written
    markdown: str = ""  # where the same is in Markdown, as written
    meta_robots: frozenset[str] = frozenset()
    said: Sequence[Said] = ()  # beside them, of the use of the document
    title: str = ""
    language: str = ""  # as the root element declares it
    whole: bool = True  # whether links of all kinds were read, with their texts
    text: str = ""  # of a PDF, if an output wants it
    structured: str | None = None  # its structured data as JSON; None if they were not read
    note: str = ""  # of a PDF: why it may have more links, and more text
    # canonical URLs of addresses, where known
    targets: dict[str, str | None] = field(default_factory=dict)
    entries: Sequence[
        Any
    ] = ()  # of a sitemap or a feed: what it says of each address (webcrawl.content.formats.listings.ListingEntry)


def is_nofollow(rel: str) -> bool:
    """Return whether this value of a `rel` attribute has the word."""
    return "nofollow" in rel.lower().split()
