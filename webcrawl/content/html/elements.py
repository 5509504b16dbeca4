"""A document's elements that a CSS selector or a set of tags names, whatever parser the page needs."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable

from webcrawl.content.html import encodings, mimetype, tree_guard
from webcrawl.content.html.encoding_sniffing import is_xml
from webcrawl.content.html.trees import Element, LexborTree, PlainTree, XmlTree

_XHTML = b"http://www.w3.org/1999/xhtml"
_UNKNOWN = ("", "unknown/unknown", "application/unknown", "*/*")
# MIME Sniffing Standard 7.1: how a scriptable resource of unknown type begins.
_BEGINS_AS_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*+<(?:!--|(?:!DOCTYPE HTML|html|head|script|iframe|h1|div|font|table|a|style|title"
    rb"|b|body|br|p)[ >])",
    re.IGNORECASE,
)
_BEGINS_AS_XML = re.compile(rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*+<\?xml")


def markup(content_type: str, body: bytes) -> str:
    """`html`, `xml` for XHTML served as XML, or an empty string."""
    mime = mimetype.parse(content_type) if content_type else None
    essence = mime.essence if mime else ""
    if essence == "text/html":
        return "html"
    if essence in _UNKNOWN:
        if _BEGINS_AS_HTML.match(body):
            return "html"
        essence = "text/xml" if _BEGINS_AS_XML.match(body) else ""
    # Feeds and sitemaps are XML too; only a document that names the namespace has links that a browser shows.
    return "xml" if is_xml(essence) and (_XHTML in body or b"\0" in body[:4]) else ""


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
        return (self._plain if tree_guard.heavy(text) else self._lexbor).elements(text)


def defused(text: bytes) -> bytes:
    """The attributes of one tag cost time quadratic in their number in both parsers."""
    return tree_guard.defused(text) if len(text) > tree_guard.LONG else text


def document(body: bytes, content_type: str, encoding: str) -> tuple[bytes, str]:
    """The body in UTF-8 without a byte order mark, and its kind of markup: empty for what is neither HTML nor XHTML."""
    kind = markup(content_type, body)
    same = not kind or encoding == encodings.UTF_8 or (encoding == encodings.WINDOWS_1252 and body.isascii())
    return body.removeprefix(BOM_UTF8) if same else encodings.decode(body, encoding).encode(), kind
