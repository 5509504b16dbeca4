"""Numbers for people."""

from __future__ import annotations

from collections.abc import Callable

UNITS = ("", "k", "M", "G", "T")
EXACT = 10_000  # smaller numbers are written out


def short(number: float) -> str:
    """12345 as `12k`: at most four characters below a thousand trillion, for numbers that are not negative."""
    if number < EXACT:
        return str(int(number))
    power = 0
    while number >= 999.5 and power < len(UNITS) - 1:
        number /= 1000
        power += 1
    return f"{number:.{1 if number < 9.95 else 0}f}{UNITS[power]}"


def count(number: int, noun: str, written: Callable[[int], str] = str) -> str:
    """A number and its noun: `1 page`, `2 pages`."""
    return f"{written(number)} {noun}" if number == 1 else f"{written(number)} {noun}s"
