"""What a server gave with a page so that it can be asked whether that is still the same (RFC 9110 8.8 and 13)."""

from __future__ import annotations

from webcrawl.model import Exchange
from webcrawl.revisit.record import LONGEST_DATE, LONGEST_ETAG, PageRecord
from webcrawl.text.httpdate import read_http_date

Headers = dict[str, bytes]
ANY = b"*"  # no ETag: sent back, it would mean "if there is any page at all" (13.1.2), and there always is


def of(exchange: Exchange, now: float) -> tuple[bytes, bytes]:
    """ETag and Last-Modified as they were sent, where they can be sent back.

    A date after now is none (8.8.2.1): until it is over, a server that compares dates would say that nothing changes.
    """
    etag = exchange.header(b"etag") or b""
    modified = exchange.header(b"last-modified") or b""
    if len(etag) > LONGEST_ETAG or etag == ANY or not _is_plain(etag):
        etag = b""
    if modified:
        date = read_http_date(modified)
        if len(modified) > LONGEST_DATE or not _is_plain(modified) or (date is not None and date > now):
            modified = b""
    return etag, modified


def headers(record: PageRecord) -> Headers:
    """What makes a request conditional; nothing if the server gave no validators."""
    found: Headers = {}
    if record.etag:
        found["If-None-Match"] = record.etag
    if record.modified:
        found["If-Modified-Since"] = record.modified
    return found


def was_conditional(exchange: Exchange) -> bool:
    """Whether the request said so: a 304 means nothing otherwise."""
    sent = exchange.request.lower()
    return b"\r\nif-none-match:" in sent or b"\r\nif-modified-since:" in sent


def _is_plain(value: bytes) -> bool:
    """Whether it can be a header's value again."""
    return value.isascii() and value.decode().isprintable()
