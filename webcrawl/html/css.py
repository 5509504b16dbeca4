"""URLs in style sheets: url(), @import and image-set(), tokenised by CSS Syntax Level 3."""

from __future__ import annotations

import re
from functools import cache

# Comments and other strings are tokens of their own, so nothing is found inside them. Every alternative may end at the
# end of the text and all quantifiers are possessive: the time is linear for any text. Each begins with a plain
# character, by which Python's engine skips everything else: a tenth of the time.
_COMMENT = r"/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)"
_GAP = rf"(?:\s++|{_COMMENT})*+"
_DOUBLE, _SINGLE = r'"((?:[^"\\\n\f\r]|\\.)*+)', r"'((?:[^'\\\n\f\r]|\\.)*+)"
_BARE = r"""((?:[^"'()\\\s]|\\[0-9a-fA-F]{1,6}\s?|\\[^\n\f\r])*+)"""
_ADDRESS = rf"""(?<![-\w\\].)[rR][lL]\((?:\s*+(?:{_DOUBLE}"?|{_SINGLE}'?|{_BARE})\s*+(?:\)|\Z)|[^)]*+)"""
_IMPORT = rf"""[iI][mM][pP][oO][rR][tT]{_GAP}(?:{_DOUBLE}"?|{_SINGLE}'?)"""
_OTHER = _COMMENT + r"""|"(?:[^"\\\n\f\r]|\\.)*+"?|'(?:[^'\\\n\f\r]|\\.)*+'?|[^;{"'/]|/"""
_NAMESPACE = rf"[nN][aA][mM][eE][sS][pP][aA][cC][eE](?![-\w])(?:{_OTHER})*+"
# In image-set() a string is a URL as well; nowhere else does a resolution or type() follow one.
_OPTION = rf"(?={_GAP}(?:(?:\d|\.\d)[\d.]*+(?:x|dppx|dpi|dpcm)(?![-\w])|type\())"
_TOKEN = "|".join(
    (
        _COMMENT,
        f"u{_ADDRESS}",
        f"U{_ADDRESS}",
        rf"@(?<![-\w\\].)(?:{_IMPORT}|{_NAMESPACE})",
        rf"""{_DOUBLE}(?:"{_OPTION}|(?P<double>)"?)""",
        rf"""{_SINGLE}(?:'{_OPTION}|(?P<single>)'?)""",
    )
)
_PLAIN = frozenset(("double", "single"))  # strings that are no URLs
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})(?:\r\n|[ \t\n\f\r])?|(\r\n|[\n\f\r])|(.)|\Z)", re.DOTALL)


@cache
def _token() -> re.Pattern[str]:
    return re.compile(_TOKEN, re.DOTALL)  # on first use: it takes milliseconds


def urls(style: str) -> list[str]:
    """The URLs in document order, unescaped. Those of namespaces are names, which nobody fetches."""
    found: list[str] = []
    for token in _token().finditer(style):
        last = token.lastindex
        url = token[last] if last and token.lastgroup not in _PLAIN else ""
        if "\\" in url:
            url = _ESCAPE.sub(_unescaped, url)
        if url:
            found.append(url)
    return found


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1]:
        number = int(escape[1], 16)
        return chr(number) if 0 < number < 0xD800 or 0xDFFF < number < 0x110000 else "\ufffd"
    return escape[3] or ""
