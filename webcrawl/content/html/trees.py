"""A document's elements in order: by lexbor, or by libxml2 for XML and pages too heavy for lexbor."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from html.entities import html5
from typing import Protocol

from lxml import etree  # type: ignore[import-untyped,unused-ignore]  # untyped
from selectolax.lexbor import (
    LexborCSSSelector,
    LexborDocumentOptions,
    LexborHTMLParser,
    LexborNode,
    SelectolaxError,
)

from webcrawl.content.html import encodings, mimetype, tree_guard
from webcrawl.content.html.encodings import is_xml
from webcrawl.content.html.tree_guard import ATTRIBUTES

_XHTML = b"http://www.w3.org/1999/xhtml"
UNKNOWN = ("", "unknown/unknown", "application/unknown", "*/*")
# MIME Sniffing Standard 7.1: how a scriptable resource of unknown type begins.
_BEGINS_AS_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*+<(?:!--|(?:!DOCTYPE HTML|html|head|script|iframe|h1|div|font|table|a|style|title"
    rb"|b|body|br|p)[ >])",
    re.IGNORECASE,
)
_BEGINS_AS_XML = re.compile(rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*+<\?xml")


def markup(content_type: str, body: bytes) -> str:
    """Return `html`, `xml` for XHTML served as XML, or an empty string for other bodies."""
    mime = mimetype.parse(content_type) if content_type else None
    essence = mime.essence if mime else ""
    if essence == "text/html":
        return "html"
    if essence in UNKNOWN:
        if _BEGINS_AS_HTML.match(body):
            return "html"
        is_in_xml = _BEGINS_AS_XML.match(body) is not None
    else:
        is_in_xml = is_xml(essence)
    if not is_in_xml:
        return ""
    # Feeds and sitemaps are XML too; only a document that names the namespace has links that a
    # browser shows. In UTF-16, which has zeros at the beginning, the name cannot be found
    may_be_xhtml = _XHTML in body or b"\0" in body[:4]
    return "xml" if may_be_xhtml else ""


class ElementReader:
    """Reads elements in document order. Used by one thread."""

    def __init__(self, selector: str, tags: frozenset[str]) -> None:
        """Select the same elements by both: `tags` is for libxml2, and if it is empty, it is all."""
        self._lexbor = LexborTree(selector)
        self._plain = PlainTree(tags)
        self._xml = XmlTree()

    def elements(self, text: bytes, kind: str) -> Iterable[Element]:
        """Return the elements of a document in UTF-8; `kind` is what `document` returned.

        libxml2 reads the documents that are too heavy for lexbor.
        """
        tree = kept_tree().pop_tree(text)
        if tree is not None:
            return self._lexbor.within(tree.root)
        text = defused(text)
        if kind == "xml":
            return self._xml.elements(text)
        # 9 of 217 real pages go to libxml2
        if tree_guard.heavy(text):
            return self._plain.elements(text)
        return self._lexbor.elements(text)


def defused(text: bytes) -> bytes:
    """Return the document without crowded tags: attributes of one tag cost quadratic time."""
    return tree_guard.defused(text) if len(text) > tree_guard.LONG_BODY else text


def document(body: bytes, content_type: str, encoding: str) -> tuple[bytes, str]:
    """Return the body in UTF-8 without a byte order mark, and its kind of markup.

    The kind is that of `markup`. A body without markup is returned as it is.
    """
    kind = markup(content_type, body)
    is_utf_8 = encoding == encodings.UTF_8
    is_ascii = encoding == encodings.WINDOWS_1252 and body.isascii()
    if not kind or is_utf_8 or is_ascii:
        return body.removeprefix(BOM_UTF8), kind
    return encodings.decode(body, encoding).encode(), kind


XHTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"
_NAMESPACES = {"{http://www.w3.org/1999/xlink}": "xlink:"}
# Text nodes read below one element: libxml2 nests 2048 deep, and text is read at each level
_PIECES = 256
# Elements looked at below one element, and of one document for each of its tags beside LEAST_STEPS.
# Elements without text count, too: a page of 250 KB of headings within headings, all empty, took 28
# seconds.
_ELEMENTS = 512
STEPS_PER_TAG, LEAST_STEPS = 4, 1 << 16


class Element(Protocol):
    """An element that links are read from. selectolax's nodes satisfy it."""

    @property
    def tag(self) -> str | None: ...
    @property
    def attributes(self) -> dict[str, str | None]: ...
    def text(self) -> str: ...
    def text_lexbor(self) -> str:
        """Return the element's text; selectolax's nodes return it in half the time of `text`."""


def value_of(attributes: Mapping[str, str | None], name: str) -> str:
    """Return the value of an attribute; empty if it is missing, or has none."""
    return attributes.get(name) or ""


class LexborTree:
    """HTML by the standard's algorithm; the contents of templates are not in the document.

    Without events nothing is copied into <selectedcontent>, so a link in an <option> counts once.
    """

    def __init__(self, selector: str) -> None:
        self._selector = selector
        # Shared by all pages: saves creating a CSS parser for each.
        self._find = LexborCSSSelector().find  # type: ignore[no-untyped-call,unused-ignore]  # missing from its stubs

    def elements(self, html: bytes) -> Iterable[Element]:
        return self.within(lexbor_tree(html).root)

    def within(self, root: LexborNode | None) -> Iterable[Element]:
        """Yield the elements of a tree that was parsed by `lexbor_tree`."""
        return self._find(self._selector, root) if root is not None else ()


def lexbor_tree(html: bytes) -> LexborHTMLParser:
    """Return the tree of an HTML document in UTF-8 that is neither crowded nor heavy."""
    try:
        return LexborHTMLParser(html, options=LexborDocumentOptions.WO_EVENTS)
    except SelectolaxError as error:  # all that can fail here is a malloc
        raise MemoryError(str(error)) from error


class KeptTree:
    """The tree of a document that was parsed to see what it is.

    The next reader of the same document may take it.
    """

    def __init__(self) -> None:
        self._kept: tuple[bytes, LexborHTMLParser] | None = None

    def keep(self, text: bytes, tree: LexborHTMLParser) -> None:
        """Keep the whole tree of a document in UTF-8, in place of an earlier one."""
        self._kept = text, tree

    def pop_tree(self, text: bytes) -> LexborHTMLParser | None:
        """Return the tree of this document, or None if another one is kept.

        Nothing is kept afterwards.
        """
        kept = self._kept
        self._kept = None
        return kept[1] if kept is not None and kept[0] == text else None


@cache
def kept_tree() -> KeptTree:
    """Return the only kept tree. Nothing between a page's two readers could pass it on."""
    return KeptTree()


def shared_tree(text: bytes, kind: str) -> LexborHTMLParser | None:
    """Return lexbor's tree of a document, and keep it for the next reader.

    None if libxml2 reads the document.
    """
    tree = kept_tree().pop_tree(text)
    if tree is None and kind == "html":
        safe = defused(text)
        tree = None if tree_guard.heavy(safe) else lexbor_tree(safe)
    if tree is not None:
        kept_tree().keep(text, tree)
    return tree


class TextReader:
    """Reads texts of elements of one document of libxml2's, in time linear to its tags.

    Elements lie within each other, and the text of each is read.
    """

    def __init__(self, document: bytes) -> None:
        self._steps_left = LEAST_STEPS + STEPS_PER_TAG * document.count(b"<")

    def text(self, element: etree._Element) -> str:
        """Return the text of an element, or its first part if the element is large.

        Empty if the document's steps are used up.
        """
        texts: list[str] = []
        elements = 0
        most_elements = min(_ELEMENTS, self._steps_left)
        for event, inner in etree.iterwalk(element, events=("start", "end")):
            if event == "start":
                if elements == most_elements:
                    break
                elements += 1
                text = inner.text
            else:
                text = inner.tail if inner is not element else None
            if text:
                texts.append(text)
                if len(texts) == _PIECES:
                    break
        self._steps_left -= elements
        return "".join(texts)


class PlainElement:
    """An element of libxml2's tree, under HTML's names."""

    __slots__ = ("_element", "_texts", "attributes", "tag")

    def __init__(
        self,
        element: etree._Element,
        tag: str,
        attributes: dict[str, str | None],
        texts: TextReader,
    ) -> None:
        self.tag = tag
        self.attributes = attributes
        self._element = element
        self._texts = texts

    def text(self) -> str:
        return self._texts.text(self._element)

    text_lexbor = text


class PlainTree:
    """HTML by libxml2.

    It never reopens elements, so it is always linear; it nests at most 2048 deep.
    """

    def __init__(self, tags: frozenset[str] = frozenset()) -> None:
        self._tags = tags  # empty: all

    def elements(self, html: bytes) -> Iterator[Element]:
        root = plain_root(html)
        if root is None:
            return
        drop_templates(root)
        elements = root.iter(*self._tags) if self._tags else root.iter(etree.Element)
        texts = TextReader(html)
        for element in elements:
            # `items`, because the mapping `attrib` rejects names such as `{`
            yield PlainElement(element, element.tag, dict(element.items()), texts)


class XmlTree:
    """XHTML served as XML. Entities are never expanded and nothing is loaded.

    lxml looks up each attribute's value by a scan from the first: 27,000 attributes of one tag took
    2.4 s.
    """

    def elements(self, xml: bytes) -> Iterator[Element]:
        root = xml_root(xml)
        if root is None or root.tag != f"{XHTML}html":
            return
        texts = TextReader(xml)
        for element in root.iter(f"{XHTML}*", f"{SVG}*"):
            if len(element.attrib) > ATTRIBUTES:
                continue
            attributes = {_name(key): value for key, value in element.attrib.items()}
            yield PlainElement(element, element.tag.rpartition("}")[2], attributes, texts)


def drop_templates(root: etree._Element) -> None:
    """Take templates out of libxml2's tree: their contents are not in the document."""
    for template in list(root.iter("template")):
        if template.getparent() is not None:
            template.getparent().remove(template)


def plain_root(html: bytes) -> etree._Element | None:
    """Return the root of libxml2's tree of an HTML document."""
    return _parse(
        html,
        etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True),
    )


def xml_root(xml: bytes) -> etree._Element | None:
    """Return the root of an XML document, well-formed or not."""
    parser = etree.XMLParser(
        encoding="utf-8", recover=True, resolve_entities=False, no_network=True, load_dtd=False,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip
    return _parse(with_sound_references(xml), parser)


_UNSOUND = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)")
_REFERENCE = re.compile(
    rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)"
    rb"|&(?:#0*([0-9]{1,7});|#[xX]0*([0-9A-Fa-f]{1,6});|([A-Za-z_][\w.-]*+);)?",
    re.DOTALL,
)
# Not characters of XML: after one, libxml2 drops a reference
_CONTROLS = bytes({*range(32)} - {*b"\t\n\r"})
_SUBSET = re.compile(rb"<!DOCTYPE[^\[>]*+\[(.*?)\]\s*+>", re.DOTALL)
_ENTITY = re.compile(
    rb"""<!ENTITY\s++([^\s%]\S*+)\s++(?:"([^"]*+)"|'([^']*+)'|(?:SYSTEM|PUBLIC)[^>]{0,999}+)\s*+>"""
)
_PREDEFINED = frozenset((b"amp", b"lt", b"gt", b"quot", b"apos"))
NESTED = 16  # entities within entities
LONGEST_ENTITY = 2000  # bytes of an entity's text: no address is longer, but bombs are
EXPANDED = 1 << 20  # bytes that references may become beyond twice the document's size


def with_sound_references(xml: bytes) -> bytes:
    """Return an XML document in UTF-8 in which each `&` begins a reference that libxml2 resolves.

    libxml2 drops any other `&` with the name after it: `?c=1&d=2` became `?c=1=2`. HTML's entities
    become characters. Entities that the document declares become their text: libxml2 would stop
    reading at many of them.
    """
    xml = xml.translate(None, _CONTROLS)
    if _UNSOUND.search(xml) is None:
        return xml
    begin = xml.find(b"<!DOCTYPE") if b"<!ENTITY" in xml else -1
    subset = _SUBSET.match(xml, begin) if begin >= 0 else None
    if subset is None:
        return _References({}, 0).sound(xml)
    entities = {
        name: double or single for name, double, single in reversed(_ENTITY.findall(subset[1]))
    }
    rest = _References(entities, EXPANDED + 2 * len(xml)).sound(xml[subset.end() :])
    return (
        xml[: subset.start(1)]
        + _ENTITY.sub(b"", subset[1])
        + xml[subset.end(1) : subset.end()]
        + rest
    )


class _References:
    """Replaces the references of a document, whose own entities are `declared`."""

    def __init__(self, declared: Mapping[bytes, bytes], room: int) -> None:
        self._declared = declared
        self._bytes_left = room
        self._expanded: dict[bytes, bytes] = {}
        self._nested = 0

    def sound(self, xml: bytes) -> bytes:
        return _REFERENCE.sub(self._sound_reference, xml)

    def _sound_reference(self, found: re.Match[bytes]) -> bytes:
        """Return what stands for a reference, so that libxml2 keeps it: itself, a number, or its
        text.

        An `&` that begins no reference is escaped; comments and CDATA sections stay as they are.
        """
        decimal, hexadecimal, name = found.groups()
        is_reference = found[0].startswith(b"&")  # and no CDATA section or comment
        if name in _PREDEFINED or not is_reference:
            return found[0]
        if name in self._declared:
            return self._expanded_entity(name)
        if name is not None:
            # HTML's names are characters even without a document type: feeds have `&eacute;`
            return _html_entity(name) or b"&amp;" + found[0][1:]
        if decimal or hexadecimal:
            return b"&#%d;" % _number(found)
        # An `&` that begins no reference is text, as in `?a=1&b=2`
        return b"&amp;"

    def _expanded_entity(self, name: bytes) -> bytes:
        """Return the text of a declared entity, with its own references replaced.

        It is empty if it is too long, nested too deep, refers to itself, or if all texts together
        grow too long.
        """
        if name not in self._expanded and self._nested < NESTED:
            self._nested += 1
            # Until its text is known it is empty: an entity that refers to itself becomes nothing
            self._expanded[name] = b""
            # XML 1.0, 4.5: before it is read again
            literal = _REFERENCE.sub(_resolved_character, self._declared[name])
            text = self.sound(literal)
            self._nested -= 1
            if b"<" not in text:  # in an attribute its quotes are text
                text = text.replace(b'"', b"&#34;").replace(b"'", b"&#39;")
            self._expanded[name] = text if len(text) <= LONGEST_ENTITY else b""
        text = self._expanded.get(name, b"")
        self._bytes_left -= len(text)
        return text if self._bytes_left >= 0 else b""


def _html_entity(name: bytes) -> bytes:
    """Return the characters of HTML's entity as references; empty if HTML has no such entity."""
    text = html5.get(name.decode("latin-1") + ";", "")
    return b"".join(b"&#%d;" % ord(char) for char in text)


def _resolved_character(found: re.Match[bytes]) -> bytes:
    """Return the character that a reference stands for; any other reference as it is."""
    return chr(_number(found)).encode() if found[1] or found[2] else found[0]


def _number(found: re.Match[bytes]) -> int:
    number = int(found[1]) if found[1] else int(found[2], 16)
    return number if _is_character(number) else 0xFFFD


def _is_character(number: int) -> bool:
    """Return whether this is a character of XML 1.0 (2.2)."""
    if number < 0x20:
        return number in (9, 10, 13)
    is_surrogate = 0xD800 <= number < 0xE000
    is_mark = number in (0xFFFE, 0xFFFF)
    return number < 0x110000 and not is_surrogate and not is_mark


def _parse(text: bytes, parser: etree._FeedParser) -> etree._Element | None:
    try:
        return etree.fromstring(text, parser)
    except etree.XMLSyntaxError as error:
        if error.code == etree.ErrorTypes.ERR_NO_MEMORY:
            raise MemoryError(str(error)) from error
        return None
    except (etree.LxmlError, ValueError):  # nothing readable
        return None


def _name(key: str) -> str:
    for namespace, prefix in _NAMESPACES.items():
        if key.startswith(namespace):
            return prefix + key.removeprefix(namespace)
    return key
