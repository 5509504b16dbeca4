"""XML as a stream of elements: no tree, nothing loaded, each value's references resolved once.

`xlinks` reads the links of XML that is no listing in this way: XLink, SVG's own href, XInclude, and
style sheets named by processing instructions.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8, getincrementaldecoder
from collections.abc import Iterator
from html import unescape
from typing import Protocol

import ada_url
from lxml import etree  # type: ignore[import-untyped,unused-ignore]  # untyped

from webcrawl.base.possessive import compile_possessive
from webcrawl.content.html import encodings, mimetype
from webcrawl.content.html.encodings import encoding_of, is_xml, wide
from webcrawl.content.html.link_kinds import FoundLink
from webcrawl.content.html.trees import defused, with_sound_references

PIECE = 1 << 16  # bytes between two looks whether the target has enough
ELEMENTS = 1_000_000  # a full sitemap has half as many; those of a bomb cost a microsecond each
MARKS = BOM_UTF8 + b" \t\r\n"  # before the first `<` of documents that scripts put together
HEAD = 1 << 13  # bytes in which the root has to begin
_ROOT = compile_possessive(
    rb"(?:[\s\xef\xbb\xbf]++|<\?(?:(?!\?>).)*+\?>|<!--(?:(?!-->).)*+-->|<!DOCTYPE[^>\[]*+(?:\[[^\]]*+\]\s*+)?>)*+"
    rb"<(?:[A-Za-z_][\w.-]*+:)?([A-Za-z_][\w.-]*+)",
    re.DOTALL,
)


class XmlTarget(Protocol):
    """A receiver of a document's events; names are in Clark's notation, `{namespace}name`."""

    full: bool  # it has enough
    elements: int  # it was told of so many

    def start(self, tag: str, attributes: dict[str, str]) -> None: ...
    def end(self, tag: str) -> None: ...
    def data(self, text: str) -> None: ...
    def pi(self, target: str, text: str | None = None) -> None: ...
    def close(self) -> None: ...


def root_of(body: bytes) -> str:
    """Return the local name of the root element; empty if no XML begins here."""
    head = body[:HEAD]
    encoding = "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else wide(head)
    if encoding:
        head = head.decode(encoding, "replace").encode("utf-8", "replace")
    match = _ROOT.match(head)
    return match[1].decode("ascii", "replace") if match else ""


def read(body: bytes, content_type: str, target: XmlTarget) -> None:
    """Send a document's elements to `target`, until it is full or has got very many.

    The document need not be well-formed.
    """
    encoding = _encoding(body, content_type)
    text = defused(
        body
        if encoding == encodings.UTF_8
        else encodings.decode(body, encoding).encode("utf-8", "replace")
    )
    # If entities are not resolved, `&amp;` arrives as `&#38;` in attributes
    parser = etree.XMLParser(
        target=target,
        encoding="utf-8",
        recover=True,
        resolve_entities="internal",
        no_network=True,
        load_dtd=False,
    )
    try:
        for piece in _pieces(with_sound_references(text.lstrip(MARKS))):
            parser.feed(piece)
            has_enough = target.full or target.elements >= ELEMENTS
            if has_enough:
                return
        parser.close()
    except etree.XMLSyntaxError as error:
        if error.code == etree.ErrorTypes.ERR_NO_MEMORY:
            raise MemoryError(str(error)) from error
    except (etree.LxmlError, ValueError, AssertionError):  # nothing readable, or nothing more
        return


def _pieces(text: bytes) -> Iterator[bytes]:
    """Yield the text without bytes that are not UTF-8: libxml2 would stop at them."""
    decoder = getincrementaldecoder("utf-8")("replace")
    for at in range(0, len(text), PIECE):
        piece = text[at : at + PIECE]
        if piece.isascii() and not decoder.getstate()[0]:
            yield piece
        else:
            yield decoder.decode(piece).encode()


def _encoding(body: bytes, content_type: str) -> str:
    mime = mimetype.parse(content_type) if content_type else None
    if mime is not None and is_xml(mime.essence):
        return encoding_of(body, content_type)
    # Another type is a server's mistake and says nothing of the encoding. XML is never guessed at
    charset = mime.parameters.get("charset") if mime is not None else None
    return encoding_of(body, f"text/xml;charset={charset}" if charset else "text/xml")


XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
LONGEST_BASE = 4096  # characters: bases nested in bases would grow without an end


class Bases:
    """Keeps the xml:base of each open element.

    Call `start` and `end` for each element. Without an xml:base that costs two list operations.
    """

    def __init__(self, url: str) -> None:
        self._stack = [url]

    def start(self, attributes: dict[str, str]) -> None:
        base = self._stack[-1]
        # The nastiest 2 MiB of XML, 80,000 addresses below 2,000 nested bases, take 1.4 s
        if XML_BASE in attributes:
            base = _joined(base, attributes[XML_BASE]) or base
        self._stack.append(base)

    def end(self) -> None:
        if len(self._stack) > 1:
            self._stack.pop()

    def absolute(self, address: str) -> str:
        """Return the address in a form that needs only the document's base."""
        base = self._stack[-1]
        # No xml:base is around it
        is_documents = base is self._stack[0]
        if is_documents or not base:
            return address
        return _joined(base, address) or address


def _joined(base: str, address: str) -> str:
    """Return an address relative to a base; empty if it is too long, or none."""
    if len(address) > LONGEST_BASE:
        return ""
    try:
        found = str(ada_url.join_url(base, address))
    except ValueError:
        return ""
    return found if len(found) <= LONGEST_BASE else ""


MOST = 100_000  # links of a document
XLINK = "{http://www.w3.org/1999/xlink}href"
SVG = "{http://www.w3.org/2000/svg}"
INCLUDE = "{http://www.w3.org/2001/XInclude}include"
OF_SVG = {"image": "img", "feImage": "img", "script": "script"}  # what HTML calls so too
_HREF = re.compile(r"""(?:^|\s)href\s*=\s*(?:"([^"]*)"|'([^']*)')""")


def xlinks(body: bytes, content_type: str, url: str) -> list[FoundLink]:
    """Return the links of an XML document, without those into itself (`#part`)."""
    target = _LinkTarget(url)
    read(body, content_type, target)
    return target.links


class _LinkTarget:
    def __init__(self, url: str) -> None:
        self.full = False
        self.elements = 0
        self.links: list[FoundLink] = []
        self._bases = Bases(url)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Add the address of an element, if it has one.

        It is in `href` (SVG's own goes before XLink's, as SVG 2 has it), `xlink:href`, or an
        inclusion.
        """
        self.elements += 1
        self._bases.start(attributes)
        if not attributes:
            return
        kind = "xlink"
        is_svg = tag.startswith(SVG)
        if is_svg:
            kind = OF_SVG.get(tag.removeprefix(SVG), kind)
        if is_svg and "href" in attributes:
            self._add(attributes["href"], kind)
        elif XLINK in attributes:
            self._add(attributes[XLINK], kind)
        elif tag == INCLUDE and "href" in attributes:
            self._add(attributes["href"], kind)

    def end(self, tag: str) -> None:  # noqa: ARG002 - lxml's signature
        self._bases.end()

    def data(self, text: str) -> None: ...

    def pi(self, target: str, text: str | None = None) -> None:
        if target != "xml-stylesheet":
            return
        match = _HREF.search((text or "")[:PIECE])
        if match is None:
            return
        # In double quotes, or in single ones. Its references are sound
        address = match[1] if match[1] is not None else match[2]
        self._add(unescape(address), "link")

    def close(self) -> None: ...

    def _add(self, address: str, kind: str) -> None:
        address = address.strip()
        leads_away = address and not address.startswith("#")
        if leads_away and not self.full:
            self.links.append((kind, self._bases.absolute(address), "", ""))
            self.full = len(self.links) >= MOST
