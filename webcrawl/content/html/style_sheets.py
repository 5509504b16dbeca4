"""Links of style sheets: url(), @import and image-set(), tokenised by CSS Syntax Level 3."""

from __future__ import annotations

import re
from functools import cache

from webcrawl.content.html import encodings, mimetype
from webcrawl.content.html.encoding_sniffing import BOMS
from webcrawl.content.html.found_links import Found

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


def css_urls(style: str) -> list[str]:
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


# CSS Syntax 3.2: these very bytes, and nothing but what is ASCII up to the end of the rule
_CHARSET = re.compile(rb'@charset "([^"\x80-\xff]{0,1000})";')


def is_style_sheet(content_type: str, url: str) -> bool:
    """Return whether a browser takes this as one; without a Content-Type the name decides."""
    if not content_type:
        return url.partition("?")[0].endswith(".css")
    mime = mimetype.parse(content_type)
    return mime is not None and mime.essence == "text/css"


def style_sheet_links(body: bytes, content_type: str, url: str) -> Found:
    """Its url(), @import and image-set(), as links of the kind `style`; never raises."""
    encoding = _encoding(body, content_type)
    found = Found(url, encoding)
    found.links = [("style", one, "", "") for one in css_urls(encodings.decode(body, encoding))]
    return found


def _encoding(body: bytes, content_type: str) -> str:
    """Byte order mark, Content-Type, @charset, UTF-8; the page that names the sheet has no say here."""
    for mark, encoding in BOMS:
        if body.startswith(mark):
            return encoding
    mime = mimetype.parse(content_type)
    known = encodings.lookup(mime.parameters.get("charset", "")) if mime is not None else None
    if known is None:
        declared = _CHARSET.match(body)
        known = encodings.lookup(declared[1].decode()) if declared is not None else None
        if known in encodings.UTF_16:  # it was read as ASCII, so it is none
            known = encodings.UTF_8
    return known or encodings.UTF_8
