"""Requests to the synthetic web, its answers, and the places of special ones, without sockets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from html import escape
from http import HTTPStatus
from math import ceil
from typing import NamedTuple, Protocol

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


class ConnectionEnd(Enum):
    """The fate of the connection after an answer."""

    KEEP = "keep"
    CLOSE = "close"
    RESET = "reset"
    HANG = "hang"


Step = bytes | float  # bytes to send, or seconds to wait


@dataclass(slots=True)
class WebAnswer:
    """An answer.

    If there is a `script`, its steps are sent, head included; the other fields are for the truth.
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
    sized: bool = True  # whether the head states the body's length
    script: Iterable[Step] | None = None
    ending: ConnectionEnd = ConnectionEnd.KEEP
    broken: bool = False  # no complete answer is sent: a crawler should retry
    date: str = ""  # of a server whose clock is wrong
    edition: str = ""  # of a changing page, as the log is to have it

    @property
    def again(self) -> bool:
        """Return whether a crawler may retry."""
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
    """Return the head of an answer.

    Without a length or chunks the body ends with the connection.
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


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"


class Changing(Protocol):
    """The changing part of a world, as its answers see it."""

    world: Web
    oldest: int

    def answer(self, ask: Ask, /) -> WebAnswer | None: ...
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
    def living(self) -> Changing | None: ...
    def kind(self, group: str, number: int, /) -> str: ...
    def name(self, host: int, /) -> str: ...
    def number(self, name: str, /) -> int | None: ...
    def address(self, host: int, /) -> str: ...
    def origin(self, host: int, /) -> str: ...
    def entrances(self, host: int, /) -> Sequence[int]: ...
    def first_page(self, host: int, /) -> int: ...
    def pages_of(self, host: int, /) -> int: ...
    def page_at(self, host: int, path: str, /) -> int | None: ...
    def abroad(self, number: int, /) -> int: ...


_TARGET = re.compile(r"/x/([a-z0-9_]+)/(\d{1,10})(?:([/?].*))?")


@dataclass(frozen=True, slots=True)
class AnswerPlace:
    """A special answer's kind and number on its host; `rest` is what follows them in the URL."""

    world: Web
    host: int
    kind: str
    number: int
    rest: str = ""
    ask: Ask | None = None

    @classmethod
    def of(cls, world: Web, ask: Ask) -> AnswerPlace | None:
        match = _TARGET.fullmatch(ask.path)
        return cls(world, ask.host, match[1], int(match[2]), match[3] or "", ask) if match else None

    @property
    def attempt(self) -> int:
        return self.ask.attempt if self.ask else 1

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

    def elsewhere(self) -> int:
        """Return another host, if there is one."""
        return (self.host + 1 + self.number % max(self.world.hosts - 1, 1)) % self.world.hosts


def document(title: str, body: str, head: str = "") -> bytes:
    """Return a small page.

    Titles must differ between places, so that no two bodies are equal by chance.
    """
    return (
        f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{escape(title)}</title>{head}</head>\n'
        f"<body><h1>{escape(title)}</h1>\n{body}\n</body></html>\n"
    ).encode()


@dataclass(frozen=True, slots=True)
class Kind:
    """`entries` are the URLs that the page links to.

    A `trap` is endless; a `counted` one depends on the attempt.
    """

    answer: Callable[[AnswerPlace], WebAnswer]
    entries: Callable[[AnswerPlace], list[str]] = lambda place: [place.url]
    trap: bool = False
    counted: bool = False
