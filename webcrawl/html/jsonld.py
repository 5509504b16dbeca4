"""Addresses in JSON-LD: the values of properties that mean a page, a file or an image, if they are addresses."""

from __future__ import annotations

import json
import re
from typing import Any

LONGEST = 1 << 20  # characters of one script: a value takes many times the memory of its text
MOST = 1000  # addresses of one script
PROPERTIES = frozenset(
    (
        *("url", "@id", "sameAs", "contentUrl", "embedUrl", "thumbnailUrl", "downloadUrl", "installUrl"),
        *("image", "logo", "thumbnail", "mainEntityOfPage", "item", "isPartOf", "hasPart", "relatedLink"),
        *("significantLink", "discussionUrl", "codeRepository", "license", "subjectOf", "citation"),
    )
)
_ADDRESS = re.compile(r"(?:https?:/)?/[^\s<>\"{}|\\^`]+", re.IGNORECASE)


def urls(text: str) -> list[str]:
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
        elif isinstance(value, str) and name in PROPERTIES and _ADDRESS.fullmatch(address := value.strip()):
            found[address.encode("utf-8", "replace").decode()] = None  # JSON may spell half of a surrogate pair
    return list(found)
