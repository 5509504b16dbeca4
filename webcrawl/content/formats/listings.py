"""Sitemaps and feeds: of XML urlset, sitemapindex, RSS 0.9x, 1.0 and 2.0, Atom and CDF, whatever
their namespaces.

Not of XML: JSON Feed (jsonfeed.org, versions 1 and 1.1), and one address per line.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Any

from webcrawl.base.url_text import address_text
from webcrawl.content.formats import xml_stream
from webcrawl.content.formats.xml_stream import XML_BASE, Bases
from webcrawl.content.html.link_kinds import FoundLink


@dataclass(slots=True)
class ListingEntry:
    """One address, and what helps to decide when to fetch it again."""

    url: str  # as written
    kind: str  # of link: what it is to a crawl
    # item, alternate, sitemap, guid, enclosure, image, video, player, home, self, page, hub
    role: str = "item"
    title: str = ""
    modified: float | None = None  # seconds since 1970: a sitemap's lastmod, an item's date

    @property
    def link(self) -> FoundLink:
        return self.kind, self.url, self.title, ""


@dataclass(slots=True)
class Listing:
    """The result of a reader."""

    # urlset, sitemapindex, text, rss, feed (Atom), RDF, json; empty: nothing that can be read
    form: str = ""
    title: str = ""
    entries: list[ListingEntry] = field(default_factory=list)

    def urls(self, *roles: str) -> list[str]:
        """The addresses of these roles, in document order."""
        return [entry.url for entry in self.entries if entry.role in roles]


LONGEST_DATE = 64  # characters
_FRACTION = re.compile(r"(\d{4})(?:-(\d{1,2}))?$")  # a year, or a month of it


def read_date(written: str) -> float | None:
    """Seconds since 1970, UTC where no zone is given; None for what is no date."""
    text = written.strip()[:LONGEST_DATE]
    if not text:
        return None
    try:
        part = _FRACTION.match(text)
        if part is not None:
            found = datetime(int(part[1]), int(part[2] or 1), 1, tzinfo=UTC)
        elif text[:4].isdecimal():
            found = datetime.fromisoformat(text)
        else:
            found = parsedate_to_datetime(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


ENTRIES = 50_000  # sitemaps.org: no sitemap has more
LINKS = 2 * ENTRIES  # with alternates, images and the like
LONGEST = 1 << 16  # characters of one text
TITLE = 500
CDF = "channel"  # the root of the Channel Definition Format, whose names are written in either case
CDF_KEYS = dict.fromkeys(("base", "Base", "BASE"), XML_BASE)
FORMS = ("urlset", "sitemapindex", "rss", "feed", "RDF")
FEEDS = ("rss", "feed", "RDF", CDF)
HOLDERS = ("url", "sitemap", "item", "entry")  # what the entries are in
# the first that is there counts
DATES = ("lastmod", "updated", "pubDate", "published", "date", "modified", "issued")
LOCATIONS = {  # the element that an address is the text of -> role, kind
    "content_loc": ("video", "media"),
    "thumbnail_loc": ("image", "img"),
    "player_loc": ("player", "object"),
}
OWNERS_OF_LOC = {  # the element that a <loc> is in -> role, kind
    "url": ("item", "sitemap"),
    "sitemap": ("sitemap", "sitemap"),
    "image": ("image", "img"),
}
TEXTS = frozenset(("loc", *LOCATIONS, "link", "guid", "id", "title", *DATES))
# what a relation's name is short for (RFC 4287 4.2.7.2)
REGISTERED = "http://www.iana.org/assignments/relation/"
RELATIONS = {  # Atom's: role, kind
    **dict.fromkeys(("", "alternate"), ("item", "feed")),
    **dict.fromkeys(
        ("next", "prev", "previous", "first", "last", "next-archive", "prev-archive"),
        ("page", "feed"),
    ),
    "self": ("self", "feed"),
    "enclosure": ("enclosure", "media"),
    "hub": ("hub", "hub"),
}
ATTRIBUTES = {  # RSS's, and of Media RSS -> attribute, role, kind
    "enclosure": ("url", "enclosure", "media"),
    "content": ("url", "enclosure", "media"),
    "player": ("url", "player", "object"),
    "thumbnail": ("url", "image", "img"),
}


def read(body: bytes, content_type: str = "", url: str = "") -> Listing:
    """The entries of a sitemap or a feed that came from `url`, in document order."""
    target = _Target(url)
    xml_stream.read(body, content_type, target)
    return target.listing


class _Target:
    """Collects entries; what is not looked for costs nothing but its elements."""

    def __init__(self, url: str) -> None:
        self.listing = Listing()
        self._bases = Bases(url)
        self.full = False
        self.elements = 0
        self._path: list[str] = []
        self._text: list[str] | None = None  # of the element that is being read, at that depth
        self._room = self._depth = 0
        self._count = 0
        self._within = 0  # holders that are open
        self._first = 0  # of the entries that are in the current holder
        self._said: dict[str, str] = {}  # by the current holder

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition("}")[2].rpartition(":")[2]
        self.elements += 1
        if not self._path and name.lower() == CDF:
            self.listing.form = CDF
        if self.listing.form == CDF:
            name, attributes = (
                name.lower(),
                {CDF_KEYS.get(key, key.lower()): attributes[key] for key in attributes},
            )
        self._path.append(name)
        self._bases.start(attributes)
        if not self.listing.form and name in FORMS:
            self.listing.form = name
        if self._holds(name):
            self._hold(name)
        if name in ATTRIBUTES:
            attribute, role, kind = ATTRIBUTES[name]
            self._add(attributes.get(attribute), role, kind)
        elif "href" in attributes:
            self._related(name, attributes)
        elif name in TEXTS and (
            name != "guid" or attributes.get("isPermaLink", "").strip().lower() != "false"
        ):
            self._listen()
        if self.listing.form == CDF and "lastmod" in attributes:
            self._said["modified"] = attributes["lastmod"]

    def _holds(self, name: str) -> bool:
        """Return whether entries are in such an element; in a feed, `url` is the address of an
        image.
        """
        return name in HOLDERS and (name != "url" or self.listing.form not in FEEDS)

    def _hold(self, name: str) -> None:
        self._within += 1
        self._first = len(self.listing.entries)
        self._said = {}
        self._text = None
        if name == "sitemap":  # real indexes have addresses without a <loc>
            self._listen()

    def end(self, tag: str) -> None:
        del tag
        text = ""
        if self._text is not None and len(self._path) == self._depth:
            text, self._text = "".join(self._text).strip(), None
        name = self._path.pop() if self._path else ""
        parent = self._path[-1] if self._path else ""
        if self._holds(name):
            self._within -= 1
            if (
                name == "sitemap"
                and text.startswith("http")
                and len(self.listing.entries) == self._first
            ):
                self._add(text, "sitemap", "sitemap")
            self._finish()
        elif text:
            self._read(name, parent, text)
        self._bases.end()

    def data(self, text: str) -> None:
        if self._text is not None and self._room > 0:
            self._text.append(text[: self._room])
            self._room -= len(text)

    def pi(self, target: str, text: str | None = None) -> None: ...

    def close(self) -> None: ...

    def _listen(self) -> None:
        self._text = []
        self._room = LONGEST
        self._depth = len(self._path)

    def _read(self, name: str, parent: str, text: str) -> None:
        if name == "loc":
            if parent in OWNERS_OF_LOC:
                self._add(text, *OWNERS_OF_LOC[parent])
        elif name in LOCATIONS:
            self._add(text, *LOCATIONS[name])
        elif name == "link":
            self._add(text, "item" if parent in HOLDERS else "home", "feed")
        elif name == "guid":
            if _is_address(text) and text[0] != "/":
                self._add(text, "guid", "feed")
        elif name == "title" and parent in ("channel", "feed"):
            self.listing.title = self.listing.title or " ".join(text[: 2 * TITLE].split())[:TITLE]
        elif parent in HOLDERS:
            self._said.setdefault(name, text)

    def _related(self, name: str, attributes: dict[str, str]) -> None:
        """A link as Atom writes it, in a feed or of a page's other languages in a sitemap; or of
        CDF.
        """
        # `A`: the address of the element around it
        if self.listing.form == CDF and name in (CDF, "item", "a"):
            self._add(attributes["href"], "item" if self._within else "home", "feed")
        if name != "link":
            return
        if self.listing.form == "urlset":
            self._add(attributes["href"], "alternate", "sitemap")
            return
        for rel in attributes.get("rel", "").lower().split() or [""]:
            role, kind = RELATIONS.get(rel.removeprefix(REGISTERED), ("", ""))
            if role:
                self._add(
                    attributes["href"],
                    "home" if role == "item" and not self._within else role,
                    kind,
                )

    def _add(self, url: str | None, role: str, kind: str) -> None:
        if url is not None and url.strip() and not self.full:
            self.listing.entries.append(ListingEntry(self._bases.absolute(url.strip()), kind, role))
            self.full = len(self.listing.entries) >= LINKS

    def _finish(self) -> None:
        """Gives the entries of a holder what it says of them."""
        said, entries = self._said, self.listing.entries
        if _is_address(said.get("id", "")) and "item" not in {
            entry.role for entry in entries[self._first :]
        }:
            self._add(said["id"], "item", "feed")  # as other readers of Atom have it
        modified = next(
            (moment for name in DATES if (moment := read_date(said.get(name, ""))) is not None),
            None,
        )
        title = " ".join(said.get("title", "")[: 2 * TITLE].split())[:TITLE]
        for entry in entries[self._first :]:
            if entry.role in ("item", "sitemap", "guid"):
                entry.modified = modified
                entry.title = title
        self._first = len(entries)
        self._said = {}
        self._count += 1
        self.full = self.full or self._count >= ENTRIES


def _is_address(identifier: str) -> bool:
    return identifier.lower().startswith(("http:", "https:", "/"))


LONGEST_TEXT = 1 << 23  # bytes: a value takes many times the memory of its text
NAMES = b"jsonfeed.org/version"
OF_FEED = {
    "home_page_url": ("home", "feed"),
    "feed_url": ("self", "feed"),
    "next_url": ("page", "feed"),
}
OF_ITEM = {"url": ("item", "feed"), "external_url": ("item", "feed"), "image": ("image", "img")}


def is_feed(body: bytes) -> bool:
    """Return whether it names the format where feeds do."""
    return NAMES in body[:4096].replace(b"\\/", b"/")


def read_feed(body: bytes) -> Listing:
    """The items of a feed; none of what is no JSON."""
    try:
        feed = json.loads(body) if len(body) <= LONGEST_TEXT else None
    except (ValueError, RecursionError):
        feed = None
    if not isinstance(feed, dict):
        return Listing()
    found = Listing("json", _text(feed.get("title")), _named(feed, OF_FEED))
    found.entries += [
        ListingEntry(url, "hub", "hub")
        for hub in _dicts(feed.get("hubs"))
        if (url := _address(hub.get("url")))
    ]
    for item in _dicts(feed.get("items"))[:ENTRIES]:
        found.entries += _item(item)
        if len(found.entries) >= LINKS:
            break
    return found


def _item(item: dict[str, Any]) -> list[ListingEntry]:
    written = (item.get(name) for name in ("date_modified", "date_published"))
    modified = next(
        (moment for one in written if (moment := read_date(_text(one))) is not None), None
    )
    entries = _named(item, OF_ITEM)
    for entry in entries:
        if entry.role == "item":
            entry.modified = modified
            entry.title = _text(item.get("title"))
    files = (_address(file.get("url")) for file in _dicts(item.get("attachments")))
    return [*entries, *(ListingEntry(url, "media", "enclosure") for url in files if url)]


def _named(where: dict[str, Any], names: dict[str, tuple[str, str]]) -> list[ListingEntry]:
    return [
        ListingEntry(url, kind, role)
        for name, (role, kind) in names.items()
        if (url := _address(where.get(name)))
    ]


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _address(value: Any) -> str:
    """Text that can be encoded: JSON may spell half of a surrogate pair."""
    return value.strip().encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _text(value: Any) -> str:
    return " ".join(_address(value)[: 2 * TITLE].split())[:TITLE]


_LINE = re.compile(rb"[^\r\n]+")
_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?\s*+https?://[^\s<>]+[ \t]*(?:[\r\n]|\Z)", re.IGNORECASE)


def is_list(body: bytes) -> bool:
    """Return whether the first line that is not empty is an address and nothing else."""
    return _BEGINS.match(body[:LONGEST]) is not None


def read_list(body: bytes) -> Listing:
    """The lines that are addresses."""
    lines = (match[0].strip() for match in _LINE.finditer(body.removeprefix(b"\xef\xbb\xbf")))
    urls = (
        line
        for line in lines
        if len(line) <= LONGEST and line[:4].lower() == b"http" and not line.split()[1:]
    )
    return Listing(
        "text",
        entries=[ListingEntry(address_text(url), "sitemap") for url in islice(urls, ENTRIES)],
    )
