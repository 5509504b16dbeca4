"""Text that no other page has: each page draws its own vocabulary, and then its words."""

from __future__ import annotations

from functools import lru_cache
from hashlib import shake_128
from itertools import product
from struct import Struct

from webcrawl.simweb.words import WORDS

_SYLLABLES = "ba co di fu ga hel in jo ka lu mer no or pi qua ri so tam ul ven wo xi ya zor"
_OWN = 128  # words of a page's own vocabulary; as many are common to all
_NUMBERS = Struct(f"<{_OWN}H")
_PER_WORD = 6  # characters, space included; the average is above 7


@lru_cache(1)
def _rare() -> list[str]:
    """13,824 words that are made up."""
    return ["".join(parts) for parts in product(_SYLLABLES.split(), repeat=3)]


def prose(key: str, length: int) -> str:
    """So many characters of text. The same key gives the same text, another one a text with other words."""
    digest = shake_128(key.encode()).digest(_NUMBERS.size + length // _PER_WORD + 64)
    rare = _rare()
    words = WORDS + [rare[number % len(rare)] for number in _NUMBERS.unpack_from(digest)]
    return " ".join([words[byte] for byte in digest[_NUMBERS.size :]])[:length]
