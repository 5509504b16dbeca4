"""Requests to the synthetic web, its answers, and the places of special ones, without sockets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import Enum
from html import escape
from http import HTTPStatus
from math import ceil
from typing import NamedTuple, Protocol

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class WebRequest:
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


class ConnectionEnd(Enum):
    """The fate of the connection after an answer."""

    KEEP = "keep"
    CLOSE = "close"
    RESET = "reset"
    HANG = "hang"


Step = bytes | float  # bytes to send, or seconds to wait


@dataclass(slots=True)
class WebAnswer:
    """An answer of the synthetic web.

    If there is a `script`, the server sends its steps, head included. The other fields then only
    say what a crawler should make of the answer.
    """

    status: int = 200
    body: bytes = b""
    type: str = HTML
    headers: tuple[str, ...] = ()  # further header lines
    links: Sequence[Anchor] = ()
    # where a redirect leads, in canonical form; "" if a crawler may not go there
    location: str = ""
    retry_after: float = 0.0
    retry_date: str = ""  # the same as a date, if it is to be sent as one
    delay: float = 0.0  # seconds before the first byte
    chunked: bool = False
    has_length: bool = True  # whether the head states the body's length
    script: Iterable[Step] | None = None  # what is sent in place of the fields above
    ending: ConnectionEnd = ConnectionEnd.KEEP
    broken: bool = False  # no complete answer is sent: a crawler should retry
    date: str = ""  # of a server whose clock is wrong
    edition: str = ""  # of a changing page, as the log is to have it

    @property
    def may_retry(self) -> bool:
        """Return whether a crawler may request the URL again."""
        return self.broken or self.status in (408, 429) or 500 <= self.status < 600


REASONS = {status.value: status.phrase for status in HTTPStatus}


def head(
    answer: WebAnswer,
    date: str,
    *,
    length: int | None = None,
    close: bool = False,
    chunked: bool = False,
) -> bytes:
    """Return the status line and the header lines of an answer, with the empty line after them.

    Without `length` and `chunked`, the end of the connection is the end of the body.
    """
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
    elif length is not None and answer.status not in (204, 304):
        # RFC 9110 8.6: no length where no content is allowed
        lines.append(f"Content-Length: {length}")
    if answer.retry_after:
        lines.append(f"Retry-After: {answer.retry_date or ceil(answer.retry_after)}")
    if close:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")


def seconds_of_date(text: str) -> float:
    """Return the time of a date in a request's header; 0 if it is empty or no date."""
    try:
        return parsedate_to_datetime(text).timestamp() if text else 0.0
    except ValueError:
        return 0.0


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"


class ChangingWeb(Protocol):
    """The changing pages of a world, as the code of sitemaps and feeds sees them."""

    world: Web
    oldest: int

    def answer(self, request: WebRequest, /) -> WebAnswer | None: ...
    def robots_lines(self, host: int, /) -> str: ...
    def feed(self, host: int, /) -> str: ...
    def target(self, host: int, page: int, moment: float, /) -> str: ...
    def modified(self, host: int, page: int, moment: float, /) -> float: ...


class Web(Protocol):
    """The world, as its kinds of hosts, pages and special answers see it."""

    hosts: int
    seed: int
    port: int
    size: tuple[int, int]
    links: int
    addresses: int
    slow: float
    agent: str
    clock: Callable[[], float]
    popular: bool

    @property
    def changing_pages(self) -> ChangingWeb | None: ...
    def kind(self, group: str, number: int, /) -> str: ...
    def name(self, host: int, /) -> str: ...
    def number(self, name: str, /) -> int | None: ...
    def address(self, host: int, /) -> str: ...
    def origin(self, host: int, /) -> str: ...
    def entrances(self, host: int, /) -> Sequence[int]: ...
    def first_page(self, host: int, /) -> int: ...
    def pages_of(self, host: int, /) -> int: ...
    def page_at(self, host: int, path: str, /) -> int | None: ...
    def random_host(self, number: int, /) -> int: ...


_TARGET = re.compile(r"/x/([a-z0-9_]+)/(\d{1,10})(?:([/?].*))?")


@dataclass(frozen=True, slots=True)
class AnswerPlace:
    """The place of a special answer: host, kind and number.

    `rest` is what follows the number in the URL. `request` is None if only the links of the place
    are wanted.
    """

    world: Web
    host: int
    kind: str
    number: int
    rest: str = ""
    request: WebRequest | None = None

    @classmethod
    def of(cls, world: Web, request: WebRequest) -> AnswerPlace | None:
        """Return the place that a request is for, or None if its path is not that of a place."""
        match = _TARGET.fullmatch(request.path)
        if match is None:
            return None
        return cls(world, request.host, match[1], int(match[2]), match[3] or "", request)

    @property
    def attempt(self) -> int:
        return self.request.attempt if self.request else 1

    @property
    def path(self) -> str:
        """Return the path of the place's first URL."""
        return f"/x/{self.kind}/{self.number}"

    @property
    def url(self) -> str:
        return self.origin + self.path

    @property
    def origin(self) -> str:
        return self.world.origin(self.host)

    def landing(self, name: str = "here") -> str:
        """Return the path of an ordinary page that only this place links to."""
        return f"/x/landing/{self.number}/{self.kind}/{name}"

    def anchor(self, source: str = "a", name: str = "here", *, nofollow: bool = False) -> Anchor:
        return Anchor(source, self.origin + self.landing(name), nofollow)

    def other_host(self) -> int:
        """Return another host than the place's, or the same one if the world has only one."""
        return (self.host + 1 + self.number % max(self.world.hosts - 1, 1)) % self.world.hosts


def document(title: str, body: str, head: str = "") -> bytes:
    """Return a small HTML page.

    The caller must give each place another title, so that no two bodies are equal by chance.
    """
    return (
        f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{escape(title)}</title>{head}</head>\n'
        f"<body><h1>{escape(title)}</h1>\n{body}\n</body></html>\n"
    ).encode()


@dataclass(frozen=True, slots=True)
class AnswerKind:
    """One kind of special answer: what its URLs answer, and which URLs a page of the kind links to."""

    answer: Callable[[AnswerPlace], WebAnswer]
    # the URLs of the answer that a tree page of this kind links to
    entries: Callable[[AnswerPlace], list[str]] = lambda place: [place.url]
    trap: bool = False  # its links lead to ever more pages of its own
    counted: bool = False  # the answer depends on how often the URL has been requested
