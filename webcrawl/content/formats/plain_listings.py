"""Sitemaps and feeds that are not XML: JSON Feed (jsonfeed.org, versions 1 and 1.1), and one address per line."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any

from webcrawl.base.url_text import address_text
from webcrawl.content.formats.xml_listings import ENTRIES, LINKS, LONGEST, TITLE, Entry, Listing, read_date

LONGEST_TEXT = 1 << 23  # bytes: a value takes many times the memory of its text
NAMES = b"jsonfeed.org/version"
OF_FEED = {"home_page_url": ("home", "feed"), "feed_url": ("self", "feed"), "next_url": ("page", "feed")}
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
    found.entries += [Entry(url, "hub", "hub") for hub in _dicts(feed.get("hubs")) if (url := _address(hub.get("url")))]
    for item in _dicts(feed.get("items"))[:ENTRIES]:
        found.entries += _item(item)
        if len(found.entries) >= LINKS:
            break
    return found


def _item(item: dict[str, Any]) -> list[Entry]:
    written = (item.get(name) for name in ("date_modified", "date_published"))
    modified = next((moment for one in written if (moment := read_date(_text(one))) is not None), None)
    entries = _named(item, OF_ITEM)
    for entry in entries:
        if entry.role == "item":
            entry.modified, entry.title = modified, _text(item.get("title"))
    files = (_address(file.get("url")) for file in _dicts(item.get("attachments")))
    return [*entries, *(Entry(url, "media", "enclosure") for url in files if url)]


def _named(where: dict[str, Any], names: dict[str, tuple[str, str]]) -> list[Entry]:
    return [Entry(url, kind, role) for name, (role, kind) in names.items() if (url := _address(where.get(name)))]


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
    urls = (line for line in lines if len(line) <= LONGEST and line[:4].lower() == b"http" and not line.split()[1:])
    return Listing("text", entries=[Entry(address_text(url), "sitemap") for url in islice(urls, ENTRIES)])
