"""A page's links of all kinds in LINK_SOURCES, with the document's base and encoding, as a browser sees them."""

from __future__ import annotations

import re
from collections.abc import Iterable

import ada_url

from webcrawl.content.html import encodings, link_kinds, style_sheets
from webcrawl.content.html.element_links import SPOKEN, Reading
from webcrawl.content.html.encoding_sniffing import encoding_of
from webcrawl.content.html.found_links import Found
from webcrawl.content.html.trees import ElementReader, document

_SPECIAL = re.compile(r"[\0- ]*+(?:(?:https?|ftp|file|wss?):|(?![a-z][a-z0-9+.-]*:))", re.IGNORECASE)
# Encoding Standard 4.3, "get an output encoding": for these it is UTF-8.
_NEVER_WRITTEN = (encodings.UTF_8, *encodings.UTF_16, "utf-32-le", "utf-32-be", encodings.REPLACEMENT)
_SPELLED = [f"%{byte:02X}" if byte > 0x7E or byte in b"\x1b&#;" else chr(byte) for byte in range(256)]
_RUNS = re.compile(r"[^\x00-\x7f]+")


def with_query(url: str, encoding: str) -> str:
    """Return the link for a URL parser that encodes everything as UTF-8."""
    if url.isascii() or encoding in _NEVER_WRITTEN or not _SPECIAL.match(url):
        return url
    rest, mark, fragment = url.partition("#")
    path, question, query = rest.partition("?")
    if not question or query.isascii():
        return url
    return path + question + _RUNS.sub(lambda run: _percent(run[0], encoding), query) + mark + fragment


def _percent(text: str, encoding: str) -> str:
    """Percent-encodes; a character missing from the encoding becomes `&#number;`, as in a form."""
    user_defined = encoding == encodings.USER_DEFINED
    encoded = _encoded(text) if user_defined else text.encode(encodings.codec(encoding), "xmlcharrefreplace")
    return "".join(map(_SPELLED.__getitem__, encoded))


def _encoded(text: str) -> bytes:
    """Encoding Standard 14.5.2, the x-user-defined encoder for non-ASCII text; Python has none."""
    return b"".join(
        [b"%c" % (code - 0xF700) if 0xF780 <= code <= 0xF7FF else b"&#%d;" % code for code in map(ord, text)]
    )


_NO_BASE = ("data:", "javascript:")  # HTML Standard 4.2.3: these cannot be a document's base


class LinkReader:
    """Reads links of the wanted kinds. One per crawl, used by one thread."""

    def __init__(
        self, wanted: Iterable[str] = link_kinds.FOLLOWED, *, anchor_text: bool = False, agent: str = ""
    ) -> None:
        """`agent`: the crawler's name, by which robots meta elements may speak to it alone."""
        self.wanted = frozenset(wanted)
        self._anchor_text = anchor_text
        self._names = SPOKEN | {agent.lower()} - {""}
        self._table = {
            tag: tuple(pair for pair in attributes if pair[1] in self.wanted)
            for tag, attributes in link_kinds.ATTRIBUTES.items()
        }
        self._reader = ElementReader(link_kinds.selector(self.wanted), link_kinds.tags(self.wanted))
        self._styles = "style" in self.wanted
        self._whole = anchor_text and self.wanted >= link_kinds.LOGGED

    def links(self, body: bytes, content_type: str, url: str, encoding: str = "") -> Found:
        """The links of `body`, fetched from `url`; what is neither HTML nor XHTML nor a style sheet has none.

        Pass `encoding` if it is already known. Never raises, whatever the bytes.
        """
        if self._styles and style_sheets.is_style_sheet(content_type, url):
            return style_sheets.style_sheet_links(body, content_type, url)
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
