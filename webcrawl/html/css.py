"""URLs in style sheets: url() and @import, tokenised by CSS Syntax Level 3."""

from __future__ import annotations

import re

# Comments and other strings are tokens of their own, so nothing is found inside them. Every alternative may end at the
# end of the text and all quantifiers are possessive: the time is linear for any text.
_TOKEN = re.compile(
    r"""/\*.*?(?:\*/|\Z)
      | (?<![-\w\\]) url\( \s*+ (?: "((?:[^"\\\n\f\r]|\\.)*+)"? | '((?:[^'\\\n\f\r]|\\.)*+)'?
                               | ((?:[^"'()\\\s]|\\[^\n\f\r])*+) ) \s*+ (?:\)|\Z)
      | (?<![-\w\\]) url\( [^)]*+
      | (?<![-\w\\]) @import \s*+ (?: "((?:[^"\\\n\f\r]|\\.)*+)"? | '((?:[^'\\\n\f\r]|\\.)*+)'? )
      | "(?:[^"\\\n\f\r]|\\.)*+"? | '(?:[^'\\\n\f\r]|\\.)*+'? """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})(?:\r\n|[ \t\n\f\r])?|(\r\n|[\n\f\r])|(.)|\Z)", re.DOTALL)


def urls(style: str) -> list[str]:
    """The URLs in document order, unescaped."""
    found: list[str] = []
    for token in _TOKEN.finditer(style):
        url = token[token.lastindex] if token.lastindex else ""
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
