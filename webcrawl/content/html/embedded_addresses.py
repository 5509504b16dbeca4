"""Addresses in values with a syntax of their own: srcset, refresh, data- attributes, JSON-LD, CSS."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from webcrawl.base.possessive import compile_possessive
from webcrawl.content.html import encodings, mimetype
from webcrawl.content.html.encodings import BOMS, SPACE
from webcrawl.content.html.link_kinds import DATA_ATTRIBUTES, DATA_SETS, DocumentLinks

_CANDIDATE = re.compile(r"[\t\n\f\r ,]*+([^\t\n\f\r ]++)")
# Up to the comma that ends a candidate. A comma in parentheses does not; parentheses do not nest.
_DESCRIPTORS = compile_possessive(r"[^,(]*+(?:\([^)]*+(?:\)|\Z)[^,(]*+)*+")


def srcset_urls(value: str) -> list[str]:
    """Return the URLs of all candidates, including those whose descriptors a browser would reject."""
    found: list[str] = []
    at = 0
    while candidate := _CANDIDATE.match(value, at):
        url = candidate[1]
        at = candidate.end()
        if url.endswith(","):  # no descriptors: the next candidate follows
            url = url.rstrip(",")
        else:
            descriptors = _DESCRIPTORS.match(value, at)
            at = descriptors.end() if descriptors else at
        if url:
            found.append(url)
    return found


_TIME = re.compile(r"[\t\n\f\r ]*+(?:([0-9]++)|(?=\.))[0-9.]*+")
_BEFORE_URL = re.compile(r"(?:[\t\n\f\r ]*+[;,]|[\t\n\f\r ])[\t\n\f\r ]*+")
_REFRESH_URL = compile_possessive(
    r"""(?:[uU][rR][lL][\t\n\f\r ]*+=[\t\n\f\r ]*+)?+(?:"([^"]*+)|'([^']*+)|(.*+))""", re.DOTALL
)


def refresh(content: str) -> tuple[int, str] | None:
    """Return the seconds to wait and the target URL; None if this is no valid refresh.

    The URL is empty for the page itself.
    """
    time = _TIME.match(content)
    if time is None:
        return None
    seconds = min(int((time[1] or "0")[:9]), 10**9)
    rest = content[time.end() :]
    if not rest:
        return seconds, ""
    before = _BEFORE_URL.match(rest)
    if before is None:  # no separator or space after the time
        return None
    url = _REFRESH_URL.match(rest, before.end())
    if url is None:
        return seconds, ""
    address = url[1] or url[2] or url[3] or ""
    return seconds, address.strip(SPACE)


# Such a value may be anything: an address has a scheme, begins as a path, or has a slash or the
# ending of a file.
_DATA_ADDRESS = re.compile(
    r"""(?:(?:https?:)?//|\.{0,2}/|\?|[\w%~.-]+/|[\w%~.-]+\.(?:html?|php|aspx?|jpe?g|png|gif|webp|avif|svg|pdf)\b)
    [^\s<>"{}|\\^`]*+""",
    re.IGNORECASE | re.VERBOSE,
)


def data_urls(attributes: Mapping[str, str | None]) -> Iterator[str]:
    """Return what looks like an address in the attributes of one element."""
    for name in DATA_ATTRIBUTES:
        value = attributes.get(name)
        if not value:
            continue
        if name in DATA_SETS:
            yield from srcset_urls(value)
            continue
        address = value.strip()
        if _DATA_ADDRESS.fullmatch(address):
            yield address


LONGEST = 1 << 20  # characters of one script: a value takes many times the memory of its text
MOST = 1000  # addresses of one script
# Properties of schema.org whose values are addresses, or things that have one
_PROPERTIES = """
    url @id sameAs contentUrl embedUrl thumbnailUrl downloadUrl installUrl image logo thumbnail
    mainEntityOfPage item isPartOf hasPart relatedLink significantLink discussionUrl codeRepository
    license subjectOf citation
"""
PROPERTIES = frozenset(_PROPERTIES.split())
_JSONLD_ADDRESS = re.compile(r"(?:https?:/)?/[^\s<>\"{}|\\^`]+", re.IGNORECASE)


def jsonld_urls(text: str) -> list[str]:
    """Return the addresses of one script, each once; none if the script is not JSON."""
    try:
        value = json.loads(text) if len(text) <= LONGEST else None
    except (ValueError, RecursionError):
        return []
    found: dict[str, None] = {}
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting and len(found) < MOST:
        # The last one is the next: hence reversed, for the order of the document
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(reversed(value.items()))
        elif isinstance(value, list):
            waiting.extend((name, one) for one in reversed(value))
        elif isinstance(value, str) and name in PROPERTIES:
            address = value.strip()
            if _JSONLD_ADDRESS.fullmatch(address):
                # JSON may spell half of a surrogate pair
                found[address.encode("utf-8", "replace").decode()] = None
    return list(found)


# Comments and other strings are tokens of their own, so nothing is found inside them. Every
# alternative may end at the end of the text and all quantifiers are possessive: the time is linear
# for any text. Each begins with a plain character, by which Python's engine skips everything else:
# a tenth of the time.
_COMMENT = r"/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)"
_GAP = rf"(?:\s++|{_COMMENT})*+"
_DOUBLE, _SINGLE = r'"((?:[^"\\\n\f\r]|\\.)*+)', r"'((?:[^'\\\n\f\r]|\\.)*+)"
_BARE = r"""((?:[^"'()\\\s]|\\[0-9a-fA-F]{1,6}\s?|\\[^\n\f\r])*+)"""
_ADDRESS = (
    rf"""(?<![-\w\\].)[rR][lL]\((?:\s*+(?:{_DOUBLE}"?|{_SINGLE}'?|{_BARE})\s*+(?:\)|\Z)|[^)]*+)"""
)
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
_ESCAPE = re.compile(
    r"\\(?:([0-9a-fA-F]{1,6})(?:\r\n|[ \t\n\f\r])?|(\r\n|[\n\f\r])|(.)|\Z)", re.DOTALL
)


@cache
def _token() -> re.Pattern[str]:
    return compile_possessive(_TOKEN, re.DOTALL)  # on first use: it takes milliseconds


def css_urls(style: str) -> list[str]:
    """Return the URLs in document order, unescaped.

    URLs of namespaces are left out: they are names.
    """
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
    if not escape[1]:
        return escape[3] or ""
    # CSS Syntax 4.3.7: zero, surrogates and what is beyond Unicode
    number = int(escape[1], 16)
    is_character = 0 < number < 0xD800 or 0xDFFF < number < 0x110000
    return chr(number) if is_character else "\ufffd"


# CSS Syntax 3.2: these very bytes, and nothing but what is ASCII up to the end of the rule
_CHARSET = re.compile(rb'@charset "([^"\x80-\xff]{0,1000})";')


def is_style_sheet(content_type: str, url: str) -> bool:
    """Return whether a browser takes this as one; without a Content-Type the name decides."""
    if not content_type:
        return url.partition("?")[0].endswith(".css")
    mime = mimetype.parse(content_type)
    return mime is not None and mime.essence == "text/css"


def style_sheet_links(body: bytes, content_type: str, url: str) -> DocumentLinks:
    """Return the url(), @import and image-set() of a sheet as `style` links. Never raises."""
    encoding = _encoding(body, content_type)
    found = DocumentLinks(url, encoding)
    found.links = [("style", one, "", "") for one in css_urls(encodings.decode(body, encoding))]
    return found


def _encoding(body: bytes, content_type: str) -> str:
    """Return a sheet's encoding by byte order mark, Content-Type or @charset, or else UTF-8.

    The encoding of the page that names the sheet does not matter.
    """
    for mark, encoding in BOMS:
        if body.startswith(mark):
            return encoding
    mime = mimetype.parse(content_type)
    known = None
    if mime is not None:
        known = encodings.lookup(mime.parameters.get("charset", ""))
    if known is None:
        declared = _CHARSET.match(body)
        known = encodings.lookup(declared[1].decode()) if declared is not None else None
        if known in encodings.UTF_16:  # it was read as ASCII, so it is none
            known = encodings.UTF_8
    return known or encodings.UTF_8
