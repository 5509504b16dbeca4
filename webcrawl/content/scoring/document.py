"""What a scorer is given: a page's text, or the words of a link."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """A page as its reader sees it. Of a link (`is_anchor`) there is nothing but the words."""

    text: str
    url: str = ""
    title: str = ""
    language: str = ""  # as its text shows, else as it declares; ISO 639
    is_anchor: bool = False
