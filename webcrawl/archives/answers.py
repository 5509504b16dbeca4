"""What an archive has of a download, as the crawl that made it had it: a link, and an exchange.

Heads and bodies are read by the crawl's own clients' code, with the same bounds. The length that a head declares is not
believed: the block is what there is, and some programs archive bodies decoded, under the head that came.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from webcrawl.archives.captures import Capture
from webcrawl.model import Archived, Exchange, Link, Timings
from webcrawl.net.errors import BadAnswer, BadHead
from webcrawl.net.ftp_listing import LISTING
from webcrawl.net.http_head import END_OF_HEAD, MAX_HEAD, Head, read_head
from webcrawl.net.http_message import Message
from webcrawl.urls.canonical import InvalidUrl, canonical
from webcrawl.warc.reader import Record

SLACK = 65536  # bytes beyond twice the bound of a body, as in net/http_message.py
HOPS = 1000  # letters of a path that are kept
INTERIM = 10  # heads of status 1xx before the real one
NOT_MODIFIED = "server-not-modified"  # a revisit whose answer had no body of its own: 304
NAMES = frozenset(("warc-refers-to", "warc-refers-to-target-uri", "warc-payload-digest"))  # of another record
_VERSION = re.compile(rb"^HTTP/[23](?:\.\d)?(?=[ \t])")  # what some programs write of newer protocols
_CHUNK = re.compile(rb"[0-9A-Fa-f]+[ \t]*(?:;[^\n]*)?\r?\n")
_NO_HOP = re.compile(r"[^A-Za-z]+")
_BREAKING = re.compile(r"[\s\x00-\x1f\x7f]+")


class Unusable(Exception):  # noqa: N818 - reads as what it is
    """A record that cannot be read as a page; the message is its reason."""


class NoPage(Unusable):
    """A record that no crawl makes a page of: a name server's answer, say."""


def most(truncate: int) -> int:
    """Bytes of a block that are needed for a body of at most `truncate` bytes."""
    return MAX_HEAD + 2 * truncate + SLACK


def refers(capture: Capture) -> bool:
    """Whether the payload is in another record. Some programs write of a 304 only that it was one."""
    first = capture.first
    return first.kind == "revisit" and not (is_unmodified(first) and NAMES.isdisjoint(first.fields))


def is_unmodified(first: Record) -> bool:
    """Whether the answer was a 304, which says that another record has the page."""
    return first.kind == "revisit" and NOT_MODIFIED in first.fields.get("warc-profile", "")


class Answers:
    """Makes links and exchanges of captures; bodies have at most `truncate` bytes."""

    def __init__(self, truncate: int) -> None:
        self._truncate = truncate

    def read(self, capture: Capture, original: Exchange | None = None, file: str = "") -> tuple[Link, Exchange]:
        """The link and the exchange; of a revisit, the payload is the original's. Unusable: there is none."""
        first, notes = capture.first, _notes(capture)
        try:
            url = canonical(first.url)
        except InvalidUrl as error:
            raise NoPage(error.reason) from error
        started = _seconds(first.fields.get("warc-date", ""))
        if first.kind == "conversion":
            exchange = self._document(first, url, started)
        elif first.kind == "resource" or not _is_http(first):
            exchange = self._resource(first, url, started)
        else:
            exchange = self._http(first, url, started, original)
        self._complete(exchange, capture, notes)
        if capture.end is not None and not first.place.skip and capture.end.offset > first.place.offset:
            exchange.archived = Archived(file, first.place.offset, capture.end.offset - first.place.offset)
        via, seed = (_word(notes.get(name, "")) for name in ("via", "sourcetag"))
        return Link(url, _NO_HOP.sub("", notes.get("hopsfromseed", ""))[:HOPS], via, seed), exchange

    def _http(self, first: Record, url: str, started: float, original: Exchange | None) -> Exchange:
        head, body = _heads(first.block)
        if first.kind == "revisit":
            body = original.payload if original is not None else b""
        message = self._message(head, body, chunked=first.kind != "revisit" and _CHUNK.match(body) is not None)
        wire, payload, decoded = message.forms()
        flaws, truncated = tuple(message.flaws), message.truncated
        exchange = _exchange(url, started, head.status, head.raw, head.headers, wire, payload, decoded)
        exchange.flaws, exchange.truncated = flaws, "length" if _is_cut(first) else truncated
        if original is not None and original.rendered:
            exchange.body, exchange.rendered = original.body, True
        return exchange

    def _message(self, head: Head, body: bytes, *, chunked: bool) -> Message:
        """The message whose end is the block's. Some programs unchunk bodies and leave the head as it came."""
        left_out = (b"content-length",) if chunked else (b"content-length", b"transfer-encoding")
        headers = [(name, value) for name, value in head.headers if name.lower() not in left_out]
        message = Message(Head(head.raw, head.status, headers, head.version), self._truncate, bodiless=False)
        if not body or not message.feed(body):
            message.lost(reset=False)
        return message

    def _resource(self, first: Record, url: str, started: float) -> Exchange:
        """What lies under a URL, of a protocol without heads."""
        kind = first.fields.get("content-type", "")
        headers = [(b"content-type", kind.encode())] if kind else []
        payload = first.block[: self._truncate]
        exchange = _exchange(url, started, 200, b"", headers, payload, payload, payload)
        if first.size > len(payload):
            exchange.truncated = "length"
        if kind.startswith(LISTING) and first.fields.get("warc-truncated"):
            exchange.body = payload[: payload.rfind(b"\n") + 1]
        return exchange

    def _document(self, first: Record, url: str, started: float) -> Exchange:
        """A browser's document of which nothing else is known."""
        exchange = self._resource(first, url, started)
        exchange.wire, exchange.rendered = b"", True
        return exchange

    def _complete(self, exchange: Exchange, capture: Capture, notes: Mapping[str, str]) -> None:
        """What the other records say."""
        first = capture.first
        exchange.ip = first.fields.get("warc-ip-address", "")
        if capture.request is not None:
            exchange.request = capture.request.block
        if first.kind != "revisit" and first.fields.get("warc-truncated"):
            exchange.truncated = first.fields["warc-truncated"].lower()
        if capture.document is not None:
            exchange.body, exchange.rendered = capture.document.block[: self._truncate], True
        if notes.get("fetchtimems", "").isdecimal():
            exchange.timings.total = int(notes["fetchtimems"]) / 1000
        if notes.get("flaws"):
            exchange.flaws = tuple(notes["flaws"].split(","))
        exchange.tls, exchange.made_by = notes.get("tls", ""), notes.get("madeby", "")
        exchange.protocol = notes.get("protocol", "")


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


def _is_http(first: Record) -> bool:
    kind = first.fields.get("content-type", "").lower()
    return kind.startswith("application/http") or (first.kind != "resource" and first.block.startswith(b"HTTP/"))


def _is_cut(first: Record) -> bool:
    """Whether the reader has not kept all of the block."""
    return first.size > len(first.block)


def _heads(block: bytes) -> tuple[Head, bytes]:
    """The head of the answer, after those of interim ones, and what follows it."""
    for _ in range(INTERIM):
        block = block.lstrip(b"\r\n")
        end = END_OF_HEAD.search(block, 0, MAX_HEAD)
        raw = block[: end.end()] if end is not None else block
        if end is None and (len(raw) > MAX_HEAD or not raw):
            raise Unusable("no HTTP head")
        try:
            head = _head(raw if end is not None else raw.rstrip(b"\r\n") + b"\r\n\r\n")
        except BadAnswer as error:
            raise Unusable("an HTTP head that cannot be read") from error
        block = block[len(raw) :]
        if head.status >= 200:
            head.raw = raw
            return head, block
    raise Unusable("only interim answers")


def _head(raw: bytes) -> Head:
    if not raw.startswith(b"HTTP/"):
        raise BadHead("not HTTP")
    return read_head(_VERSION.sub(b"HTTP/1.1", raw))


def _notes(capture: Capture) -> dict[str, str]:
    """The fields of the metadata records, with names in lower case."""
    notes: dict[str, str] = {}
    for record in capture.notes:
        for line in record.block.decode("utf-8", "replace").splitlines():
            name, colon, value = line.partition(":")
            if colon:
                notes.setdefault(name.strip().lower(), value.strip())
    return notes


def _word(text: str) -> str:
    """No field of a link has a blank or a control character."""
    return _BREAKING.sub("%20", text)


def _seconds(date: str) -> float:
    """Of a WARC-Date; 0 if there is none that can be read. Some programs write more digits than Python reads."""
    try:
        return datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", date)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
