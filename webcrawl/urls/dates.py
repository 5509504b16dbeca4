"""Recognises calendar pages by their URL: a date ends the path or is the value of a parameter."""

from __future__ import annotations

import re

# Without look-around, which RE2 does not support. `/2019/11/08/title` is an article, not a calendar. `start=2000` may
# be a page number, so only parameter names that refer to time count.
_MONTH = r"(?:0?[1-9]|1[0-2])"
_DAY = r"(?:0?[1-9]|[12][0-9]|3[01])"
_TWO_DIGITS = r"(?:0[1-9]|1[0-2])"
_COMPACT = rf"[0-9]{{4}}(?:{_TWO_DIGITS}(?:0[1-9]|[12][0-9]|3[01])?)?(?:[^0-9]|$)"
DATE = (
    rf"/[0-9]{{4}}/{_MONTH}(?:/{_DAY})?/?(?:\?|$)"
    rf"|/[0-9]{{4}}-{_TWO_DIGITS}(?:-{_DAY})?/?(?:\?|$)"
    rf"|[?&][^=&]*(?:date|month|year|calendar)[^=&]*={_COMPACT}"
    rf"|[?&](?:from|since|until|day|week|yr|ym|cal|when)=(?:[0-9]{{4}}-[0-9]|{_COMPACT})"
)

_DATE = re.compile(rf"(?:{DATE})", re.IGNORECASE)
_YEAR = re.compile(r"[/=]([0-9]{4})")


def years(url: str) -> list[int]:
    """The years of all dates by which the URL is a calendar page."""
    found: list[str] = []
    date = _DATE.search(url)
    while date is not None:
        found += _YEAR.findall(date[0])
        date = _DATE.search(url, date.end() - 1)  # the end of one parameter is the start of the next
    return [int(year) for year in found]
