"""Reads the answers of an archive as a crawl has them: as a link and an exchange.

The records that belong together are one `RecordedCapture`: an answer, its request, its metadata,
and the document that a browser made of it. Heads and bodies are read by the code of the crawl's own
clients, with the same bounds. The length that a head declares is ignored: the block has all there
is, and some programs archive decoded bodies under the head that was received.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from webcrawl.base.dates import seconds_of
from webcrawl.base.model import Exchange, Link, RecordLocation, Timings
from webcrawl.base.url_text import is_view
from webcrawl.net.codings import most_coded
from webcrawl.net.errors import BadAnswer
from webcrawl.net.ftp_listing import LISTING
from webcrawl.net.http_answer import Message
from webcrawl.net.http_framing import (
    END_OF_HEAD,
    MAX_HEAD,
    Head,
    check_start,
    head_fields,
    read_head,
)
from webcrawl.net.robots_book import origin_of, robots_url
from webcrawl.record.warc.capture import RETRY_FIELD, UNMODIFIED
from webcrawl.record.warc.reader import ReadRecord, RecordReader
from webcrawl.record.warc.unpacked_stream import RecordStart
from webcrawl.urls.canonical import InvalidUrl, canonical

MAX_NOTES = 4  # metadata records of one answer that are read; programs write one
# By the kind of a record: the fields in which it names the answer to which it belongs
ANSWER_FIELDS = {
    "conversion": ("warc-refers-to",),
    "request": ("warc-concurrent-to",),
    "metadata": ("warc-concurrent-to", "warc-refers-to"),
    "resource": ("warc-concurrent-to",),
}
ANSWER_KINDS = frozenset(("response", "revisit", "resource", "conversion"))


@dataclass(slots=True)
class RecordedCapture:
    """The records of one download in an archive; `first` holds the answer, or refers to it."""

    first: ReadRecord
    place: RecordStart  # of the earliest of its records: some programs write the request first
    request: ReadRecord | None = None
    document: ReadRecord | None = None  # what a browser made of the answer
    notes: list[ReadRecord] = field(default_factory=list)  # metadata records
    after_all: RecordStart | None = None  # of the record after the last one, once that is known
    after_first: RecordStart | None = None  # of the record after `first`

    def accept_record(self, record: ReadRecord) -> bool:
        """Add a record that follows, if it belongs to this answer; return whether it does."""
        if not self._is_of_answer(record):
            return False
        if record.kind == "request":
            self.request = record
        elif record.kind == "metadata":
            if len(self.notes) < MAX_NOTES:
                self.notes.append(record)
        # A conversion record may also be a picture, or the text of a page
        elif record.kind == "conversion" and _is_document(record):
            self.document = record
        return True

    def take_request_before(self, request: ReadRecord) -> None:
        """Add a request that stands before its answer, if this is the answer."""
        if self._is_of_answer(request) or self.first.names(request.id, "warc-concurrent-to"):
            self.request = request
            self.place = request.place

    def _is_of_answer(self, record: ReadRecord) -> bool:
        # Any other resource record is an answer itself
        if record.kind == "resource" and not is_view(record.url):
            return False
        return record.names(self.first.id, *ANSWER_FIELDS.get(record.kind, ()))


def _is_document(record: ReadRecord) -> bool:
    return record.fields.get("content-type", "").lower().startswith("text/html")


def captures(
    records: RecordReader, on_unusable: Callable[[ReadRecord, str], object]
) -> Iterator[RecordedCapture]:
    """Yield the captures of a file in their order.

    A request may stand before its answer, as wget and Heritrix write it. Call `on_unusable` with
    each record that is a segment of an answer, and with the reason.
    """
    current: RecordedCapture | None = None
    request: ReadRecord | None = None  # that no answer has followed yet
    for record in records:
        if current is not None and current.accept_record(record):
            continue
        is_segment = "warc-segment-number" in record.fields
        if is_segment or record.kind == "continuation":
            on_unusable(record, "it is split into segments, which are not joined")
        if current is not None:
            current.after_all = request.place if request is not None else record.place
            yield current
            current = None
        if record.kind in ANSWER_KINDS and not is_segment:
            current = RecordedCapture(record, record.place, after_first=records.place)
            if request is not None:
                current.take_request_before(request)
            request = None
        elif record.kind == "request":
            request = record
    if current is not None:
        current.after_all = records.place
        yield current


# Headers that a 304 does not replace: they describe its own message, or a body that it does not
# have
_PAGE_HEADERS = re.compile(
    rb"content-.*|transfer-encoding|connection|keep-alive|trailer|upgrade", re.IGNORECASE
)


def page_after_304(page: Exchange, answer: Exchange) -> Exchange:
    """Return the page that an earlier answer and this 304 make together (RFC 9111, 3.2).

    The page has the status and the body of the earlier answer, and the headers that the 304 has
    updated.
    """
    new = [(name, value) for name, value in answer.headers if not _PAGE_HEADERS.fullmatch(name)]
    new_names = {name.lower() for name, _ in new}
    kept = [(name, value) for name, value in page.headers if name.lower() not in new_names]
    return replace(
        answer,
        status=page.status,
        headers=kept + new,
        wire=b"",
        payload=page.payload,
        body=page.body,
        truncated=page.truncated,
        rendered=page.rendered,
        _digest=page.digest,
        _type=None,
    )


# Bytes of the head of an archived answer. Browsers accept longer heads than the crawl's own client.
MAX_ARCHIVED_HEAD = 4 * MAX_HEAD
ROBOTS_PATH = "/robots.txt"
PREREQUISITE = "P"  # the last letter of the path of a link that was fetched for other links
MAX_HOPS = 1000  # letters of a discovery path that are kept
MAX_INTERIM_HEADS = 10  # of status 1xx, before the final one
# The fields in which a revisit record names another record
REFERENCE_FIELDS = frozenset(("warc-refers-to", "warc-refers-to-target-uri", "warc-payload-digest"))
# What some programs write for newer protocols
_VERSION = re.compile(rb"^HTTP/[23](?:\.\d)?(?=[ \t])")
# As browsers read a status line: up to four bytes of garbage may come first
_STATUS = re.compile(rb"[^\n]{0,4}?(?:HTTP|ICY)(?:/[\d.]*)?[ \t]+([1-9]\d\d)(?!\d)", re.IGNORECASE)
_TRANSFER_ENCODING = b"transfer-encoding"
_CHUNK_HEAD = re.compile(rb"[0-9A-Fa-f]+[ \t]*(?:;[^\n]*)?\r?\n")
_NO_HOP = re.compile(r"[^A-Za-z]+")
_MILLISECONDS = re.compile(r"[0-9]{1,9}")  # up to eleven days: a longer number is damaged
_BREAKING = re.compile(r"[\s\x00-\x1f\x7f]+")


class Unusable(Exception):  # noqa: N818 - reads as what it is
    """A record that cannot be read as a page; the message is its reason."""


class NoPage(Unusable):
    """A record that is no page for any crawl, such as the answer of a name server."""


class NoOriginal(Unusable):
    """A revisit record whose payload is in none of the files."""


def max_block_bytes(truncate: int) -> int:
    """Return how many bytes of a block must be read for a body of at most `truncate` bytes."""
    return MAX_ARCHIVED_HEAD + most_coded(truncate)


def needs_original(capture: RecordedCapture) -> bool:
    """Return whether the payload of this capture is in another record."""
    first = capture.first
    if first.kind != "revisit":
        return False
    # Some programs write revisit records for a 304 without any reference: there is no original
    names_none = REFERENCE_FIELDS.isdisjoint(first.fields)
    return not (names_none and is_unmodified(first))


def is_repeat(capture: RecordedCapture) -> bool:
    """Return whether the crawl did not accept this answer, and requested the URL again."""
    return any(f"\n{RETRY_FIELD}: ".encode() in note.block for note in capture.notes)


def _has_head(first: ReadRecord) -> bool:
    """Return whether a record's block begins with an HTTP head, which may be unreadable."""
    return bool(first.block) and _is_http(first)


def is_unmodified(first: ReadRecord) -> bool:
    """Return whether this is the revisit record of a 304: another record has the page."""
    return first.kind == "revisit" and UNMODIFIED in first.fields.get("warc-profile", "")


class Answers:
    """Makes a link and an exchange of each capture. Bodies are truncated after `truncate` bytes."""

    def __init__(self, truncate: int) -> None:
        self._truncate = truncate

    def read_with_original(
        self, capture: RecordedCapture, original: Exchange, file: str = ""
    ) -> tuple[Link, Exchange]:
        """Return the link and the exchange of a revisit record, given the answer it refers to.

        Raise Unusable if the record cannot be read.
        """
        if not is_unmodified(capture.first):
            return self.read(capture, original, file)
        # A 304 with a head of its own is read alone, and then joined with the earlier page
        payload_source = None if _has_head(capture.first) else original
        link, answer = self.read(capture, payload_source, file)
        return link, page_after_304(original, answer)

    def read(
        self, capture: RecordedCapture, original: Exchange | None = None, file: str = ""
    ) -> tuple[Link, Exchange]:
        """Return the link and the exchange of a capture.

        `original` is the answer whose payload a revisit record repeats. `file` is the name of the
        archive file. Raise Unusable if the record cannot be read as a page.
        """
        first = capture.first
        notes = _metadata_of(capture)
        try:
            url = canonical(first.url)
        except InvalidUrl as error:
            raise NoPage(error.reason) from error
        started = seconds_of(first.fields.get("warc-date", ""))
        if first.kind == "conversion":
            exchange = self._document(first, url, started)
        elif first.kind == "revisit" and not _has_head(first):
            exchange = _revisit_without_head(original, url, started)
        elif first.kind == "resource" or not _is_http(first):
            exchange = self._resource(first, url, started)
        else:
            exchange = self._http(first, url, started, original)
        self._complete(exchange, capture, notes)
        # Only a record that is a gzip member of its own can be copied out of its file
        if capture.after_first is not None and not first.place.skip:
            length = capture.after_first.offset - first.place.offset
            if length > 0:
                exchange.state.archived = RecordLocation(file, first.place.offset, length)
        via = _without_blanks(notes.get("via", ""))
        seed = _without_blanks(notes.get("sourcetag", ""))
        hops = _NO_HOP.sub("", notes.get("hopsfromseed", ""))[:MAX_HOPS]
        return Link(url, hops or _guessed_hops(url, seed), via, seed), exchange

    def _http(
        self, first: ReadRecord, url: str, started: float, original: Exchange | None
    ) -> Exchange:
        """Return the answer of a record with an HTTP head. Raise Unusable if it cannot be read."""
        head, body = _final_head(first.block)
        if first.kind == "revisit":
            # The block is the head alone, and the payload of the original has no chunks
            body = original.payload if original is not None else b""
            chunked = False
        else:
            chunked = _CHUNK_HEAD.match(body) is not None
        message = self._message(head, body, chunked=chunked)
        exchange = _new_exchange(
            url, started, head.status, head.raw, head.headers, *message.forms()
        )
        exchange.flaws = ("head", *message.flaws) if head.mended else tuple(message.flaws)
        exchange.truncated = "length" if _is_block_truncated(first) else message.truncated
        if original is not None:
            exchange.truncated = exchange.truncated or original.truncated
            if original.rendered:
                exchange.body = original.body
                exchange.rendered = True
        return exchange

    def _message(self, head: Head, body: bytes, *, chunked: bool) -> Message:
        """Return the message of this head and body, which ends where the block ends.

        Without `chunked` the body has no chunks, whatever the head says: some programs store
        bodies without chunks under the head that was received.
        """
        headers = []
        for name, value in head.headers:
            if name.lower() == b"content-length":
                continue
            says_chunked = not chunked and name.lower() == _TRANSFER_ENCODING
            headers.append((name, _without_chunked(value) if says_chunked else value))
        message = Message(replace(head, headers=headers), self._truncate, bodiless=False)
        if not message.feed(body):
            message.lost(reset=False)
        return message

    def _resource(self, first: ReadRecord, url: str, started: float) -> Exchange:
        """Return the answer of a protocol without heads, such as FTP: the content of a URL."""
        kind = first.fields.get("content-type", "")
        headers = [(b"content-type", kind.encode())] if kind else []
        payload = first.block[: self._truncate]
        exchange = _new_exchange(url, started, 200, b"", headers, payload, payload, payload)
        if first.size > len(payload):
            exchange.truncated = "length"
        # The last line of a listing that is truncated may be half of a name
        if kind.startswith(LISTING) and first.fields.get("warc-truncated"):
            exchange.body = payload[: payload.rfind(b"\n") + 1]
        return exchange

    def _document(self, first: ReadRecord, url: str, started: float) -> Exchange:
        """Return the document that a browser made of an answer that is not in the archive."""
        exchange = self._resource(first, url, started)
        exchange.wire = b""
        exchange.rendered = True
        return exchange

    def _complete(
        self, exchange: Exchange, capture: RecordedCapture, notes: Mapping[str, str]
    ) -> None:
        """Add to an answer what the request, the document and the metadata records say of it."""
        first = capture.first
        exchange.ip = first.fields.get("warc-ip-address", "")
        if capture.request is not None:
            exchange.request = capture.request.block
        if first.kind != "revisit" and first.fields.get("warc-truncated"):
            exchange.truncated = first.fields["warc-truncated"].lower()
        if capture.document is not None:
            exchange.body = capture.document.block[: self._truncate]
            exchange.rendered = True
        milliseconds = notes.get("fetchtimems", "")
        if _MILLISECONDS.fullmatch(milliseconds):
            exchange.timings.total = int(milliseconds) / 1000
        if notes.get("flaws"):
            exchange.flaws = tuple(notes["flaws"].split(","))
        exchange.tls = notes.get("tls", "")
        exchange.made_by = notes.get("madeby", "")
        exchange.protocol = notes.get("protocol", "")


def _revisit_without_head(original: Exchange | None, url: str, started: float) -> Exchange:
    """Return the answer of a revisit record without a head (WARC 1.1, 6.7.2)."""
    if original is None:
        raise Unusable("it has no HTTP head")
    state = original.state.but(archived=None)
    return replace(original, url=url, request=b"", started=started, timings=Timings(), state=state)


def _guessed_hops(url: str, seed: str) -> str:
    """Return the discovery path of a URL whose path the archive lacks: that of a seed.

    A robots.txt counts as fetched for other URLs, unless it is a seed: most programs do not say for
    what they fetched it.
    """
    is_robots = url.endswith(ROBOTS_PATH) and url == robots_url(origin_of(url))
    return PREREQUISITE if is_robots and url != seed else ""


def _without_chunked(value: bytes) -> bytes:
    """Return the value of a Transfer-Encoding header without the coding `chunked`."""
    codings = value.split(b",")
    return b",".join(coding for coding in codings if coding.strip().lower() != b"chunked")


def _new_exchange(
    url: str,
    started: float,
    status: int,
    head: bytes,
    headers: list[tuple[bytes, bytes]],
    wire: bytes,
    payload: bytes,
    body: bytes,
) -> Exchange:
    """Return an exchange whose request, address and timings are not known yet."""
    return Exchange(url, b"", status, head, headers, wire, payload, body, "", started, Timings())


def _is_http(first: ReadRecord) -> bool:
    kind = first.fields.get("content-type", "").lower()
    if kind.startswith("application/http"):
        return True
    return first.kind != "resource" and first.block.startswith(b"HTTP/")


def _is_block_truncated(first: ReadRecord) -> bool:
    """Return whether the reader kept only part of the block."""
    return first.size > len(first.block)


def _final_head(block: bytes) -> tuple[Head, bytes]:
    """Return the head of the answer, after the heads of interim answers, and the bytes behind it.

    Raise Unusable if the head cannot be read, or if all heads are those of interim answers.
    """
    for _ in range(MAX_INTERIM_HEADS):
        block = block.lstrip(b"\r\n")
        end = END_OF_HEAD.search(block, 0, MAX_ARCHIVED_HEAD)
        if end is not None:
            raw = block[: end.end()]
            head = _parsed_head(raw)
        else:
            raw = block
            head = _head_without_end(raw)
        block = block[len(raw) :]
        if head.status >= 200:
            head.raw = raw
            head.mended = head.mended or end is None or len(raw) > MAX_HEAD
            return head, block
    raise Unusable("it has only interim answers (status 1xx)")


def _head_without_end(raw: bytes) -> Head:
    """Return the head of a block that has no empty line, and so no body. Raise Unusable."""
    if not raw or len(raw) > MAX_ARCHIVED_HEAD:
        raise Unusable("it has no HTTP head")
    return _parsed_head(raw.rstrip(b"\r\n") + b"\r\n\r\n")


def _parsed_head(raw: bytes) -> Head:
    try:
        return _read_head(raw)
    except BadAnswer as error:
        raise Unusable("its HTTP head cannot be read") from error


def _read_head(raw: bytes) -> Head:
    """Return the head, even if the crawl's client would refuse it.

    A refused head does not matter here, because the body ends with the record. Raise BadAnswer if
    it has no status.
    """
    try:
        check_start(raw)
        return read_head(_VERSION.sub(b"HTTP/1.1", raw))
    except BadAnswer:
        status = _STATUS.match(raw)
        if status is None:
            raise
        return Head(raw, int(status[1]), head_fields(raw), "1.0", mended=True)


def _metadata_of(capture: RecordedCapture) -> dict[str, str]:
    """Return the fields of all metadata records of a capture, with names in lower case."""
    notes: dict[str, str] = {}
    for record in capture.notes:
        notes = record.values() | notes
    return notes


def _without_blanks(text: str) -> str:
    """Return the text with blanks and control characters escaped, as the fields of a link need."""
    return _BREAKING.sub("%20", text)
