"""For how long an answer says that it holds (RFC 9111 4.2.1 and 5.2.2), as far as a cache of one user's needs it."""

from __future__ import annotations

import re

from webcrawl.model import header

_DIRECTIVE = re.compile(rb'(?:^|[,\s])(no-cache|no-store|max-age)(?:=\s*"?(\d{1,10})"?)?\s*(?=,|$)', re.IGNORECASE)
_AGE = re.compile(rb"\d{1,10}")


def max_age(headers: list[tuple[bytes, bytes]]) -> float | None:
    """Seconds from now; None if it does not say."""
    said = header(headers, b"cache-control")
    if said is None:
        return None
    least: float | None = None
    for name, seconds in _DIRECTIVE.findall(said):
        if name.lower() != b"max-age":
            least = 0.0
        elif seconds:
            least = min(float(seconds), least if least is not None else float(seconds))
    age = header(headers, b"age") or b""
    if least is not None and _AGE.fullmatch(age):
        least = max(0.0, least - float(age))
    return least
