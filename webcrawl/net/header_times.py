"""The times in an answer's headers: how long it holds, and how long the host asks to be left alone.

`max_age` and `fresh_for` follow RFC 9111 4.2, 5.2.2 and 5.3 as far as a cache of one user's needs
them; by `Validators` a server is asked whether it still does: those of RFC 9110 8.8 and 13.

Retry-After (RFC 9110 10.2.3) has seconds or a date. A time is counted from the Date of the same
answer, if it has one: then neither the server's clock nor ours has to be right. But a Date of more
than a day ago beside a time that lies ahead is no clock: it stands still, or is a cache's. To mean
it, a server would be wrong by days, and ask for longer. Rate limits:
draft-ietf-httpapi-ratelimit-headers-10, `RateLimit: "name";r=3;t=20` with `RateLimit-Policy:
"name";q=100;w=60`; its versions up to 07, `limit=100, remaining=3, reset=20` in one field or in
three; and the same three with `X-` before, whose `Reset` many servers give as a time since 1970, in
seconds or milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from webcrawl.base.dates import read_any_date, read_http_date
from webcrawl.base.model import header

LONGEST_DATE = 64  # bytes
# Many servers forget the quotes, and compare byte by byte. `*` would mean "if there is any page at
# all" (13.1.2), and there always is; behind a comma it would too.
_ETAG = re.compile(rb'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"|[\x21\x23-\x29\x2b\x2d-\x7e]+')
_DATE = re.compile(rb"[\x20-\x7e]+")


class Validators(NamedTuple):
    """An answer's validators as sent; empty where there is none that can be sent back."""

    etag: bytes = b""
    modified: bytes = b""

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """Return the fields that make a request conditional."""
        given = [(b"If-None-Match", self.etag), (b"If-Modified-Since", self.modified)]
        return [(name, value) for name, value in given if value]

    def completed(self, before: Validators) -> Validators:
        """Return the validators after a 304: what it does not repeat still holds."""
        return Validators(self.etag or before.etag, self.modified or before.modified)


def validators(headers: list[tuple[bytes, bytes]], at: float, *, longest: int) -> Validators:
    """Return the validators of an answer that came at this time, for the next request.

    Entity tags of more than `longest` bytes are left out, and dates to come (8.8.2.1): until such a
    date a server that compares dates would say that nothing changes.
    """
    etag = header(headers, b"etag") or b""
    if len(etag) > longest or not _ETAG.fullmatch(etag):
        etag = b""
    modified = header(headers, b"last-modified") or b""
    is_date = len(modified) <= LONGEST_DATE and _DATE.fullmatch(modified)
    if not is_date or _is_after(modified, at):
        modified = b""
    return Validators(etag, modified)


def _is_after(modified: bytes, time_of_answer: float) -> bool:
    """Return whether this date is later than `time_of_answer`.

    Some servers compare as text what cannot be read as a date.
    """
    seconds = read_http_date(modified)
    if seconds is not None:  # as nearly all are, and a tenth of the time
        return seconds > time_of_answer
    slowly = read_any_date(modified.decode("latin-1"))
    return slowly is not None and slowly > time_of_answer


# A number of any length is a long time (RFC 9111 1.2.2), and no float is too small for it.
_DIRECTIVE = re.compile(
    rb'(?:^|[,\s])(no-cache|no-store|max-age)(?:=\s*"?(\d+)"?)?\s*(?=,|$)', re.IGNORECASE
)
_AGE = re.compile(rb"\d+")


def max_age(headers: list[tuple[bytes, bytes]]) -> float | None:
    """Return the seconds from now; None if it does not say."""
    said = header(headers, b"cache-control")
    if said is None:
        return None
    least: float | None = None
    for name, written in _DIRECTIVE.findall(said):
        if name.lower() != b"max-age":
            least = 0.0
        elif written:
            seconds = float(written)
            least = seconds if least is None else min(seconds, least)
    if least is None:
        return None
    return max(0.0, least - _age(headers))


def fresh_for(headers: list[tuple[bytes, bytes]], now: float) -> float:
    """Return the seconds from now by `max_age`, or else by `Expires`; 0 if neither says.

    `Expires` counts from the answer's `Date`.
    """
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
    """Return the seconds that the answer has spent in caches."""
    age = header(headers, b"age")
    return float(age) if age is not None and _AGE.fullmatch(age) else 0.0


Left = Callable[[float], float]  # seconds until such a time


def _retry_after(value: bytes, left: Left) -> float:
    """Return the seconds to wait; 0 if the header is invalid."""
    text = value.decode("latin-1").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    at = read_any_date(text)
    return max(left(at), 0.0) if at is not None else 0.0


def sent_at(headers: list[tuple[bytes, bytes]]) -> float | None:
    """Return when the server sent its answer, by its own clock; None if it does not say."""
    value = next((value for name, value in headers if name.lower() == b"date"), b"")
    return read_any_date(value[:LONGEST_FIELD].decode("latin-1"))


_LIMITS = (
    b"ratelimit",
    b"ratelimit-policy",
    b"ratelimit-limit",
    b"ratelimit-remaining",
    b"ratelimit-reset",
)
NAMES = frozenset(before + name for before in (b"", b"x-") for name in (b"retry-after", *_LIMITS))
DAY = 86_400.0  # seconds: no time zone is so far away
LONGEST_FIELD = 2048  # bytes of a field that is read
EPOCH = 1e8  # seconds: a `Reset` beyond that is a time, as no server asks for three years
MILLISECONDS = 1e11  # a time beyond that is not in seconds: it would be the year 5138
# A name is a string by the draft; many servers send a token, without quotes.
_ITEM = re.compile(
    r'(?:"([^"]{0,64})"|(?<![^\s,])([A-Za-z*][\w.*:/-]{0,63})(?=\s*;))'
    r'((?:\s*;\s*[a-z*][a-z0-9_.*-]{0,31}(?:=(?:"[^"]{0,64}"|[^\s;,"]{1,130}))?)*)'
)
_PARAMETER = re.compile(r';\s*([^\s;,="]+)(?:=(?:"([^"]*)"|([^\s;,"]+)))?')  # of an item
_DIGITS = re.compile(r"[0-9.]{1,15}")
_OLD = re.compile(r"\b(limit|remaining|reset)\s*=\s*(\d{1,15})\b")
# alone, or the first of a list; no date
_NUMBER = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*(?:[,;].*)?")


def retry_after_of(headers: list[tuple[bytes, bytes]], now: float) -> float:
    """Return the seconds that the host asks for before the next request.

    0 if it asks for nothing, or for nonsense.

    It does only in headers of these NAMES: a caller that sees none of them need not call.
    """
    again = 0.0
    wait_fields: dict[str, str] = {}
    sent = sent_at(headers)

    def left(at: float) -> float:
        if sent is None:
            return at - now
        # A Date of more than a day ago, beside a time that lies ahead, is no clock.
        stands_still = sent < now - DAY and now < at
        return at - (now if stands_still else sent)

    for name, value in headers:
        lower = name.lower().removeprefix(b"x-")
        if lower == b"retry-after":
            again = max(again, _retry_after(value[:LONGEST_FIELD], left))
        elif lower in NAMES:
            # The limits are lists, which may go on in more fields of the same name.
            known = lower.decode()
            text = value[:LONGEST_FIELD].decode("latin-1")
            wait_fields[known] = (
                f"{wait_fields[known]}, {text}"[:LONGEST_FIELD] if known in wait_fields else text
            )
    if not wait_fields:
        return again
    return max(again, _limited(wait_fields, left))


def _limited(told: dict[str, str], left: Left) -> float:
    """Spread the requests that are left evenly over the time that is left.

    Without any, all of it is to pass.
    """
    field = told.get("ratelimit", "")
    policies = dict(_items(told.get("ratelimit-policy", "")))
    waits: list[float] = []
    for name, given in _items(field):
        window = given.get("t", policies.get(name, {}).get("w"))
        waits.append(_spread(_number(given.get("r")), _number(window)))
    old = dict(_OLD.findall(field))
    for name in ("remaining", "reset"):
        value = told.get(f"ratelimit-{name}", "")
        found = _NUMBER.fullmatch(value.strip())
        if found is not None:
            old.setdefault(name, found[1])
    if "remaining" in old and "reset" in old:
        seconds = _seconds_until(float(old["reset"]), left)
        waits.append(_spread(_number(old["remaining"]), seconds))
    return max(waits, default=0.0)


def _seconds_until(reset: float, left: Left) -> float:
    """Return the seconds that a `Reset` means: a number of them, or a time."""
    if reset > MILLISECONDS:
        return left(reset / 1000)
    if reset > EPOCH:
        return left(reset)
    return reset


def _items(field: str) -> list[tuple[str, dict[str, str]]]:
    """Return the members of a list, and their parameters.

    Those that count something else than requests are left out.
    """
    found = []
    for text, token, parameters in _ITEM.findall(field):
        given = {key: text or number for key, text, number in _PARAMETER.findall(parameters)}
        if given.get("qu", "requests") == "requests":
            found.append((text or token, given))
    return found


def _spread(remaining: float | None, window: float | None) -> float:
    if remaining is None or window is None or window <= 0:
        return 0.0
    return window / max(remaining, 1.0)


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text is not None and _DIGITS.fullmatch(text) else None
    except ValueError:
        return None
