"""A document's elements that a CSS selector or a set of tags names, whatever parser the page needs."""

from __future__ import annotations

from collections.abc import Iterable

from webcrawl.html import encodings, guard
from webcrawl.html.document import markup
from webcrawl.html.trees import Element, LexborTree, PlainTree, XmlTree


class ElementReader:
    """Reads elements in document order. Used by one thread."""

    def __init__(self, selector: str, tags: frozenset[str]) -> None:
        """Both say the same: `tags` is for libxml2, and empty means all."""
        self._lexbor, self._plain, self._xml = LexborTree(selector), PlainTree(tags), XmlTree()

    def elements(self, text: bytes, kind: str) -> Iterable[Element]:
        """The elements of a document in UTF-8; `kind` is what `document` said. libxml2 reads what lexbor must not."""
        text = defused(text)
        if kind == "xml":
            return self._xml.elements(text)
        return (self._plain if guard.heavy(text) else self._lexbor).elements(text)


def defused(text: bytes) -> bytes:
    """The attributes of one tag cost time quadratic in their number in both parsers."""
    return guard.defused(text) if len(text) > guard.LONG else text


def document(body: bytes, content_type: str, encoding: str) -> tuple[bytes, str]:
    """The body in UTF-8, and its kind of markup: empty for what is neither HTML nor XHTML."""
    kind = markup(content_type, body)
    same = not kind or encoding == encodings.UTF_8 or (encoding == encodings.WINDOWS_1252 and body.isascii())
    return body if same else encodings.decode(body, encoding).encode(), kind
