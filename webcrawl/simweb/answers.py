"""Requests to the synthetic web and its answers, as plain values without sockets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from math import ceil
from typing import NamedTuple

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Ask:
    """The parts of a request that an answer may depend on."""

    host: int
    path: str  # the request target: path and query
    accept: str = ""  # Accept-Encoding
    etag: str = ""  # If-None-Match
    since: str = ""  # If-Modified-Since
    attempt: int = 1  # requests for this URL so far, this one included
    name: str = ""  # of the host, as requested


class Anchor(NamedTuple):
    """A link as a crawler should find it: its kind, and its URL in canonical form."""

    source: str  # one of the crawl's LINK_SOURCES
    url: str
    nofollow: bool = False


class Ending(Enum):
    """What the server does with the connection after an answer."""

    KEEP = "keep"
    CLOSE = "close"
    RESET = "reset"
    HANG = "hang"


Step = bytes | float  # bytes to send, or seconds to wait


@dataclass(slots=True)
class Answer:
    """An answer. If there is a `script`, its steps are sent, head included; the other fields are for the truth."""

    status: int = 200
    body: bytes = b""
    type: str = HTML
    headers: tuple[str, ...] = ()  # further header lines
    links: Sequence[Anchor] = ()
    location: str = ""  # where a redirect leads, in canonical form; "" if a crawler may not go there
    retry_after: float = 0.0
    retry_date: str = ""  # the same as a date, if it is to be sent as one
    delay: float = 0.0  # seconds before the first byte
    chunked: bool = False
    sized: bool = True  # whether the head states the body's length
    script: Iterable[Step] | None = None
    ending: Ending = Ending.KEEP
    broken: bool = False  # no complete answer is sent: a crawler should retry
    date: str = ""  # of a server whose clock is wrong
    edition: str = ""  # of a changing page, as the log is to have it

    @property
    def again(self) -> bool:
        """Whether a crawler may retry."""
        return self.broken or self.status in (408, 429) or 500 <= self.status < 600


REASONS = {status.value: status.phrase for status in HTTPStatus}


def head(answer: Answer, date: str, *, length: int | None = None, close: bool = False, chunked: bool = False) -> bytes:
    """The head of an answer. Without a length or chunks the body ends with the connection."""
    lines = [
        f"HTTP/1.1 {answer.status} {REASONS.get(answer.status, 'Unheard Of')}",
        "Server: simweb",
        f"Date: {date}",
    ]
    if answer.type:
        lines.append(f"Content-Type: {answer.type}")
    lines += answer.headers
    if chunked:
        lines.append("Transfer-Encoding: chunked")
    elif length is not None and answer.status not in (204, 304):  # RFC 9110 8.6: no length where no content is allowed
        lines.append(f"Content-Length: {length}")
    if answer.retry_after:
        lines.append(f"Retry-After: {answer.retry_date or ceil(answer.retry_after)}")
    if close:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"
