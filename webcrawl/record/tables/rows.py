"""What rows of the tables are made of: the end of a URL, and the links of pages."""

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

# Common Crawl's subsets
PAGE_SUBSET, DIAGNOSTICS_SUBSET, ROBOTS_SUBSET = ("warc", "crawldiagnostics", "robotstxt")
# ours, as tables have them: no answer, no request
FAILED_SUBSET, UNREQUESTED_SUBSET = "failed", "unasked"
TEXT_ENDINGS = ("html", "json", "xml")  # how media types of texts end
MAX_CACHED_HOSTS = 1 << 15
MAX_TEXT_CHARS = 1000  # of a value whose length a page or server chooses


class HostParts(NamedTuple):
    """The parts of a host's name by the public suffix list. Those of an IP address are None."""

    tld: str | None
    registered: str | None  # the registry's suffix and one label before it: example.co.uk
    private: str | None  # the longest public suffix and one label before it: a.github.io
    registry_suffix: str | None  # of a registry: co.uk
    private_suffix: str | None  # any public suffix: github.io
    reversed: str | None  # the name with its labels in reverse order: org.example.www


NO_PARTS = HostParts(None, None, None, None, None, None)


class EndedUrl:
    """A URL that has ended: its outcome, its answer if there was one, and its page if there was."""

    def __init__(
        self, link: Link, outcome: Outcome, exchange: Exchange | None, page: Page | None, now: float
    ) -> None:
        """`now` is the time of the row if no request was made."""
        self.link = link
        self.outcome = outcome
        self.exchange = exchange
        self.page = page
        self.time = exchange.started if exchange is not None else outcome.at or now
        # The target of a redirect
        self.redirect: str | None = None
        if exchange is not None:
            self.redirect = redirect_target(exchange) or None
        # What the document says. A body that was seen before is parsed only now.
        self.document_links: DocumentLinks | None = None
        if page is not None and 200 <= page.status < 300 and not page.is_prerequisite:
            self.document_links = page.all_found
        self.links = 0  # rows in the table `links`, once they are made
        self.host = host_of(link.url)
        self.protocol, _, rest = link.url.partition("://")
        authority, _, rest = rest.partition("/")
        path, question_mark, query = rest.partition("?")
        self.path = f"/{path}"
        self.query = query if question_mark else None
        port = authority[len(self.host) + 1 :]
        self.port = int(port) if port else None

    @property
    def host_parts(self) -> HostParts:
        return host_parts(self.host)

    @property
    def archived(self) -> RecordLocation | None:
        """Return the place of the answer's record in the archive."""
        return self.exchange.state.archived if self.exchange is not None else None

    @property
    def language(self) -> str | None:
        """Return the language that the document, or else the server, declares."""
        return declared_language(self.page, self.document_links) if self.page is not None else None

    @property
    def subset(self) -> str:
        """Return the kind of row: Common Crawl's name, or one of our own."""
        if self.link.is_prerequisite:
            return ROBOTS_SUBSET
        status = self.outcome.status
        if self.exchange is not None and status >= 0:
            # The URL of a probe is invented, so its answer is no page of the site
            is_page = 200 <= status < 300 and not self.link.is_probe
            return PAGE_SUBSET if is_page else DIAGNOSTICS_SUBSET
        return FAILED_SUBSET if self.outcome.ended else UNREQUESTED_SUBSET

    @property
    def mime_type(self) -> str | None:
        """Return the media type as sent, without parameters."""
        if self.exchange is None:
            return None
        kind = self.exchange.content_type.partition(";")[0].strip()
        return kind[:MAX_TEXT_CHARS] or None

    @property
    def charset(self) -> str | None:
        """Return the encoding of a text, as a browser determines it; None for other media types."""
        if self.page is None or self.document_links is None:
            return None
        kind = self.page.content_type
        if not kind.startswith("text/") and not kind.endswith(TEXT_ENDINGS):
            return None
        return self.document_links.encoding or None

    @property
    def canonical(self) -> str | None:
        """Return the canonical URL that the page names."""
        return named_canonical(self.document_links)

    @property
    def fingerprint(self) -> int | None:
        """Return the text's fingerprint, if the output `neardup` has computed it."""
        return (self.page.looked_up or {}).get("fingerprint") if self.page is not None else None

    @property
    def preferences(self) -> tuple[str | None, str | None, str | None, bool | None]:
        """Return forbidden purposes, allowed purposes, all statements, and whether it is withheld."""
        page = self.page
        if page is None or page.is_prerequisite:
            return None, None, None, None
        preferences = page.preferences if self.document_links is not None else page.said_so_far
        is_withheld = page.exchange is not None and page.exchange.state.withheld is not None
        return *preference_columns(preferences), is_withheld

    @property
    def structured(self) -> str | None:
        """Return the page's structured data as JSON, if they were extracted with the links."""
        return (self.page.structured_json or None) if self.page is not None else None

    @property
    def robots(self) -> str | None:
        """Return the robots directives of the document and of the answer's head."""
        if self.page is None:
            return None
        return ",".join(sorted(self.page.robots))[:MAX_TEXT_CHARS] or None


def declared_language(page: Page, document: DocumentLinks | None) -> str | None:
    """Return the language that a document, or else its server, declares."""
    language = document.language if document is not None else ""
    if not language:
        language = page.header("content-language")
    return language[:MAX_TEXT_CHARS] or None


def named_canonical(document: DocumentLinks | None) -> str | None:
    """Return the canonical URL that a document declares."""
    return _resolved(document.canonical, document) if document is not None else None


def named_markdown(document: DocumentLinks | None) -> str | None:
    """Return the URL at which a document says that its text is in Markdown."""
    return _resolved(document.markdown, document) if document is not None else None


def _resolved(address: str, document: DocumentLinks) -> str | None:
    if not 0 < len(address) <= MAX_TEXT_CHARS:
        return None
    return resolved(address, document.base) or None


def preference_columns(preferences: Preferences) -> tuple[str | None, str | None, str | None]:
    """Return the purposes that the owner forbids, those that are allowed, and all statements."""
    if not preferences:
        return None, None, None
    forbidden = ",".join(preferences.forbidden)
    allowed = ",".join(preferences.allowed)
    return forbidden or None, allowed or None, str(preferences)[:MAX_TEXT_CHARS]


@lru_cache(MAX_CACHED_HOSTS)
def host_parts(host: str) -> HostParts:
    """Return the parts of a host's name by the public suffix list.

    A TLD that is not in the list counts as a suffix, as everywhere in the crawl.
    """
    if host[0] == "[":
        return NO_PARTS
    suffixes = suffixes_of(host.rstrip("."))
    if not suffixes.public and is_ipv4(host.rstrip(".")):
        return NO_PARTS
    labels = host.removesuffix(".").split(".")
    return HostParts(
        labels[-1],
        _with_one_label_more(suffixes.registry, labels),
        _with_one_label_more(suffixes.public, labels),
        suffixes.registry or labels[-1],
        suffixes.public or labels[-1],
        ".".join(reversed(labels)),
    )


def _with_one_label_more(suffix: str, labels: list[str]) -> str | None:
    """Return a suffix and the label before it, or None if there is none.

    Without a known suffix return the last two labels.
    """
    if not suffix:
        return ".".join(labels[-2:])
    size = suffix.count(".") + 2
    return ".".join(labels[-size:]) if len(labels) >= size else None


# Rows of a batch, which takes 4 ms to build. Batches of 1,024 or 2,048 cost more per link.
BATCH_LINKS = 8192
# Of a page, added at once: a page may have a hundred thousand, with URLs of 2,000 characters
PIECE_LINKS = 1000
MAX_PAGE_CHARS = 8 << 20  # in the rows of a page; the piece that exceeds the limit is still added
MAX_REL_CHARS = 200
_kind_of = itemgetter(0)
Rows = list[list[Any]]  # one list per column


class RepeatedColumn(NamedTuple):
    """A column of texts, in which each value is repeated a number of times."""

    values: list[str]
    times: list[int]


class LinkRows:
    """Collects rows of the links of pages, and writes some thousand at a time, as columns."""

    def __init__(
        self,
        write: Callable[[RepeatedColumn, Rows], None],
        follows_redirect: Callable[[str], bool],
        max_length: int = MAX_LENGTH,
        left_out: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Call `write` with the linking URLs and the other columns of each batch.

        `follows_redirect` returns whether the redirect at the end of a discovery path is followed.
        Call `left_out` with the number of links of a page that have no rows, because its first
        links exceed MAX_PAGE_CHARS.
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
        """Add the links of a URL that has ended; return how many rows were added.

        An address that no crawl can fetch, such as `mailto:` or `javascript:`, has no row.
        """
        if end.redirect is not None:
            return self._add_redirect(end.link, end.redirect, end.subset)
        if end.page is None or end.document_links is None or not end.document_links.links:
            return 0
        url = end.link.url
        links = end.document_links.links
        # Flags are computed for a whole batch of pages, after their links were followed
        followed = end.page.flags if end.document_links is end.page.found else None
        if followed is None:
            followed = _are_followed(links, end.page.followed)
        if len(links) <= PIECE_LINKS and self._max_length == MAX_LENGTH:
            # The same columns as in links.log are there already
            return self._add(url, end.page.columns, followed)
        return self._add_in_pieces(url, links, end.document_links.base, followed)

    def _add_redirect(self, link: Link, target: str, subset: str) -> int:
        """Add the row of a redirect, unless it is that of a robots.txt or its target is too long."""
        if subset == ROBOTS_SUBSET or len(target) > self._max_length:
            return 0
        follows = self._follows_redirect(link.path)
        return self._put(link.url, ([target], [REDIRECT], [""], [""], [follows]))

    def _add_in_pieces(
        self, url: str, links: Sequence[FoundLink], base: str, followed: Sequence[bool]
    ) -> int:
        """Add many or long links, some at a time, up to MAX_PAGE_CHARS; return how many were added."""
        added = 0
        room = MAX_PAGE_CHARS
        for at in range(0, len(links), PIECE_LINKS):
            if room <= 0:
                self._left_out(len(links) - at)
                break
            kinds, addresses, texts, rels = zip(*links[at : at + PIECE_LINKS], strict=True)
            known = canonical_links(base, addresses, Counter(), self._max_length)
            targets = [known[address] or "" for address in addresses]
            piece = LinkColumns(kinds, addresses, texts, rels, targets)
            added += self._add(url, piece, followed[at : at + PIECE_LINKS])
            room -= sum(map(len, chain(piece.targets, texts, rels))) + len(url) * len(kinds)
        return added

    def _add(self, url: str, columns: LinkColumns, followed: Sequence[bool]) -> int:
        kinds, _, texts, rels, targets = columns
        # If all together are shorter, each of them is
        if len("".join(rels)) > MAX_REL_CHARS:
            rels = [rel[:MAX_REL_CHARS] for rel in rels]
        return self._put(url, (targets, kinds, texts, rels, followed))

    def _put(self, url: str, columns: Sequence[Sequence[Any]]) -> int:
        """Add rows, without those that have no target; return how many were added."""
        place = start = len(self)
        for column, values in zip(self._columns, columns, strict=True):
            column.extend(values)
        # One or two rows in 50 have none: removing them is cheaper than looking at each row
        for _ in range(columns[0].count("")):
            place = self._columns[0].index("", place)
            for column in self._columns:
                del column[place]
        count = len(self) - start
        self._urls.values.append(url)
        self._urls.times.append(count)
        if len(self) >= BATCH_LINKS:
            self.flush()
        return count


def _are_followed(links: Sequence[FoundLink], followed: Sequence[FoundLink]) -> list[bool]:
    """Return for each link whether it was followed.

    Usually that depends on the kinds of links only. If not, all links are hashed, which takes
    longer.
    """
    if followed is links:
        return [True] * len(links)
    kinds = set(map(_kind_of, followed))
    flags = list(map(kinds.__contains__, map(_kind_of, links)))
    if list(compress(links, flags)) == followed:
        return flags
    chosen = frozenset(followed)
    return [link in chosen for link in links]
