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


ENOUGH = 200  # characters of a text that may contradict a declaration
SURE = 600  # of resiliparse's measure, which is smaller for what is surer
SAME = {"nb": "no", "nn": "no", "iw": "he", "in": "id", "ji": "yi", "fil": "tl"}  # as the detector calls them
NEAR = ({"ja", "zh"}, {"hr", "sr"}, {"no", "da"}, {"cs", "sk"}, {"gl", "pt"})  # which it does not keep apart


def contradicts(declared: str, text: str) -> bool:
    """True if a text is surely in another language than the declared one, an IETF tag."""
    try:
        from resiliparse.parse.lang import detect_fast, supported_langs  # noqa: PLC0415 - optional, and 6 MB
    except ImportError as error:
        raise MissingLibraryError("resiliparse", error) from error
    subtag = declared.replace("_", "-").partition("-")[0].strip().lower()
    language = SAME.get(subtag, subtag)
    if len(text) < ENOUGH or language not in supported_langs():
        return False
    found, measure = detect_fast(text[:LONGEST])
    return (
        found not in ("unknown", language) and measure <= SURE and not any({found, language} <= near for near in NEAR)
    )


def main_text(html: str) -> str:
    """The text of a document's main part, without its readers' comments; empty if none is found."""
    try:
        from trafilatura import extract  # noqa: PLC0415 - optional, and slow to load
    except ImportError as error:
        raise MissingLibraryError("trafilatura", error) from error
    return extract(html, include_comments=False) or ""
