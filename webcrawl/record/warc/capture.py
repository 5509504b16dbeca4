"""The WARC records of one exchange, assembled in memory: no file is touched here.

`RecentPayloads` knows where recent payloads were written, so that a revisit record can refer to the
original.

A thread compresses them, and does nothing but compute: what it has computed, the event loop's
thread fetches and writes, in order.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import NamedTuple

from webcrawl.base.dates import iso
from webcrawl.base.digest import TOGETHER, label, labels, sha1
from webcrawl.base.model import Exchange, Link, PageView, RecordLocation
from webcrawl.base.url_text import visible
from webcrawl.content.formats.sniffing import identified_type
from webcrawl.record.warc.warc_record import (
    HTML,
    HTTP_REQUEST,
    HTTP_RESPONSE,
    VERSION,
    WARC_FIELDS,
    NewRecord,
    fields,
    line,
    member,
    named,
    spoken,
)
from webcrawl.store.worker import Worker

# About 300 bytes each: 9 MiB with URLs of 70 bytes, 69 MiB if all had 2,000. They are in no
# checkpoint: after a restart the first copy of each payload is written once more.
LIMIT = 1 << 15


class RecentPayloads:
    """The payloads written or found most recently, between `limit / 2` and `limit` of them.

    There are two generations. A full new generation replaces the old one; a payload found in the
    old generation moves to the new one. So popular payloads are never dropped, like popular URLs in
    Mercator's cache.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._half = max(1, limit // 2)
        self._new: dict[str, bytes] = {}
        self._old: dict[str, bytes] = {}

    def __repr__(self) -> str:
        return f"<RecentPayloads {len(self)} at most {2 * self._half}>"

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def find(self, digest: str) -> tuple[str, str, str] | None:
        """Return identifier, address and date of the record with this payload, or None."""
        packed = self._new.get(digest)
        if packed is None:
            packed = self._old.pop(digest, None)
            if packed is None:
                return None
            self._put(digest, packed)
        identifier, address, date = packed.decode().split(" ")
        return identifier, address, date

    def add(self, digest: str, identifier: str, address: str, date: str) -> None:
        """Add a record. None of the three may have a blank: they are stored as one string."""
        self._old.pop(digest, None)
        self._put(digest, f"{identifier} {address} {date}".encode())

    def _put(self, digest: str, packed: bytes) -> None:
        if len(self._new) >= self._half and digest not in self._new:
            self._old = self._new
            self._new = {}
        self._new[digest] = packed


# Reasons why a body is cut, with which a payload may be a revisit or an original: what is cut at a
# length is cut at the same place again.
REPEATABLE = ("", "length")


def payload_key(exchange: Exchange) -> str:
    """Return the payload's name among those written; a cut payload has another than a whole one."""
    return f"{exchange.digest}{exchange.truncated}"


AGAIN = "triedAgain"  # the metadata field of an answer after which its URL was asked for again
# Profiles of revisit records
IDENTICAL, UNMODIFIED = "identical-payload-digest", "server-not-modified"
PROFILES = f"http://netpreserve.org/warc/{VERSION}/revisit/"
NOT_MODIFIED = 304
IDENTIFIED_HTML = "WARC-Identified-Payload-Type: text/html\r\n"  # of a browser's document
# The name that pywb and others give to a header that an archive has replaced
RECEIVED_LENGTH = b"X-Archive-Orig-Content-Length"
_CONTENT_LENGTH = re.compile(
    rb"(?<=\n)content-length[ \t]*:[ \t]*([0-9]{1,18})[ \t]*(?=\r?\n)", re.IGNORECASE
)
NOWHERE = RecordLocation("")
NO_DIGEST = bytes(20)  # in the place of a record that there is not


class IndexedRecord(NamedTuple):
    """What the index needs of a record behind the metadata: a browser's document, or a view."""

    address: str
    content_type: str
    digest: str  # of its block, which is its payload


@dataclass(slots=True)
class CaptureRecords:
    """The records of an exchange, with what later revisit records and the index need of them."""

    records: list[NewRecord]
    digest: str
    identifier: str
    address: str
    date: str
    is_original: bool
    made: tuple[IndexedRecord, ...] = ()  # the last records, made by a browser
    copy_of: tuple[str, str] | None = None  # of another's payload, byte for byte: its URL and date
    bare: bool = False  # the answer is not kept: there is nothing to replay
    line: tuple[str, str] = ("", "")  # of the index, without what only the written record has
    place: RecordLocation = NOWHERE
    weight: int = 0  # in a press
    # Once it is packed:
    data: bytes = b""
    size: int = 0  # bytes of the first record
    made_sizes: tuple[int, ...] = ()

    def pack(self) -> CaptureRecords:
        """Compute the digests of the blocks, and compress.

        Any thread may do it: nothing else is touched.
        """
        records = self.records
        self.records = []
        digests = [record.sha1() for record in records[:TOGETHER]]
        digests += [NO_DIGEST] * (TOGETHER - len(digests))
        names: tuple[str, ...] = labels(*digests)
        # The records behind are made by a browser
        if len(records) > TOGETHER:
            behind = self.made[TOGETHER - len(records) :]
            names = (*names, *(record.digest for record in behind))
        members = [member(*one) for one in zip(records, names, strict=False)]
        self.size = len(members[0])
        if self.made:
            self.made_sizes = tuple(map(len, members[-len(self.made) :]))
        self.data = b"".join(members)
        return self


class CaptureMaker:
    """Turns exchanges into records."""

    def __init__(self, originals: RecentPayloads, new_id: Callable[[], str]) -> None:
        self._originals = originals
        self._new_id = new_id

    def take(
        self,
        link: Link,
        exchange: Exchange,
        *,
        warcinfo: str,
        duplicate: bool,
        metadata: Mapping[str, str],
        bare: bool = False,
    ) -> CaptureRecords:
        """Return the capture of an exchange: its first record, and those that refer to it.

        A response, revisit or resource record comes first, then request and metadata (WARC 1.1,
        5.7). A browser's document of the payload follows as a conversion record, unless both were
        written recently. An earlier crawl's document of the same payload may have been another.
        The views of the page come last.
        """
        when = iso(exchange.started)
        identifier = self._new_id()
        address = visible(exchange.url)
        digest = exchange.digest
        place = f"{line('WARC-Target-URI', address)}WARC-Date: {when}\r\nWARC-Warcinfo-ID: {warcinfo}\r\n"
        common = place
        # A conversion record has neither (WARC 1.1, 5.7 and 5.8)
        if exchange.head or not exchange.rendered:
            common += line("WARC-IP-Address", exchange.ip) + spoken(exchange)
        if bare:
            records = self._bare(link, exchange, digest, metadata, (identifier, common))
            return CaptureRecords(
                records, digest, identifier, address, when, is_original=False, bare=True
            )
        original = self._original(exchange, address, duplicate=duplicate)
        if original is not None:
            referred = self._referred(exchange, digest)
            first = self._revisit(exchange, referred, original)
        else:
            referred = digest
            first = _answer(exchange, digest)
        request = NewRecord("request", "", HTTP_REQUEST, exchange.request)
        about = NewRecord(
            "metadata", "", WARC_FIELDS, fields(_about(link, exchange, digest, metadata))
        )
        records = self._together([first, request, about], identifier, common)
        known = referred if exchange.state.withheld is None and referred else "-"
        capture = CaptureRecords(
            records, known, identifier, address, when, is_original=original is None
        )
        is_first_fetch = not exchange.state.same_since
        if original is not None and is_first_fetch and _is_identical(exchange, referred):
            capture.copy_of = original[1:]
        lacks_document = original is None or exchange.state.refers is not None
        if exchange.rendered and exchange.head and lacks_document:
            capture.made += (IndexedRecord(address, "text/html", label(sha1(exchange.body))),)
            records.append(self._document(exchange, f"{place}WARC-Refers-To: {identifier}\r\n"))
        # Behind all others, and under the same date: a package has the page and its views, or
        # neither
        for view in exchange.state.views:
            made = IndexedRecord(
                f"{view.prefix}{address}", view.content_type, label(sha1(view.data))
            )
            capture.made += (made,)
            records.append(self._view(view, made, capture, warcinfo))
        return capture

    def _together(self, records: list[NewRecord], identifier: str, common: str) -> list[NewRecord]:
        """Return the first record and the others with a block, which refer to the first."""
        first, *others = records
        first.common = f"WARC-Record-ID: {identifier}\r\n{common}"
        common += f"WARC-Concurrent-To: {identifier}\r\n"
        together = [first]
        for record in others:
            if record.block:
                record.common = f"WARC-Record-ID: {self._new_id()}\r\n{common}"
                together.append(record)
        return together

    def _bare(
        self,
        link: Link,
        exchange: Exchange,
        digest: str,
        metadata: Mapping[str, str],
        shared: tuple[str, str],
    ) -> list[NewRecord]:
        """Return the records of an answer whose body may not be kept.

        They are metadata, to which the request and the head refer.
        """
        identifier, common = shared
        values = {**_about(link, exchange, digest, metadata), "payloadDigest": digest}
        about = NewRecord("metadata", "", WARC_FIELDS, fields(values))
        request = NewRecord("request", "", HTTP_REQUEST, exchange.request)
        head = NewRecord("metadata", "", HTTP_RESPONSE, exchange.head)
        return self._together([about, request, head], identifier, common)

    def _original(
        self, exchange: Exchange, address: str, *, duplicate: bool
    ) -> tuple[str, str, str] | None:
        """Return identifier, address and date of the record that has this payload already.

        The identifier is empty if it is not known. Return None if no record has the payload.
        """
        state = exchange.state
        if state.refers is not None:
            return state.refers[:3]
        is_known = duplicate or state.same_since
        if not is_known or not _may_repeat(exchange):
            return None
        original = self._originals.find(payload_key(exchange))
        if not state.same_since:
            return original
        # A page that was fetched again: the state has no identifier of its earlier answer. If that
        # was a revisit record, its original counts: pywb follows no chain.
        if original is None or exchange.status == NOT_MODIFIED:
            return "", state.copy_of or address, iso(state.same_since)
        return original

    def _referred(self, exchange: Exchange, digest: str) -> str:
        """Return the digest of the payload that a revisit record refers to; empty if it is unknown.

        Of a page that was fetched again only the decoded body is known to be the same.
        """
        if exchange.state.refers is not None:
            return exchange.state.refers.digest
        if exchange.status == NOT_MODIFIED:
            return ""
        is_known = (
            exchange.payload is exchange.body
            or self._originals.find(payload_key(exchange)) is not None
        )
        return digest if is_known else ""

    def _document(self, exchange: Exchange, common: str) -> NewRecord:
        """Return a conversion record, which has no WARC-IP-Address and no WARC-Concurrent-To."""
        common = f"WARC-Record-ID: {self._new_id()}\r\n{common}"
        return NewRecord("conversion", IDENTIFIED_HTML, HTML, exchange.body, common=common)

    def _view(
        self, view: PageView, made: IndexedRecord, capture: CaptureRecords, warcinfo: str
    ) -> NewRecord:
        """Return the record of a screenshot or PDF, under the date of the page that it shows."""
        common = (
            f"WARC-Record-ID: {self._new_id()}\r\n{line('WARC-Target-URI', made.address)}"
            f"WARC-Date: {capture.date}\r\nWARC-Warcinfo-ID: {warcinfo}\r\n"
            f"WARC-Concurrent-To: {capture.identifier}\r\n"
        )
        digest = f"WARC-Payload-Digest: {made.digest}\r\n"
        kind = line("Content-Type", view.content_type)
        return NewRecord("resource", digest, kind, view.data, common=common)

    def _revisit(
        self, exchange: Exchange, referred: str, original: tuple[str, str, str]
    ) -> NewRecord:
        """Return a revisit record. Payloads are called identical only if more than the bodies are."""
        identifier, address, when = original
        where = line("WARC-Refers-To", identifier)
        where += f"WARC-Refers-To-Target-URI: {address}\r\nWARC-Refers-To-Date: {when}\r\n"
        is_304 = exchange.status == NOT_MODIFIED or exchange.unmodified
        if not is_304 and _is_identical(exchange, referred):
            why = IDENTICAL
            # "shall be used for any identical-digest truncation"
            cut = "WARC-Truncated: length\r\n"
        else:
            # This profile claims nothing about the bytes
            why = UNMODIFIED
            cut = ""
        own = (
            f"WARC-Profile: {PROFILES}{why}\r\n{where}{line('WARC-Payload-Digest', referred)}{cut}"
        )
        return NewRecord("revisit", own, HTTP_RESPONSE, _ending_head(exchange))


def _may_repeat(exchange: Exchange) -> bool:
    """Return whether the payload is one that an earlier record can have, too."""
    has_head = bool(exchange.head)
    return has_head and exchange.truncated in REPEATABLE and exchange.state.withheld is None


def _is_identical(exchange: Exchange, referred: str) -> bool:
    """Return whether the payload is that of the record referred to.

    The digest of an earlier crawl's record may be of another kind.
    """
    if exchange.state.refers is not None:
        return exchange.state.refers.identical
    return referred == exchange.digest


def _answer(exchange: Exchange, digest: str) -> NewRecord:
    head = exchange.head
    payload = exchange.payload
    # A redirect without its body is a response record all the same, so that replay can follow it
    if exchange.state.withheld is not None:
        return NewRecord("response", "WARC-Truncated: unspecified\r\n", HTTP_RESPONSE, head)
    own = line("WARC-Truncated", exchange.truncated)
    if not head or not _is_transfer_coded(exchange):
        own += f"WARC-Payload-Digest: {digest}\r\n"
    if identified := _payload_type(exchange):
        own += f"WARC-Identified-Payload-Type: {identified}\r\n"
    if head:
        return NewRecord("response", own, HTTP_RESPONSE, _ending_head(exchange), exchange.wire)
    if exchange.rendered:
        return NewRecord("conversion", own, HTML, payload)
    # FTP and Gopher have no head: the payload is the block
    content_type = ""
    if payload:
        content_type = line("Content-Type", exchange.content_type or "application/octet-stream")
    return NewRecord("resource", own, content_type, payload)


def _ending_head(exchange: Exchange) -> bytes:
    """Return the head of the answer; that of a cut body declares the length of what is kept.

    Programs that replay an archive send its heads as they are, and a browser waits for ever for the
    bytes that a declared length promises and nobody has. The length that was received stays in the
    head under another name.
    """
    if not exchange.truncated or _is_transfer_coded(exchange):
        return exchange.head
    declared = _CONTENT_LENGTH.search(exchange.head)
    if declared is None or int(declared[1]) <= len(exchange.wire):
        return exchange.head
    kept = b"Content-Length: %d\r\n%s: %s" % (len(exchange.wire), RECEIVED_LENGTH, declared[1])
    return exchange.head[: declared.start()] + kept + exchange.head[declared.end() :]


def _payload_type(exchange: Exchange) -> str:
    """Return the media type that the decoded payload shows, or an empty string.

    datatrove and others who make corpora choose records by this field. Without it they ask
    libmagic, for which XHTML is `text/xml`, and drop the page.
    """
    if not exchange.rendered or not exchange.head:
        return identified_type(exchange.content_type, exchange.body)
    # The body is the browser's document. The payload itself is at hand, but not without its content
    # coding.
    if b"content-encoding" in exchange.names:
        return ""
    return identified_type(exchange.content_type, exchange.payload)


def _is_transfer_coded(exchange: Exchange) -> bool:
    """Return whether the payload digest must be left out of the response record.

    The standard's digest is of the payload without transfer coding (6.3.2), but `warcio check` and
    `fastwarc check -p` include the coding. The metadata record has the digest of such a response.
    """
    return exchange.wire != exchange.payload


def _lacks_digest(exchange: Exchange) -> bool:
    """Return whether the record cannot have a payload digest."""
    return exchange.state.withheld is not None or _is_transfer_coded(exchange)


def _about(
    link: Link, exchange: Exchange, digest: str, metadata: Mapping[str, str]
) -> dict[str, str]:
    """Return the standard's three fields, Heritrix's source tag, then this project's own."""
    is_head_made = exchange.head and (exchange.made_by or exchange.protocol)
    return {
        "via": link.via,
        "hopsFromSeed": link.hops,
        "fetchTimeMs": str(round(exchange.timings.total * 1000)),
        "sourceTag": link.seed,
        "payloadDigest": digest if exchange.head and _lacks_digest(exchange) else "",
        "flaws": ",".join(exchange.flaws),
        "tls": exchange.tls,
        "certificate": exchange.certificate,
        "madeBy": exchange.made_by,
        "protocol": exchange.protocol,
        "reconstructed": "head" if is_head_made else "",
        **named(metadata),
    }


# Bytes to compress per job: handing one over costs 30 µs, which a dozen pages share
BATCH = 1 << 19
MOST = 1 << 23  # bytes that may wait for the thread
EACH = 1 << 12  # bytes that a capture counts for, beside its blocks


class CompressionQueue:
    """A queue of captures. Memory is bounded: what is too much is waited for.

    The thread does not write: lengths and errors would be shared by two threads, to save 5 µs per
    page. A process would get a copy of each page, and might write after `kill -9` into a file that
    the next run has cut back.
    """

    def __init__(self, *, batch: int = BATCH, most: int = MOST) -> None:
        """Raise RuntimeError if the thread cannot be started."""
        self._batch = batch
        self._most = most
        self._open: list[CaptureRecords] = []
        self._open_size = 0
        self._under_way: deque[tuple[list[CaptureRecords], Future[None]]] = deque()
        self.size = 0  # at least what all that was not fetched will take, compressed
        self._worker = Worker()

    def add(self, capture: CaptureRecords) -> bool:
        """Take a capture; return whether it is time to fetch those that are ready."""
        size = EACH
        for record in capture.records:
            size += len(record.block) + len(record.rest)
        capture.weight = size
        self._open.append(capture)
        self._open_size += size
        self.size += size
        if self._open_size < self._batch:
            return False
        self.push()
        return True

    def push(self) -> None:
        """Make the thread begin with the captures that were added so far."""
        if self._open:
            self._under_way.append((self._open, self._worker.submit(_pack, self._open)))
            self._open = []
            self._open_size = 0

    def ready(self) -> Iterator[CaptureRecords]:
        """Yield captures that are compressed, and wait for others while too many are queued."""
        while self._under_way:
            has_room = self.size <= self._most or len(self._under_way) == 1
            if has_room and not self._worker.done(self._under_way[0][1]):
                return
            yield from self._next()

    def rest(self) -> Iterator[CaptureRecords]:
        """Yield all captures; wait for the thread."""
        self.push()
        while self._under_way:
            yield from self._next()

    def until_done(self) -> Iterator[None]:
        """Yield until all captures that were added before are compressed."""
        self.push()
        if self._under_way:
            yield from self._worker.until_done(self._under_way[-1][1])

    def _next(self) -> Iterator[CaptureRecords]:
        """Yield the first batch.

        If the batch could not be compressed, raise the error on this call and on every later one,
        so that nothing is written after a gap.
        """
        captures, future = self._under_way[0]
        self._worker.result(future)
        self._under_way.popleft()
        for capture in captures:
            self.size -= capture.weight
            yield capture

    def close(self) -> None:
        """End the thread; what is not fetched is lost. A second call does nothing."""
        self._worker.close()


def _pack(captures: list[CaptureRecords]) -> None:
    for capture in captures:
        capture.pack()
