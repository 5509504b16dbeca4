"""Parses FTP listings: MLSD, and LIST as Unix, MS-DOS, OS/2, OS/400, VMS and MVS write it. Names are bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from webcrawl.net.ftp_dates import is_day

LISTING = "text/x-ftp-listing"  # no type is registered; the parameter `format` is mlsd or list
_MAX_LINE = 8192

_FACT = re.compile(rb"([^=;\s]+)=([^;]*)")
_STAMP = re.compile(rb"([0-9]{8})(?:[01][0-9]|2[0-3])[0-5][0-9](?:[0-5][0-9]|60)(?:\.[0-9]+)?")  # RFC 3659 2.3

_DAY = rb"(?:0?[1-9]|[12][0-9]|3[01])"
_TIME = rb"(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9])?"
# Chinese, Japanese and Korean servers number the months, and may write a character of 2 or 3 bytes after any number.
_SIGN = rb"[\x80-\xff]{2,3}"
_MONTH = rb"(?:[A-Za-z\x80-\xff]{3,12}\.?|(?:0?[1-9]|1[0-2])%b)" % _SIGN
_WHEN = (
    rb"(?:(?:%(month)b\s{1,9}%(day)b(?:%(sign)b)?|%(day)b\.?\s{1,9}%(month)b),?\s{1,9}(?:%(time)b|[0-9]{4}(?:%(sign)b)?)"
    rb"|[0-9]{4}-[0-9]{2}-[0-9]{2}\s(?:%(time)b))" % {b"day": _DAY, b"time": _TIME, b"month": _MONTH, b"sign": _SIGN}
)
# The columns between mode and size differ between servers: the size is the first number followed by a date. If the
# number of links stands there, it is not negative, and ends at a blank.
_UNIX = (
    rb"([bcdflpsD-])(?:[rwxsStTlL-]{9}[+.@]?| \[[A-Z-]{8}\])(?=\s)(?!\s+(?:-[0-9]|[0-9]+[A-Za-z]))"
    rb".*?\s([0-9]+(?:,[0-9]+)*)\s{1,99}(%b)\s(.*\S.*)" % _WHEN
)
_DOS = (
    rb"([0-9]{2}-[0-9]{2}-(?:[0-9]{4}|[0-9]{2}))\s{1,9}%b\s?(?:[AaPp][Mm])?\s{1,99}"
    rb"(?:(<DIR>|<JUNCTION>|<SYMLINKD?>)|([0-9]+(?:[,.][0-9]+)*))\s{1,99}(\S.*)" % _TIME
)


_CLOCK = rb"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_ISO = rb"[0-9]{4}/[0-9]{2}/[0-9]{2}"
_RARE = (  # `folder` and `other` are groups that match for such an entry; of VMS and MVS the size is in other units
    rb"(?P<size>[0-9]{1,18})\s+(?:[RHSA]{1,4}\s+)?(?P<folder>DIR\s+)?"
    rb"(?P<date>[0-9]{2}-[0-9]{2}-(?:[0-9]{4}|[0-9]{2}))\s+%b\s+(?P<name>\S.*)" % _CLOCK,  # OS/2
    rb"\S+\s+(?P<size>[0-9]{1,18})\s+(?P<date>[0-9]{2}[/.][0-9]{2}[/.][0-9]{2})\s+%b:[0-5][0-9]\s+"
    rb"\*(?:(?P<folder>D?DIR|LIB|FLR)|D?STMF|MEM|(?P<other>[A-Z]+))\s+(?P<name>\S[^/]*)/?" % _CLOCK,  # OS/400
    rb"(?=[^\s;]*\.)(?P<name>[^\s;]+?)(?P<folder>\.DIR)?;[0-9]+\s+[0-9]+(?:/[0-9]+)?\s+"
    rb"(?P<date>[0-9]{1,2}-[A-Z]{3}-[0-9]{4})\s+%b(?::[0-5][0-9](?:\.[0-9]{2})?)?"
    rb"(?:\s+\[[^\](]+\]?\s+\((?:[RWED]*,){3}[RWED]*\))?\s*" % _CLOCK,  # VMS
    rb"\S{1,6}\s+\S+\s+(?:(?P<date>%b)|\*\*NONE\*\*)\s+[0-9]+\s+[0-9]+\s+(?:[FVU]\S*|NONE)\s+[0-9]+\s+[0-9]+\s+"
    rb"(?:(?P<folder>PO\S*)|\S+)\s+(?P<name>\S+)" % _ISO,  # MVS: datasets, some of them never opened
    rb"(?P<other>Migrated)\s{2,}(?P<name>\S+)",  # those on tape
    rb"(?P<name>[A-Z@#$][A-Z0-9@#$]{0,7})(?:\s+[0-9]{2}\.[0-9]{2}\s+(?P<date>%b)\s+(?P<changed>%b)\s+"
    rb"%b(?:\s+[0-9]+){3}\s+\S+\s*|\s{20,})" % (_ISO, _ISO, _CLOCK),  # members of one
)
_CUT = re.compile(rb"(;[0-9]+)[ \t]*\r?\n(?=[ \t])")  # VMS: a long name has a line of its own


@cache
def _dialects() -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """The patterns of a Unix line and of a DOS line, compiled on first use, for most crawls see no listing."""
    return re.compile(_UNIX, re.DOTALL), re.compile(_DOS, re.DOTALL)


@cache
def _rare_dialects() -> tuple[re.Pattern[bytes], ...]:
    return tuple(re.compile(pattern, re.DOTALL) for pattern in _RARE)


class Entry(NamedTuple):
    """One line. `kind` is file, folder, link or other; a link may point to a file or a folder."""

    name: bytes
    kind: str
    size: int | None = None


def entries(listing: bytes, *, mlsd: bool) -> Iterator[Entry]:
    """The readable lines, in order."""
    read = mlsd_entry if mlsd else list_entry
    if not mlsd and b";" in listing:
        listing = _CUT.sub(rb"\1", listing)
    for line in listing.split(b"\n"):
        if len(line) <= _MAX_LINE and (entry := read(line.removesuffix(b"\r"))) is not None:
            yield entry


def mlsd_entry(line: bytes) -> Entry | None:
    """RFC 3659 7.2: facts that each end in a semicolon, a space, the name up to the end of the line.

    Pure-FTPd writes a link's target into a fact, with the blanks that it has.
    """
    facts, space, name = (b"", b" ", line[1:]) if line.startswith(b" ") else line.partition(b"; ")
    if not space or not name:
        return None
    found = {}
    for fact in facts.split(b";") if facts else ():
        match = _FACT.fullmatch(fact)
        if match is None:
            return None
        found[match[1].lower()] = match[2]
    stamp, size = found.get(b"modify"), found.get(b"size", found.get(b"sizd", b""))
    if size and not size.isdigit():
        return None
    if stamp is not None and ((when := _STAMP.fullmatch(stamp)) is None or not is_day(when[1])):
        return None
    return Entry(name, _mlsd_kind(found.get(b"type", b"file").lower()), _number(size))


def list_entry(line: bytes) -> Entry | None:
    """A line of LIST, in any dialect; some servers indent it. Never raises."""
    line = line.lstrip(b" ")
    unix, dos = _dialects()
    match = unix.fullmatch(line)
    if match is not None:
        letter, size, when, name = match.groups()
        if not is_day(when):
            return None
        if line[1:3] == b" [":  # NetWare writes three blanks more before a name
            name = name.removeprefix(b"   ")
        if letter == b"l":
            return Entry(name.partition(b" -> ")[0] or name, "link", _number(size))
        return Entry(name, {b"d": "folder", b"-": "file", b"f": "file"}.get(letter, "other"), _number(size))
    match = dos.fullmatch(line)
    if match is None:
        return _rare_entry(line)
    when, special, size, name = match.groups()
    if not is_day(when):
        return None
    kinds = {None: "file", b"<DIR>": "folder"}
    return Entry(name, kinds.get(special, "link"), _number(size))


def _rare_entry(line: bytes) -> Entry | None:
    for dialect in _rare_dialects():
        match = dialect.fullmatch(line)
        if match is not None:
            found = match.groupdict()
            if not all(is_day(found[name]) for name in ("date", "changed") if found.get(name)):
                return None
            kind = "folder" if found.get("folder") else "other" if found.get("other") else "file"
            return Entry(found["name"], kind, _number(found.get("size")))
    return None


def _mlsd_kind(kind: bytes) -> str:
    if kind in (b"dir", b"cdir", b"pdir"):
        return "folder" if kind == b"dir" else "other"  # cdir is the listed folder itself, pdir its parent
    if kind.startswith((b"os.unix=slink", b"os.unix=symlink")):
        return "link"
    return "file" if kind in (b"file", b"") else "other"


def _number(digits: bytes | None) -> int | None:
    digits = (digits or b"").replace(b",", b"").replace(b".", b"")
    return int(digits) if digits.isdigit() and len(digits) < 19 else None
