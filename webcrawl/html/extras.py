"""What costly packages know of a text: optional, and said in a clear line where one is missing."""

from __future__ import annotations

LONGEST = 20_000  # characters: a guess needs no more


class MissingExtraError(ImportError):
    """A package is not installed; the message says which, and how to get it."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed: pip install 'webcrawl[{extra}]'", name=package)


def guessed_language(text: str) -> str:
    """The ISO 639-1 code of the language that a text is most likely in; empty if it has no words."""
    try:
        from resiliparse.parse.lang import detect_fast  # noqa: PLC0415 - optional, and 6 MB
    except ImportError as error:
        raise MissingExtraError("resiliparse", "language") from error
    language, _ = detect_fast(text[:LONGEST])
    return "" if language == "unknown" else str(language)


def main_text(html: str) -> str:
    """The text of a document's main part; empty if none is found."""
    try:
        from trafilatura import extract  # noqa: PLC0415 - optional, and slow to load
    except ImportError as error:
        raise MissingExtraError("trafilatura", "main-text") from error
    return extract(html) or ""
