"""Sitemaps that are plain text: an address a line."""

from __future__ import annotations

import re
from itertools import islice

from webcrawl.formats.entry import Entry, Listing
from webcrawl.formats.listing import ENTRIES, LONGEST

_LINE = re.compile(rb"[^\r\n]+")
_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?\s*+https?://[^\s<>]+[ \t]*(?:[\r\n]|\Z)", re.IGNORECASE)


def is_list(body: bytes) -> bool:
    """Whether the first line that is not empty is an address and nothing else."""
    return _BEGINS.match(body[:LONGEST]) is not None


def read(body: bytes) -> Listing:
    """The lines that are addresses."""
    lines = (match[0].strip() for match in _LINE.finditer(body.removeprefix(b"\xef\xbb\xbf")))
    urls = (line for line in lines if len(line) <= LONGEST and line[:4].lower() == b"http" and not line.split()[1:])
    return Listing("text", entries=[Entry(url.decode("utf-8", "replace"), "sitemap") for url in islice(urls, ENTRIES)])
