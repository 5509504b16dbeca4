"""Masks mail addresses and telephone numbers in a text, for data sets that should not carry them.

Recognised by their form alone. A number counts as a telephone number if it is written with a country
code (+49 …, 0049 …), with a leading zero in groups (030 1234 567), or as in North America
((212) 555-0123). Dates, versions, prices and identifiers of other forms stay.
"""

from __future__ import annotations

import re

MAIL, PHONE = "<email>", "<phone>"
# Both parts are bounded (RFC 5321 4.5.3.1): an endless word costs no more than a long one
_MAIL = re.compile(
    r"(?<![\w.+-])[\w+%-][\w.+%'-]{0,63}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w-])", re.ASCII
)
_BLANKS = r"[ .\-/\u00a0\u2011]"
_NUMBER = re.compile(
    rf"(?<![\w.,:/#=&?@-])(?:\+|\()?\d(?:{_BLANKS}?\(?\d\)?){{6,16}}(?!\w)(?!{_BLANKS}\d)", re.ASCII
)
_DATE = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{2,4}\b|\d{4}([./-])\d{1,2}\2\d{1,2}\b", re.ASCII)
_AMERICAN = re.compile(r"\(?[2-9]\d\d\)?[ .-][2-9]\d\d[ .-]\d{4}", re.ASCII)
_BOOK = re.compile(r"IS[BS]N[\w:-]{0,8}\s?$", re.IGNORECASE)
LONGEST_CODE = 15  # digits with the country code (ITU-T E.164)
SHORTEST = 7  # digits: fewer are a year, a price or a room


def masked(text: str) -> str:
    """Return the text with each mail address and telephone number replaced by its mark."""
    return _NUMBER.sub(_number, _MAIL.sub(MAIL, text))


def _number(found: re.Match[str]) -> str:
    written = found[0]
    is_book = _BOOK.search(found.string[max(0, found.start() - 16) : found.start()]) is not None
    return PHONE if not is_book and _is_phone(written) else written


def _is_phone(written: str) -> bool:
    """Return whether a run of digits, as `written`, is a telephone number by its form alone."""
    digits = sum(map(str.isdigit, written))
    # 00 stands for the + of a country code
    has_length = SHORTEST <= digits <= LONGEST_CODE + 2
    if not has_length or _DATE.match(written):
        return False
    if written.startswith(("+", "00")):
        return True
    if _AMERICAN.fullmatch(written):
        return True
    # Without any blank it may be any identifier
    is_in_groups = not written.isdigit()
    return is_in_groups and written.lstrip("(").startswith("0")
