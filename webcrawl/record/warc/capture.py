"""Makes the WARC records of an exchange in memory, and compresses them. No file is touched here.

`CaptureMaker` makes the records, and `RecentPayloads` knows to which record a revisit record can
refer. `CompressionQueue` has a thread compress the records.
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
    compressed_record,
    field_line,
    fields,
    protocol_fields,
    token_names,
)
from webcrawl.store.jobdir.index_line import NOT_MODIFIED
from webcrawl.store.worker import Worker

# About 300 bytes each: 9 MiB with URLs of 70 bytes, 69 MiB if all had 2,000. No checkpoint has
# them: after a restart the first copy of each payload is written once more.
MAX_PAYLOADS = 1 << 15


class RecentPayloads:
    """The payloads written or found most recently, between `limit / 2` and `limit` of them.

    There are two generations. A full new generation replaces the old one; a payload found in the
    old generation moves to the new one. So popular payloads are never dropped, like popular URLs in
    Mercator's cache.
    """

    def __init__(self, limit: int = MAX_PAYLOADS) -> None:
        self._half = max(1, limit // 2)
        self._new: dict[str, bytes] = {}
        self._old: dict[str, bytes] = {}

    def __repr__(self) -> str:
        return f"<RecentPayloads {len(self)} at most {2 * self._half}>"

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def find(self, digest: str) -> tuple[str, str, str] | None:
        """Return identifier, URL and date of the record with this payload, or None."""
        packed = self._new.get(digest)
        if packed is None:
            packed = self._old.pop(digest, None)
            if packed is None:
                return None
            self._put(digest, packed)
        identifier, address, date = packed.decode().split(" ")
        return identifier, address, date

    def add(self, digest: str, identifier: str, address: str, date: str) -> None:
        """Add a record with a payload. Its identifier, URL and date must not contain blanks."""
        self._old.pop(digest, None)
        self._put(digest, f"{identifier} {address} {date}".encode())

    def _put(self, digest: str, packed: bytes) -> None:
        if len(self._new) >= self._half and digest not in self._new:
            self._old = self._new
            self._new = {}
        self._new[digest] = packed


# Reasons for a truncated body with which a payload may be a revisit or an original: what was
# truncated at a length will be truncated at the same place again
REPEATABLE = ("", "length")


def payload_key(exchange: Exchange) -> str:
    """Return the key of a payload in RecentPayloads.

    A truncated payload has another than a whole one.
    """
    return f"{exchange.digest}{exchange.truncated}"


# The metadata field of an answer that was not accepted: its URL was requested again
RETRY_FIELD = "triedAgain"
# Profiles of revisit records
IDENTICAL_PAYLOAD = "identical-payload-digest"
UNMODIFIED = "server-not-modified"
PROFILE_PREFIX = f"http://netpreserve.org/warc/{VERSION}/revisit/"
IDENTIFIED_HTML = "WARC-Identified-Payload-Type: text/html\r\n"  # of a browser's document
# The name that pywb and others give to a header that an archive has replaced
RECEIVED_LENGTH_HEADER = b"X-Archive-Orig-Content-Length"
_CONTENT_LENGTH = re.compile(
    rb"(?<=\n)content-length[ \t]*:[ \t]*([0-9]{1,18})[ \t]*(?=\r?\n)", re.IGNORECASE
)
NO_PLACE = RecordLocation("")
NO_DIGEST = bytes(20)  # in place of the SHA-1 of a record that is missing


class IndexedRecord(NamedTuple):
    """What the index needs of a record that a browser made: a document, a screenshot or a PDF."""

    address: str
    content_type: str
    digest: str  # of its block, which is its payload


@dataclass(slots=True)
class CaptureRecords:
    """The records of an exchange, with what later revisit records and the index need of them."""

    records: list[NewRecord]
    digest: str  # of the payload, for the index; "-" if it is not known
    identifier: str  # of the first record
    address: str  # the URL
    date: str
    is_original: bool  # later revisit records may refer to it
    browser_records: tuple[IndexedRecord, ...] = ()  # the last records, made by a browser
    copy_of: tuple[str, str] | None = None  # URL and date of the record with the identical payload
    without_body: bool = False  # the body may not be kept: there is nothing to replay
    # The beginning of its line in the index, and the fields of the answer
    index_fields: tuple[str, str] = ("", "")
    place: RecordLocation = NO_PLACE
    queued_size: int = 0  # that it counts for in a CompressionQueue
    # Set by `pack`
    data: bytes = b""  # all records, compressed
    size: int = 0  # compressed bytes of the first record
    browser_sizes: tuple[int, ...] = ()  # compressed bytes of the records made by a browser

    def pack(self) -> CaptureRecords:
        """Compute the digests of the blocks and compress the records; return the capture itself.

        Any thread may call this: only the capture changes.
        """
        records = self.records
        self.records = []
        digests = [record.sha1() for record in records[:TOGETHER]]
        digests += [NO_DIGEST] * (TOGETHER - len(digests))
        names: tuple[str, ...] = labels(*digests)
        # All records after these are made by a browser, and their digests are known
        if len(records) > TOGETHER:
            later = self.browser_records[TOGETHER - len(records) :]
            names = (*names, *(record.digest for record in later))
        members = list(map(compressed_record, records, names))
        self.size = len(members[0])
        if self.browser_records:
            self.browser_sizes = tuple(map(len, members[-len(self.browser_records) :]))
        self.data = b"".join(members)
        return self


class CaptureMaker:
    """Makes the records of exchanges. Payloads that were written recently become revisit records."""

    def __init__(self, originals: RecentPayloads, new_id: Callable[[], str]) -> None:
        self._originals = originals
        self._new_id = new_id

    def make(
        self,
        link: Link,
        exchange: Exchange,
        *,
        warcinfo: str,
        duplicate: bool,
        metadata: Mapping[str, str],
        without_body: bool = False,
    ) -> CaptureRecords:
        """Return the capture of an exchange: its first record, and the records that refer to it.

        A response, revisit or resource record comes first, then the request and the metadata (WARC
        1.1, 5.7). A browser's document follows as a conversion record, unless it was written
        recently with the same payload. The screenshots and PDFs of the page come last.

        `warcinfo` is the identifier of the file's warcinfo record. A `duplicate` is a body that was
        seen before. `without_body`: only metadata, request and head may be kept.
        """
        when = iso(exchange.started)
        identifier = self._new_id()
        address = visible(exchange.url)
        digest = exchange.digest
        place = f"{field_line('WARC-Target-URI', address)}WARC-Date: {when}\r\nWARC-Warcinfo-ID: {warcinfo}\r\n"
        common = place
        # A conversion record has neither address nor protocol (WARC 1.1, 5.7 and 5.8)
        if exchange.head or not exchange.rendered:
            common += field_line("WARC-IP-Address", exchange.ip) + protocol_fields(exchange)
        if without_body:
            records = self._records_without_body(
                link, exchange, digest, metadata, (identifier, common)
            )
            return CaptureRecords(
                records, digest, identifier, address, when, is_original=False, without_body=True
            )
        original = self._find_original(exchange, address, duplicate=duplicate)
        if original is not None:
            referred = self._referred_digest(exchange, digest)
            first = self._revisit_record(exchange, referred, original)
        else:
            referred = digest
            first = _answer_record(exchange, digest)
        request = NewRecord("request", "", HTTP_REQUEST, exchange.request)
        about = NewRecord(
            "metadata", "", WARC_FIELDS, fields(_metadata_values(link, exchange, digest, metadata))
        )
        records = self._linked_records([first, request, about], identifier, common)
        known = referred if exchange.state.withheld is None and referred else "-"
        capture = CaptureRecords(
            records, known, identifier, address, when, is_original=original is None
        )
        is_first_fetch = not exchange.state.same_since
        if original is not None and is_first_fetch and _is_identical(exchange, referred):
            capture.copy_of = original[1:]
        # An earlier crawl may have made another document of the same payload
        lacks_document = original is None or exchange.state.refers is not None
        if exchange.rendered and exchange.head and lacks_document:
            capture.browser_records += (
                IndexedRecord(address, "text/html", label(sha1(exchange.body))),
            )
            records.append(
                self._document_record(exchange, f"{place}WARC-Refers-To: {identifier}\r\n")
            )
        # After all others, and under the same date: a package has the page with its views, or
        # neither
        for view in exchange.state.views:
            view_address = f"{view.prefix}{address}"
            indexed = IndexedRecord(view_address, view.content_type, label(sha1(view.data)))
            capture.browser_records += (indexed,)
            records.append(self._view_record(view, indexed, capture, warcinfo))
        return capture

    def _linked_records(
        self, records: list[NewRecord], identifier: str, common: str
    ) -> list[NewRecord]:
        """Return the first record, and those of the others that have a block.

        All get their common fields, and the others a reference to the first record.
        """
        first, *others = records
        first.common = f"WARC-Record-ID: {identifier}\r\n{common}"
        common += f"WARC-Concurrent-To: {identifier}\r\n"
        together = [first]
        for record in others:
            if record.block:
                record.common = f"WARC-Record-ID: {self._new_id()}\r\n{common}"
                together.append(record)
        return together

    def _records_without_body(
        self,
        link: Link,
        exchange: Exchange,
        digest: str,
        metadata: Mapping[str, str],
        shared: tuple[str, str],
    ) -> list[NewRecord]:
        """Return the records of an answer whose body may not be kept.

        The metadata come first, because there is no response record. Request and head refer to it.
        """
        identifier, common = shared
        values = {**_metadata_values(link, exchange, digest, metadata), "payloadDigest": digest}
        about = NewRecord("metadata", "", WARC_FIELDS, fields(values))
        request = NewRecord("request", "", HTTP_REQUEST, exchange.request)
        head = NewRecord("metadata", "", HTTP_RESPONSE, exchange.head)
        return self._linked_records([about, request, head], identifier, common)

    def _find_original(
        self, exchange: Exchange, address: str, *, duplicate: bool
    ) -> tuple[str, str, str] | None:
        """Return identifier, URL and date of the record that has this payload already.

        The identifier is empty if it is not known. Return None if no record has the payload, or if
        none may be referred to.
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
        # The page was fetched before, and the state has no identifier of its earlier record. If
        # that was a revisit record, refer to its original: pywb does not follow chains.
        if original is None or exchange.status == NOT_MODIFIED:
            return "", state.copy_of or address, iso(state.same_since)
        return original

    def _referred_digest(self, exchange: Exchange, digest: str) -> str:
        """Return the digest of the payload that a revisit record refers to, or an empty string.

        It is unknown for a 304, and for a coded payload that was not written recently: of a page
        that was fetched again, only the decoded body is known to be the same.
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

    def _document_record(self, exchange: Exchange, common: str) -> NewRecord:
        """Return a conversion record, which has no WARC-IP-Address and no WARC-Concurrent-To."""
        common = f"WARC-Record-ID: {self._new_id()}\r\n{common}"
        return NewRecord("conversion", IDENTIFIED_HTML, HTML, exchange.body, common=common)

    def _view_record(
        self, view: PageView, indexed: IndexedRecord, capture: CaptureRecords, warcinfo: str
    ) -> NewRecord:
        """Return the record of a screenshot or PDF, under the date of the page that it shows."""
        common = (
            f"WARC-Record-ID: {self._new_id()}\r\n{field_line('WARC-Target-URI', indexed.address)}"
            f"WARC-Date: {capture.date}\r\nWARC-Warcinfo-ID: {warcinfo}\r\n"
            f"WARC-Concurrent-To: {capture.identifier}\r\n"
        )
        digest = f"WARC-Payload-Digest: {indexed.digest}\r\n"
        kind = field_line("Content-Type", view.content_type)
        return NewRecord("resource", digest, kind, view.data, common=common)

    def _revisit_record(
        self, exchange: Exchange, referred: str, original: tuple[str, str, str]
    ) -> NewRecord:
        """Return a revisit record that refers to the original.

        Its profile says that the payloads are identical only if they are, and not if only the
        decoded bodies are.
        """
        identifier, address, date = original
        reference = field_line("WARC-Refers-To", identifier)
        reference += f"WARC-Refers-To-Target-URI: {address}\r\nWARC-Refers-To-Date: {date}\r\n"
        is_304 = exchange.status == NOT_MODIFIED or exchange.unmodified
        if not is_304 and _is_identical(exchange, referred):
            profile = IDENTICAL_PAYLOAD
            # "shall be used for any identical-digest truncation"
            truncated_line = "WARC-Truncated: length\r\n"
        else:
            # This profile claims nothing about the bytes
            profile = UNMODIFIED
            truncated_line = ""
        digest = field_line("WARC-Payload-Digest", referred)
        own = f"WARC-Profile: {PROFILE_PREFIX}{profile}\r\n{reference}{digest}{truncated_line}"
        return NewRecord("revisit", own, HTTP_RESPONSE, _ending_head(exchange))


def _may_repeat(exchange: Exchange) -> bool:
    """Return whether an earlier record can have the same payload, and may be referred to."""
    has_head = bool(exchange.head)
    return has_head and exchange.truncated in REPEATABLE and exchange.state.withheld is None


def _is_identical(exchange: Exchange, referred: str) -> bool:
    """Return whether the payload is identical to that of the record it refers to.

    For a record of an earlier crawl this is known already: its digest may be of another kind.
    """
    if exchange.state.refers is not None:
        return exchange.state.refers.identical
    return referred == exchange.digest


def _answer_record(exchange: Exchange, digest: str) -> NewRecord:
    """Return the record of an answer: response, conversion (a document alone), or resource."""
    head = exchange.head
    payload = exchange.payload
    # A redirect whose body may not be kept is a response record, so that replay can follow it
    if exchange.state.withheld is not None:
        return NewRecord("response", "WARC-Truncated: unspecified\r\n", HTTP_RESPONSE, head)
    own = field_line("WARC-Truncated", exchange.truncated)
    if not head or not _is_transfer_coded(exchange):
        own += f"WARC-Payload-Digest: {digest}\r\n"
    payload_type = _payload_type(exchange)
    if payload_type:
        own += f"WARC-Identified-Payload-Type: {payload_type}\r\n"
    if head:
        return NewRecord("response", own, HTTP_RESPONSE, _ending_head(exchange), exchange.wire)
    if exchange.rendered:
        return NewRecord("conversion", own, HTML, payload)
    # FTP and Gopher have no head: the payload is the block
    content_type = ""
    if payload:
        content_type = field_line(
            "Content-Type", exchange.content_type or "application/octet-stream"
        )
    return NewRecord("resource", own, content_type, payload)


def _ending_head(exchange: Exchange) -> bytes:
    """Return the head of the answer. If the body was truncated, its Content-Length is what is kept.

    Programs that replay an archive send its heads as they are, and a browser would wait for ever
    for the missing bytes. The length that was received stays in the head under another name.
    """
    if not exchange.truncated or _is_transfer_coded(exchange):
        return exchange.head
    declared = _CONTENT_LENGTH.search(exchange.head)
    if declared is None or int(declared[1]) <= len(exchange.wire):
        return exchange.head
    kept = b"Content-Length: %d\r\n%s: %s" % (
        len(exchange.wire),
        RECEIVED_LENGTH_HEADER,
        declared[1],
    )
    return exchange.head[: declared.start()] + kept + exchange.head[declared.end() :]


def _payload_type(exchange: Exchange) -> str:
    """Return the media type that the decoded payload shows, or an empty string.

    Programs that make corpora, such as datatrove, choose records by this field. Without it they
    ask libmagic, which calls XHTML `text/xml`, and drop the page.
    """
    if not exchange.rendered or not exchange.head:
        return identified_type(exchange.content_type, exchange.body)
    # The body is the browser's document, and a payload with a content coding is not decoded here
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


def _metadata_values(
    link: Link, exchange: Exchange, digest: str, metadata: Mapping[str, str]
) -> dict[str, str]:
    """Return the fields of the metadata record: the standard's three, Heritrix's, then our own."""
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
        **token_names(metadata),
    }


# To compress per job. Handing a job over costs 30 µs, which a dozen pages share.
BATCH_BYTES = 1 << 19
MAX_QUEUED_BYTES = 1 << 23  # that may wait for the thread
CAPTURE_BYTES = 1 << 12  # that each capture counts for, beside its blocks


class CompressionQueue:
    """A queue of captures that a thread compresses, in bounded memory.

    If too much is queued, `take_ready` waits for the thread. The thread only computes: the caller
    takes what is compressed and writes it, in order. If the thread wrote, two threads would share
    lengths and errors, to save 5 µs per page. A process would get a copy of each page, and after
    `kill -9` it might write into a file that the next run has truncated.
    """

    def __init__(self, *, batch: int = BATCH_BYTES, most: int = MAX_QUEUED_BYTES) -> None:
        """`batch` and `most` are bytes. Raise RuntimeError if the thread cannot be started."""
        self._batch_bytes = batch
        self._max_bytes = most
        self._batch: list[CaptureRecords] = []  # not handed to the thread yet
        self._batch_size = 0
        self._submitted: deque[tuple[list[CaptureRecords], Future[None]]] = deque()
        # An upper bound of the compressed size of all captures that were not taken yet
        self.size = 0
        self._worker = Worker()

    def add(self, capture: CaptureRecords) -> bool:
        """Add a capture. Return whether a batch was submitted: then call `take_ready`."""
        size = CAPTURE_BYTES
        for record in capture.records:
            size += len(record.block) + len(record.rest)
        capture.queued_size = size
        self._batch.append(capture)
        self._batch_size += size
        self.size += size
        if self._batch_size < self._batch_bytes:
            return False
        self.submit()
        return True

    def submit(self) -> None:
        """Hand the captures that were added to the thread, although the batch is not full."""
        if self._batch:
            self._submitted.append((self._batch, self._worker.submit(_pack_all, self._batch)))
            self._batch = []
            self._batch_size = 0

    def take_ready(self) -> Iterator[CaptureRecords]:
        """Yield the captures that are compressed. Wait for others while too much is queued."""
        while self._submitted:
            has_room = self.size <= self._max_bytes or len(self._submitted) == 1
            if has_room and not self._worker.done(self._submitted[0][1]):
                return
            yield from self._take_batch()

    def take_all(self) -> Iterator[CaptureRecords]:
        """Yield all captures. Wait for the thread."""
        self.submit()
        while self._submitted:
            yield from self._take_batch()

    def until_done(self) -> Iterator[None]:
        """Yield until all captures that were added before are compressed."""
        self.submit()
        if self._submitted:
            yield from self._worker.until_done(self._submitted[-1][1])

    def _take_batch(self) -> Iterator[CaptureRecords]:
        """Yield the captures of the first batch, and wait for them.

        If the batch could not be compressed, raise the error on this call and on every later one,
        so that nothing is written after a gap.
        """
        captures, future = self._submitted[0]
        self._worker.result(future)
        self._submitted.popleft()
        for capture in captures:
            self.size -= capture.queued_size
            yield capture

    def close(self) -> None:
        """End the thread. Captures that were not taken are lost. A second call does nothing."""
        self._worker.close()


def _pack_all(captures: list[CaptureRecords]) -> None:
    for capture in captures:
        capture.pack()
