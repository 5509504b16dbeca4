"""Checks the rows of the table `changes` against crawl.log: each is of one of its lines, in their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path

from webcrawl.store.errors import DamagedFile
from webcrawl.tables.progress import FOLDER, LOG, Part
from webcrawl.text.percent import visible
from webcrawl.verify.pages import Rows, lines_of


def check_changes(
    jobdir: Path, changes: Rows, parts: list[Part], damaged: Collection[Path], found: Counter[str]
) -> Iterator[DamagedFile]:
    """Yields the first row of each run's that has no line: those that follow it may be compared with the wrong ones."""
    log = jobdir / LOG
    rows, number = changes("fetch_status", "url"), 0
    for part in parts:
        lines = lines_of(log, part) if log not in damaged else None
        for row in islice(rows, part.rows):
            number += 1
            if row is None:  # of a file that is not here
                continue
            found["changes"] += 1
            status, url = row
            if lines is not None and (str(status), visible(url)) not in lines:  # reads on to the line
                lines = None
                yield DamagedFile(jobdir / FOLDER, 0, f"row {number - 1} of changes: crawl.log has no {status} {url}")
    if next(rows, None) is not None:
        yield DamagedFile(jobdir / FOLDER, 0, "more rows of changes than were noted")
