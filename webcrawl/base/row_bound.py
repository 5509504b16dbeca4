"""The bound on what is kept of a page's many rows: a few packed kilobytes may name 200,000 links below a long URL."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

FEW = 1000  # rows of one page that always fit: a URL has 2,000 characters


def fitting(columns: Sequence[Sequence[str]], each: int, most: int) -> int:
    """The number of first rows that have room in `most` characters if each has `each` more; at least FEW."""
    count = len(columns[0])
    if count <= FEW:
        return count
    sizes = map(sum, zip(*[map(len, column) for column in columns], strict=True))
    return max(FEW, bisect_right([*accumulate(each + size for size in sizes)], most))
