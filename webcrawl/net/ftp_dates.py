"""Tells days of the calendar from what only looks like one, in the forms of FTP listings."""

from __future__ import annotations

import re
from calendar import isleap
from datetime import date

# The days of months at most, by the first letters of their names in languages that write them in ASCII
_DAYS = {
    word.encode(): days
    for days, words in (
        (29, "feb fev lut uno vel hel vas"),
        (30, "apr avr abr kwi huh tra bal jun giu iun cze haz bir sep set sze wrz syy rgs nov noi stu kas lap"),
        (31, "jan ene gen ian jaa sty led sij oca sau mar mrt mrz bre ozu kov may mai mei maj mag maa kve svi tou geg"),
        (31, "jul jui juu lug iul lip srp kol hei lie tem aug ago avg aou agu ags sie elo rgp spa dub lis lok zar cer"),
        (31, "oct okt out ott paz rij eki dec dez des dic det gru pro ara tam jou grd kes nis vee ruj eyl"),
    )
    for word in words.split()
}
_WORD = re.compile(rb"(?<![A-Za-z\x80-\xff])[A-Za-z]{3,}(?![A-Za-z\x80-\xff])")
_CLOCK = re.compile(rb"[0-9]+:[0-9:]+")
_LEAP = 2000  # where no year is named


def is_day(text: bytes) -> bool:
    """True if a date, which may have a time, is one of the calendar, in one of the orders that servers use."""
    text = _CLOCK.sub(b"", text)
    if text.isdigit():
        return _exists(int(text[:4]), int(text[4:6]), int(text[6:]))
    numbers = [int(digits) for digits in re.findall(rb"[0-9]+", text)]
    word = _WORD.search(text)
    if text.isascii() and word is None:
        return _is_numbered(*numbers)
    year = numbers[-1] if numbers[-1] > 31 else _LEAP
    if word is not None:
        days = _DAYS.get(word[0][:3].lower(), 0)
        return 0 < numbers[0] <= days - (days == 29 and not isleap(year))
    return len(numbers) == 1 or numbers[1] == year or _exists(year, numbers[0], numbers[1])


def _is_numbered(first: int, second: int, third: int) -> bool:
    if first > 99:
        return _exists(first, second, third)
    return _exists(third, first, second) or _exists(third, second, first) or _exists(first, second, third)


def _exists(year: int, month: int, day: int) -> bool:
    try:
        date(year if year > 99 else 2000 + year, month, day)
    except ValueError:
        return False
    return True
