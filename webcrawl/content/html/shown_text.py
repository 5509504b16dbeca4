"""Parts of a document that are read on demand: visible text, resolved links, and its description.

A document describes itself by language, description, headings and Open Graph (`PageDescription`).
For the main text, elements that the markup calls readers' comments are taken out of the tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import ada_url
from lxml import etree  # type: ignore[import-untyped,unused-ignore]  # untyped
from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode, SelectolaxError

from webcrawl.base.loading import MissingLibraryError
from webcrawl.content.html import tree_guard
from webcrawl.content.html.encodings import SPACE
from webcrawl.content.html.link_kinds import DocumentLinks, PageLink
from webcrawl.content.html.trees import (
    Element,
    ElementReader,
    LexborTree,
    defused,
    document,
    plain_root,
    value_of,
    xml_root,
)

# Names of comments in an id or a class: comment, Kommentar, commentaire, comentario, komentarz and
# so on, but not commentary; and names that systems of comments have
_CALLED = re.compile(
    r"(?<![a-z])(?:(?:user|reader|article)?[ck]omm?ent(?!ar(?:y|ies)|ator)|disqus|dsq-|(?:live)?fyre-|spcv_|coral-"
    r"|remark42|isso-|hyvor-talk|viafoura|UFIComment|fbFeedback)",
    re.IGNORECASE,
)
_MEANT = re.compile(r"(?<![a-z])(?:user)?comments?\b", re.IGNORECASE)  # schema.org's terms
# schema.org's terms for pages whose comments are posts
_FORUM = re.compile(r"DiscussionForumPosting|QAPage")
_KEPT = frozenset(("html", "body", "main"))
# Characters of a text. If less is left without comments, the comments are the page, or all of the
# page is in elements with such names
LEAST = 250


def candidates(tree: Any) -> Iterator[Any]:
    """Yield a page's lxml tree without comments, if it has any, and then the whole tree."""
    # trafilatura alone leaves comments in most pages: of 28 templates of systems for comments, each
    # in four forms of markup, 24 are without comments in all four, and 10 without this step
    shorter = copy(tree)
    if _drop_comments(shorter):
        yield shorter
    yield tree


def _drop_comments(tree: Any) -> bool:
    """Take comments out of a tree. Return whether there were any."""
    is_forum = any(map(_FORUM.search, tree.xpath("//@itemtype")))
    if is_forum:
        return False
    elements = [element for element in tree.iter() if isinstance(element.tag, str)]
    comments = [*filter(_is_comment, elements)]
    for comment in comments:
        # A fragment's root has no parent
        if comment.getparent() is not None:
            comment.drop_tree()
    return bool(comments)


def _is_comment(element: Any) -> bool:
    """Return whether the markup calls an element comments, or one of them."""
    if element.tag in _KEPT or not _is_called_comment(element):
        return False
    # Programs that highlight code mark its comments by such a class
    is_in_code = next(element.iterancestors("pre", "code"), None) is not None
    if element.tag == "span" and is_in_code:
        return False
    # Around an h1 the name is that of the page's section or state
    return next(element.iter("h1"), None) is None


def _is_called_comment(element: Any) -> bool:
    get = element.get
    if _CALLED.search(get("id", "")) or _CALLED.search(get("class", "")):
        return True
    meant = " ".join(get(name, "") for name in ("itemprop", "itemtype", "property", "typeof"))
    return _MEANT.search(meant) is not None


HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
TAGS = ("html", "link", "meta", *HEADINGS)
SELECTOR = ",".join(TAGS)
LONGEST = 1000  # characters of one text
MOST = 1000  # headings, and properties: a page may consist of them


@dataclass(slots=True)
class PageDescription:
    """A document's description of itself. Texts have their white space collapsed."""

    language: str = ""  # as declared by the document
    canonical: str = ""  # as written
    description: str = ""
    headings: list[tuple[int, str]] = field(default_factory=list)  # level, text
    # property, content; a property may occur several times
    open_graph: list[tuple[str, str]] = field(default_factory=list)


class AboutReader:
    """Reads a document's description from its elements. Used by one thread."""

    def __init__(self) -> None:
        self._reader = ElementReader(SELECTOR, frozenset(TAGS))

    def about(self, text: bytes, kind: str) -> PageDescription:
        """Return the description of a document in UTF-8; see `trees.document`.

        Never raises, whatever the bytes.
        """
        return about_of(self._reader.elements(text, kind))


def about_of(elements: Iterable[Element]) -> PageDescription:
    """Read the description from elements that were selected by SELECTOR, or from all."""
    about = PageDescription()
    for element in elements:
        read = _READ.get(element.tag or "")  # the elements of an XML document are not selected
        if read is not None:
            read(about, element)
    return about


def _html(about: PageDescription, element: Element) -> None:
    attributes = element.attributes
    about.language = about.language or _clean(
        attributes.get("lang") or attributes.get("xml:lang") or attributes.get(_XML_LANG)
    )


def _link(about: PageDescription, element: Element) -> None:
    attributes = element.attributes
    rels = value_of(attributes, "rel").lower().split()
    # The first one counts
    if "canonical" in rels and not about.canonical:
        about.canonical = value_of(attributes, "href").strip(SPACE)


def _read_meta(about: PageDescription, element: Element) -> None:
    """Take description, language and Open Graph's properties from a <meta>, unless they are known."""
    attributes = element.attributes
    content = _clean(attributes.get("content"))
    if not content:
        return
    name = value_of(attributes, "name").strip(SPACE).lower()
    pragma = value_of(attributes, "http-equiv").lower()
    if name == "description":
        about.description = about.description or content
    elif pragma == "content-language":
        about.language = about.language or content
    # Open Graph's properties are written as names, too
    _read_open_graph(about, attributes.get("property") or name, content)


def _read_open_graph(about: PageDescription, name: str, content: str) -> None:
    key = name.strip(SPACE).lower()
    if key.startswith("og:") and len(about.open_graph) < MOST:
        about.open_graph.append((key[:LONGEST], content))


def _heading(about: PageDescription, element: Element) -> None:
    if len(about.headings) < MOST:
        text = _clean(element.text())
        if text:
            about.headings.append((int((element.tag or "h1")[1]), text))


def _clean(text: str | None) -> str:
    return " ".join(text[: 8 * LONGEST].split())[:LONGEST] if text else ""


_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_READ: dict[str, Callable[[PageDescription, Element], None]] = {
    "html": _html,
    "link": _link,
    "meta": _read_meta,
    **dict.fromkeys(HEADINGS, _heading),
}


# Elements whose text a browser does not show: not displayed, replaced, or controls
_SILENT = """
    script style noscript template head title iframe noframes textarea select datalist svg object audio video canvas
"""
SILENT = frozenset(_SILENT.split())
# Elements that stand on lines of their own
_BLOCKS = """
    address article aside blockquote body br button caption center dd details dialog dir div dl dt fieldset figcaption
    figure footer form frameset h1 h2 h3 h4 h5 h6 header hr legend li main menu nav ol p pre section summary table tbody
    td tfoot th thead tr ul
"""
BLOCKS = frozenset(_BLOCKS.split())
TEXT = "-text"  # the tag of lexbor's text nodes
BREAK = "\x1e"  # ASCII's record separator: white space, which texts do not use
_DISPLAY_NONE = re.compile(r"display: ?none", re.IGNORECASE)
HIDDEN = "[hidden],[style*='display:none' i],[style*='display: none' i]"
# `:is` reports an element once, even if it matches several of these
_UNSEEN = f":is({','.join(sorted(SILENT))},{HIDDEN})"
_BLOCK = ",".join(sorted(BLOCKS))


def visible_text(text: bytes, kind: str) -> str:
    """Return the text of a document in UTF-8, one line per block; see `trees.document`.

    Never raises.
    """
    # F1 is 0.992 over the words that Chromium shows of 73 real pages without scripts and styles
    text = defused(text)
    if kind == "xml":
        found = "".join(_of_root(xml_root(text)))
    elif tree_guard.heavy(text):
        found = "".join(_of_root(plain_root(text)))
    else:
        found = _of_lexbor(text)
    return lines_of(found)


def lines_of(found: str) -> str:
    """Return a text with breaks as one line per block."""
    lines = (" ".join(line.split()) for line in found.split(BREAK))
    return "\n".join([line for line in lines if line])


def _of_lexbor(html: bytes) -> str:
    try:
        return _of_body(LexborHTMLParser(html).body)
    except SelectolaxError as error:  # all that can fail here is a malloc
        raise MemoryError(str(error)) from error


def taken_from(body: LexborNode | None) -> str:
    """Return the visible text of lexbor's tree. All that is not seen is taken out of the tree."""
    return lines_of(_of_body(body))


def shows_more(body: LexborNode | None, characters: int) -> bool:
    """Return whether the visible text of lexbor's tree has more characters, without white space.

    The tree stays as it is. The search ends where the text is long enough, which is in the first
    part of most pages.
    """
    if body is None:
        return False
    shown = 0
    for text in _seen_texts(body):
        shown += len("".join(text.split()))
        if shown > characters:
            return True
    return False


def _seen_texts(body: LexborNode) -> Iterator[str]:
    """Yield the texts of lexbor's tree that are seen, in document order."""
    hidden = {element.mem_id for element in body.css(HIDDEN)}
    waiting: list[LexborNode | None] = [body]  # the last one is the next
    while waiting:
        node = waiting.pop()
        if node is None:  # the end of an element's children
            continue
        # What follows the body is no part of it
        if node is not body:
            waiting.append(node.next)
        if node.tag == TEXT:
            yield node.text_content or ""
            continue
        is_seen = node.tag not in SILENT and node.mem_id not in hidden
        if is_seen:
            waiting.append(node.first_child)


def _of_body(body: LexborNode | None) -> str:
    """Return the text, with breaks put into the tree: a walk in Python takes twice as long."""
    if body is None:
        return ""
    for unseen in reversed(body.css(_UNSEEN)):  # inner elements are freed before outer ones
        unseen.decompose()
    for block in body.css(_BLOCK):
        block.insert_before(BREAK)
        block.insert_after(BREAK)
    return body.text()


def _of_root(root: etree._Element | None) -> Iterator[str]:
    """Yield the visible text of libxml2's tree, with breaks."""
    if root is None:
        return
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        name = _seen_name(element)
        edge = BREAK if name in BLOCKS else ""
        if event == "end":
            # The text behind an element that is not seen belongs to the element around it
            yield edge + (element.tail or "")
        elif name is not None:
            yield edge + (element.text or "")
        else:
            walk.skip_subtree()


def _seen_name(element: etree._Element) -> str | None:
    """Return the name of an element that is seen, without its namespace; None if it is not seen."""
    if not isinstance(element.tag, str):  # a comment or a processing instruction
        return None
    name: str = element.tag.rpartition("}")[2]
    return None if name in SILENT or _is_hidden(element) else name


def _is_hidden(element: etree._Element) -> bool:
    if element.get("hidden") is not None:
        return True
    return _DISPLAY_NONE.search(element.get("style", "")) is not None


class ShownReader:
    """Reads description and visible text of a document in one go. Used by one thread."""

    def __init__(self) -> None:
        self._about = AboutReader()
        self._tree = LexborTree(SELECTOR)

    def shown(self, text: bytes, kind: str) -> tuple[PageDescription, str]:
        """Return the description and the visible text of a document in UTF-8.

        `kind` is what `trees.document` returned. Never raises, whatever the bytes.
        """
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


def page_links(found: DocumentLinks) -> list[PageLink]:
    """Return a document's links as a pipeline sees them."""
    return [PageLink(*link, resolved(link[1], found.base)) for link in found.links]


def resolved(address: str, base: str) -> str:
    """Return the URL that an address means, by the URL Standard; empty if it means none."""
    try:
        return str(ada_url.join_url(base, address))
    except ValueError:
        return ""


def visible(body: bytes, content_type: str, encoding: str) -> str | None:
    """Return the text that a browser would show of a body; None if it is no document."""
    html, kind = document(body, content_type, encoding)
    return visible_text(html, kind) if kind else None


def about(body: bytes, content_type: str, encoding: str) -> PageDescription:
    """Return a document's description of itself; it is empty if the body is no document."""
    html, kind = document(body, content_type, encoding)
    return _about_reader().about(html, kind) if kind else PageDescription()


def shown(body: bytes, content_type: str, encoding: str) -> tuple[PageDescription, str] | None:
    """Return a document's description and its visible text; None if the body is no document."""
    html, kind = document(body, content_type, encoding)
    return _shown_reader().shown(html, kind) if kind else None


def main_text(html: str) -> str:
    """Return the text of a document's main part, without readers' comments; empty if it has none."""
    try:
        from trafilatura import extract, load_html  # noqa: PLC0415 - optional, and slow to load
    except ImportError as error:
        raise MissingLibraryError("trafilatura", error) from error
    tree = load_html(html)
    if tree is None:
        return ""
    found = ""
    for candidate in candidates(tree):
        found = extract(candidate, include_comments=False) or ""
        if len(found) >= LEAST:
            break
    return found
