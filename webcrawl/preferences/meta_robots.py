"""The words of robots meta elements and of X-Robots-Tag that say what may be done with a page."""

from __future__ import annotations

import re
from collections.abc import Iterable

from webcrawl.preferences.purposes import NOARCHIVE, NOFOLLOW, NOIMAGEAI, NOINDEX, forbids

WORDS = {
    "noindex": NOINDEX,
    "nofollow": NOFOLLOW,
    "none": NOINDEX | NOFOLLOW,
    "noarchive": NOARCHIVE,
    "nocache": NOARCHIVE,
    "noai": forbids("train-ai", "ai-input"),
    "noimageai": NOIMAGEAI,
}

_BETWEEN = re.compile(r"[\s;]+")


def statement(words: Iterable[str], *, image: bool = False) -> int:
    """What these words, in lower case, say. `image`: of an image, which noimageai is about.

    Some owners put blanks or semicolons between words where commas belong: what they mean is plain.
    """
    said = 0
    for word in words:
        for one in _BETWEEN.split(word):
            said |= WORDS.get(one, 0)
    return said | WORDS["noai"] if image and said & NOIMAGEAI else said
