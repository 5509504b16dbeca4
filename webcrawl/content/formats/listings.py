"""Reads sitemaps and feeds.

In XML: urlset, sitemapindex, RSS 0.9x, 1.0 and 2.0, Atom and CDF, with any namespaces. Others: JSON
Feed (jsonfeed.org, versions 1 and 1.1), and text with one address per line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
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
    kind: str  # of the link, as a crawl knows it
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
        """Return the addresses of these roles, in document order."""
        return [entry.url for entry in self.entries if entry.role in roles]


LONGEST_DATE = 64  # characters
_YEAR_OR_MONTH = re.compile(r"(\d{4})(?:-(\d{1,2}))?$")


def read_date(written: str) -> float | None:
    """Return seconds since 1970, or None if this is no date. A date without a zone is in UTC."""
    text = written.strip()[:LONGEST_DATE]
    if not text:
        return None
    try:
        found = _parsed_date(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _parsed_date(text: str) -> datetime:
    year_or_month = _YEAR_OR_MONTH.match(text)
    if year_or_month is not None:
        year, month = year_or_month.groups()
        return datetime(int(year), int(month or 1), 1, tzinfo=UTC)
    if text[:4].isdecimal():
        return datetime.fromisoformat(text)
    return parsedate_to_datetime(text)


ENTRIES = 50_000  # sitemaps.org: no sitemap has more
LINKS = 2 * ENTRIES  # with alternates, images and others
LONGEST = 1 << 16  # characters of one text
TITLE = 500  # characters
CDF = "channel"  # the root of the Channel Definition Format, whose names are written in either case
CDF_KEYS = dict.fromkeys(("base", "Base", "BASE"), XML_BASE)
CDF_LINKS = (CDF, "item", "a")  # elements with an href; `a` has the address of the one around it
FORMS = ("urlset", "sitemapindex", "rss", "feed", "RDF")
FEEDS = ("rss", "feed", "RDF", CDF)
HOLDERS = ("url", "sitemap", "item", "entry")  # the elements that hold the entries
TITLED = ("channel", "feed")  # the elements whose title is the feed's: an image in one has a title
# The first of these dates that an entry has counts
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
ADDRESSES = frozenset(("loc", "link", *LOCATIONS))  # elements whose text is an address
TEXTS = frozenset((*ADDRESSES, "guid", "id", "title", *DATES))
# The prefix that a registered relation may be written with (RFC 4287 4.2.7.2)
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
ATTRIBUTES = {  # elements of RSS and Media RSS -> attribute, role, kind
    "enclosure": ("url", "enclosure", "media"),
    "content": ("url", "enclosure", "media"),
    "player": ("url", "player", "object"),
    "thumbnail": ("url", "image", "img"),
}


def read(body: bytes, content_type: str = "", url: str = "") -> Listing:
    """Return the entries of a sitemap or a feed that came from `url`, in document order."""
    target = _ListingTarget(url)
    xml_stream.read(body, content_type, target)
    return target.listing


class _ListingTarget:
    """Collects entries. Only the texts of elements that are looked for are kept."""

    def __init__(self, url: str) -> None:
        """`url`: that of the listing, to which its addresses are relative."""
        self.listing = Listing()
        self._bases = Bases(url)
        self.full = False
        self.elements = 0
        self._path: list[str] = []
        self._text: list[str] | None = None  # of the element that is being read
        self._chars_left = 0  # characters that this text may still have
        self._depth = 0  # of the element that is being read
        self._holders_read = 0
        self._open_holders = 0  # holders that are open
        self._first_of_holder = 0  # index of the current holder's first entry
        self._holder_texts: dict[str, str] = {}  # texts of the current holder, by element

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Take the start of an element: note the entry that it holds, its addresses, or that its
        text counts.

        Names count without their namespaces: many sitemaps and feeds have a wrong one.
        """
        name = tag.rpartition("}")[2].rpartition(":")[2]
        self.elements += 1
        if not self.listing.form:
            self._recognise_form(name)
        is_cdf = self.listing.form == CDF
        if is_cdf:
            name = name.lower()
            attributes = _cdf_attributes(attributes)
        self._path.append(name)
        self._bases.start(attributes)
        if self._is_holder(name):
            self._open_holder(name)
        if name in ATTRIBUTES:
            attribute, role, kind = ATTRIBUTES[name]
            self._add(attributes.get(attribute), role, kind)
        elif "href" in attributes:
            self._add_relation(name, attributes)
        elif name in TEXTS and not (name == "guid" and _is_opaque(attributes)):
            self._begin_text()
        if is_cdf and "lastmod" in attributes:
            self._holder_texts["modified"] = attributes["lastmod"]

    def _recognise_form(self, name: str) -> None:
        """Take the element as the listing's root, if it is the root of a known format."""
        if not self._path and name.lower() == CDF:  # RSS has a <channel> too, but within its root
            self.listing.form = CDF
        elif name in FORMS:
            self.listing.form = name

    def _is_holder(self, name: str) -> bool:
        """Return whether the element holds entries."""
        # A feed has the address of an image there
        if name == "url" and self.listing.form in FEEDS:
            return False
        return name in HOLDERS

    def _open_holder(self, name: str) -> None:
        self._open_holders += 1
        self._first_of_holder = len(self.listing.entries)
        self._holder_texts = {}
        self._text = None
        if name == "sitemap":  # real indexes have addresses without a <loc>
            self._begin_text()

    def end(self, tag: str) -> None:
        """Take the end of an element: read its text if it counts, and close its entry if it holds
        one.
        """
        del tag
        text = ""
        if self._text is not None and len(self._path) == self._depth:
            text = "".join(self._text).strip()
            self._text = None
        name = self._path.pop() if self._path else ""
        parent = self._path[-1] if self._path else ""
        if self._is_holder(name):
            self._open_holders -= 1
            if name == "sitemap":
                self._read_sitemap(text)
            self._close_holder()
        elif text:
            self._take_text(name, parent, text)
        self._bases.end()

    def data(self, text: str) -> None:
        if self._text is not None and self._chars_left > 0:
            self._text.append(text[: self._chars_left])
            self._chars_left -= len(text)

    def pi(self, target: str, text: str | None = None) -> None: ...

    def close(self) -> None: ...

    def _begin_text(self) -> None:
        self._text = []
        self._chars_left = LONGEST
        self._depth = len(self._path)

    def _take_text(self, name: str, parent: str, text: str) -> None:
        """Take the text of the element `name` within `parent`."""
        if name in ADDRESSES:
            role_and_kind = _role_and_kind(name, parent)
            if role_and_kind is not None:
                self._add(text, *role_and_kind)
            return
        if name == "guid":
            self._read_guid(text)
            return
        if name == "title" and parent in TITLED:
            self.listing.title = self.listing.title or _short_title(text)
            return
        if parent in HOLDERS:
            # The first of several counts
            self._holder_texts.setdefault(name, text)

    def _read_guid(self, text: str) -> None:
        """Add an identifier that is an absolute address."""
        if _is_address(text) and text[0] != "/":
            self._add(text, "guid", "feed")

    def _read_sitemap(self, text: str) -> None:
        """Add the address that stands in a <sitemap> without a <loc>."""
        has_no_loc = len(self.listing.entries) == self._first_of_holder
        if has_no_loc and text.startswith("http"):
            self._add(text, "sitemap", "sitemap")

    def _add_relation(self, name: str, attributes: dict[str, str]) -> None:
        """Add the address that an element has in its href, if the element is a link."""
        address = attributes["href"]
        form = self.listing.form
        if form == CDF and name in CDF_LINKS:
            self._add(address, self._role_of_item(), "feed")
            return
        if name != "link":
            return
        if form == "urlset":
            # The page in another language
            self._add(address, "alternate", "sitemap")
            return
        self._add_atom_link(address, attributes.get("rel", ""))

    def _add_atom_link(self, address: str, relations: str) -> None:
        """Add a link once for each of its relations that is known; without any it is an item."""
        for relation in relations.lower().split() or [""]:
            name = relation.removeprefix(REGISTERED)
            if name in RELATIONS:
                role, kind = RELATIONS[name]
                self._add(address, self._role_of_item() if role == "item" else role, kind)

    def _role_of_item(self) -> str:
        """Return the role of a link to a page.

        Outside any item, the link is to the feed's own page.
        """
        return "item" if self._open_holders else "home"

    def _add(self, url: str | None, role: str, kind: str) -> None:
        address = (url or "").strip()
        if address and not self.full:
            self.listing.entries.append(ListingEntry(self._bases.absolute(address), kind, role))
            self.full = len(self.listing.entries) >= LINKS

    def _close_holder(self) -> None:
        """Give the entries of a holder the date and the title that it has."""
        said, entries = self._holder_texts, self.listing.entries
        if _is_address(said.get("id", "")):
            has_item = any(entry.role == "item" for entry in entries[self._first_of_holder :])
            if not has_item:
                self._add(said["id"], "item", "feed")  # as other readers of Atom have it
        modified = _first_date(said.get(name, "") for name in DATES)
        title = _short_title(said.get("title", ""))
        for entry in entries[self._first_of_holder :]:
            if entry.role in ("item", "sitemap", "guid"):
                entry.modified = modified
                entry.title = title
        self._first_of_holder = len(entries)
        self._holder_texts = {}
        self._holders_read += 1
        self.full = self.full or self._holders_read >= ENTRIES


def _role_and_kind(name: str, parent: str) -> tuple[str, str] | None:
    """Return the role and the kind of the address in an element, or None if it is not wanted."""
    if name == "loc":
        return OWNERS_OF_LOC.get(parent)
    if name == "link":
        role = "item" if parent in HOLDERS else "home"
        return role, "feed"
    return LOCATIONS[name]


def _cdf_attributes(attributes: dict[str, str]) -> dict[str, str]:
    """Return the attributes of an element of CDF with the names that other formats have."""
    return {CDF_KEYS.get(key, key.lower()): value for key, value in attributes.items()}


def _is_opaque(guid: dict[str, str]) -> bool:
    """Return whether the attributes of a guid say that it is no address."""
    return guid.get("isPermaLink", "").strip().lower() == "false"


def _first_date(written: Iterable[str]) -> float | None:
    """Return the first of these texts that is a date, or None."""
    for text in written:
        moment = read_date(text)
        if moment is not None:
            return moment
    return None


def _short_title(text: str) -> str:
    return " ".join(text[: 2 * TITLE].split())[:TITLE]


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
    """Return whether the body names the format of JSON Feed, where feeds do."""
    return NAMES in body[:4096].replace(b"\\/", b"/")


def read_feed(body: bytes) -> Listing:
    """Return the items of a JSON Feed. The listing is empty if the body is no JSON object."""
    try:
        feed = json.loads(body) if len(body) <= LONGEST_TEXT else None
    except (ValueError, RecursionError):
        feed = None
    if not isinstance(feed, dict):
        return Listing()
    found = Listing("json", _text(feed.get("title")), _named(feed, OF_FEED))
    found.entries += _addressed(feed.get("hubs"), "hub", "hub")
    for item in _dicts(feed.get("items"))[:ENTRIES]:
        found.entries += _item(item)
        if len(found.entries) >= LINKS:
            break
    return found


def _item(item: dict[str, Any]) -> list[ListingEntry]:
    dates = ("date_modified", "date_published")
    modified = _first_date(_text(item.get(name)) for name in dates)
    entries = _named(item, OF_ITEM)
    for entry in entries:
        if entry.role == "item":
            entry.modified = modified
            entry.title = _text(item.get("title"))
    return entries + _addressed(item.get("attachments"), "enclosure", "media")


def _named(where: dict[str, Any], names: dict[str, tuple[str, str]]) -> list[ListingEntry]:
    """Return an entry for each of these names whose value is an address."""
    entries = []
    for name, (role, kind) in names.items():
        url = _address(where.get(name))
        if url:
            entries.append(ListingEntry(url, kind, role))
    return entries


def _addressed(values: Any, role: str, kind: str) -> list[ListingEntry]:
    """Return an entry for each object in a list that has an address as its `url`."""
    urls = [_address(value.get("url")) for value in _dicts(values)]
    return [ListingEntry(url, kind, role) for url in urls if url]


def _dicts(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        return []
    return [one for one in value if isinstance(one, dict)]


def _address(value: Any) -> str:
    """Return a text that can be encoded: JSON may spell half of a surrogate pair."""
    return value.strip().encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _text(value: Any) -> str:
    return _short_title(_address(value))


_LINE = re.compile(rb"[^\r\n]+")
_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?\s*+https?://[^\s<>]+[ \t]*(?:[\r\n]|\Z)", re.IGNORECASE)


def is_list(body: bytes) -> bool:
    """Return whether the first line that is not empty is an address and nothing else."""
    return _BEGINS.match(body[:LONGEST]) is not None


def read_list(body: bytes) -> Listing:
    """Return the lines that are addresses."""
    lines = (match[0].strip() for match in _LINE.finditer(body.removeprefix(b"\xef\xbb\xbf")))
    urls = islice(filter(_is_url, lines), ENTRIES)
    return Listing("text", entries=[ListingEntry(address_text(url), "sitemap") for url in urls])


def _is_url(line: bytes) -> bool:
    if len(line) > LONGEST or line[:4].lower() != b"http":
        return False
    return len(line.split()) == 1
