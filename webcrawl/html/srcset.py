"""URLs of a srcset attribute, by the HTML Standard's "parse a srcset attribute" (4.8.4.3.10)."""

from __future__ import annotations

import re

_URL = re.compile(r"[\t\n\f\r ,]*+([^\t\n\f\r ]++)")
# Up to the comma that ends a candidate. A comma in parentheses does not; parentheses do not nest.
_DESCRIPTORS = re.compile(r"[^,(]*+(?:\([^)]*+(?:\)|\Z)[^,(]*+)*+")


def urls(value: str) -> list[str]:
    """The URLs of all candidates, including those whose descriptors a browser would reject."""
    found: list[str] = []
    at = 0
    while candidate := _URL.match(value, at):
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
