"""A line of a CDXJ file, of this crawler or another program, as far as a later crawl wants it."""

from __future__ import annotations

import json
import os
import re
from typing import NamedTuple

from siphashc import siphash

from webcrawl.text.percent import visible

LONGEST = 1 << 20  # bytes of a line
MOST = 1 << 62  # bytes of a file: beyond it no offset is one
DIGITS = 3  # of a status
REVISIT = "warc/revisit"
NOT_MODIFIED = 304
_LINE = re.compile(rb"[^ ]+ (\d{14})\d{0,3} (\{.*\})\s*", re.DOTALL)
_SHA1 = re.compile(r"(?:sha1:)?([A-Z2-7]{32})", re.IGNORECASE)
# The keys of SipHash: its result need not be secret, because what it leads to is compared with what was looked for.
_OF_URL, _OF_DIGEST = b"since webcrawl u", b"since webcrawl d"


class BadLine(Exception):  # noqa: N818 - reads as what it is
    """Bytes that are no line of such a file."""


class Line(NamedTuple):
    """One capture, and where its record lies."""

    url: str
    stamp: str  # 14 digits
    status: int
    digest: str  # of its payload, as crawl.log writes it; empty if it is no SHA-1
    is_revisit: bool
    file: str  # the name of the archive file
    offset: int

    @property
    def date(self) -> str:
        """The stamp as WARC-Date has it."""
        day, time = self.stamp[:8], self.stamp[8:]
        return f"{day[:4]}-{day[4:6]}-{day[6:]}T{time[:2]}:{time[2:4]}:{time[4:]}Z"

    @property
    def has_payload(self) -> bool:
        """Whether a revisit record may refer to this one for its payload."""
        return 200 <= self.status < 300 and not self.is_revisit and bool(self.digest)


def read_line(data: bytes) -> Line | None:
    """None for what is no page over HTTP: a header of the file, what a browser made of a page. BadLine.

    Nor is the answer to another request than GET, nor a page that was found unmodified where nothing says of which
    payload, as in a record of the 304 alone: the capture before it stands.
    """
    match = _LINE.fullmatch(data)
    if match is None:
        if data.startswith(b"!") or not data.strip():  # pywb's headers
            return None
        raise BadLine
    try:
        values = json.loads(match[2])
        url, status = values["url"], values.get("status", "")
        if not str(status).isdecimal() or values.get("method", "GET") != "GET":
            return None
        name, offset = values["filename"], int(values["offset"])
        named = isinstance(url, str) and isinstance(name, str) and "\0" not in name and bool(os.fsencode(name))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise BadLine from error
    if not named or not 0 <= offset < MOST or len(str(status)) > DIGITS:
        raise BadLine
    digest = _SHA1.fullmatch(str(values.get("digest", "")))
    label = f"sha1:{digest[1].upper()}" if digest is not None else ""
    is_revisit = values.get("mime") == REVISIT
    if int(status) == NOT_MODIFIED and not (is_revisit and label):
        return None
    return Line(visible(url), match[1].decode(), int(status), label, is_revisit, name, offset)


def url_key(url: str) -> int:
    """The number under which the index has the latest capture of a URL."""
    return int(siphash(_OF_URL, visible(url)))


def digest_key(digest: str) -> int:
    """The number under which the index has a capture with this payload."""
    return int(siphash(_OF_DIGEST, digest))
