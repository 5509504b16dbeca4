"""The answers of an archive, as the crawl that made it had them: a link, and an exchange.

Records that belong together are one Capture: an answer, its request, what is noted about it, its
document. Heads and bodies are read by the crawl's own clients' code, with the same bounds. The
length that a head declares is not believed: the block is what there is, and some programs archive
bodies decoded, under the head that came.
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
from webcrawl.record.warc.capture import AGAIN
from webcrawl.record.warc.reader import ReadRecord, RecordReader
from webcrawl.record.warc.unpacking import RecordStart
from webcrawl.urls.canonical import InvalidUrl, canonical

NOTES = 4  # metadata records of one answer that are read; programs write one
REFERENCES = {  # kind of a record -> the fields in which it names the answer that it belongs to
    "conversion": ("warc-refers-to",),
    "request": ("warc-concurrent-to",),
    "metadata": ("warc-concurrent-to", "warc-refers-to"),
    "resource": ("warc-concurrent-to",),
}
ANSWERS = frozenset(("response", "revisit", "resource", "conversion"))


@dataclass(slots=True)
class RecordedCapture:
    """The records of one download in an archive; `first` holds the answer, or refers to it."""

    first: ReadRecord
    place: RecordStart  # where the first of its records begins
    request: ReadRecord | None = None
    document: ReadRecord | None = None  # what a browser made of the answer
    notes: list[ReadRecord] = field(default_factory=list)
    # Where the record after its last one begins, once that is known
    next: RecordStart | None = None
    end: RecordStart | None = None  # where the record after its first one begins

    def takes(self, record: ReadRecord) -> bool:
        """Return whether this record, which follows, belongs to it; it then has it."""
        if not self._is_of_answer(record):
            return False
        if record.kind == "request":
            self.request = record
        elif record.kind == "metadata":
            if len(self.notes) < NOTES:
                self.notes.append(record)
        # A conversion record may also be a picture or the text of a page
        elif record.kind == "conversion" and _is_document(record):
            self.document = record
        return True

    def take_earlier(self, request: ReadRecord) -> None:
        """Take a request that stands before its answer, if this is the answer."""
        if self._is_of_answer(request) or self.first.names(request.id, "warc-concurrent-to"):
            self.request = request
            self.place = request.place

    def _is_of_answer(self, record: ReadRecord) -> bool:
        # It is an answer itself
        if record.kind == "resource" and not is_view(record.url):
            return False
        return record.names(self.first.id, *REFERENCES.get(record.kind, ()))


def _is_document(record: ReadRecord) -> bool:
    return record.fields.get("content-type", "").lower().startswith("text/html")


def captures(
    records: RecordReader, refuse: Callable[[ReadRecord, str], object]
) -> Iterator[RecordedCapture]:
    """Yield the captures of a file in their order.

    A request may stand before its answer, as wget and Heritrix write it. `refuse` hears of answers
    in segments.
    """
    current: RecordedCapture | None = None
    asked: ReadRecord | None = None
    for record in records:
        if current is not None and current.takes(record):
            continue
        is_segment = "warc-segment-number" in record.fields
        if is_segment or record.kind == "continuation":
            refuse(record, "it is split into segments, which are not joined")
        if current is not None:
            current.next = asked.place if asked is not None else record.place
            yield current
            current = None
        if record.kind in ANSWERS and not is_segment:
            current = RecordedCapture(record, record.place, end=records.place)
            if asked is not None:
                current.take_earlier(asked)
            asked = None
        elif record.kind == "request":
            asked = record
    if current is not None:
        current.next = records.place
        yield current


# These do not replace what the earlier answer said: they are of the message, or of a body that did
# not come
_KEPT = re.compile(
    rb"content-.*|transfer-encoding|connection|keep-alive|trailer|upgrade", re.IGNORECASE
)


def unmodified(page: Exchange, answer: Exchange) -> Exchange:
    """Return the earlier page with its own status and the headers after this 304 (RFC 9111 3.2)."""
    new = [(name, value) for name, value in answer.headers if not _KEPT.fullmatch(name)]
    names = {name.lower() for name, _ in new}
    return replace(
        answer,
        status=page.status,
        headers=[(name, value) for name, value in page.headers if name.lower() not in names] + new,
        wire=b"",
        payload=page.payload,
        body=page.body,
        truncated=page.truncated,
        rendered=page.rendered,
        _digest=page.digest,
        _type=None,
    )


LONGEST_HEAD = 4 * MAX_HEAD  # as browsers bear it
# The last letter of the path of a link that was fetched for others
ROBOTS, PREREQUISITE = "/robots.txt", "P"
HOPS = 1000  # letters of a path that are kept
INTERIM = 10  # heads of status 1xx before the real one
NOT_MODIFIED = "server-not-modified"  # a revisit whose answer had no body of its own: 304
# The fields that name another record
NAMES = frozenset(("warc-refers-to", "warc-refers-to-target-uri", "warc-payload-digest"))
# The versions that some programs write for newer protocols
_VERSION = re.compile(rb"^HTTP/[23](?:\.\d)?(?=[ \t])")
# As browsers read it, behind up to four bytes that are none of it
_STATUS = re.compile(rb"[^\n]{0,4}?(?:HTTP|ICY)(?:/[\d.]*)?[ \t]+([1-9]\d\d)(?!\d)", re.IGNORECASE)
_TRANSFER = b"transfer-encoding"
_CHUNK = re.compile(rb"[0-9A-Fa-f]+[ \t]*(?:;[^\n]*)?\r?\n")
_NO_HOP = re.compile(r"[^A-Za-z]+")
_MILLISECONDS = re.compile(r"[0-9]{1,9}")  # up to eleven days: what took longer is a damaged number
_BREAKING = re.compile(r"[\s\x00-\x1f\x7f]+")


class Unusable(Exception):  # noqa: N818 - reads as what it is
    """A record that cannot be read as a page; the message is its reason."""


class NoPage(Unusable):
    """A record that no crawl makes a page of: a name server's answer, say."""


class NoOriginal(Unusable):
    """A revisit record whose payload no file has."""


def most(truncate: int) -> int:
    """Return the bytes of a block that are needed for a body of at most `truncate` bytes."""
    return LONGEST_HEAD + most_coded(truncate)


def refers(capture: RecordedCapture) -> bool:
    """Return whether the payload is in another record."""
    first = capture.first
    if first.kind != "revisit":
        return False
    # Some programs write of a 304 only that it was one
    names_none = NAMES.isdisjoint(first.fields)
    return not (names_none and is_unmodified(first))


def is_repeat(capture: RecordedCapture) -> bool:
    """Return whether the crawl did not accept this answer, and requested the URL again."""
    return any(f"\n{AGAIN}: ".encode() in note.block for note in capture.notes)


def has_head(first: ReadRecord) -> bool:
    """Return whether a record's block begins with an HTTP head, which may be unreadable."""
    return bool(first.block) and _is_http(first)


def is_unmodified(first: ReadRecord) -> bool:
    """Return whether the answer was a 304, which says that another record has the page."""
    return first.kind == "revisit" and NOT_MODIFIED in first.fields.get("warc-profile", "")


class Answers:
    """Makes links and exchanges of captures; bodies have at most `truncate` bytes."""

    def __init__(self, truncate: int) -> None:
        self._truncate = truncate

    def read(
        self, capture: RecordedCapture, original: Exchange | None = None, file: str = ""
    ) -> tuple[Link, Exchange]:
        """Return the link and the exchange; for a revisit, the payload is the original's.

        Raise Unusable if there is none.
        """
        first = capture.first
        notes = _notes(capture)
        try:
            url = canonical(first.url)
        except InvalidUrl as error:
            raise NoPage(error.reason) from error
        started = seconds_of(first.fields.get("warc-date", ""))
        if first.kind == "conversion":
            exchange = self._document(first, url, started)
        elif first.kind == "revisit" and not has_head(first):
            exchange = _again(original, url, started)
        elif first.kind == "resource" or not _is_http(first):
            exchange = self._resource(first, url, started)
        else:
            exchange = self._http(first, url, started, original)
        self._complete(exchange, capture, notes)
        # Only a record that is a member by itself can be cut out of its file
        if capture.end is not None and not first.place.skip:
            length = capture.end.offset - first.place.offset
            if length > 0:
                exchange.state.archived = RecordLocation(file, first.place.offset, length)
        via = _word(notes.get("via", ""))
        seed = _word(notes.get("sourcetag", ""))
        hops = _NO_HOP.sub("", notes.get("hopsfromseed", ""))[:HOPS]
        return Link(url, hops or _guessed_hops(url, seed), via, seed), exchange

    def _http(
        self, first: ReadRecord, url: str, started: float, original: Exchange | None
    ) -> Exchange:
        head, body = _heads(first.block)
        if first.kind == "revisit":
            # Its block is the head alone; the original's payload is without chunks
            body = original.payload if original is not None else b""
            chunked = False
        else:
            chunked = _CHUNK.match(body) is not None
        message = self._message(head, body, chunked=chunked)
        wire, payload, decoded = message.forms()
        exchange = _exchange(
            url, started, head.status, head.raw, head.headers, wire, payload, decoded
        )
        exchange.flaws = ("head", *message.flaws) if head.mended else tuple(message.flaws)
        exchange.truncated = "length" if _is_cut(first) else message.truncated
        if original is not None:
            exchange.truncated = exchange.truncated or original.truncated
            if original.rendered:
                exchange.body = original.body
                exchange.rendered = True
        return exchange

    def _message(self, head: Head, body: bytes, *, chunked: bool) -> Message:
        """Return the message whose end is the block's.

        Some programs unchunk bodies and leave the head as it came.
        """
        headers = []
        for name, value in head.headers:
            if name.lower() == b"content-length":
                continue
            is_outdated = not chunked and name.lower() == _TRANSFER
            headers.append((name, _unchunked(value) if is_outdated else value))
        message = Message(replace(head, headers=headers), self._truncate, bodiless=False)
        if not message.feed(body):
            message.lost(reset=False)
        return message

    def _resource(self, first: ReadRecord, url: str, started: float) -> Exchange:
        """Return the answer of a protocol without heads: what lies under a URL."""
        kind = first.fields.get("content-type", "")
        headers = [(b"content-type", kind.encode())] if kind else []
        payload = first.block[: self._truncate]
        exchange = _exchange(url, started, 200, b"", headers, payload, payload, payload)
        if first.size > len(payload):
            exchange.truncated = "length"
        # The last entry of a listing that is cut may be half of a name
        if kind.startswith(LISTING) and first.fields.get("warc-truncated"):
            exchange.body = payload[: payload.rfind(b"\n") + 1]
        return exchange

    def _document(self, first: ReadRecord, url: str, started: float) -> Exchange:
        """Return a browser's document, without any knowledge of the answer."""
        exchange = self._resource(first, url, started)
        exchange.wire = b""
        exchange.rendered = True
        return exchange

    def _complete(
        self, exchange: Exchange, capture: RecordedCapture, notes: Mapping[str, str]
    ) -> None:
        """Complete the answer by the other records."""
        first = capture.first
        exchange.ip = first.fields.get("warc-ip-address", "")
        if capture.request is not None:
            exchange.request = capture.request.block
        if first.kind != "revisit" and first.fields.get("warc-truncated"):
            exchange.truncated = first.fields["warc-truncated"].lower()
        if capture.document is not None:
            exchange.body = capture.document.block[: self._truncate]
            exchange.rendered = True
        if _MILLISECONDS.fullmatch(took := notes.get("fetchtimems", "")):
            exchange.timings.total = int(took) / 1000
        if notes.get("flaws"):
            exchange.flaws = tuple(notes["flaws"].split(","))
        exchange.tls = notes.get("tls", "")
        exchange.made_by = notes.get("madeby", "")
        exchange.protocol = notes.get("protocol", "")


def _again(original: Exchange | None, url: str, started: float) -> Exchange:
    """Return the answer of a revisit record without a head (WARC 1.1, 6.7.2)."""
    if original is None:
        raise Unusable("it has no HTTP head")
    state = original.state.but(archived=None)
    return replace(original, url=url, request=b"", started=started, timings=Timings(), state=state)


def _guessed_hops(url: str, seed: str) -> str:
    """Return the path of a URL of which an archive has none, as of a seed.

    Most programs do not say which robots.txt they have fetched for themselves. It is no page,
    except as a seed.
    """
    is_robots = url.endswith(ROBOTS) and url == robots_url(origin_of(url))
    return PREREQUISITE if is_robots and url != seed else ""


def _unchunked(value: bytes) -> bytes:
    return b",".join(one for one in value.split(b",") if one.strip().lower() != b"chunked")


def _exchange(
    url: str,
    started: float,
    status: int,
    head: bytes,
    headers: list[tuple[bytes, bytes]],
    wire: bytes,
    payload: bytes,
    body: bytes,
) -> Exchange:
    return Exchange(url, b"", status, head, headers, wire, payload, body, "", started, Timings())


def _is_http(first: ReadRecord) -> bool:
    kind = first.fields.get("content-type", "").lower()
    if kind.startswith("application/http"):
        return True
    return first.kind != "resource" and first.block.startswith(b"HTTP/")


def _is_cut(first: ReadRecord) -> bool:
    """Return whether the reader kept only part of the block."""
    return first.size > len(first.block)


def _heads(block: bytes) -> tuple[Head, bytes]:
    """Return the head of the answer, without the heads of interim ones, and what follows it."""
    for _ in range(INTERIM):
        block = block.lstrip(b"\r\n")
        end = END_OF_HEAD.search(block, 0, LONGEST_HEAD)
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
    """Return the head of a block that has nothing else. Raise Unusable if the block is no head."""
    if not raw or len(raw) > LONGEST_HEAD:
        raise Unusable("it has no HTTP head")
    return _parsed_head(raw.rstrip(b"\r\n") + b"\r\n\r\n")


def _parsed_head(raw: bytes) -> Head:
    try:
        return _head(raw)
    except BadAnswer as error:
        raise Unusable("its HTTP head cannot be read") from error


def _head(raw: bytes) -> Head:
    """Return the head, even if the crawl's client would refuse it: the record ends the body."""
    try:
        check_start(raw)
        return read_head(_VERSION.sub(b"HTTP/1.1", raw))
    except BadAnswer:
        status = _STATUS.match(raw)
        if status is None:
            raise
        return Head(raw, int(status[1]), head_fields(raw), "1.0", mended=True)


def _notes(capture: RecordedCapture) -> dict[str, str]:
    """Return the fields of the metadata records, with names in lower case."""
    notes: dict[str, str] = {}
    for record in capture.notes:
        notes = record.values() | notes
    return notes


def _word(text: str) -> str:
    """Return the text for a field of a link, which has no blanks and control characters."""
    return _BREAKING.sub("%20", text)
