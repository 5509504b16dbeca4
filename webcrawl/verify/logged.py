"""The fields of crawl.log, line by line, for the checks that compare it with something else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from webcrawl.store.regular import regular

LONGEST = 1 << 20  # bytes of a line
FIELDS = 12
STATUS, URL, PATH, NOTES = 1, 3, 4, 11  # positions


def logged(path: Path, start: int, end: int) -> Iterator[tuple[int, list[bytes]]]:
    """The place and the fields of each line between these bytes; of a damaged line whatever it has."""
    with regular(path) as file:
        file.seek(start)
        at = start
        while at < end and (line := file.readline(min(LONGEST, end - at))):
            yield at, line.split()
            at += len(line)
