"""Parts of a document that are read only when somebody asks: visible text, resolved links, what it says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import ada_url
from lxml import etree  # type: ignore[import-untyped,unused-ignore]  # untyped
from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode, SelectolaxError

from webcrawl.base.loading import MissingLibraryError
from webcrawl.content.html import tree_guard
from webcrawl.content.html.found_links import Found, PageLink
from webcrawl.content.html.readers_comments import LEAST, candidates
from webcrawl.content.html.self_description import SELECTOR, About, AboutReader, about_of
from webcrawl.content.html.trees import LexborTree, defused, document, plain_root, xml_root

# elements of which a browser shows no text: not displayed, replaced, or controls
_SILENT = """
    script style noscript template head title iframe noframes textarea select datalist svg object audio video canvas
"""
SILENT = frozenset(_SILENT.split())
# elements that stand on lines of their own
_BLOCKS = """
    address article aside blockquote body br button caption center dd details dialog dir div dl dt fieldset figcaption
    figure footer form frameset h1 h2 h3 h4 h5 h6 header hr legend li main menu nav ol p pre section summary table tbody
    td tfoot th thead tr ul
"""
BLOCKS = frozenset(_BLOCKS.split())
BREAK = "\x1e"  # ASCII's record separator: white space, which texts do not use
_DISPLAY_NONE = re.compile(r"display: ?none", re.IGNORECASE)
# `:is` reports an element once, whatever it matches
_UNSEEN = f":is({','.join(sorted(SILENT))},[hidden],[style*='display:none' i],[style*='display: none' i])"
_BLOCK = ",".join(sorted(BLOCKS))


def visible_text(text: bytes, kind: str) -> str:
    """The text of a document in UTF-8, a line for each block; see `elements.document`. Never raises."""
    text = defused(text)
    if kind == "xml" or tree_guard.heavy(text):
        found = "".join(_of_root(xml_root(text) if kind == "xml" else plain_root(text)))
    else:
        found = _of_lexbor(text)
    return lines_of(found)


def lines_of(found: str) -> str:
    """Text with breaks, a line for each block."""
    lines = (" ".join(line.split()) for line in found.split(BREAK))
    return "\n".join([line for line in lines if line])


def _of_lexbor(html: bytes) -> str:
    try:
        return _of_body(LexborHTMLParser(html).body)
    except SelectolaxError as error:  # all that can fail here is a malloc
        raise MemoryError(str(error)) from error


def taken_from(body: LexborNode | None) -> str:
    """Return the visible text of lexbor's tree, which is spoilt: what is not seen is taken out."""
    return lines_of(_of_body(body))


def _of_body(body: LexborNode | None) -> str:
    """The text with breaks, put into the tree: to go through it in Python takes twice as long."""
    if body is None:
        return ""
    for unseen in reversed(body.css(_UNSEEN)):  # what is within another is freed before it
        unseen.decompose()
    for block in body.css(_BLOCK):
        block.insert_before(BREAK)
        block.insert_after(BREAK)
    return body.text()


def _of_root(root: etree._Element | None) -> Iterator[str]:
    """Return the visible text of libxml2's tree."""
    if root is None:
        return
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        tag = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else "script"
        unseen = tag in SILENT or _is_hidden(element)
        ends = BREAK if tag in BLOCKS and not unseen else ""
        if event == "end":
            yield ends + (element.tail or "")
        elif unseen:
            walk.skip_subtree()
        else:
            yield ends + (element.text or "")


def _is_hidden(element: etree._Element) -> bool:
    return element.get("hidden") is not None or _DISPLAY_NONE.search(element.get("style", "")) is not None


class ShownReader:
    """Used by one thread."""

    def __init__(self) -> None:
        self._about, self._tree = AboutReader(), LexborTree(SELECTOR)

    def shown(self, text: bytes, kind: str) -> tuple[About, str]:
        """Both of a document in UTF-8; see `elements.document`. Never raises, whatever the bytes."""
        text = defused(text)
        if kind == "xml" or tree_guard.heavy(text):
            return self._about.about(text, kind), visible_text(text, kind)
        try:
            parser = LexborHTMLParser(text, options=LexborDocumentOptions.WO_EVENTS)
            about = about_of(self._tree.within(parser.root))
            return about, taken_from(parser.body)
        except SelectolaxError as error:  # all that can fail here is a malloc
            raise MemoryError(str(error)) from error


_about_reader = cache(AboutReader)
_shown_reader = cache(ShownReader)


def page_links(found: Found) -> list[PageLink]:
    """A document's links as a pipeline sees them."""
    return [PageLink(*link, resolved(link[1], found.base)) for link in found.links]


def resolved(address: str, base: str) -> str:
    """The URL that an address means, by the URL Standard; empty if it means none."""
    try:
        return str(ada_url.join_url(base, address))
    except ValueError:
        return ""


def visible(body: bytes, content_type: str, encoding: str) -> str | None:
    """Return what a browser would show of a document; None for what is none."""
    html, kind = document(body, content_type, encoding)
    return visible_text(html, kind) if kind else None


def about(body: bytes, content_type: str, encoding: str) -> About:
    """Return what a document says of itself; what is no document says nothing."""
    html, kind = document(body, content_type, encoding)
    return _about_reader().about(html, kind) if kind else About()


def shown(body: bytes, content_type: str, encoding: str) -> tuple[About, str] | None:
    """Return what a document says of itself, and what a browser would show of it; None for what is none."""
    html, kind = document(body, content_type, encoding)
    return _shown_reader().shown(html, kind) if kind else None


def main_text(html: str) -> str:
    """The text of a document's main part, without its readers' comments; empty if none is found."""
    try:
        from trafilatura import extract, load_html  # noqa: PLC0415 - optional, and slow to load
    except ImportError as error:
        raise MissingLibraryError("trafilatura", error) from error
    tree, found = load_html(html), ""
    for one in candidates(tree) if tree is not None else ():
        found = extract(one, include_comments=False) or ""
        if len(found) >= LEAST:
            break
    return found
