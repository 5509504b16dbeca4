"""Recognises calendar pages by their URL: a date ends the path or is the value of a parameter."""

from __future__ import annotations

import re

# Without look-around, which RE2 does not support. `/2019/11/08/title` is an article, not a calendar. `start=2000` may
# be a page number, so only parameter names that refer to time count.
_MONTH = r"(?:0?[1-9]|1[0-2])"
_DAY = r"(?:0?[1-9]|[12][0-9]|3[01])"
_TWO_DIGITS = r"(?:0[1-9]|1[0-2])"
_COMPACT = rf"[0-9]{{4}}(?:{_TWO_DIGITS}(?:0[1-9]|[12][0-9]|3[01])?)?(?:[^0-9]|$)"
_PATHS = rf"/[0-9]{{4}}/{_MONTH}(?:/{_DAY})?/?(?:\?|$)|/[0-9]{{4}}-{_TWO_DIGITS}(?:-{_DAY})?/?(?:\?|$)"
DATE = (
    rf"{_PATHS}"
    rf"|[?&][^=&]*(?:date|month|year|calendar)[^=&]*={_COMPACT}"
    rf"|[?&](?:from|since|until|day|week|yr|ym|cal|when)=(?:[0-9]{{4}}-[0-9]|{_COMPACT})"
)

# The part of them without parameters that name a year and nothing closer: years are few, and articles have them too, as
# `?id=7&year=2022`.
_FINER = rf"[0-9]{{4}}(?:{_TWO_DIGITS}(?:0[1-9]|[12][0-9]|3[01])?(?:[^0-9]|$)|[^0-9&])"
_YEAR_NAME, _PART_NAME = r"(?:[^=&]*year[^=&]*|yr)", r"[^=&]*(?:mon|day|week)[^=&]*"
MONTHLY = (
    rf"{_PATHS}"
    rf"|[?&](?:[^=&]*(?:date|month|year|calendar)[^=&]*|from|since|until|day|week|yr|ym|cal|when)={_FINER}"
    rf"|[?&]{_YEAR_NAME}=[0-9]{{4}}&(?:.*&)?{_PART_NAME}=[0-9]"
    rf"|[?&]{_PART_NAME}=[0-9]{{1,2}}&(?:.*&)?{_YEAR_NAME}=[0-9]{{4}}"
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
