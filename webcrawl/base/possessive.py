"""Compiles regular expressions that have possessive groups, as `(?:ab?c)*+`.

Python 3.11 matches too much with them before 3.11.5: if the group begins to match once more and
fails, what it had read so far stays in the match. Debian 12 has 3.11.2.
https://github.com/python/cpython/issues/106052
"""

from __future__ import annotations

import re
import sys
from typing import AnyStr

_IS_BROKEN = sys.version_info < (3, 11, 5)
_SKIPPED = r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]"  # an escape, or a set of characters
_END_OF_POSSESSIVE_GROUP = r"\)(?=(?:[*+?]|\{\d*,?\d*\})\+)"
_TOKEN = re.compile(f"{_SKIPPED}|{_END_OF_POSSESSIVE_GROUP}", re.DOTALL)


def compile_possessive(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Compile a pattern, so that Python 3.11.2 too matches its possessive groups."""
    return re.compile(mended(pattern) if _IS_BROKEN else pattern, flags)


def mended(pattern: AnyStr) -> AnyStr:
    """Return a pattern that matches the same, and has no possessive group of one alternative.

    The further alternative never matches. Before it is tried, Python goes back to where the group
    began.
    """
    if isinstance(pattern, bytes):
        return mended(pattern.decode("latin-1")).encode("latin-1")
    return _TOKEN.sub(lambda token: "|(?!))" if token[0] == ")" else token[0], pattern)
