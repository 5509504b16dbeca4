"""Times as text, independent of the locale: in logs and archives (UTC, milliseconds) and in HTTP."""

from __future__ import annotations

import re
import time
from calendar import timegm
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

_ISO, _DIGITS = "%Y-%m-%dT%H:%M:%S", "%Y%m%d%H%M%S"


def iso(seconds: float, *, fraction: bool = True) -> str:
    """Return seconds since 1970 as 2011-06-23T17:12:08.802Z, or without the fraction."""
    whole, thousandths = divmod(round(seconds * 1000), 1000)
    return _second(_ISO, whole) + (f".{thousandths:03d}Z" if fraction else "Z")


def digits(seconds: float) -> str:
    """Return seconds since 1970 as 17 digits, the form of ARC files: 20110623171208802."""
    whole, thousandths = divmod(round(seconds * 1000), 1000)
    return f"{_second(_DIGITS, whole)}{thousandths:03d}"


@lru_cache(32)
def _second(form: str, seconds: int) -> str:
    """Format a second.

    The result is cached: it takes 8 us, and hundreds of lines share a second.
    """
    return time.strftime(form, time.gmtime(seconds))


def read_iso(text: str) -> float:
    """Return the inverse of `iso`. Raise ValueError for other texts."""
    return (
        _read(text[:4], text[5:7], text[8:10], text[11:13], text[14:16], text[17:19])
        + int(text[20:23]) / 1000
    )


def read_digits(text: str) -> float:
    """Return the inverse of `digits`. Raise ValueError for other texts."""
    return _read(text[:4], *(text[at : at + 2] for at in range(4, 14, 2))) + int(text[14:17]) / 1000


def moment(date: str) -> str:
    """Return a time in the form of `iso` or `digits` for people: 2026-11-21 19:20:11 UTC."""
    numbers = re.sub(r"\D", "", date)
    day, time_of_day = numbers[:8], numbers[8:14]
    return (
        f"{day[:4]}-{day[4:6]}-{day[6:]} {time_of_day[:2]}:{time_of_day[2:4]}:{time_of_day[4:]} UTC"
    )


@lru_cache(64)
def _read(*numbers: str) -> int:
    year, month, day, hour, minute, second = map(int, numbers)
    return timegm((year, month, day, hour, minute, second))


LATEST = float(1 << 33)  # seconds since 1970: in 2242; tantivy's dates end in 2262


def seconds_of(date: str) -> float:
    """Return the seconds since 1970 of any program's WARC-Date, or 0 if it is not readable.

    A date before 1970, as the zero of Go's clock is, or centuries away counts as not readable.
    """
    try:
        # Python reads microseconds at most
        found = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", date)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
    return found if 0.0 < found < LATEST else 0.0


_DAYS = (b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun")
_MONTHS = (
    b"Jan",
    b"Feb",
    b"Mar",
    b"Apr",
    b"May",
    b"Jun",
    b"Jul",
    b"Aug",
    b"Sep",
    b"Oct",
    b"Nov",
    b"Dec",
)
_NUMBERS = {name: number for number, name in enumerate(_MONTHS, 1)}
_TWO_DIGITS = {b"%02d" % number: number for number in range(60)}
_DAY, _HTTP_LENGTH = 16, 29  # bytes of `Sun, 06 Nov 1994`, and of the whole
_CACHED = 4096  # days


def http_date(seconds: int) -> bytes:
    """Return whole seconds since 1970 as an HTTP date, whatever the locale."""
    day, second = divmod(seconds, 86_400)
    minute, second = divmod(second, 60)
    return b"%b %02d:%02d:%02d GMT" % (_day(day), *divmod(minute, 60), second)


def read_http_date(text: bytes) -> int | None:
    """Return the seconds of an HTTP date; None unless `http_date` gives exactly these bytes again."""
    if len(text) != _HTTP_LENGTH or not text.endswith(b" GMT"):
        return None
    # Every third byte from the 17th on is what stands between the numbers
    if text[16::3] != b" :: T":
        return None
    day = _read_day(text[:_DAY])
    hour = _TWO_DIGITS.get(text[17:19], 24)
    minute = _TWO_DIGITS.get(text[20:22])
    second = _TWO_DIGITS.get(text[23:25])
    # A leap second is no date of this form: `http_date` never writes the second 60
    if day is None or hour >= 24 or minute is None or second is None:
        return None
    return day * 86_400 + hour * 3600 + minute * 60 + second


def read_any_date(text: str) -> float | None:
    """Return the seconds since 1970 of a date in any form of mail and HTTP, or None.

    A date without a zone is in UTC: HTTP knows no other.
    """
    try:
        date = parsedate_to_datetime(text)
        return (date if date.tzinfo is not None else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


@lru_cache(_CACHED)
def _day(number: int) -> bytes:
    year, month, day, _, _, _, weekday, _, _ = time.gmtime(number * 86_400)
    return b"%b, %02d %b %04d" % (_DAYS[weekday], day, _MONTHS[month - 1], year)


@lru_cache(_CACHED)
def _read_day(text: bytes) -> int | None:
    """Return the number of days from 1970 to a date such as `Sun, 06 Nov 1994`; None for another
    form.

    None also for a wrong weekday, and for a day that its month does not have.
    """
    month = _NUMBERS.get(text[8:11])
    if month is None:
        return None
    try:
        number = timegm((int(text[12:16]), month, int(text[5:7]), 0, 0, 0)) // 86_400
        written = _day(number)
    except (ValueError, OverflowError):  # a year 0, a day "xx": not this form
        return None
    return number if written == text else None
