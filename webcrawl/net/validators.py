"""By which a server can be asked whether what it sent is still the same (RFC 9110 8.8 and 13)."""

from __future__ import annotations

import re
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from webcrawl.model import header
from webcrawl.text.httpdate import read_http_date

LONGEST_DATE = 64  # bytes
# Many servers forget the quotes, and compare byte by byte. `*` would mean "if there is any page at all" (13.1.2), and
# there always is; behind a comma it would too.
_ETAG = re.compile(rb'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"|[\x21\x23-\x29\x2b\x2d-\x7e]+')
_DATE = re.compile(rb"[\x20-\x7e]+")


class Validators(NamedTuple):
    """As the server sent them; empty where it sent none that can be sent back."""

    etag: bytes = b""
    modified: bytes = b""

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """What makes a request conditional."""
        given = [(b"If-None-Match", self.etag), (b"If-Modified-Since", self.modified)]
        return [(name, value) for name, value in given if value]

    def completed(self, before: Validators) -> Validators:
        """Of a 304: what it does not repeat still holds."""
        return Validators(self.etag or before.etag, self.modified or before.modified)


def validators(headers: list[tuple[bytes, bytes]], at: float, *, longest: int) -> Validators:
    """Those of an answer that came at this time; an entity tag has at most so many bytes.

    A date that is still to come is none (8.8.2.1): until then, a server that compares dates would say that nothing
    changes.
    """
    etag, modified = header(headers, b"etag") or b"", header(headers, b"last-modified") or b""
    if len(etag) > longest or not _ETAG.fullmatch(etag):
        etag = b""
    if len(modified) > LONGEST_DATE or not _DATE.fullmatch(modified) or _is_after(modified, at):
        modified = b""
    return Validators(etag, modified)


def _is_after(modified: bytes, at: float) -> bool:
    """What cannot be read as a date some servers compare as text."""
    seconds = read_http_date(modified)
    if seconds is not None:  # as nearly all are, and a tenth of the time
        return seconds > at
    try:
        date = parsedate_to_datetime(modified.decode())
        return (date if date.tzinfo is not None else date.replace(tzinfo=UTC)).timestamp() > at
    except (ValueError, TypeError, OverflowError, IndexError):
        return False
