"""Parses FTP listings: MLSD, and LIST as Unix and MS-DOS write it. Names are bytes."""

from __future__ import annotations

import re
from calendar import isleap
from collections.abc import Iterator
from datetime import date
from functools import cache
from typing import NamedTuple

# The days of months at most, by the first letters of their names in languages that write them in
# ASCII
_DAYS = {
    word.encode(): days
    for days, words in (
        (29, "feb fev lut uno vel hel vas"),
        (
            30,
            "apr avr abr kwi huh tra bal jun giu iun cze haz bir sep set sze wrz syy rgs nov noi stu kas lap",
        ),
        (
            31,
            "jan ene gen ian jaa sty led sij oca sau mar mrt mrz bre ozu kov may mai mei maj mag maa kve svi tou geg",
        ),
        (
            31,
            "jul jui juu lug iul lip srp kol hei lie tem aug ago avg aou agu ags sie elo rgp spa dub lis lok zar cer",
        ),
        (
            31,
            "oct okt out ott paz rij eki dec dez des dic det gru pro ara tam jou grd kes nis vee ruj eyl",
        ),
    )
    for word in words.split()
}
_WORD = re.compile(rb"(?<![A-Za-z\x80-\xff])[A-Za-z]{3,}(?![A-Za-z\x80-\xff])")
_CLOCK = re.compile(rb"[0-9]+:[0-9:]+")
_LEAP = 2000  # where no year is named


def is_day(text: bytes) -> bool:
    """Return whether a date, perhaps with a time, is one of the calendar.

    It may be in any of the orders that servers use.
    """
    text = _CLOCK.sub(b"", text)
    if text.isdigit():
        return _exists(int(text[:4]), int(text[4:6]), int(text[6:]))
    numbers = [int(digits) for digits in re.findall(rb"[0-9]+", text)]
    word = _WORD.search(text)
    if word is not None:
        return _is_of_month(word[0], numbers)
    if text.isascii():
        return _is_numbered(*numbers)
    return _is_signed(numbers)


def _is_of_month(name: bytes, numbers: list[int]) -> bool:
    """Return whether the month with this name has the day, which is the first number."""
    days = _DAYS.get(name[:3].lower(), 0)
    is_february = days == 29
    if is_february and not isleap(_year(numbers)):
        days = 28
    return 0 < numbers[0] <= days


def _is_signed(numbers: list[int]) -> bool:
    """Return whether a date with signs behind its numbers can be one.

    The month is a number, or else a word of letters beyond ASCII, of which nothing is known.
    """
    year = _year(numbers)
    month_is_a_word = len(numbers) == 1 or numbers[1] == year
    return month_is_a_word or _exists(year, numbers[0], numbers[1])


def _year(numbers: list[int]) -> int:
    last = numbers[-1]
    return last if last > 31 else _LEAP  # up to 31 it is a day, and the year is not named


def _is_numbered(first: int, second: int, third: int) -> bool:
    if first > 99:
        return _exists(first, second, third)
    return (
        _exists(third, first, second)
        or _exists(third, second, first)
        or _exists(first, second, third)
    )


def _exists(year: int, month: int, day: int) -> bool:
    try:
        date(year if year > 99 else 2000 + year, month, day)
    except ValueError:
        return False
    return True


LISTING = "text/x-ftp-listing"  # no type is registered; the parameter `format` is mlsd or list
_MAX_LINE = 8192  # bytes; longer lines are skipped

_FACT = re.compile(rb"([^=;\s]+)=([^;]*)")
# RFC 3659 2.3
_STAMP = re.compile(rb"([0-9]{8})(?:[01][0-9]|2[0-3])[0-5][0-9](?:[0-5][0-9]|60)(?:\.[0-9]+)?")

_DAY = rb"(?:0?[1-9]|[12][0-9]|3[01])"
_TIME = rb"(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9])?"
# Chinese, Japanese and Korean servers number the months, and may write a character of 2 or 3 bytes
# after any number.
_SIGN = rb"[\x80-\xff]{2,3}"
_MONTH = rb"(?:[A-Za-z\x80-\xff]{3,12}\.?|(?:0?[1-9]|1[0-2])%b)" % _SIGN
_WHEN = (
    rb"(?:(?:%(month)b\s{1,9}%(day)b(?:%(sign)b)?|%(day)b\.?\s{1,9}%(month)b),?\s{1,9}(?:%(time)b|[0-9]{4}(?:%(sign)b)?)"
    rb"|[0-9]{4}-[0-9]{2}-[0-9]{2}\s(?:%(time)b))"
    % {b"day": _DAY, b"time": _TIME, b"month": _MONTH, b"sign": _SIGN}
)
# The columns between mode and size differ between servers: the size is the first number followed by
# a date. If the number of links stands there, it is not negative, and ends at a blank.
_UNIX = (
    rb"([bcdflpsD-])[rwxsStTlL-]{9}[+.@]?(?=\s)(?!\s+(?:-[0-9]|[0-9]+[A-Za-z]))"
    rb".*?\s([0-9]+(?:,[0-9]+)*)\s{1,99}(%b)\s(.*\S.*)" % _WHEN
)
_DOS = (
    rb"([0-9]{2}-[0-9]{2}-(?:[0-9]{4}|[0-9]{2}))\s{1,9}%b\s?(?:[AaPp][Mm])?\s{1,99}"
    rb"(?:(<DIR>|<JUNCTION>|<SYMLINKD?>)|([0-9]+(?:[,.][0-9]+)*))\s{1,99}(\S.*)" % _TIME
)


@cache
def _dialects() -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Compile the patterns of a Unix line and of a DOS line; most crawls see no listing."""
    return re.compile(_UNIX, re.DOTALL), re.compile(_DOS, re.DOTALL)


class FtpEntry(NamedTuple):
    """One line. `kind` is file, folder, link or other; a link may point to a file or a folder."""

    name: bytes
    kind: str
    size: int | None = None


def entries(listing: bytes, *, mlsd: bool) -> Iterator[FtpEntry]:
    """Yield the entries of the readable lines, in order."""
    read = mlsd_entry if mlsd else list_entry
    for line in listing.split(b"\n"):
        if len(line) <= _MAX_LINE and (entry := read(line.removesuffix(b"\r"))) is not None:
            yield entry


def mlsd_entry(line: bytes) -> FtpEntry | None:
    """Return the entry of a line of MLSD, or None if the line has none.

    RFC 3659 7.2: facts that each end in a semicolon, a space, the name up to the end of the line.
    """
    if line.startswith(b" "):  # no facts
        facts = b""
        name = line[1:]
    else:
        facts, _, name = line.partition(b"; ")
    if not name:
        return None
    found = _facts(facts)
    if found is None:
        return None
    size = found.get(b"size", found.get(b"sizd", b""))
    if size and not size.isdigit():
        return None
    if b"modify" in found and not _is_time(found[b"modify"]):
        return None
    return FtpEntry(name, _mlsd_kind(found.get(b"type", b"file").lower()), _number(size))


def _facts(written: bytes) -> dict[bytes, bytes] | None:
    """Return a line's facts by lower-case name, or None if any fact is malformed.

    Pure-FTPd writes a link's target into a fact, spaces included.
    """
    found: dict[bytes, bytes] = {}
    if not written:
        return found
    for fact in written.split(b";"):
        match = _FACT.fullmatch(fact)
        if match is None:
            return None
        found[match[1].lower()] = match[2]
    return found


def _is_time(stamp: bytes) -> bool:
    """Return whether a fact is a time of the calendar, as RFC 3659 2.3 writes one."""
    found = _STAMP.fullmatch(stamp)
    return found is not None and is_day(found[1])


def list_entry(line: bytes) -> FtpEntry | None:
    """Return the entry of a line of LIST, which some servers indent; None if it has none.

    Never raise.
    """
    line = line.lstrip(b" ")
    unix, dos = _dialects()
    match = unix.fullmatch(line)
    if match is not None:
        return _unix_entry(*match.groups())
    match = dos.fullmatch(line)
    if match is None:
        return None
    when, special, size, name = match.groups()
    if not is_day(when):
        return None
    kinds = {None: "file", b"<DIR>": "folder"}
    return FtpEntry(name, kinds.get(special, "link"), _number(size))


_UNIX_KINDS = {b"d": "folder", b"-": "file", b"f": "file"}


def _unix_entry(letter: bytes, size: bytes, when: bytes, name: bytes) -> FtpEntry | None:
    if not is_day(when):
        return None
    if letter != b"l":
        return FtpEntry(name, _UNIX_KINDS.get(letter, "other"), _number(size))
    return FtpEntry(name.partition(b" -> ")[0] or name, "link", _number(size))


def _mlsd_kind(kind: bytes) -> str:
    if kind == b"dir":
        return "folder"
    # cdir is the listed folder itself, pdir its parent
    if kind in (b"cdir", b"pdir"):
        return "other"
    if kind.startswith((b"os.unix=slink", b"os.unix=symlink")):
        return "link"
    return "file" if kind in (b"file", b"") else "other"


def _number(digits: bytes | None) -> int | None:
    digits = (digits or b"").replace(b",", b"").replace(b".", b"")
    # So many digits fit a size in 64 bits.
    if not digits.isdigit() or len(digits) >= 19:
        return None
    return int(digits)
