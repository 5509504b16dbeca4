"""Rows of the tables: the end of a URL, of which a row of `pages` is made; the links of pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain, compress
from operator import itemgetter
from typing import Any, NamedTuple

from webcrawl.base.model import Exchange, Link, Outcome, RecordLocation
from webcrawl.base.url_text import host_of
from webcrawl.content.html.link_kinds import REDIRECT, DocumentLinks, FoundLink, LinkColumns
from webcrawl.content.html.shown_text import resolved
from webcrawl.content.page import Page
from webcrawl.content.purpose_bits import Preferences
from webcrawl.urls.canonical import MAX_LENGTH, canonical_links, redirect_target
from webcrawl.urls.host_names import is_ipv4, suffixes_of

ANSWERED, DIAGNOSTICS, ROBOTS = "warc", "crawldiagnostics", "robotstxt"  # Common Crawl's subsets
FAILED, UNASKED = "failed", "unasked"  # ours: no answer, no request
TEXTS = ("html", "json", "xml")  # how media types of texts end
CACHED = 1 << 15  # hosts
LONGEST = 1000  # characters of what a page or server may make as long as it likes


class HostParts(NamedTuple):
    """The parts of a host's name by the public suffix list; none of an address."""

    tld: str | None
    registered: str | None  # one label below the registry's suffix
    # One label below the suffix if companies count as registries: a.github.io
    private: str | None
    registry_suffix: str | None  # of a registry: co.uk
    private_suffix: str | None  # any public suffix: github.io
    reversed: str | None  # the name with its labels in reverse order: org.example.www


NO_PARTS = HostParts(None, None, None, None, None, None)


class EndedUrl:
    """A URL, how it ended, its answer if there was one, and the page if the spider made one of it."""

    def __init__(
        self, link: Link, outcome: Outcome, exchange: Exchange | None, page: Page | None, now: float
    ) -> None:
        """`now` is the time of an end that nobody was asked for."""
        self.link = link
        self.outcome = outcome
        self.exchange = exchange
        self.page = page
        self.time = exchange.started if exchange is not None else outcome.at or now
        # Where the answer redirects to
        self.redirect: str | None = None
        if exchange is not None:
            self.redirect = redirect_target(exchange) or None
        # Links and statements of a page; a body that was seen before is read now
        self.found: DocumentLinks | None = None
        if page is not None and 200 <= page.status < 300 and not page.is_prerequisite:
            self.found = page.all_found
        self.links = 0  # rows in the table `links`, once they are made
        self.host = host_of(link.url)
        self.protocol, _, rest = link.url.partition("://")
        authority, _, rest = rest.partition("/")
        path, asked, query = rest.partition("?")
        self.path = f"/{path}"
        self.query = query if asked else None
        port = authority[len(self.host) + 1 :]
        self.port = int(port) if port else None

    @property
    def host_parts(self) -> HostParts:
        return host_parts(self.host)

    @property
    def archived(self) -> RecordLocation | None:
        """Return the place of its record."""
        return self.exchange.state.archived if self.exchange is not None else None

    @property
    def language(self) -> str | None:
        """Return the language that the document declares, or else the server."""
        return declared_language(self.page, self.found) if self.page is not None else None

    @property
    def subset(self) -> str:
        """Return Common Crawl's name for the kind of row, or one of ours."""
        if self.link.is_prerequisite:
            return ROBOTS
        status = self.outcome.status
        if self.exchange is not None and status >= 0:
            # A probe's URL is made up: its answer is no page of the site
            is_page = 200 <= status < 300 and not self.link.is_probe
            return ANSWERED if is_page else DIAGNOSTICS
        return FAILED if self.outcome.ended else UNASKED

    @property
    def mime_type(self) -> str | None:
        """Return the media type as sent, without parameters."""
        if self.exchange is None:
            return None
        kind = self.exchange.content_type.partition(";")[0].strip()
        return kind[:LONGEST] or None

    @property
    def charset(self) -> str | None:
        """Return the encoding that a browser determines, of what is text."""
        if self.page is None or self.found is None:
            return None
        kind = self.page.content_type
        if not kind.startswith("text/") and not kind.endswith(TEXTS):
            return None
        return self.found.encoding or None

    @property
    def canonical(self) -> str | None:
        """Return the canonical URL that the page names."""
        return named_canonical(self.found)

    @property
    def fingerprint(self) -> int | None:
        """Return the text's fingerprint if it is known, because the output `neardup` needed it."""
        return (self.page.looked_up or {}).get("fingerprint") if self.page is not None else None

    @property
    def preferences(self) -> tuple[str | None, str | None, str | None, bool | None]:
        """Return forbidden and allowed purposes, all statements, and whether the page is withheld."""
        page = self.page
        if page is None or page.is_prerequisite:
            return None, None, None, None
        said = page.preferences if self.found is not None else page.said_so_far
        is_withheld = page.exchange is not None and page.exchange.state.withheld is not None
        return *in_words(said), is_withheld

    @property
    def structured(self) -> str | None:
        """Return the page's structured data as JSON, if they were read with the links."""
        return (self.page.structured_json or None) if self.page is not None else None

    @property
    def robots(self) -> str | None:
        """Return the directives of document and answer to robots."""
        if self.page is None:
            return None
        return ",".join(sorted(self.page.robots))[:LONGEST] or None


def declared_language(page: Page, found: DocumentLinks | None) -> str | None:
    """Return the language that a document declares, or else the server."""
    language = found.language if found is not None else ""
    if not language:
        language = page.header("content-language")
    return language[:LONGEST] or None


def named_canonical(found: DocumentLinks | None) -> str | None:
    """Return the canonical URL that a document names."""
    return _resolved(found.canonical, found) if found is not None else None


def named_markdown(found: DocumentLinks | None) -> str | None:
    """Return the URL of its text in Markdown that a document names."""
    return _resolved(found.markdown, found) if found is not None else None


def _resolved(address: str, found: DocumentLinks) -> str | None:
    if not 0 < len(address) <= LONGEST:
        return None
    return resolved(address, found.base) or None


def in_words(said: Preferences) -> tuple[str | None, str | None, str | None]:
    """Return the purposes that the owner forbids, and allows, and all that was said."""
    if not said:
        return None, None, None
    return ",".join(said.forbidden) or None, ",".join(said.allowed) or None, str(said)[:LONGEST]


@lru_cache(CACHED)
def host_parts(host: str) -> HostParts:
    """Return the parts of a host's name by the public suffix list, with its rule `*`, as the crawl."""
    if host[0] == "[":
        return NO_PARTS
    found = suffixes_of(host.rstrip("."))
    if not found.public and is_ipv4(host.rstrip(".")):
        return NO_PARTS
    labels = host.removesuffix(".").split(".")
    return HostParts(
        labels[-1],
        _below(found.registry, labels),
        _below(found.public, labels),
        found.registry or labels[-1],
        found.public or labels[-1],
        ".".join(reversed(labels)),
    )


def _below(suffix: str, labels: list[str]) -> str | None:
    """Return the suffix with one label more, if there is one; two labels under an unknown suffix."""
    if not suffix:
        return ".".join(labels[-2:])
    size = suffix.count(".") + 2
    return ".".join(labels[-size:]) if len(labels) >= size else None


# Rows of a batch, which takes 4 ms to build. Batches of 1,024 or 2,048 cost more per link.
LINKS_AT_ONCE = 8192
# Links of a page at once: a page may have a hundred thousand, with URLs of 2,000 characters
PIECE = 1000
ROOM = 8 << 20  # characters in the rows of one page; the piece that takes the last of it is whole
REL = 200  # characters of a rel attribute
_KIND = itemgetter(0)
Rows = list[list[Any]]  # one list per column


class RepeatedColumn(NamedTuple):
    """A column of texts, each of them so many times in a row."""

    values: list[str]
    times: list[int]


class LinkRows:
    """Rows of the links of page after page; `write` gets them as columns, some thousand at a time."""

    def __init__(
        self,
        write: Callable[[RepeatedColumn, Rows], None],
        follows_redirect: Callable[[str], bool],
        max_length: int = MAX_LENGTH,
        left_out: Callable[[int], None] = lambda _: None,
    ) -> None:
        """`follows_redirect` says of a discovery path whether a redirect that ends it is followed.

        `left_out` is told how many links of a page have no rows because those of its first links
        have taken all room.
        """
        self._write = write
        self._follows_redirect = follows_redirect
        self._max_length = max_length
        self._left_out = left_out
        self._begin()

    def __len__(self) -> int:
        return len(self._columns[0])

    def _begin(self) -> None:
        self._urls = RepeatedColumn([], [])
        self._columns: Rows = [[], [], [], [], []]

    def flush(self) -> None:
        if len(self):
            urls = self._urls
            columns = self._columns
            self._begin()
            self._write(urls, columns)

    def add(self, end: EndedUrl) -> int:
        """Add the links of a URL that has ended, and return their number.

        An address that is no URL the crawl could fetch (`mailto:`, `javascript:`) leads to nothing,
        and has no row.
        """
        if end.redirect is not None:
            return self._add_redirect(end.link, end.redirect, end.subset)
        if end.page is None or end.found is None or not end.found.links:
            return 0
        url = end.link.url
        links = end.found.links
        # They are made for a whole batch of pages after its links were followed
        followed = end.page.flags if end.found is end.page.found else None
        if followed is None:
            followed = _are_followed(links, end.page.followed)
        if len(links) <= PIECE and self._max_length == MAX_LENGTH:
            # links.log has the same columns
            return self._add(url, end.page.columns, followed)
        return self._add_in_pieces(url, links, end.found.base, followed)

    def _add_redirect(self, link: Link, target: str, subset: str) -> int:
        if subset == ROBOTS or len(target) > self._max_length:
            return 0
        follows = self._follows_redirect(link.path)
        return self._put(link.url, ([target], [REDIRECT], [""], [""], [follows]))

    def _add_in_pieces(
        self, url: str, links: Sequence[FoundLink], base: str, followed: Sequence[bool]
    ) -> int:
        """Add many or long links, some at a time; return the number of those that have room."""
        added = 0
        room = ROOM
        for at in range(0, len(links), PIECE):
            if room <= 0:
                self._left_out(len(links) - at)
                break
            kinds, addresses, texts, rels = zip(*links[at : at + PIECE], strict=True)
            known = canonical_links(base, addresses, Counter(), self._max_length)
            targets = [known[address] or "" for address in addresses]
            piece = LinkColumns(kinds, addresses, texts, rels, targets)
            added += self._add(url, piece, followed[at : at + PIECE])
            room -= sum(map(len, chain(piece.targets, texts, rels))) + len(url) * len(kinds)
        return added

    def _add(self, url: str, found: LinkColumns, followed: Sequence[bool]) -> int:
        kinds, _, texts, rels, targets = found
        if len("".join(rels)) > REL:  # else none is longer
            rels = [rel[:REL] for rel in rels]
        return self._put(url, (targets, kinds, texts, rels, followed))

    def _put(self, url: str, columns: Sequence[Sequence[Any]]) -> int:
        """Add rows, and remove the one or two in 50 that have no target."""
        place = start = len(self)
        for column, values in zip(self._columns, columns, strict=True):
            column.extend(values)
        for _ in range(columns[0].count("")):
            place = self._columns[0].index("", place)
            for column in self._columns:
                del column[place]
        count = len(self) - start
        self._urls.values.append(url)
        self._urls.times.append(count)
        if len(self) >= LINKS_AT_ONCE:
            self.flush()
        return count


def _are_followed(links: Sequence[FoundLink], followed: Sequence[FoundLink]) -> list[bool]:
    """Return for each link whether it was followed: by its kind, or else by a hash.

    Hashing all links takes longer.
    """
    if followed is links:
        return [True] * len(links)
    kinds = set(map(_KIND, followed))
    flags = list(map(kinds.__contains__, map(_KIND, links)))
    if list(compress(links, flags)) == followed:
        return flags
    chosen = frozenset(followed)
    return [link in chosen for link in links]
