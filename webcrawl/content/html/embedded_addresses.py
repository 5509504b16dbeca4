"""Addresses in values that have a syntax of their own: srcset, meta refresh, data- attributes, JSON-LD."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from webcrawl.content.html.encodings import SPACE

_CANDIDATE = re.compile(r"[\t\n\f\r ,]*+([^\t\n\f\r ]++)")
# Up to the comma that ends a candidate. A comma in parentheses does not; parentheses do not nest.
_DESCRIPTORS = re.compile(r"[^,(]*+(?:\([^)]*+(?:\)|\Z)[^,(]*+)*+")


def srcset_urls(value: str) -> list[str]:
    """The URLs of all candidates, including those whose descriptors a browser would reject."""
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
_REFRESH_URL = re.compile(r"""(?:[uU][rR][lL][\t\n\f\r ]*+=[\t\n\f\r ]*+)?+(?:"([^"]*+)|'([^']*+)|(.*+))""", re.DOTALL)


def refresh(content: str) -> tuple[int, str] | None:
    """Seconds to wait and the target URL, "" for the page itself; None if it is no valid refresh."""
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
    return seconds, (url[1] or url[2] or url[3] or "").strip(SPACE) if url else ""


DATA_SETS = ("data-srcset", "data-lazy-srcset")
DATA_ATTRIBUTES = (
    *("data-href", "data-url", "data-link", "data-src", "data-lazy-src", "data-original", "data-image"),
    *("data-bg", "data-background", "data-poster"),
    *DATA_SETS,
)
DATA_SELECTOR = ",".join(f"[{name}]" for name in DATA_ATTRIBUTES)
# Such a value may be anything: an address has a scheme, begins as a path, or has a slash or the ending of a file.
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
        elif _DATA_ADDRESS.fullmatch(address := value.strip()):
            yield address


LONGEST = 1 << 20  # characters of one script: a value takes many times the memory of its text
MOST = 1000  # addresses of one script
PROPERTIES = frozenset(
    (
        *("url", "@id", "sameAs", "contentUrl", "embedUrl", "thumbnailUrl", "downloadUrl", "installUrl"),
        *("image", "logo", "thumbnail", "mainEntityOfPage", "item", "isPartOf", "hasPart", "relatedLink"),
        *("significantLink", "discussionUrl", "codeRepository", "license", "subjectOf", "citation"),
    )
)
_JSONLD_ADDRESS = re.compile(r"(?:https?:/)?/[^\s<>\"{}|\\^`]+", re.IGNORECASE)


def jsonld_urls(text: str) -> list[str]:
    """The addresses of one script, each once; none if it is not JSON."""
    try:
        value = json.loads(text) if len(text) <= LONGEST else None
    except (ValueError, RecursionError):
        return []
    found: dict[str, None] = {}
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting and len(found) < MOST:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(reversed(value.items()))
        elif isinstance(value, list):
            waiting.extend((name, one) for one in reversed(value))
        elif isinstance(value, str) and name in PROPERTIES and _JSONLD_ADDRESS.fullmatch(address := value.strip()):
            found[address.encode("utf-8", "replace").decode()] = None  # JSON may spell half of a surrogate pair
    return list(found)
