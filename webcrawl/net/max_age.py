"""For how long an answer says that it holds (RFC 9111 4.2, 5.2.2 and 5.3), as far as a cache of one user's needs it."""

from __future__ import annotations

import re

from webcrawl.model import header
from webcrawl.text.httpdate import read_http_date

# A number of any length is a long time (RFC 9111 1.2.2), and no float is too small for it.
_DIRECTIVE = re.compile(rb'(?:^|[,\s])(no-cache|no-store|max-age)(?:=\s*"?(\d+)"?)?\s*(?=,|$)', re.IGNORECASE)
_AGE = re.compile(rb"\d+")


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
    return max(0.0, least - _age(headers)) if least is not None else None


def fresh_for(headers: list[tuple[bytes, bytes]], now: float) -> float:
    """The same, or else by `Expires`, which counts from the answer's `Date`; 0 if it does not say."""
    said = max_age(headers)
    if said is not None:
        return said
    expires = header(headers, b"expires")
    until = read_http_date(expires) if expires is not None else None
    if until is None:  # whatever is no date, 0 above all, means that it holds no longer
        return 0.0
    began = read_http_date(header(headers, b"date") or b"")
    return max(0.0, until - (now if began is None else began) - _age(headers))


def _age(headers: list[tuple[bytes, bytes]]) -> float:
    """What the answer has spent in caches."""
    age = header(headers, b"age")
    return float(age) if age is not None and _AGE.fullmatch(age) else 0.0
