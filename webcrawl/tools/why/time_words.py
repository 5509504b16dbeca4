"""Times and quantities as people read them."""

from __future__ import annotations

from webcrawl.base.readable import count

MIB = 1 << 20


def moment(iso: str) -> str:
    """2026-11-21T19:20:11.123Z as 2026-11-21 19:20:11 UTC."""
    return f"{iso[:10]} {iso[11:19]} UTC"


def stamp(digits: str) -> str:
    """20261121192011 as 2026-11-21 19:20:11 UTC."""
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:8]} {digits[8:10]}:{digits[10:12]}:{digits[12:14]} UTC"


def iso_of(digits: str) -> str:
    """14 digits as the beginning of a time in a log."""
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}T{digits[8:10]}:{digits[10:12]}:{digits[12:14]}"


def size(number: int) -> str:
    """Bytes, in MiB where they are many."""
    return f"{number / MIB:,.0f} MiB" if number >= MIB else count(number, "byte")
