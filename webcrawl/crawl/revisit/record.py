"""The record of a fetched page until its next fetch: 64 bytes beside URL and validators.

    1  flags                     8  digest of the body           4  importance
    1  length of the ETag        8  simhash of the text          2  visits
    4  last fetch, seconds       4  shape of the change rate     2  changes
    1  and 256ths of a second    4  span of the change rate      1  gone
                                                                 6  when it was archived, milliseconds; PLAIN

Then the ETag; the Last-Modified date, in 4 bytes if it has HTTP's usual form, else as sent after
its length; what the owner said of its use, in 4 bytes if that was anything; until when the page
holds, in 4 bytes if its owner said that; of a page that the archive has as another URL's copy, that
URL after its length, in 2 bytes; and, in a queue, discovery path, space and URL. Inside a link the
same bytes are text, and URL and path are the link's.
"""

from __future__ import annotations

import struct
from binascii import Error, a2b_base64, b2a_base64
from dataclasses import dataclass

from webcrawl.base.dates import http_date, read_http_date
from webcrawl.base.model import Link
from webcrawl.crawl.redirect_chain import hops
from webcrawl.crawl.revisit.buckets import TIME, stamp

HEAD = struct.Struct("<BBIBQQfffHHBHI")
DATE = struct.Struct("<I")
DATED, WORDED, HANDED, SPOKEN, HOLDS, LISTING, COPY = 2, 4, 8, 16, 32, 64, 128
"""Flags; the first two: how Last-Modified is kept. 1 has no meaning: earlier crawls have set it."""
PLAIN = 0x8000  # in the upper two bytes of the time, which needs fewer
SAID, UNTIL, SIZE = struct.Struct("<HH"), struct.Struct("<I"), struct.Struct("<H")
# bytes; longer ones are not worth their room
LONGEST_ETAG, LONGEST_DATE, LONGEST_COPY = 128, 64, 1000
SECONDS = 0xFFFF_FFFF  # until 2106
COUNT = 0xFFFF
LARGEST_FLOAT = 3.0e38  # of a float of 4 bytes
# before a record in a link's history: how it came there; neither begins an origin
TURN, AHEAD = "r=", "a="
# The mark of an entry in the queue: the page is due; the policy is to be asked again; a listing is
# due; as ASK, in queues of earlier crawls, and a time of 5 bytes follows; a signal says that the
# page has changed, of which the entry has no record but a stand-in, with the page that has told of
# it after another space.
DUE, ASK, LISTED, ASK_BY, SIGNAL = b"\0", b"\1", b"\2", b"\3", b"\4"
MARKS = frozenset((DUE, ASK, LISTED, ASK_BY, SIGNAL))


@dataclass(slots=True)
class PageRecord:
    """One page, as its last fetch left it."""

    url: str
    path: str = ""  # discovery path, so that the Link can be made again; via and seed are not kept
    fetched: float = 0.0  # last fetch, seconds since 1970; kept to 1/256 s
    etag: bytes = b""  # as sent; b"" if longer than 128 bytes
    modified: bytes = b""  # Last-Modified as sent; b"" if longer than 64 bytes
    digest: int = 0  # 64 bits of the body's keyed digest
    text: int = 0  # simhash of the visible text (neardup/), 0: none
    # what visits say of the change rate d, as d**shape * exp(-span * d); at first nothing
    shape: float = 0.0
    span: float = 0.0  # in seconds
    weight: float = 1.0  # importance
    visits: int = 0  # up to 65,535
    changes: int = 0  # up to 65,535
    gone: int = 0  # 404 or 410 in a row, up to 255
    # when the answer was fetched that the archive has, to the millisecond; 0: it has none
    stored: float = 0.0
    copy_of: str = ""  # the URL of that answer, if it is another's
    plain: bool = False  # that answer has no content coding
    # of its use, by headers and by the document (content/purpose_bits.py)
    said: tuple[int, int] = (0, 0)
    # it has moved for good, and what was known of it went along: that happens once
    handed: bool = False
    # a sitemap or feed with turns of its own: shape and span are of what its readings brought
    listing: bool = False
    # its owner says that it is fresh until then, whole seconds since 1970; 0: no word of that
    holds: int = 0
    # fetched ahead of its turn, because this page says that it has changed; not kept
    signal: str | None = None


def pack(record: PageRecord) -> bytes:
    """Return the record as buckets on disk keep it."""
    return b"%b%b %b" % (_packed(record), record.path.encode(), record.url.encode())


def unpack(data: bytes) -> PageRecord:
    """Return the record that `pack` has packed. Raise ValueError if these bytes are no record."""
    record, at = _unpacked(data)
    path, space, url = data[at:].partition(b" ")
    if not space or not url:
        raise ValueError("the record of a page has no URL")
    record.path = path.decode("ascii")
    record.url = url.decode()
    return record


def entry_of(at: int, mark: bytes, record: PageRecord) -> bytes:
    """Return the record as an entry of the queue, after a time in ticks."""
    packed = stamp(at) + mark + pack(record)
    return packed if record.signal is None else b"%b %b" % (packed, record.signal.encode())


def mark_of(entry: bytes) -> bytes:
    return entry[TIME : TIME + 1]


def record_in(entry: bytes) -> PageRecord:
    """Return the record of an entry. Raise ValueError if this is none."""
    mark = mark_of(entry)
    if mark not in MARKS:
        raise ValueError(f"not a valid record of a page: {entry[:80]!r}")
    has_second_time = mark == ASK_BY
    data = entry[TIME + 1 + (TIME if has_second_time else 0) :]
    if mark != SIGNAL:
        return unpack(data)
    data, _, via = data.rpartition(b" ")
    record = unpack(data)
    record.signal = via.decode()
    return record


def to_history(record: PageRecord) -> str:
    """Return the record for `Link.history`: text without spaces, without URL and path."""
    kind = TURN if record.signal is None else AHEAD
    return kind + b2a_base64(_packed(record), newline=False).decode()


def from_history(text: str) -> PageRecord | None:
    """Return the record of a history, without URL and path, or None if this history is no record."""
    if not text.startswith((TURN, AHEAD)):
        return None
    try:
        data = a2b_base64(text[len(TURN) :], strict_mode=True)
        record, at = _unpacked(data)
    except (Error, ValueError):
        return None
    return record if at == len(data) else None


def is_ahead(link: Link) -> bool:
    """Return whether this link fetches a page ahead of its turn, with a stand-in record.

    The page's own record is still in a bucket.
    """
    return link.history.startswith(AHEAD)


def link_of(record: PageRecord) -> Link:
    """Return the link that fetches the page again."""
    return Link(record.url, record.path, via=record.signal or "", history=to_history(record))


def record_of(link: Link) -> PageRecord | None:
    """Return the record inside a link, or None if the link has none."""
    record = from_history(link.history)
    if record is not None:
        record.url = link.url
        # The redirects of this visit are no part of the way to the page.
        record.path = link.path[: len(link.path) - hops(link.chain)]
    return record


def _packed(record: PageRecord) -> bytes:
    """Return the bytes of a page's record: a head of fixed size, then what its flags announce.

    Text that is too long is left out; numbers are brought within their bounds. The order of the
    parts is the format: `_unpacked` reads them in the same one.
    """
    etag = record.etag if len(record.etag) <= LONGEST_ETAG else b""
    flags = HANDED * record.handed | LISTING * record.listing
    tail = b""  # what the flags announce
    modified = record.modified
    if modified:
        date = read_http_date(modified)
        if date is not None and 0 <= date <= SECONDS:
            flags |= DATED
            tail = DATE.pack(date)
        elif len(modified) <= LONGEST_DATE:
            flags |= WORDED
            tail = bytes((len(modified),)) + modified
    if record.said != (0, 0):
        flags |= SPOKEN
        tail += SAID.pack(*record.said)
    if record.holds:
        flags |= HOLDS
        tail += UNTIL.pack(min(record.holds, SECONDS))
    if record.copy_of:
        address = record.copy_of.encode()
        flags |= COPY
        tail += SIZE.pack(len(address)) + address
    try:
        return _head(record, flags, len(etag)) + etag + tail
    except (OverflowError, ValueError, struct.error):
        # A number beyond its room. To look at all of them each time would cost every page.
        return _head(_bounded(record), flags, len(etag)) + etag + tail


def _head(record: PageRecord, flags: int, etag_size: int) -> bytes:
    """Return the part of a record that has a fixed size.

    Raise OverflowError, ValueError or struct.error if a number is beyond its room.
    """
    seconds = int(record.fetched)
    stored = round(record.stored * 1000)  # milliseconds
    return HEAD.pack(
        flags,
        etag_size,
        seconds,
        int((record.fetched - seconds) * 256),
        record.digest,
        record.text,
        record.shape,
        record.span,
        record.weight,
        record.visits,
        record.changes,
        record.gone,
        stored >> 32 | PLAIN * record.plain,
        stored & 0xFFFF_FFFF,
    )


def _bounded(record: PageRecord) -> PageRecord:
    """Return the record with each number as near as its room allows."""
    return PageRecord(
        "",
        fetched=_within(record.fetched, float(SECONDS)),
        digest=record.digest & (1 << 64) - 1,
        text=record.text & (1 << 64) - 1,
        shape=_within(record.shape, LARGEST_FLOAT),
        span=_within(record.span, LARGEST_FLOAT),
        weight=_within(record.weight, LARGEST_FLOAT),
        visits=min(max(record.visits, 0), COUNT),
        changes=min(max(record.changes, 0), COUNT),
        gone=min(max(record.gone, 0), 255),
        stored=_within(record.stored, float(SECONDS)),
        plain=record.plain,
    )


def _within(number: float, most: float) -> float:
    """Return the number within 0 and `most`; 0 for NaN."""
    return min(max(number, 0.0), most) if number == number else 0.0  # noqa: PLR0124 - NaN


def _unpacked(data: bytes) -> tuple[PageRecord, int]:
    """Return the record at the start of these bytes, without URL and path, and where it ends.

    Raise ValueError if these bytes are no record.
    """
    try:
        # `part`: 256ths of a second. `high` and `low`: when it was archived, and PLAIN.
        flags, etag_size, seconds, part, digest, text, *floats, visits, changes, gone, high, low = (
            HEAD.unpack_from(data)
        )
        position = HEAD.size + etag_size
        etag = data[HEAD.size : position]
        modified = b""
        if flags & DATED:
            modified = http_date(*DATE.unpack_from(data, position))
            position += DATE.size
        elif flags & WORDED:
            start = position + 1
            position = start + data[position]
            modified = data[start:position]
        said = 0, 0
        holds = 0
        copy_of = ""
        if flags & SPOKEN:
            said = SAID.unpack_from(data, position)
            position += SAID.size
        if flags & HOLDS:
            (holds,) = UNTIL.unpack_from(data, position)
            position += UNTIL.size
        if flags & COPY:
            (length,) = SIZE.unpack_from(data, position)
            start = position + SIZE.size
            position = start + length
            copy_of = data[start:position].decode()
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"not a valid record of a page: {data[:80]!r}") from error
    # A slice beyond the end raises nothing.
    if position > len(data) or etag_size > LONGEST_ETAG:
        raise ValueError(f"not a valid record of a page: {data[:80]!r}")
    shape, span, weight = floats
    fetched = seconds + part / 256
    return PageRecord(
        "",
        "",
        fetched,
        etag,
        modified,
        digest,
        text,
        shape,
        span,
        weight,
        visits,
        changes,
        gone,
        (((high & ~PLAIN) << 32) + low) / 1000,
        copy_of,
        bool(high & PLAIN),
        (said[0], said[1]),
        bool(flags & HANDED),
        bool(flags & LISTING),
        holds,
    ), position
