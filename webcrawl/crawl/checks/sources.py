"""The kind of value of LINK_SOURCES."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from webcrawl.base.libraries import missing
from webcrawl.base.settings.setting_kinds import Choices
from webcrawl.content.formats.document_kinds import ALL

_WORDS = Choices(ALL)
PDF, LIBRARY = "pdf", "pypdfium2"
MISSING = missing(LIBRARY)


class LinkSources:
    """Kinds of links; `all` stands for every one that can be read here."""

    allowed: str = _WORDS.allowed

    def read(self, value: Any, /) -> tuple[str, ...]:
        found = _WORDS.read(value)
        if PDF not in found or find_spec(LIBRARY) is not None:
            return found
        if found == ALL and PDF not in str(value).lower():
            return tuple(kind for kind in found if kind != PDF)
        raise ValueError(MISSING)


def unread(value: Any) -> str:
    """Names what this value promises and cannot be had here; empty if nothing."""
    meant = _WORDS.read(value)
    return "" if meant == LinkSources().read(value) else f"LINK_SOURCES: links of PDFs are not read, {MISSING}"
