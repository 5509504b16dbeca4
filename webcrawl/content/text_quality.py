"""Measures of texts that others use to select them for training: those of Gopher, C4 and FineWeb.

Their thresholds are not applied. Gopher: arXiv 2112.11446, table A1. C4: arXiv 1910.10683, 2.2.
FineWeb: arXiv 2406.17557, 3.6.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from webcrawl.content.near_duplicates import words_of

STOP_WORDS = frozenset(("the", "be", "to", "of", "and", "that", "have", "with"))  # Gopher's
BULLETS = (
    "-",
    "*",
    "\u2022",
    "\u2023",
    "\u25b6",
    "\u25c0",
    "\u25e6",
    "\u25a0",
    "\u25a1",
    "\u25aa",
    "\u25ab",
    "\u2013",
)
# The ends of sentences
ENDS = (".", "!", "?", '"', "'", "\u201d", "\u2019", "\u2026", "\u3002", "\uff01", "\uff1f")
ELLIPSES = ("...", "\u2026")
SHORT = 30  # characters of a line: FineWeb's
TOP, REPEATED = range(2, 5), range(5, 11)  # words of the runs that Gopher counts
_LINK = re.compile(r"\[([^\]\n]*)\]\([^)\s]*\)")
_HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)

COLUMNS = {  # each with its kind of value; docs/columns.md says what is in it
    "words": int,
    "mean_word_length": float,
    "symbol_share": float,
    "alphabetic_words": float,
    "stop_words": int,
    "bullet_lines": float,
    "ellipsis_lines": float,
    "punctuated_lines": float,
    "short_lines": float,
    "repeated_lines": float,
    "repeated_line_characters": float,
    "repeated_paragraphs": float,
    **{f"top_{size}_grams": float for size in TOP},
    **{f"repeated_{size}_grams": float for size in REPEATED},
    "curly_brackets": bool,
    "lorem_ipsum": bool,
}


def plain(markdown: str) -> str:
    """Return the text without the addresses of links and the marks of headings."""
    return _HEADING.sub("", _LINK.sub(r"\1", markdown))


def quality(text: str) -> list[float | int | bool]:
    """Return the values of the columns, in their order."""
    words = words_of(text)
    lines = [*filter(None, map(str.strip, text.split("\n")))]
    paragraphs = [*filter(None, map(str.strip, text.split("\n\n")))]
    ellipses = sum(map(text.count, ELLIPSES))
    repeated_lines = _repeated_parts(lines)
    letters = max(1, sum(map(len, words)))
    # In the order of COLUMNS
    return [
        len(words),
        sum(map(len, words)) / max(1, len(words)),
        max(text.count("#"), ellipses) / max(1, len(words)),
        _share(any(map(str.isalpha, word)) for word in words),
        len(STOP_WORDS.intersection(map(str.lower, words))),
        _share(line.startswith(BULLETS) for line in lines),
        _share(line.endswith(ELLIPSES) for line in lines),
        _share(line.endswith(ENDS) for line in lines),
        _share(len(line) <= SHORT for line in lines),
        len(repeated_lines) / max(1, len(lines)),
        sum(map(len, repeated_lines)) / max(1, sum(map(len, lines))),
        len(_repeated_parts(paragraphs)) / max(1, len(paragraphs)),
        *(_letters_of_top_run(words, size) / letters for size in TOP),
        *(_letters_repeated(words, size) / letters for size in REPEATED),
        "{" in text,
        "lorem ipsum" in text.lower(),
    ]


def _share(found: Iterable[bool]) -> float:
    values = list(found)
    return sum(values) / max(1, len(values))


def _repeated_parts(parts: Sequence[str]) -> list[str]:
    """Return the parts that have occurred before, in their order."""
    # Backwards, so that the first of equal parts stays
    first = {part: at for at, part in reversed(list(enumerate(parts)))}
    return [part for at, part in enumerate(parts) if first[part] < at]


def _letters_of_top_run(words: Sequence[str], size: int) -> int:
    """Return the letters of the run of `size` words that takes most; 0 if none comes twice.

    The letters are counted at all places of the run.
    """
    runs = Counter(zip(*(words[at:] for at in range(size)), strict=False))
    return max((times * sum(map(len, run)) for run, times in runs.items() if times > 1), default=0)


def _letters_repeated(words: Sequence[str], words_in_run: int) -> int:
    """Return how many letters, each once, are in runs of so many words that came before."""
    ends = [0]
    for word in words:
        ends.append(ends[-1] + len(word))
    seen: set[tuple[str, ...]] = set()
    letters = place = 0
    while place + words_in_run <= len(words):
        run = tuple(words[place : place + words_in_run])
        if run in seen:
            letters += ends[place + words_in_run] - ends[place]
            place += words_in_run
        else:
            seen.add(run)
            place += 1
    return letters
