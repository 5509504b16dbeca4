"""The item that pipelines get: one downloaded page."""

from __future__ import annotations

import json
import sys
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Self, TypeVar

from webcrawl.base.model import Exchange, Link, Timings, header
from webcrawl.base.page_values import Change
from webcrawl.content.formats import document_reader
from webcrawl.content.html import shown_text, structured_data, text_language
from webcrawl.content.html.encodings import decode, encoding_of
from webcrawl.content.html.link_kinds import DocumentLinks, FoundLink, LinkColumns, PageLink
from webcrawl.content.html.mimetype import parse
from webcrawl.content.html.shown_text import PageDescription
from webcrawl.content.html.trees import markup
from webcrawl.content.near_duplicates import fingerprint
from webcrawl.content.purpose_bits import DOCUMENT, HEADER, NONE, Preferences
from webcrawl.content.stated_preferences import (
    FIELDS,
    NO_WORD,
    RobotsWord,
    earlier,
    joined,
    of_document,
    of_headers,
    robots_tag_directives,
)
from webcrawl.urls.canonical import canonical_links

# How text exporters (JSON, CSV, XML) write the fields that are not text.
_AS_BASE64 = {"serializer": lambda value: b64encode(value).decode()}
_AS_PAIRS = {
    "serializer": lambda pairs: [
        [name.decode("latin-1"), value.decode("latin-1")] for name, value in pairs
    ]
}
_AS_NUMBERS = {
    "serializer": lambda timings: {name: getattr(timings, name) for name in Timings.__slots__}
}
_AS_HEX = {"serializer": bytes.hex}
_AS_LIST = {"serializer": sorted}

NOTHING_EARLIER = (0, 0)  # what `kept` returns for a page without statements


V = TypeVar("V")


class _Lazy(Generic[V]):
    """A field for itemadapter whose value is found on first access, and kept."""

    def __init__(self, find: Callable[[Page], V]) -> None:
        self._find = find

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, page: Page | None, owner: type | None = None) -> Any:
        if page is None:
            return self
        if page.looked_up is None:  # most pages never have one
            page.looked_up = {}
        known = page.looked_up
        if self._name not in known:
            known[self._name] = self._find(page)
        return known[self._name]

    def __set__(self, page: Page, value: V) -> None:
        page.looked_up = {**(page.looked_up or {}), self._name: value}


def _lazy(find: Callable[[Page], V], metadata: Mapping[str, Any] | None = None) -> Any:
    return field(init=False, repr=False, compare=False, default=_Lazy(find), metadata=metadata)


def _visible(page: Page) -> str:
    """Return the text that a browser would show, or a plain text itself; "" for other bodies.

    A PDF has its text if an output wants it.
    """
    ahead: DocumentLinks | None = page.exchange.state.found if page.exchange is not None else None
    if ahead is not None and ahead.text:
        return ahead.text
    shown = shown_text.visible(page.legible, page.header("content-type"), page.find_encoding())
    if shown is not None:
        return shown
    if not page.content_type.startswith("text/"):
        return ""
    if page.legible is page.body:
        return page.text
    return decode(page.legible, page.find_encoding())


def _all_found(page: Page) -> DocumentLinks:
    """Return links of all kinds with their texts: as read for the crawl, or else read now."""
    if page.found is not None and page.found.whole:
        return page.found
    url = _answered_url(page)
    kind = page.header("content-type")
    # The encoding is not guessed for bodies such as images
    encoding = page.find_encoding() if markup(kind, page.body) else page.encoding
    return document_reader.all_links(
        page.legible, kind, url, encoding, page.headers, page.robots_word.agent
    )


def _answered_url(page: Page) -> str:
    """Return the URL that answered: a browser may have followed a redirect."""
    return page.exchange.url if page.exchange is not None else page.url


def _columns(page: Page) -> LinkColumns:
    """Return all links in columns.

    Links that were followed have their canonical forms already; the others' are found now.
    """
    found: DocumentLinks = page.all_found
    if not found.links:
        return LinkColumns((), (), (), (), ())
    kinds, addresses, texts, rels = zip(*found.links, strict=True)
    known = found.targets
    others = [address for address in addresses if address not in known]
    if others:
        known.update(canonical_links(found.base, others, Counter()))
    targets = [known[address] or "" for address in addresses]
    return LinkColumns(kinds, addresses, texts, rels, targets)


def _links(page: Page) -> list[PageLink]:
    """Return the links of a page; an error or another answer that is not the page has none."""
    if not 200 <= page.status < 300:
        return []
    return shown_text.page_links(page.all_found)


def _about(page: Page) -> PageDescription:
    return shown_text.about(page.legible, page.header("content-type"), page.find_encoding())


def _structured(page: Page) -> dict[str, Any]:
    """Return the structured data: as read with the links, or else read now."""
    said = page.structured_json
    if said is None:
        kind = page.header("content-type")
        encoding = page.find_encoding() if markup(kind, page.body) else page.encoding
        url = _answered_url(page)
        said = structured_data.structured(page.legible, kind, encoding, url, page.base or url)
    found: dict[str, Any] = json.loads(said) if said else {}
    return found


def _preferences(page: Page) -> Preferences:
    """Return the page's preferences. If its links were not read, the document's head is read now."""
    found = page.found or (page.looked_up or {}).get("all_found")
    # A second parse of the head takes 75 us beside 114: it is for pages whose links were not read
    if found is None and page.body and markup(page.header("content-type"), page.body):
        found = document_reader.head(
            page.legible,
            page.header("content-type"),
            _answered_url(page),
            page.find_encoding(),
            page.robots_word.agent,
        )
    return page.said(found)


def _score(page: Page) -> float | None:
    scored = page.exchange.state.scored if page.exchange is not None else None
    return scored.score if scored is not None else None


def _canonical(page: Page) -> str:
    """Return the canonical URL that the document names, or else the one that its headers name."""
    if page.about.canonical:
        return shown_text.resolved(page.about.canonical, page.base or page.url)
    # A header's address is relative to the answer, and not to the document's base
    for kind, address, _, _ in document_reader.links(page.headers):
        if kind == "canonical":
            return shown_text.resolved(address, page.url) if address else ""
    return ""


@dataclass(slots=True)
class _Answer:
    """The fields of a page that are plain values."""

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
    meta_robots: frozenset[str] = field(default=frozenset(), metadata=_AS_LIST)
    # The keyed digest of the body: equal for equal bodies of this crawl
    digest: bytes = field(default=b"", metadata=_AS_HEX)
    duplicate: bool = False  # the body was seen under another URL
    change: Change = Change.NEW  # what became of it since it was fetched last (docs/revisits.md)
    # how often it has been fetched again, this time included; beyond 250 the number is a rough one
    revisit: int = 0


@dataclass
class Page(_Answer):
    """One answer, whatever its status. itemadapter knows it, so any Scrapy pipeline can process it."""

    __slots__ = (
        "earlier",
        "exchange",
        "flags",
        "followed",
        "found",
        "is_none",
        "link",
        "looked_up",
        "read_most",
        "recognised",
        "robots_word",
    )
    all_found: ClassVar[Any] = _Lazy(_all_found)  # links of all kinds as they were written
    # The same with their canonical URLs, for outputs that have all of them
    columns: ClassVar[Any] = _Lazy(_columns)
    # Near-duplicates share nearly all of its 64 bits
    fingerprint: ClassVar[Any] = _Lazy(lambda page: fingerprint(page.visible_text))
    # What the owner says of its use (docs/robots-and-preferences.md)
    preferences: ClassVar[Any] = _Lazy(_preferences)
    # The text without navigation, readers' comments and so on; needs trafilatura
    main_text: ClassVar[Any] = _Lazy(lambda page: shown_text.main_text(page.text))
    # The document's description of itself; some fields are read from it
    about: ClassVar[Any] = _Lazy(_about)

    # Read when they are asked for
    text: str = _lazy(lambda page: decode(page.body, page.find_encoding()))
    visible_text: str = _lazy(_visible)
    links: list[PageLink] = _lazy(_links)  # of all kinds, followed or not
    # The declared language
    language: str = _lazy(lambda page: page.about.language or page.header("content-language"))
    score: float | None = _lazy(_score)  # of a SCORER, from 0 to 1
    canonical: str = _lazy(_canonical)  # as resolved
    description: str = _lazy(lambda page: page.about.description)
    headings: list[tuple[int, str]] = _lazy(lambda page: page.about.headings)  # level, text
    # property, content
    open_graph: list[tuple[str, str]] = _lazy(lambda page: page.about.open_graph)
    # JSON-LD, microdata, RDFa and Open Graph (docs/structured.md)
    structured: dict[str, Any] = _lazy(_structured)
    # Directives of the document and of the answer's headers
    robots: frozenset[str] = _lazy(
        lambda page: page.meta_robots | robots_tag_directives(page.headers), _AS_LIST
    )

    def __post_init__(self) -> None:
        """Set what is no field: it is for the crawl's own modules."""
        self.looked_up: dict[str, Any] | None = None
        self.link: Link | None = None
        self.exchange: Exchange | None = None
        self.found: DocumentLinks | None = None  # what was read of the body for the crawl
        self.followed: Sequence[FoundLink] = ()  # the links that were submitted
        self.recognised = ""  # the kind of an answer that is not the page (docs/block-pages.md)
        # The answer is not used: a block page, a soft 404 that its host's probe shows, or the probe
        self.is_none = False
        self.read_most = sys.maxsize  # bytes of a document that are read
        # The preferences that robots.txt stated when the page was fetched
        self.robots_word: RobotsWord = NO_WORD
        # The statements of the answer before, if this one is a 304, which says that they still hold
        self.earlier = NOTHING_EARLIER
        # For each link in `found`, whether it was followed, if that is known anyway
        self.flags: Sequence[bool] | None = None

    @classmethod
    def of(cls, link: Link, exchange: Exchange) -> Self:
        """Return the page of an answer, before its body is parsed."""
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
        page.link = link
        page.exchange = exchange
        mime = parse(exchange.content_type)
        page.content_type = mime.essence if mime else ""
        return page

    @property
    def legible(self) -> bytes:
        """Return the part of the body that is read for links and text, if it is a document."""
        return self.body if len(self.body) <= self.read_most else self.body[: self.read_most]

    def header(self, name: str) -> str:
        """Return the first header of this name, or the empty string."""
        return (header(self.headers, name.lower().encode()) or b"").decode("latin-1")

    def said(self, found: DocumentLinks | None) -> Preferences:
        """Return what robots.txt, the headers and the document, as far as read, say of its use."""
        if self._is_silent(found):  # nearly always
            return NONE
        image = self.content_type.startswith("image/")
        in_headers = of_headers(self.headers, self.url, self.robots_word.agent, image=image)
        in_document = NONE
        if found is not None:
            in_document = of_document(found.meta_robots, found.said, found.base)
        if self.earlier != NOTHING_EARLIER:
            # This answer has no body, and its headers need not say what they said before
            headers_before, document_before = self.earlier
            if not in_headers.statements:
                in_headers = earlier(headers_before, HEADER)
            in_document = earlier(document_before, DOCUMENT)
        return joined(self.robots_word, in_headers, in_document)

    def _is_silent(self, found: DocumentLinks | None) -> bool:
        """Return whether no source has a field that could state a preference."""
        robots = self.robots_word
        if robots.statements or robots.licenses:
            return False
        if self.earlier != NOTHING_EARLIER:
            return False
        if found is not None and (found.meta_robots or found.said):
            return False
        return FIELDS.isdisjoint(self._names_of_headers())

    def _names_of_headers(self) -> Collection[bytes]:
        """Return the names in lower case. Those of the answer itself are so already."""
        exchange = self.exchange
        if exchange is not None and exchange.headers is self.headers:
            return exchange.names
        return [name.lower() for name, _ in self.headers]

    @property
    def said_so_far(self) -> Preferences:
        """Return `preferences`, without reading the document for them."""
        known = self.looked_up or {}
        if "preferences" in known or "all_found" in known:
            found: Preferences = self.preferences
            return found
        said = self.said(self.found)
        # Archive and table both ask. What has no words is found at once
        if said is not NONE and self.found is not None:
            self.looked_up = {**known, "preferences": said}
        return said

    def find_encoding(self) -> str:
        """Return the encoding; it is looked for if it is not known yet."""
        self.encoding = self.encoding or encoding_of(
            self.body, self.header("content-type"), self.url
        )
        return self.encoding

    def look_through(self) -> None:
        """Find `visible_text`, `language`, `headings` and others at once, unless some are known."""
        known = self.looked_up or {}
        if "about" not in known and "visible_text" not in known:
            found = shown_text.shown(
                self.legible, self.header("content-type"), self.find_encoding()
            )
            if found is not None:
                self.looked_up = {**known, "about": found[0], "visible_text": found[1]}

    @property
    def structured_json(self) -> str | None:
        """Return `structured` as JSON, empty for nothing; None if it was not read with the links."""
        return self.found.structured if self.found is not None else None

    @property
    def guessed_language(self) -> str:
        """Return the ISO 639-1 code of the visible text's language; needs resiliparse."""
        return text_language.guessed_language(self.visible_text)

    @property
    def contradicts_language(self) -> bool:
        """Return whether the visible text is surely not in `language`; needs resiliparse."""
        return bool(self.language) and text_language.contradicts(self.language, self.visible_text)

    @property
    def is_prerequisite(self) -> bool:
        """Return whether this is a robots.txt that the crawl fetched for itself."""
        return self.link is not None and self.link.is_prerequisite
