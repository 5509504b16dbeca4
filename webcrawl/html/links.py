"""A page's links of all kinds in LINK_SOURCES, with the document's base and encoding, as a browser sees them."""

from __future__ import annotations

from collections.abc import Iterable

import ada_url

from webcrawl.html import encodings, kinds, stylesheet
from webcrawl.html.elements import ElementReader, document
from webcrawl.html.encoding import encoding_of
from webcrawl.html.found import Found
from webcrawl.html.query import with_query
from webcrawl.html.reading import SPOKEN, Reading

_NO_BASE = ("data:", "javascript:")  # HTML Standard 4.2.3: these cannot be a document's base


class LinkReader:
    """Reads links of the wanted kinds. One per crawl, used by one thread."""

    def __init__(self, wanted: Iterable[str] = kinds.FOLLOWED, *, anchor_text: bool = False, agent: str = "") -> None:
        """`agent`: the crawler's name, by which robots meta elements may speak to it alone."""
        self.wanted = frozenset(wanted)
        self._anchor_text = anchor_text
        self._names = SPOKEN | {agent.lower()} - {""}
        self._table = {
            tag: tuple(pair for pair in attributes if pair[1] in self.wanted)
            for tag, attributes in kinds.ATTRIBUTES.items()
        }
        self._reader = ElementReader(kinds.selector(self.wanted), kinds.tags(self.wanted))
        self._styles = "style" in self.wanted
        self._whole = anchor_text and self.wanted >= kinds.LOGGED

    def __repr__(self) -> str:
        return f"<LinkReader {' '.join(sorted(self.wanted))}>"

    def links(self, body: bytes, content_type: str, url: str, encoding: str = "") -> Found:
        """The links of `body`, fetched from `url`; what is neither HTML nor XHTML nor a style sheet has none.

        Pass `encoding` if it is already known. Never raises, whatever the bytes.
        """
        if self._styles and stylesheet.is_style_sheet(content_type, url):
            return stylesheet.links(body, content_type, url)
        encoding = encoding or encoding_of(body, content_type, url)
        found = Found(url, encoding, whole=self._whole)
        text, kind = document(body, content_type, encoding)
        if not kind:
            return found
        reading = Reading(found, self._table, self.wanted, anchor_text=self._anchor_text, names=self._names)
        reading.read(self._reader.elements(text, kind), len(text))
        if reading.hidden:  # parsed once, together: a page may contain very many
            reading.read(self._reader.elements("".join(reading.hidden).encode(), "html"), len(text))
        if encoding != encodings.UTF_8:
            found.links = [(kind, with_query(link, encoding), text, rel) for kind, link, text, rel in found.links]
        found.base = _base(url, reading.base)
        return found


def _base(url: str, href: str | None) -> str:
    """The first base element's URL, resolved against the document's; the latter if it is unusable."""
    if not href:
        return url
    try:
        base: str = ada_url.join_url(url, href)
    except ValueError:
        return url
    return url if base.startswith(_NO_BASE) else base
