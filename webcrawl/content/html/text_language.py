"""The language that a text is in: by its script, and of texts in Latin script by resiliparse's detector."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from itertools import chain
from typing import cast

from webcrawl.base.loading import MissingLibraryError
from webcrawl.content.html.writing_systems import LANGUAGES, LONGEST, writing_of

BY_SCRIPT = 0  # in place of the detector's measure: it is as sure as can be
WRITTEN = frozenset(chain.from_iterable(LANGUAGES.values()))  # languages with a script of their own


@cache
def knows_languages() -> bool:
    """True if the library that guesses them is installed."""
    return find_spec("resiliparse") is not None


def likely_language(text: str) -> tuple[str, int]:
    """The ISO 639-1 code of the language that a text is most likely in, and resiliparse's measure: smaller is surer.

    The measure is BY_SCRIPT where the script decides. The code is empty if the text has no words.
    """
    writing = writing_of(text)
    if writing is not None and writing.language:
        return writing.language, BY_SCRIPT
    try:
        from resiliparse.parse.lang import detect_fast  # noqa: PLC0415 - optional, and 6 MB
    except ImportError as error:
        raise MissingLibraryError("resiliparse", error) from error
    language, measure = detect_fast(text[:LONGEST])
    return "" if language == "unknown" else str(language), int(measure)


def guessed_language(text: str) -> str:
    """The first of the two."""
    return likely_language(text)[0]


ENOUGH = 200  # characters of a text that may contradict a declaration
SURE = 600  # of resiliparse's measure, which is smaller for what is surer; other scripts' is larger than that
LIKELY = 800  # up to it 254 of 262 texts that declare nothing were in the language that it names
UNLIKELY = 1200  # it names no language beyond
APART, FAR = 20, 100  # by which that of the declared language has to be larger where the other is sure, or anyway
SAME = {"nb": "no", "nn": "no", "iw": "he", "in": "id", "ji": "yi", "fil": "tl"}  # as the detector calls them
NEAR = ({"ja", "zh"}, {"hr", "sr"}, {"no", "da"}, {"cs", "sk"}, {"gl", "pt"})  # which it does not keep apart


def contradicts(declared: str, text: str) -> bool:
    """True if a text is surely in another language than the declared one, an IETF tag."""
    if len(text) < ENOUGH:
        return False
    subtag = declared.replace("_", "-").partition("-")[0].strip().lower()
    language = SAME.get(subtag, subtag)
    writing = writing_of(text)
    if writing is not None and writing.supports(language):
        return False
    if language not in _supported() and language not in WRITTEN:
        return False
    if writing is not None and writing.language:
        return True
    if not (measures := _measures(text[:LONGEST])):
        return False
    found = min(measures, key=measures.__getitem__)
    ahead = measures.get(language, UNLIKELY) - measures[found]
    return ahead >= (APART if measures[found] <= SURE else FAR) and not any({found, language} <= near for near in NEAR)


def _measures(text: str) -> dict[str, int]:
    """The measure of each language that the detector knows and finds in a text."""
    try:
        from resiliparse.parse.lang import detect_fast  # noqa: PLC0415 - as above
    except ImportError as error:
        raise MissingLibraryError("resiliparse", error) from error
    return dict(cast("list[tuple[str, int]]", detect_fast(text, n_results=len(_supported()))))


@cache
def _supported() -> frozenset[str]:
    """The languages that the detector knows."""
    try:
        from resiliparse.parse.lang import supported_langs  # noqa: PLC0415 - as above
    except ImportError as error:
        raise MissingLibraryError("resiliparse", error) from error
    return frozenset(supported_langs())
