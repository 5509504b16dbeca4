"""The freshness of answers: for how long one holds, and how a server is asked whether it still does.

`max_age` and `fresh_for` follow RFC 9111 4.2, 5.2.2 and 5.3 as far as a cache of one user's needs them; `Validators`
are those of RFC 9110 8.8 and 13.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from webcrawl.base.dates import read_any_date, read_http_date
from webcrawl.base.model import header

LONGEST_DATE = 64  # bytes
# Many servers forget the quotes, and compare byte by byte. `*` would mean "if there is any page at all" (13.1.2), and
# there always is; behind a comma it would too.
_ETAG = re.compile(rb'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"|[\x21\x23-\x29\x2b\x2d-\x7e]+')
_DATE = re.compile(rb"[\x20-\x7e]+")


class Validators(NamedTuple):
    """An answer's validators as sent; empty where there is none that can be sent back."""

    etag: bytes = b""
    modified: bytes = b""

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """The fields that make a request conditional."""
        given = [(b"If-None-Match", self.etag), (b"If-Modified-Since", self.modified)]
        return [(name, value) for name, value in given if value]

    def completed(self, before: Validators) -> Validators:
        """The validators after a 304: what it does not repeat still holds."""
        return Validators(self.etag or before.etag, self.modified or before.modified)


def validators(headers: list[tuple[bytes, bytes]], at: float, *, longest: int) -> Validators:
    """Those of an answer that came at this time; an entity tag has at most so many bytes.

    A date that is still to come is none (8.8.2.1): until then, a server that compares dates would say that nothing
    changes.
    """
    etag, modified = header(headers, b"etag") or b"", header(headers, b"last-modified") or b""
    if len(etag) > longest or not _ETAG.fullmatch(etag):
        etag = b""
    if len(modified) > LONGEST_DATE or not _DATE.fullmatch(modified) or _is_after(modified, at):
        modified = b""
    return Validators(etag, modified)


def _is_after(modified: bytes, at: float) -> bool:
    """True if this date is later than `at`; some servers compare as text what cannot be read as a date."""
    seconds = read_http_date(modified)
    if seconds is not None:  # as nearly all are, and a tenth of the time
        return seconds > at
    slowly = read_any_date(modified.decode("latin-1"))
    return slowly is not None and slowly > at


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
    """Seconds from now by `max_age`, or else by `Expires`, which counts from the answer's `Date`; 0 if neither says."""
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
    """Seconds that the answer has spent in caches."""
    age = header(headers, b"age")
    return float(age) if age is not None and _AGE.fullmatch(age) else 0.0
