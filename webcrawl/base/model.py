"""The values that all stages share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, KeysView, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from typing import Any, NamedTuple

from webcrawl.base.digest import label, sha1
from webcrawl.base.page_values import Change, PageScores
from webcrawl.base.url_text import address_text


class Status(IntEnum):
    """The end of a URL that got no HTTP status, in Heritrix's codes, so that its log readers work.

    The text below a number stands in docs/logs.md; without one the number is never logged.
    """

    UNTRIED = 0  # for a lack of this machine: no outcome of the URL, and never logged
    DNS_FAILED = -1
    """The name of its host has no address."""
    CONNECT_FAILED = -2
    """No connection, or no encrypted one."""
    CONNECTION_LOST = -3
    """The connection was lost, or the answer was not valid for its protocol."""
    TIMEOUT = -4
    """No answer in time."""
    UNEXPECTED = -5
    """An unexpected error; logs/errors.log has the traceback."""
    UNSUPPORTED = -7
    """The URL cannot be requested."""
    YIELDED = -50  # cancelled, because others needed its slot: it comes again, and is never logged
    ROBOTS_UNREACHABLE = -61
    """robots.txt could not be fetched."""
    OUT_OF_SCOPE = -5000
    """Out of scope."""
    EXCLUDED = -5001
    """Excluded, or its address, its port or the size of its answer is refused."""
    DROPPED = -5002
    """Its host was given up by command."""
    HOST_BUDGET = -5003
    """Its host has reached HOST_MAX_PAGES, or its host's sitemaps have reached their limit."""
    HOST_RETIRED = -5004
    """Its host was given up after too many 408, 429 or 5xx, or is deferred while code awaits it."""
    NO_METHOD = -5005  # ours
    """The spider no longer has the method, class or value that the request names."""
    REFUSED = -5006  # ours
    """A class in FEATURES refused it."""
    ROBOTS_FORBIDDEN = -9998
    """robots.txt forbids it."""


# URLs that count against their hosts: no usable answer came. What is our own rule's end
# (robots.txt, filters) does not.
FAILURES = frozenset(
    (
        Status.DNS_FAILED,
        Status.CONNECT_FAILED,
        Status.CONNECTION_LOST,
        Status.TIMEOUT,
        Status.UNEXPECTED,
        Status.ROBOTS_UNREACHABLE,
        Status.HOST_RETIRED,
    )
)


SITEMAP = "M"  # Heritrix: manifest


@dataclass(slots=True)
class Link:
    """A URL on its way to be fetched, with the history that travels with it (Mercator 3.1).

    `path` has a letter for each hop from the seed, as in Heritrix's logs: L link, E embedded, R
    redirect, P prerequisite, S synthesized, M a sitemap; a small one if the hop led into another
    site (urls/host_names.py). `history` is what is known of earlier downloads of the document
    (crawl/revisit/record.py), `chain` what a chain of redirects has to know
    (crawl/redirect_chain.py), and `request` what an ordinary Scrapy request has beside its URL,
    after its priority and a dot if that is not 0. `attempt` counts the failures that are this URL's
    fault, `struck` those that were its host's; below 0, a block page came in its place
    (frontier/health.py). No field contains a space or a control character: `pack` separates them by
    spaces.
    """

    url: str
    path: str = ""
    via: str = ""
    seed: str = ""
    attempt: int = 0
    history: str = ""
    chain: str = ""
    request: str = ""
    struck: int = 0

    @property
    def depth(self) -> int:
        """Return the number of links followed since the seed, without redirects and prerequisites."""
        return depth_of(self.path)

    @property
    def hops(self) -> str:
        """Return the path in Heritrix's letters, for logs and archives."""
        return self.path.upper()

    @property
    def tried(self) -> int:
        """Return how often the link was tried before, as far as that is counted."""
        return self.attempt + abs(self.struck)

    @property
    def is_revisit(self) -> bool:
        """Return whether the link carries the history of earlier fetches.

        It does not for a robots.txt, whose `history` is the origin that it is for.
        """
        return bool(self.history) and not self.is_prerequisite

    @property
    def is_prerequisite(self) -> bool:
        """Return whether this is a robots.txt that the crawl fetches for itself."""
        return self.path.endswith("P")

    @property
    def is_probe(self) -> bool:
        """Return whether the URL cannot exist, and shows what its host answers then.

        See crawl/missing_pages.py.
        """
        return self.path.endswith("S")

    @property
    def is_own(self) -> bool:
        """Return whether the crawl asks for this for itself: a robots.txt, or a probe."""
        return self.path.endswith(("P", "S"))

    @property
    def priority(self) -> int:
        """Return the priority of a user's request, higher is sooner; 0 for any other link."""
        number, dot, _ = self.request.partition(".")
        return int(number) if dot else 0

    def pack(self) -> bytes:
        """Return the link as queues on disk keep it: fields in this order, the URL first."""
        tries = f"{self.attempt}.{self.struck}" if self.struck else self.attempt
        history = f"{tries} {self.history} {self.chain} {self.request}"
        return f"{self.url} {self.path} {self.via} {self.seed} {history}".encode()


# -- packed links: no other file knows their layout

Packed = bytes
SEPARATORS = 7  # blanks between the eight fields of a record
SLASHES = 3  # at least, of a canonical URL


def unpack(record: Packed) -> Link:
    """Return the link that `pack` made this record of."""
    url, path, via, seed, tries, history, chain, request = record.decode().split(" ")
    if "." not in tries:
        return Link(url, path, via, seed, int(tries), history, chain, request)
    attempt, _, struck = tries.partition(".")
    return Link(url, path, via, seed, int(attempt), history, chain, request, int(struck))


def pack_found(page: Link, urls: Sequence[str], hops: str, chain: str = "") -> list[Packed]:
    """Return the links of a page as `Link.pack` makes them.

    `hops` has the letter of each link, or one letter for all.
    """
    path, rest = page.path, f"{page.url} {page.seed} 0  {chain} "
    if len(hops) > 1:
        return [f"{url} {path}{hop} {rest}".encode() for url, hop in zip(urls, hops, strict=True)]
    tail = f" {path}{hops} {rest}"
    # No field has a control character
    return f"{tail}\n".join([*urls, ""]).encode().split(b"\n")[:-1]


REDIRECTS = frozenset({301, 302, 303, 307, 308})
NEAR = 3  # hops from a page to what it needs to be shown: a style sheet, what that imports, a font


@lru_cache(1024)  # a crawl has few, and a page is asked for its depth six times
def depth_of(path: str) -> int:
    """Return the number of followed links in a discovery path, without redirects and prerequisites."""
    return len(path) - path.count("R") - path.count("P") - path.count("r")


def redirects_in_a_row(path: str) -> int:
    """Return how many redirects a discovery path ends with; a refresh is one."""
    return len(path) - len(path.rstrip("Rr"))


def requisite_hops(path: str) -> int:
    """Return the hops of a discovery path since the last followed link, without redirects."""
    hops = path[len(path.rstrip("EeRr")) :]
    return hops.count("E") + hops.count("e")


def may_need(path: str) -> bool:
    """Return whether requisites of a find on this path are fetched: within three hops of a page."""
    return requisite_hops(path) < NEAR


def is_needed(path: str) -> bool:
    """Return whether what was found by this path is a requisite itself."""
    return 0 < requisite_hops(path) <= NEAR


def is_requisite(record: Packed) -> bool:
    """Return whether a packed link is one that its page needs to be shown."""
    return record.split(b" ", 2)[1].endswith(b"E")


@lru_cache(1024)  # likewise
def is_sitemap(path: str) -> bool:
    """Return whether a discovery path leads to a sitemap: named as such, or with the usual name."""
    return path.rstrip("R")[-1:] == SITEMAP


@lru_cache(1024)
def may_be_page(path: str) -> bool:
    """Return whether a discovery path may lead to a page: not to robots.txt, a sitemap or a probe."""
    return not path.upper().endswith(("P", "S")) and not is_sitemap(path)


@lru_cache(1024)
def from_sitemap(path: bytes) -> bool:
    """Return whether a path leads to a sitemap or to a page named in one; redirects do not matter."""
    return path.rstrip(b"R").removesuffix(b"L").rstrip(b"Rr")[-1:] in (b"M", b"m")


def is_listed(record: Packed) -> bool:
    """Return whether a packed link is a sitemap, or a page that one names."""
    return from_sitemap(record.split(b" ", 2)[1])


def url_of(record: Packed) -> str:
    return record[: record.index(b" ")].decode()


def way_of(record: Packed) -> bytes:
    """Return all of a packed link but its URL: the same for links of one page."""
    return record[record.index(b" ") :]


def authority_of(record: Packed) -> str:
    """Return host and port of a packed link's URL, in a quarter of the time that parsing takes."""
    return record.split(b"/", 3)[2].decode()


def path_of(record: Packed) -> str:
    return record.split(b" ", 2)[1].decode()


def via_of(record: Packed) -> str:
    return record.split(b" ", 3)[2].decode()


def is_prerequisite(record: Packed) -> bool:
    """Return whether a packed link is a robots.txt that others wait for."""
    return record.split(b" ", 2)[1].endswith(b"P")


def is_link(record: object) -> bool:
    """Return whether this can be a packed link."""
    return (
        isinstance(record, bytes)
        and record.count(b" ") == SEPARATORS
        and record.count(b"/", 0, record.index(b" ")) >= SLASHES
    )


def is_seed(record: Packed) -> bool:
    """Return whether a packed link has neither a page that it was found on nor a path."""
    at = record.index(b" ")
    return record[at : at + 3] == b"   "


def is_revisit(record: Packed) -> bool:
    """Return whether a packed link brings a history of earlier fetches; that of a robots.txt is
    something else.
    """
    # Most links have neither a history nor what follows it; only a request ends without a blank.
    if record.endswith(b"   ") or not record.endswith(b" "):
        return False
    _, history, _, _ = record.rsplit(b" ", 3)
    return bool(history) and not is_prerequisite(record)


def is_found(record: Packed) -> bool:
    """Return whether the crawl found this packed link itself: no request is behind it."""
    return record.endswith(b" ")


def priority_of(record: Packed) -> int:
    if record.endswith(b" "):  # a page's link: no request behind it
        return 0
    number, dot, _ = record[record.rindex(b" ") + 1 :].partition(b".")
    return int(number) if dot else 0


@dataclass(slots=True)
class Outcome:
    """The end of one download, as far as the frontier needs to know it."""

    status: int  # HTTP's, or one of Status
    seconds: float = 0.0  # how long the download took: Mercator waits a multiple of it
    # Seconds that the server asked for by Retry-After, or that a link with UNTRIED has to wait
    wait: float = 0.0
    ip: str = ""  # the address that answered
    at: float = 0.0  # when it ended, seconds since 1970
    ended: float = 0.0  # the same by time.monotonic; 0: no host was requested
    # Whether the host answered, although the URL is not done: then the host has not failed
    answered: bool = False
    doubtful: bool = False  # the failure may be our own network's
    retries: int | None = None  # how often the URL may be tried again; None: as the settings say
    # Whether a retry is pointless: no such name, a certificate that is not accepted
    permanent: bool = False
    by_proxy: bool = False  # the proxy of this one request did not get through: other ways work
    # Why a part of the body is missing that a retry may bring, in WARC's words: disconnect, time
    short: str = ""
    blocked_by: str = ""  # the vendor of the block page that came in place of the page


@dataclass(slots=True)
class Timings:
    """Seconds that the steps of one download took; 0 for a step that was not needed."""

    dns: float = 0.0
    connect: float = 0.0
    tls: float = 0.0
    first_byte: float = 0.0  # from the request's last byte to the answer's first
    total: float = 0.0


def header(headers: list[tuple[bytes, bytes]], name: bytes) -> bytes | None:
    """Return the first value of the header `name`, which must be in lower case."""
    size = len(name)
    for given, value in headers:
        if len(given) == size and given.lower() == name:
            return value
    return None


class RecordLocation:
    """The place of an answer's record: the file's final name, the offset and the length.

    The record may be on its way to the file; a caller that asks for offset or length then waits
    until it is there. A copy asks for both, because only this object is told of them.
    """

    __slots__ = ("_length", "_offset", "_written", "file")

    def __init__(
        self, file: str, offset: int = -1, length: int = -1, written: Callable[[], object] = bool
    ) -> None:
        """`written` returns when `put` was called, or raises."""
        self.file = file
        self._offset = offset
        self._length = length
        self._written = written

    def __reduce__(self) -> tuple[type[RecordLocation], tuple[Any, ...]]:
        return RecordLocation, tuple(self)

    def __iter__(self) -> Iterator[Any]:
        """Return an iterator of file, offset and length."""
        return iter((self.file, self.offset, self.length))

    def put(self, offset: int, length: int) -> None:
        """Note the place where the record was written."""
        self._offset = offset
        self._length = length

    @property
    def offset(self) -> int:
        if self._offset < 0:
            self._written()
        return self._offset

    @property
    def length(self) -> int:
        """Return the bytes of the compressed record."""
        if self._length < 0:
            self._written()
        return self._length


class EarlierCapture(NamedTuple):
    """The capture of an earlier crawl that an answer repeats."""

    identifier: str  # of its record; empty if that cannot be read
    url: str
    date: str  # as WARC-Date has it
    digest: str  # of its payload, as it is written there
    # The same payload came again, and not only the same body under another coding
    identical: bool = True

    def where(self, *, identical: bool) -> EarlierCapture:
        """Return the same capture, for an answer with its payload or only with its body."""
        return self._replace(identical=identical)


class PageView(NamedTuple):
    """A screenshot or a PDF of a rendered page."""

    prefix: str  # of its record's URL; the page's URL follows
    content_type: str
    data: bytes


class WithheldBytes(NamedTuple):
    """The bytes that came of an answer that is not kept, as its owner wishes (docs/robots-and-preferences.md)."""

    size: int  # of the payload
    wire: int


class PageState:
    """The findings of the crawl about an answer, each written by the stage that decides it.

    The defaults are the class's own, because few answers have more than one or two others.
    """

    truncated_links = 0  # links that are not followed because the page has too many
    followed = False  # although the body was seen elsewhere
    duplicate = False  # the body was seen before
    notes: tuple[str, ...] = ()  # what else the crawl log says of it
    found: Any = None  # the Found of a large body that was read ahead
    archived: RecordLocation | None = None  # where, once the archive has it
    # When the earlier, equal answer was archived, in seconds since 1970; 0: there was none
    same_since = 0.0
    copy_of = ""  # the URL of that answer, if it is another's
    is_original = False  # the archive has the payload in its own record
    # The kind of an answer that is not the page (docs/block-pages.md); None: not examined
    recognised: str | None = None
    revisit: Any = None  # what it says of a page that is fetched again
    refers: EarlierCapture | None = None  # an earlier crawl has this payload
    # The change of the page since an earlier crawl; None: that crawl had no such page
    since: Change | None = None
    said = (0, 0)  # of its use, by headers and by the document, if the page is fetched again
    scored: PageScores | None = None  # what a SCORER says of it
    withheld: WithheldBytes | None = None  # there was a body, and it is not kept
    views: tuple[PageView, ...] = ()  # that a browser has made of the page, for the archive
    again = False  # the URL is requested again after this answer
    was_begun = False  # of an archive: an earlier run began with this answer, and did not finish it

    def __init__(self, **found: Any) -> None:
        vars(self).update(found)

    def but(self, **found: Any) -> PageState:
        """Return a copy with these fields changed."""
        return PageState(**{**vars(self), **found})

    def __repr__(self) -> str:
        return f"PageState({vars(self)})"


@dataclass(slots=True)
class Exchange:
    """One request and its answer as bytes: what the archive keeps and the page is made of.

    `state` has all else.
    """

    url: str
    request: bytes  # what was sent, exactly: the head, and the body if there was one
    status: int
    # The received head, exactly, with its empty line; for HTTP/2 both are in HTTP/1.1's form
    head: bytes
    headers: list[tuple[bytes, bytes]]
    wire: bytes  # what followed the head, transfer coding and all, as far as it was read
    payload: bytes  # without transfer coding: what digests are of
    body: bytes  # without content coding: what is parsed
    ip: str
    started: float  # seconds since 1970
    timings: Timings
    truncated: str = ""  # WARC's reasons: length, time, disconnect, unspecified
    flaws: tuple[str, ...] = ()  # what was wrong with an answer that could still be used
    tls: str = ""  # version and cipher suite of the encrypted connection
    # The server's certificate as SHA-256 of its DER in hexadecimal, with the algorithm's label
    certificate: str = ""
    # The name of another download handler: its head is put together, and its request unknown
    made_by: str = ""
    protocol: str = ""  # what such a handler spoke, if it says so; of our own client h2, or nothing
    # A claim on room for a long body, given back with the exchange
    claim: Any = field(default=None, repr=False, compare=False)
    rendered: bool = False  # the body is the document that a browser made of the payload
    unmodified: bool = False  # the server sent no body, as 304: that of the earlier capture is here
    # The crawl's findings about it
    state: PageState = field(default_factory=PageState, repr=False, compare=False)
    _digest: str = field(default="", repr=False, compare=False)
    _type: str | None = field(default=None, repr=False, compare=False)
    # The first value of each name, looked up once
    _first: dict[bytes, bytes] | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def location(self) -> str | None:
        """Return the target of a redirect as it was sent, or None."""
        value = self.header(b"location") if self.status in REDIRECTS else None
        return None if value is None else address_text(value).strip()

    @property
    def content_type(self) -> str:
        """Return the first Content-Type as it was sent, or the empty string; looked up once."""
        if self._type is None:
            self._type = (self.header(b"content-type") or b"").decode("latin-1")
        return self._type

    @property
    def names(self) -> KeysView[bytes]:
        """Return the names of the headers, in lower case. Most look-ups find nothing."""
        return (self._first or self._by_name()).keys()

    def header(self, name: bytes) -> bytes | None:
        """Return the first value of the header `name`, which must be in lower case."""
        return (self._first or self._by_name()).get(name)

    def _by_name(self) -> dict[bytes, bytes]:
        self._first = first = {name.lower(): value for name, value in reversed(self.headers)}
        return first

    @property
    def size(self) -> int:
        """Return the bytes of the payload, as it came."""
        return len(self.payload) if self.state.withheld is None else self.state.withheld.size

    @property
    def received(self) -> int:
        """Return the bytes that were received, with the head."""
        return len(self.head) + (
            len(self.wire) if self.state.withheld is None else self.state.withheld.wire
        )

    @property
    def digest(self) -> str:
        """Return the payload's SHA-1 as archives and logs write it, computed once."""
        if not self._digest:
            self._digest = label(sha1(self.payload))
        return self._digest
