"""The links of a document of any known format, and of the headers that hold addresses.

These are Link (RFC 8288), and Refresh, which browsers obey as they do the document's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from webcrawl.base.possessive import compile_possessive
from webcrawl.base.url_text import address_text
from webcrawl.content.formats import listings, xml_stream
from webcrawl.content.formats.listings import Listing
from webcrawl.content.formats.markdown import is_markdown, markdown_links
from webcrawl.content.formats.sniffing import form_of, is_packed, unpacked
from webcrawl.content.html import link_kinds
from webcrawl.content.html.embedded_addresses import refresh
from webcrawl.content.html.encodings import encoding_of
from webcrawl.content.html.link_kinds import (
    ALL_LOGGED,
    HUB,
    MARKDOWN,
    MARKDOWN_TYPES,
    OF_DOCUMENTS,
    DocumentLinks,
    FoundLink,
)
from webcrawl.content.html.link_reader import LinkReader
from webcrawl.content.html.shown_text import resolved

MOST = 1000  # links of one answer
LONGEST = 1 << 16  # characters of all its Link headers
NAMES = frozenset({b"link", b"refresh"})  # in lower case
_LENGTHS = frozenset(map(len, NAMES))
_TARGET = re.compile(r"[\s,]*<([^>]*)>")
_PARAMETER = compile_possessive(
    r"""\s*;\s*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]++)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*+)"?|([^\s;,"]*+)))?)?""",
    re.DOTALL,
)
_REST = compile_possessive(r"""(?:"(?:[^"\\]|\\.)*+"?|[^,"])*+""", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def links(headers: Iterable[tuple[bytes, bytes]]) -> list[FoundLink]:
    """Return the links in an answer's headers, relative to its URL and not to a document's base."""
    # Comparing lengths first is twice as fast
    named = [one for one in headers if len(one[0]) in _LENGTHS and one[0].lower() in NAMES]
    if not named:
        return []
    found: list[FoundLink] = []
    # The two names differ in length
    values = [value for name, value in named if len(name) == len("link")]
    refreshes = [value for name, value in named if len(name) != len("link")]
    if refreshes:
        forward = refresh(address_text(refreshes[0][:LONGEST]))
        # Without an address the page itself is loaded again
        if forward and forward[1]:
            found.append(("refresh", forward[1], "", ""))
    text = address_text(b", ".join(values)[:LONGEST])
    at = 0
    while len(found) < MOST and (target := _TARGET.match(text, at)):
        parameters, at = _parameters(text, target.end())
        rel = parameters.get("rel", "")
        found.append(
            (
                _kind(rel.lower().split(), parameters),
                target[1].strip(),
                parameters.get("title", ""),
                rel,
            )
        )
        at = _REST.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too
    return found


def _kind(rels: list[str], parameters: dict[str, str]) -> str:
    """Return the kind of a link. A canonical address counts only if no other context is named."""
    if HUB in rels:
        return HUB
    # RFC 8288 3.2: an anchor makes it the link of another page than this one
    if "anchor" in parameters:
        return "header"
    if "canonical" in rels:
        return "canonical"
    if "alternate" not in rels:
        return "header"
    leads_to_markdown = parameters.get("type", "").lower() in MARKDOWN_TYPES
    return MARKDOWN if leads_to_markdown else "header"


def _parameters(text: str, at: int) -> tuple[dict[str, str], int]:
    """Return the parameters after a target, the first of each name, and where they end."""
    found: dict[str, str] = {}
    while match := _PARAMETER.match(text, at):
        if match[1]:
            value = _ESCAPE.sub(r"\1", match[2]) if match[2] is not None else match[3] or ""
            # RFC 8288 3.3: of several `rel` the first one counts
            found.setdefault(match[1].lower(), value)
        at = match.end()
    return found, at


KINDS_OF = {
    "sitemap": "sitemap",
    "text": "sitemap",
    "feed": "feed",
    "json": "feed",
    "xlink": "xlink",
}
OF_HEADERS = frozenset(("canonical", "header", "refresh", HUB, MARKDOWN))


class DocumentReader:
    """Reads links of the wanted kinds, HTML's by a LinkReader. One per crawl, used by one thread.

    A format is looked at only if the kind that is called after it is wanted.
    """

    def __init__(
        self,
        wanted: Iterable[str] = link_kinds.FOLLOWED,
        *,
        anchor_text: bool = False,
        agent: str = "",
        structured: bool = False,
    ) -> None:
        """`wanted`: the kinds of links to read. `agent`: our name in robots meta elements.

        `anchor_text` and `structured`: whether texts of links and structured data are read, too.
        """
        self.wanted = frozenset(wanted)
        self._html = LinkReader(
            self.wanted, anchor_text=anchor_text, agent=agent, structured=structured
        )
        self._formats = self.wanted & set(OF_DOCUMENTS)
        self._of_headers = self.wanted & OF_HEADERS
        self._reads_listings = bool(self._formats & {"sitemap", "feed"})
        self._logs_all = anchor_text and self.wanted >= ALL_LOGGED

    def links(
        self,
        body: bytes,
        content_type: str,
        url: str,
        encoding: str = "",
        headers: Iterable[tuple[bytes, bytes]] = (),
    ) -> DocumentLinks:
        """Return the links of `body`, fetched from `url`; see LinkReader. Never raises.

        A PDF has no links here. The addresses of a sitemap or a feed are relative to its
        Content-Location (RFC 2616 14.14), a page's are not.
        """
        if MARKDOWN in self.wanted and is_markdown(content_type, url):
            encoding = encoding or encoding_of(body, content_type, url)
            return markdown_links(body, url, encoding, whole=self._logs_all)
        if not self._formats:
            return self._html.links(body, content_type, url, encoding)
        if self._reads_listings and is_packed(content_type, body):
            body, content_type = unpacked(body), ""
        form = form_of(content_type, body)
        if KINDS_OF.get(form) not in self._formats:
            return self._html.links(body, content_type, url, encoding)
        if form == "xlink":
            links = self._kept(xml_stream.xlinks(body, content_type, url))
            return DocumentLinks(url, encoding or "utf-8", links=links, whole=self._logs_all)
        found = DocumentLinks(_location(headers, url), encoding or "utf-8", whole=self._logs_all)
        if form == "text":
            self._fill(found, listings.read_list(body))
        elif form == "json":
            self._fill(found, listings.read_feed(body))
        else:
            self._fill(found, listings.read(body, content_type, found.base))
        return found

    def add_headers(
        self, found: DocumentLinks, headers: Iterable[tuple[bytes, bytes]], url: str
    ) -> None:
        """Add the links of an answer's headers; `url` is the answer's."""
        if not self._of_headers:
            return
        for named, address, text, rel in links(headers):
            kind = self._kind_of_header_link(named)
            target = resolved(address, url)
            # Of several links of one of these kinds the first one counts
            if kind == "canonical":
                found.canonical = found.canonical or target
            elif kind == MARKDOWN:
                found.markdown = found.markdown or target
            is_wanted = kind in self.wanted
            if is_wanted and target:
                found.links.append((kind, target, text, rel))

    def _kind_of_header_link(self, named: str) -> str:
        """Return the kind of a header's link. Markdown that is not wanted is a link as any other."""
        is_unwanted_markdown = named == MARKDOWN and MARKDOWN not in self.wanted
        return "header" if is_unwanted_markdown else named

    def _fill(self, found: DocumentLinks, read: Listing) -> None:
        found.entries = read.entries
        found.title = read.title
        found.links = self._kept([entry.link for entry in read.entries])

    def _kept(self, links: Sequence[FoundLink]) -> list[FoundLink]:
        return [link for link in links if link[0] in self.wanted]


@cache
def _everything(agent: str) -> DocumentReader:
    return DocumentReader(ALL_LOGGED, anchor_text=True, agent=agent)


@cache
def _nothing(agent: str) -> LinkReader:
    return LinkReader((), agent=agent)


def head(body: bytes, content_type: str, url: str, encoding: str, agent: str) -> DocumentLinks:
    """Return what a document says of itself, without its links."""
    return _nothing(agent).links(body, content_type, url, encoding)


def all_links(
    body: bytes,
    content_type: str,
    url: str,
    encoding: str = "",
    headers: Iterable[tuple[bytes, bytes]] = (),
    agent: str = "",
) -> DocumentLinks:
    """Return links of all kinds, with their texts, of a document from `url`; a PDF has none here."""
    found = _everything(agent).links(body, content_type, url, encoding, headers)
    _everything(agent).add_headers(found, headers, url)
    return found


def _location(headers: Iterable[tuple[bytes, bytes]], url: str) -> str:
    """Return the address that an answer from `url` names as that of its body."""
    found = url
    # RFC 2616 14.14. Browsers ignore it for pages, and so does the crawler
    for name, value in headers:
        if name.lower() == b"content-location":
            found = resolved(address_text(value), url) or found
    return found
