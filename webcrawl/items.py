"""The item that pipelines get: one downloaded page."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any, Self

from webcrawl.html.encoding import encoding_of
from webcrawl.html.encodings import decode
from webcrawl.html.found import FoundLink
from webcrawl.html.mimetype import parse
from webcrawl.model import Exchange, Link, Timings, header

# How text exporters (JSON, CSV, XML) write the fields that are not text.
_AS_BASE64 = {"serializer": lambda value: b64encode(value).decode()}
_AS_PAIRS = {"serializer": lambda pairs: [[name.decode("latin-1"), value.decode("latin-1")] for name, value in pairs]}
_AS_NUMBERS = {"serializer": lambda timings: {name: getattr(timings, name) for name in Timings.__slots__}}
_AS_HEX = {"serializer": bytes.hex}
_AS_LIST = {"serializer": sorted}


class _Text:
    """Page.text: a field for itemadapter, decoded on first access."""

    def __get__(self, page: Page | None, owner: type | None = None) -> Any:
        if page is None:
            return self
        if page._text is None:  # noqa: SLF001 - the other half of Page
            page.encoding = page.encoding or encoding_of(page.body, page.header("content-type"), page.url)
            page._text = decode(page.body, page.encoding)  # noqa: SLF001
        return page._text  # noqa: SLF001

    def __set__(self, page: Page, value: str) -> None:
        page._text = value  # noqa: SLF001


@dataclass(slots=True)
class _Answer:
    """The plain fields."""

    url: str
    status: int
    headers: list[tuple[bytes, bytes]] = field(metadata=_AS_PAIRS)
    body: bytes = field(metadata=_AS_BASE64)  # decoded, at most DOWNLOAD_TRUNCATE bytes
    content_type: str  # of the header, without parameters; empty if there is none
    depth: int  # links from the seed
    via: str  # the page that links here; empty for a seed
    ip: str
    fetched_at: float  # seconds since 1970
    timings: Timings = field(metadata=_AS_NUMBERS)
    attempt: int  # 0 the first time
    truncated: str = ""  # why the body is not whole: length, time, disconnect
    encoding: str = ""  # as a browser would determine it; empty until needed
    base: str = ""  # what its links are relative to
    title: str = ""
    links: list[FoundLink] = field(default_factory=list)  # kind, address as written, anchor text, nofollow
    meta_robots: frozenset[str] = field(default=frozenset(), metadata=_AS_LIST)
    digest: bytes = field(default=b"", metadata=_AS_HEX)  # of the body, keyed: equal for equal bodies of this crawl
    duplicate: bool = False  # the body was seen under another URL


@dataclass
class Page(_Answer):
    """One answer, whatever its status. itemadapter knows it, so any Scrapy pipeline can process it."""

    __slots__ = ("_text", "exchange", "link")

    text: str = field(init=False, repr=False, compare=False, default=_Text())  # type: ignore[assignment]  # a descriptor

    def __post_init__(self) -> None:
        self._text: str | None = None
        self.link: Link | None = None  # not fields: for the crawl's own modules
        self.exchange: Exchange | None = None

    @classmethod
    def of(cls, link: Link, exchange: Exchange) -> Self:
        """The page of an answer, before its body is parsed."""
        page = cls(
            url=link.url,
            status=exchange.status,
            headers=exchange.headers,
            body=exchange.body,
            content_type="",
            depth=link.depth,
            via=link.via,
            ip=exchange.ip,
            fetched_at=exchange.started,
            timings=exchange.timings,
            attempt=link.attempt,
            truncated=exchange.truncated,
        )
        page.link, page.exchange = link, exchange
        mime = parse(exchange.content_type)
        page.content_type = mime.essence if mime else ""
        return page

    def header(self, name: str) -> str:
        """The first header of this name, or the empty string."""
        return (header(self.headers, name.lower().encode()) or b"").decode("latin-1")

    @property
    def is_prerequisite(self) -> bool:
        """Whether this is a robots.txt that the crawl fetched for itself."""
        return self.link is not None and self.link.path.endswith("P")
