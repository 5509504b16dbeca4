"""The language of a text: by its script, and for Latin script by resiliparse's detector.

Letters that only some languages have tell a script's languages apart. A detector that counts words
of the Latin alphabet takes Japanese for Czech and Russian for Serbian. So the script decides, and
the detector is asked for texts in Latin script alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webcrawl.base.loading import MissingLibraryError

LONGEST = 20_000  # characters that are looked at
# A text with this share of its letters in one script is in a language of the script: the rest may
# be names and code
DECIDES = 0.3
SUPPORTS = 0.1  # this share of the letters is enough for a language that the page declares
SYLLABLES = 3  # letters of other scripts that a character of Han, kana or Hangul stands for
# Bytes per character in UTF-8. A text with fewer has hardly a letter that is not Latin
FEW_BYTES = 1.06

BLOCK = 16  # code points: scripts begin and end at multiples of it
RANGES = {
    "Latin": ((0x40, 0x80), (0xC0, 0x250), (0x1E00, 0x1F00)),
    "Greek": ((0x370, 0x400), (0x1F00, 0x2000)),
    "Cyrillic": ((0x400, 0x530), (0x1C80, 0x1C90), (0x2DE0, 0x2E00), (0xA640, 0xA6A0)),
    "Armenian": ((0x530, 0x590),),
    "Hebrew": ((0x590, 0x600),),
    "Arabic": ((0x600, 0x700), (0x750, 0x780), (0x8A0, 0x900), (0xFB50, 0xFE00), (0xFE70, 0xFF00)),
    "Devanagari": ((0x900, 0x980),),
    "Bengali": ((0x980, 0xA00),),
    "Gurmukhi": ((0xA00, 0xA80),),
    "Gujarati": ((0xA80, 0xB00),),
    "Oriya": ((0xB00, 0xB80),),
    "Tamil": ((0xB80, 0xC00),),
    "Telugu": ((0xC00, 0xC80),),
    "Kannada": ((0xC80, 0xD00),),
    "Malayalam": ((0xD00, 0xD80),),
    "Sinhala": ((0xD80, 0xE00),),
    "Thai": ((0xE00, 0xE80),),
    "Lao": ((0xE80, 0xF00),),
    "Tibetan": ((0xF00, 0x1000),),
    "Burmese": ((0x1000, 0x10A0),),
    "Georgian": ((0x10A0, 0x1100), (0x1C90, 0x1CC0)),
    "Ethiopic": ((0x1200, 0x13A0),),
    "Khmer": ((0x1780, 0x1800),),
    "Hangul": ((0x1100, 0x1200), (0x3130, 0x3190), (0xAC00, 0xD7B0)),
    "Kana": ((0x3040, 0x3100), (0x31F0, 0x3200), (0xFF60, 0xFFA0)),
    "Han": ((0x3400, 0x4DC0), (0x4E00, 0xA000), (0xF900, 0xFB00), (0x20000, 0x32000)),
}
SCRIPTS = tuple(RANGES)
EAST_ASIAN = ("Hangul", "Kana", "Han")


@dataclass(frozen=True, slots=True)
class LetterMark:
    """A language is known by these letters, if they have this share of its script's letters."""

    language: str
    letters: str
    share: float


LANGUAGES: dict[str, tuple[str, ...]] = {
    "Greek": ("el",),
    "Cyrillic": (
        "ru",
        "uk",
        "bg",
        "sr",
        "be",
        "mk",
        "kk",
        "ky",
        "tg",
        "mn",
        "tt",
        "uz",
        "ba",
        "cv",
        "bs",
        "os",
        "az",
    ),
    "Armenian": ("hy",),
    "Hebrew": ("he", "yi"),
    "Arabic": ("ar", "fa", "ur", "ps", "ckb", "ku", "ug", "sd", "pa", "ks", "az", "ms"),
    "Devanagari": ("hi", "mr", "ne", "sa", "bho", "mai", "kok", "sd", "ks"),
    "Bengali": ("bn", "as"),
    "Gurmukhi": ("pa",),
    "Gujarati": ("gu",),
    "Oriya": ("or",),
    "Tamil": ("ta",),
    "Telugu": ("te",),
    "Kannada": ("kn",),
    "Malayalam": ("ml",),
    "Sinhala": ("si",),
    "Thai": ("th",),
    "Lao": ("lo",),
    "Tibetan": ("bo", "dz"),
    "Burmese": ("my",),
    "Georgian": ("ka",),
    "Ethiopic": ("am", "ti"),
    "Khmer": ("km",),
    "Hangul": ("ko",),
    "Kana": ("ja",),
    "Han": ("zh", "yue", "wuu"),
}
"""The languages of a script. The first one is taken if no mark decides; each may be declared."""

MARKS: dict[str, tuple[LetterMark, ...]] = {
    "Cyrillic": (
        LetterMark("tg", "ҷӣӯ", 0.003),
        LetterMark("cv", "ӑӗ", 0.01),
        LetterMark("ba", "ҙҡ", 0.005),
        LetterMark("kk", "ұ", 0.003),
        LetterMark("uz", "қғҳ", 0.01),
        LetterMark("be", "ў", 0.003),
        # Belarusian and Kazakh have the first one as well, and stand above
        LetterMark("uk", "іїєґ", 0.01),
        LetterMark("tt", "җә", 0.005),
        LetterMark("ky", "ң", 0.003),
        LetterMark("mn", "өү", 0.01),
        LetterMark("mk", "ѓќѕ", 0.002),
        LetterMark("sr", "јћђљњџ", 0.01),
        LetterMark("ru", "ыэё", 0.005),
        LetterMark("bg", "ъ", 0.005),
    ),
    "Arabic": (
        LetterMark("sd", "ٻڄڃڏڳ", 0.005),
        LetterMark("ug", "ۇۈۋ", 0.02),
        LetterMark("ckb", "ەێۆڵڕ", 0.03),
        LetterMark("ps", "ښځڅډړږۍ", 0.005),
        LetterMark("ur", "ٹڈڑںے", 0.01),
        LetterMark("fa", "پچژگیک", 0.03),
    ),
    "Devanagari": (LetterMark("mr", "ळ", 0.003), LetterMark("ne", "छ", 0.01)),
    "Bengali": (LetterMark("as", "ৰৱ", 0.01),),
    "Hebrew": (LetterMark("yi", "װױײ", 0.005),),
}
"""The letters that tell a script's languages apart. The order counts: the first mark that a text has decides."""

JAPANESE_KANA = 0.1  # share of kana in Han and kana: Japanese has more, even in tables
# The same share: fewer kana are a name in a Chinese text, and do not support a declaration as
# Japanese
MIN_KANA = 0.01


@dataclass(frozen=True, slots=True)
class ScriptCounts:
    """The scripts of a text.

    `script` and `language` are empty if it is mostly Latin, or has no letters.
    """

    letters: dict[str, int]  # of each script in the text; a syllable counts as several
    script: str = ""
    language: str = ""
    # The language has letters that others of the script do not have, or none of theirs
    is_marked: bool = False

    def supports(self, language: str) -> bool:
        """Return whether the text may be in this language of another script than Latin."""
        if self._marks_exclude(language):
            return False
        if language == "ja":
            return self._supports_japanese()
        is_chinese = language in LANGUAGES["Han"]
        if is_chinese and self.script == "Kana":
            return False
        # Some languages have several scripts, as Azerbaijani and Kashmiri
        scripts = [script for script, languages in LANGUAGES.items() if language in languages]
        return any(self._are_enough(self._has(script)) for script in scripts)

    def _marks_exclude(self, language: str) -> bool:
        """Return whether the text's letters show another language, and would have shown this one."""
        shows_another = self.is_marked and language != self.language
        return shows_another and language in _judged(self.script)

    def _supports_japanese(self) -> bool:
        """Return whether there are kana beside the Han: Japanese is hardly ever in Han alone."""
        kana = self._has("Kana")
        both = kana + self._has("Han")
        return self._are_enough(both) and kana >= MIN_KANA * both

    def _has(self, script: str) -> int:
        return self.letters.get(script, 0)

    def _are_enough(self, letters: int) -> bool:
        return letters >= SUPPORTS * sum(self.letters.values())


def writing_of(text: str) -> ScriptCounts | None:
    """Return the scripts of a text, or None if nearly all letters are Latin, as in most texts."""
    text = text[:LONGEST]
    # Most texts end here, before any letter is counted
    if len(text.encode(errors="replace")) <= FEW_BYTES * len(text):
        return None
    letters = _letters(text)
    by_script = _without_latin(letters)
    if not by_script:
        return None
    script = max(by_script, key=by_script.__getitem__)
    if by_script[script] < DECIDES * sum(letters.values()):
        return ScriptCounts(letters)
    usual_language = LANGUAGES[script][0]
    marks = MARKS.get(script, ())
    marked_language = _marked(text, marks, by_script[script])
    if marked_language:
        return ScriptCounts(letters, script, marked_language, is_marked=True)
    # The text has no mark. That decides if the usual language has none either
    has_usual_no_mark = usual_language not in {mark.language for mark in marks}
    return ScriptCounts(letters, script, usual_language, is_marked=has_usual_no_mark)


def _letters(text: str) -> dict[str, int]:
    codes = np.frombuffer(text.encode("utf-32-le", "replace"), "<u4")
    counts = np.bincount(_script_of_block()[codes // BLOCK], minlength=len(SCRIPTS) + 1)
    return {
        script: int(found) * (SYLLABLES if script in EAST_ASIAN else 1)
        for script, found in zip(SCRIPTS, counts[1:], strict=True)
        if found
    }


def _without_latin(letters: dict[str, int]) -> dict[str, int]:
    """Return the letters by script, without Latin, and with Han and kana as one script."""
    found = {script: many for script, many in letters.items() if script != "Latin"}
    kana = found.pop("Kana", 0)
    both = kana + found.pop("Han", 0)
    if both:
        is_japanese = kana >= JAPANESE_KANA * both
        found["Kana" if is_japanese else "Han"] = both
    return found


def _marked(text: str, marks: tuple[LetterMark, ...], letters: int) -> str:
    """Return the language of the first mark that the text has, or an empty string."""
    lower = text.lower() if marks else ""
    for mark in marks:
        if sum(map(lower.count, mark.letters)) >= mark.share * letters:
            return mark.language
    return ""


@cache
def _judged(script: str) -> frozenset[str]:
    """Return the languages of a script that marks tell apart: the marked ones, and the usual one."""
    return frozenset({mark.language for mark in MARKS.get(script, ())} | {*LANGUAGES[script][:1]})


@cache
def _script_of_block() -> NDArray[np.uint8]:
    """Return the number of the script of each block of code points, as an array.

    Numbers are from 1, in the order of SCRIPTS; signs, digits and rare scripts have 0.
    """
    table = np.zeros(0x110000 // BLOCK, np.uint8)
    for number, script in enumerate(SCRIPTS, 1):
        for first, end in RANGES[script]:
            table[first // BLOCK : end // BLOCK] = number
    return table


BY_SCRIPT = 0  # in place of the detector's measure: it is as sure as can be
WRITTEN = frozenset(chain.from_iterable(LANGUAGES.values()))  # languages with a script of their own


@cache
def knows_languages() -> bool:
    """Return whether the library that guesses languages is installed."""
    return find_spec("resiliparse") is not None


def likely_language(text: str) -> tuple[str, int]:
    """Return the ISO 639-1 code of a text's most likely language, and resiliparse's measure.

    A smaller measure is surer; it is BY_SCRIPT if the script decides. The code is empty if the text
    has no words.
    """
    writing = writing_of(text)
    if writing is not None and writing.language:
        return writing.language, BY_SCRIPT
    language, measure = _detector().detect_fast(text[:LONGEST])
    return "" if language == "unknown" else str(language), int(measure)


def language_score(measure: int) -> float:
    """Return how sure a language is, from 0 to 1: 1 if the script decides. It is no probability."""
    return max(0.0, 1 - measure / UNLIKELY)


def guessed_language(text: str) -> str:
    return likely_language(text)[0]


MIN_CHARACTERS = 200  # characters, at least, of a text that may contradict a declaration
# resiliparse's measures, which are smaller for surer results
SURE = 600  # texts in other scripts have larger measures
LIKELY = 800  # up to this 254 of 262 texts that declare nothing were in the language it names
UNLIKELY = 1200  # the detector names no language with a larger measure
# The measure of the declared language has to be larger by this: if the other language is sure, or
# else
SURE_GAP, UNSURE_GAP = 20, 100
# Codes under which the detector knows these languages
SAME = {"nb": "no", "nn": "no", "iw": "he", "in": "id", "ji": "yi", "fil": "tl"}
# Languages that the detector does not tell apart
ALIKE = ({"ja", "zh"}, {"hr", "sr"}, {"no", "da"}, {"cs", "sk"}, {"gl", "pt"})


def contradicts(declared: str, text: str) -> bool:
    """Return whether a text is surely in another language than the declared one, an IETF tag."""
    if len(text) < MIN_CHARACTERS:
        return False
    subtag = declared.replace("_", "-").partition("-")[0].strip().lower()
    language = SAME.get(subtag, subtag)
    writing = writing_of(text)
    if writing is not None and writing.supports(language):
        return False
    # Nothing is known of this language
    is_known = language in _supported() or language in WRITTEN
    if not is_known:
        return False
    if writing is not None and writing.language:
        return True
    return _detects_another(language, text)


def _detects_another(language: str, text: str) -> bool:
    """Return whether the detector finds another language, which is surer by far than this one."""
    measures = _measures(text[:LONGEST])
    if not measures:
        return False
    other = min(measures, key=measures.__getitem__)
    # By both measures: of 21 short texts with each of 20 wrong declarations 409 of 420 are marked,
    # 340 by the sureness of the found language alone
    min_gap = SURE_GAP if measures[other] <= SURE else UNSURE_GAP
    if measures.get(language, UNLIKELY) - measures[other] < min_gap:
        return False
    return not any({other, language} <= alike for alike in ALIKE)


def _measures(text: str) -> dict[str, int]:
    """Return the measure of each language that the detector finds in a text."""
    return dict(_detector().detect_fast(text, n_results=len(_supported())))


@cache
def _supported() -> frozenset[str]:
    return frozenset(_detector().supported_langs())


def _detector() -> Any:
    try:
        return import_module("resiliparse.parse.lang")  # optional, and 6 MB
    except ImportError as error:
        raise MissingLibraryError("resiliparse", error) from error
