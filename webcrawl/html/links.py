"""A page's links of all kinds in LINK_SOURCES, with the document's base and encoding, as a browser sees them."""

from __future__ import annotations

from collections.abc import Iterable

import ada_url

from webcrawl.html import encodings, guard, kinds
from webcrawl.html.document import markup
from webcrawl.html.encoding import encoding_of
from webcrawl.html.found import Found
from webcrawl.html.query import with_query
from webcrawl.html.reading import Reading
from webcrawl.html.trees import Element, LexborTree, PlainTree, XmlTree

_NO_BASE = ("data:", "javascript:")  # HTML Standard 4.2.3: these cannot be a document's base


class LinkReader:
    """Reads links of the wanted kinds. One per crawl, used by one thread."""

    def __init__(self, wanted: Iterable[str] = kinds.FOLLOWED, *, anchor_text: bool = False) -> None:
        self.wanted = frozenset(wanted)
        self._anchor_text = anchor_text
        self._table = {
            tag: tuple(pair for pair in attributes if pair[1] in self.wanted)
            for tag, attributes in kinds.ATTRIBUTES.items()
        }
        self._lexbor = LexborTree(kinds.selector(self.wanted))
        self._plain = PlainTree(kinds.tags(self.wanted))
        self._xml = XmlTree()

    def __repr__(self) -> str:
        return f"<LinkReader {' '.join(sorted(self.wanted))}>"

    def links(self, body: bytes, content_type: str, url: str, encoding: str = "") -> Found:
        """The links of `body`, fetched from `url`; a document that is neither HTML nor XHTML has none.

        Pass `encoding` if it is already known. Never raises, whatever the bytes.
        """
        encoding = encoding or encoding_of(body, content_type, url)
        found = Found(url, encoding)
        kind = markup(content_type, body)
        if not kind:
            return found
        same = encoding == encodings.UTF_8 or (encoding == encodings.WINDOWS_1252 and body.isascii())
        text = body if same else encodings.decode(body, encoding).encode()
        reading = Reading(found, self._table, self.wanted, anchor_text=self._anchor_text)
        reading.read((self._xml.elements if kind == "xml" else self._html)(_defused(text)), len(text))
        if reading.hidden:  # parsed once, together: a page may contain very many
            reading.read(self._html(_defused("".join(reading.hidden).encode())), len(text))
        if encoding != encodings.UTF_8:
            found.links = [(kind, with_query(link, encoding), text, no) for kind, link, text, no in found.links]
        found.base = _base(url, reading.base)
        return found

    def _html(self, html: bytes) -> Iterable[Element]:
        """The page's elements, by libxml2 if the page is too heavy for lexbor."""
        return (self._plain if guard.heavy(html) else self._lexbor).elements(html)


def _defused(text: bytes) -> bytes:
    """The attributes of one tag cost time quadratic in their number in both parsers."""
    return guard.defused(text) if len(text) > guard.LONG else text


def _base(url: str, href: str | None) -> str:
    """The first base element's URL, resolved against the document's; the latter if it is unusable."""
    if not href:
        return url
    try:
        base: str = ada_url.join_url(url, href)
    except ValueError:
        return url
    return url if base.startswith(_NO_BASE) else base
