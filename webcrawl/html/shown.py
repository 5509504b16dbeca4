"""What a document says of itself and what it shows, read of one tree: two cost a quarter more."""

from __future__ import annotations

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, SelectolaxError

from webcrawl.html import guard
from webcrawl.html.about import SELECTOR, About, AboutReader, about_of
from webcrawl.html.elements import defused
from webcrawl.html.trees import LexborTree
from webcrawl.html.visible import taken_from, visible_text


class ShownReader:
    """Used by one thread."""

    def __init__(self) -> None:
        self._about, self._tree = AboutReader(), LexborTree(SELECTOR)

    def shown(self, text: bytes, kind: str) -> tuple[About, str]:
        """Both of a document in UTF-8; see `elements.document`. Never raises, whatever the bytes."""
        text = defused(text)
        if kind == "xml" or guard.heavy(text):
            return self._about.about(text, kind), visible_text(text, kind)
        try:
            parser = LexborHTMLParser(text, options=LexborDocumentOptions.WO_EVENTS)
            about = about_of(self._tree.within(parser.root))
            return about, taken_from(parser.body)
        except SelectolaxError as error:  # all that can fail here is a malloc
            raise MemoryError(str(error)) from error
