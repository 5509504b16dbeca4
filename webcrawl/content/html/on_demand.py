"""Parts of a document that are read only when somebody asks: visible text, resolved links, what it says of itself."""

from __future__ import annotations

from functools import cache

import ada_url
from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, SelectolaxError

from webcrawl.content.html import tree_guard
from webcrawl.content.html.elements import defused, document
from webcrawl.content.html.found_links import Found, PageLink
from webcrawl.content.html.rendered_text import taken_from, visible_text
from webcrawl.content.html.self_description import SELECTOR, About, AboutReader, about_of
from webcrawl.content.html.trees import LexborTree


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
