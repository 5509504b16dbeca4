"""The native reading of an ordinary page: what it found, and what Python's way makes of the rest.

The extension knows no encodings, refreshes or licences; it hands on the attributes that these are read from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any, overload

from webcrawl.base.native import NATIVE
from webcrawl.content.html import link_kinds
from webcrawl.content.html.link_kinds import DocumentLinks, FoundLink
from webcrawl.content.html.tree_guard import CROWDED_TAG, LONG, heavy
from webcrawl.content.html.trees import kept_tree

_OTHERS = frozenset(link_kinds.KINDS) - set(link_kinds.FOLLOWED)


class NativeDocument(DocumentLinks):
    """A document's links that become rows only when they are asked for: most were met lately, and are dropped."""

    __slots__ = ("_found", "_reading", "_respell")

    def __init__(self, base: str, encoding: str, reading: Any, respell: Callable[[str], str] | None) -> None:
        """`respell`: what becomes of each address that is more than ASCII; None: nothing."""
        super().__init__(base, encoding)
        self._found: list[FoundLink] = []
        self._reading, self._respell = reading, respell

    def __eq__(self, other: object) -> bool:
        """Equal to any document with the same values."""
        if not isinstance(other, DocumentLinks):
            return NotImplemented
        return all(getattr(self, one.name) == getattr(other, one.name) for one in fields(DocumentLinks))

    __hash__ = None  # type: ignore[assignment]

    @property
    def reading(self) -> Any:
        """What the extension has read, until the rows are there: they may change."""
        return self._reading

    @property
    def respell(self) -> Callable[[str], str] | None:
        return self._respell

    @property
    def links(self) -> list[FoundLink]:
        if self._reading is not None:
            rows: list[FoundLink] = self._reading.links()
            respell = self._respell
            if respell is not None:
                rows = [(kind, respell(address), text, rel) for kind, address, text, rel in rows]
            self._found, self._reading = rows, None
        return self._found

    @links.setter
    def links(self, links: list[FoundLink]) -> None:
        self._found, self._reading = links, None


def is_plain(wanted: Iterable[str], *, anchor_text: bool) -> bool:
    """Return whether the extension reads all that is wanted of a page."""
    kinds = frozenset(wanted)
    return not anchor_text and kinds >= set(link_kinds.FOLLOWED) and kinds.isdisjoint(_OTHERS)


def read(text: bytes, names: list[str]) -> Any:
    """What the extension reads of a page in UTF-8, or None if there is doubt.

    A tree that was made already serves as well, and a page that Python's way must not give to lexbor is left to it.
    """
    if NATIVE is None or kept_tree().has(text) or heavy(text):
        return None
    if len(text) > LONG and CROWDED_TAG.search(text):
        return None
    found = NATIVE.read(text, names)
    return None if isinstance(found, str) else found


class FoundRows(Sequence[FoundLink]):
    """The links of a document that the native reader has read: rows are made of them when one is asked for."""

    def __init__(self, document: NativeDocument) -> None:
        self.document = document
        self._size = len(document.reading)

    @property
    def are_made(self) -> bool:
        return self.document.reading is None

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, at: int) -> FoundLink: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[FoundLink]: ...
    def __getitem__(self, at: int | slice) -> FoundLink | Sequence[FoundLink]:
        return self.document.links[at]

    def __iter__(self) -> Iterator[FoundLink]:
        return iter(self.document.links)


def rows_of(document: DocumentLinks) -> Sequence[FoundLink]:
    """The links of a document, which need not be made yet."""
    return (
        FoundRows(document) if isinstance(document, NativeDocument) and document.reading is not None else document.links
    )
