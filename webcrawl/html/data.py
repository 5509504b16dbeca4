"""Addresses in `data-` attributes, which scripts would move to `src`, `href` and the like."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from webcrawl.html import srcset

SETS = ("data-srcset", "data-lazy-srcset")
ATTRIBUTES = (
    *("data-href", "data-url", "data-link", "data-src", "data-lazy-src", "data-original", "data-image"),
    *("data-bg", "data-background", "data-poster"),
    *SETS,
)
SELECTOR = ",".join(f"[{name}]" for name in ATTRIBUTES)
# Such a value may be anything: an address has a scheme, begins as a path, or has a slash or the ending of a file.
_ADDRESS = re.compile(
    r"""(?:(?:https?:)?//|\.{0,2}/|\?|[\w%~.-]+/|[\w%~.-]+\.(?:html?|php|aspx?|jpe?g|png|gif|webp|avif|svg|pdf)\b)
    [^\s<>"{}|\\^`]*+""",
    re.IGNORECASE | re.VERBOSE,
)


def urls(attributes: Mapping[str, str | None]) -> Iterator[str]:
    """What looks like an address in the attributes of one element."""
    for name in ATTRIBUTES:
        value = attributes.get(name)
        if not value:
            continue
        if name in SETS:
            yield from srcset.urls(value)
        elif _ADDRESS.fullmatch(address := value.strip()):
            yield address
