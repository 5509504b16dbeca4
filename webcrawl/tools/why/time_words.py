"""Times and quantities as people read them."""

from __future__ import annotations

from webcrawl.base.readable import count

UNITS = ((86_400.0, "day"), (3600.0, "hour"), (60.0, "minute"))
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


def after(seconds: float) -> str:
    """A duration, roughly, as a time to come."""
    for unit, name in UNITS:
        if seconds >= unit:
            return f"in about {count(round(seconds / unit), name)}"
    return f"in about {count(round(seconds), 'second')}" if seconds >= 1 else "at once"


def size(number: int) -> str:
    """Bytes, in MiB where they are many."""
    return f"{number / MIB:,.0f} MiB" if number >= MIB else count(number, "byte")
