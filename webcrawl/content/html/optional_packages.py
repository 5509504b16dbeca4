"""Optional packages that read a text: its language, its main part; a clear line says which one is missing."""

from __future__ import annotations

from webcrawl.base.libraries import MissingLibraryError

LONGEST = 20_000  # characters: a guess needs no more


def guessed_language(text: str) -> str:
    """The ISO 639-1 code of the language that a text is most likely in; empty if it has no words."""
    try:
        from resiliparse.parse.lang import detect_fast  # noqa: PLC0415 - optional, and 6 MB
    except ImportError as error:
        raise MissingLibraryError("resiliparse", error) from error
    language, _ = detect_fast(text[:LONGEST])
    return "" if language == "unknown" else str(language)


def main_text(html: str) -> str:
    """The text of a document's main part; empty if none is found."""
    try:
        from trafilatura import extract  # noqa: PLC0415 - optional, and slow to load
    except ImportError as error:
        raise MissingLibraryError("trafilatura", error) from error
    return extract(html) or ""
