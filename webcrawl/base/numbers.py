"""Numbers as people read them, and how many rows of a page are kept."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from webcrawl.base import readable

FEW = 1000  # rows of one page that always fit: a URL has 2,000 characters


def fitting(columns: Sequence[Sequence[str]], each: int, most: int) -> int:
    """Return how many first rows fit into `most` characters with `each` more per row; at least FEW."""
    count = len(columns[0])
    if count <= FEW:
        return count
    sizes = map(sum, zip(*[map(len, column) for column in columns], strict=True))
    return max(FEW, bisect_right([*accumulate(each + size for size in sizes)], most))


UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
MINUTE, HOUR, DAY = 60, 3600, 86_400


def number(value: float) -> str:
    """Return 12345 as `12,345`, and a number that is not whole with three significant digits."""
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def size(value: float) -> str:
    """Return a number of bytes in decimal units: `39.2 MB`."""
    power = 0
    # From there on three digits would be shown as 1000
    while value >= 999.5 and power < len(UNITS) - 1:
        value /= 1000
        power += 1
    is_whole = not power or value >= 99.95
    shown = f"{value:.0f}" if is_whole else f"{value:.3g}"
    # A no-break space: the unit stays beside its number in a table
    return f"{shown}\u00a0{UNITS[power]}"


def binary(value: int) -> str:
    """Return a power of two as the paper labels it: `64`, `4K`, `1M`."""
    for unit, power in (("T", 40), ("G", 30), ("M", 20), ("K", 10)):
        if value >= 1 << power:
            return f"{value >> power}{unit}"
    return str(value)


def percent(part: float, whole: float) -> str:
    """Return a share, never shown as nothing if it is something, nor as all if it is not."""
    if not whole:
        return "-"
    share = 100 * part / whole
    if 0 < share < 0.05:
        return "< 0.1 %"
    if part < whole:
        share = min(share, 99.9)
    return f"{share:.1f} %"


def seconds(value: float) -> str:
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 2 * MINUTE:
        return f"{value:.3g} s"
    if value < 2 * HOUR:
        return f"{value / MINUTE:.0f} min"
    return f"{value / HOUR:.0f} h" if value < 3 * DAY else f"{value / DAY:,.1f} days"


def when(at: float) -> str:
    """Return a time in UTC."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at))
    except (OverflowError, ValueError, OSError):
        return "-"


def count(value: int, noun: str) -> str:
    """Return a number with its noun: `1 page`, `2,345 pages`."""
    return readable.count(value, noun, number)
