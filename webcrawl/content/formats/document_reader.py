"""The links of a document of any known format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import ada_url

from webcrawl.base.url_text import address_text
from webcrawl.content.formats import link_header, plain_listings, xlink, xml_listings
from webcrawl.content.formats.document_kinds import HUB, LOGGED, OF_DOCUMENTS
from webcrawl.content.formats.sniffing import form_of, is_packed, unpacked
from webcrawl.content.formats.xml_listings import Listing
from webcrawl.content.html import link_kinds
from webcrawl.content.html.found_links import Found, FoundLink
from webcrawl.content.html.link_reader import LinkReader

KINDS_OF = {"sitemap": "sitemap", "text": "sitemap", "feed": "feed", "json": "feed", "xlink": "xlink"}
OF_HEADERS = frozenset(("canonical", "header", "refresh", HUB))


class DocumentReader:
    """Reads links of the wanted kinds, HTML's by a LinkReader. One per crawl, used by one thread.

    A format is looked at only if the kind that is called after it is wanted.
    """

    def __init__(
        self, wanted: Iterable[str] = link_kinds.FOLLOWED, *, anchor_text: bool = False, agent: str = ""
    ) -> None:
        self.wanted = frozenset(wanted)
        self._html = LinkReader(self.wanted, anchor_text=anchor_text, agent=agent)
        self._formats = self.wanted & set(OF_DOCUMENTS)
        self._of_headers = self.wanted & OF_HEADERS
        self._packed = bool(self._formats & {"sitemap", "feed"})
        self._whole = anchor_text and self.wanted >= LOGGED

    def links(
        self, body: bytes, content_type: str, url: str, encoding: str = "", headers: Iterable[tuple[bytes, bytes]] = ()
    ) -> Found:
        """The links of `body`, fetched from `url`; see LinkReader. A PDF has none here. Never raises.

        The addresses of a sitemap or a feed are relative to its Content-Location (RFC 2616 14.14), a page's are not.
        """
        if not self._formats:
            return self._html.links(body, content_type, url, encoding)
        if self._packed and is_packed(content_type, body):
            body, content_type = unpacked(body), ""
        form = form_of(content_type, body)
        if KINDS_OF.get(form) not in self._formats:
            return self._html.links(body, content_type, url, encoding)
        if form == "xlink":
            links = self._kept(xlink.read(body, content_type, url))
            return Found(url, encoding or "utf-8", links=links, whole=self._whole)
        found = Found(_location(headers, url), encoding or "utf-8", whole=self._whole)
        if form == "text":
            self._fill(found, plain_listings.read_list(body))
        elif form == "json":
            self._fill(found, plain_listings.read_feed(body))
        else:
            self._fill(found, xml_listings.read(body, content_type, found.base))
        return found

    def add_headers(self, found: Found, headers: Iterable[tuple[bytes, bytes]], url: str) -> None:
        """Adds the links of an answer's headers; `url` is the answer's."""
        links = link_header.links(headers) if self._of_headers else ()
        for kind, address, text, rel in links:
            target = _resolved(address, url)
            if kind == "canonical" and not found.canonical:
                found.canonical = target
            if kind in self.wanted and target:
                found.links.append((kind, target, text, rel))

    def _fill(self, found: Found, read: Listing) -> None:
        found.entries, found.title = read.entries, read.title
        found.links = self._kept([entry.link for entry in read.entries])

    def _kept(self, links: Sequence[FoundLink]) -> list[FoundLink]:
        return [link for link in links if link[0] in self.wanted]


@cache
def _everything(agent: str) -> DocumentReader:
    return DocumentReader(LOGGED, anchor_text=True, agent=agent)


@cache
def _nothing(agent: str) -> LinkReader:
    return LinkReader((), agent=agent)


def head(body: bytes, content_type: str, url: str, encoding: str, agent: str) -> Found:
    """Return what a document says of itself, without its links."""
    return _nothing(agent).links(body, content_type, url, encoding)


def all_links(
    body: bytes,
    content_type: str,
    url: str,
    encoding: str = "",
    headers: Iterable[tuple[bytes, bytes]] = (),
    agent: str = "",
) -> Found:
    """Links of all kinds but a PDF's, with their texts, of a document that came from `url`."""
    found = _everything(agent).links(body, content_type, url, encoding, headers)
    _everything(agent).add_headers(found, headers, url)
    return found


def _location(headers: Iterable[tuple[bytes, bytes]], url: str) -> str:
    """Where an answer from `url` says that its body lies."""
    found = url
    for name, value in headers:
        if name.lower() == b"content-location":
            found = _resolved(address_text(value), url) or found
    return found


def _resolved(address: str, url: str) -> str:
    try:
        return str(ada_url.join_url(url, address))
    except ValueError:
        return ""
