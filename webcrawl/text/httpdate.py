"""Dates in the one form that HTTP senders must use (RFC 9110, 5.6.7): Sun, 06 Nov 1994 08:49:37 GMT."""

from __future__ import annotations

import time
from calendar import timegm

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NUMBERS = {name.encode(): number for number, name in enumerate(_MONTHS, 1)}
_LENGTH = 29


def http_date(seconds: int) -> bytes:
    """Whole seconds since 1970 in this form, whatever the locale."""
    year, month, day, hour, minute, second, weekday, _, _ = time.gmtime(seconds)
    return b"%s, %02d %s %04d %02d:%02d:%02d GMT" % (
        _DAYS[weekday].encode(),
        day,
        _MONTHS[month - 1].encode(),
        year,
        hour,
        minute,
        second,
    )


def read_http_date(text: bytes) -> int | None:
    """The inverse: None unless `http_date` gives exactly these bytes again."""
    month = _NUMBERS.get(text[8:11])
    if month is None or len(text) != _LENGTH:
        return None
    try:
        seconds = timegm(
            (int(text[12:16]), month, int(text[5:7]), int(text[17:19]), int(text[20:22]), int(text[23:25]))
        )
        return seconds if http_date(seconds) == text else None
    except (ValueError, OverflowError):  # a year 0, a day " 1" or "xx": not this form
        return None
