"""Checks that logs/store.log tells of every byte of the page files, and of no others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from webcrawl.pagefiles import FOLDER, LOG, name_of
from webcrawl.store.errors import DamagedFile
from webcrawl.store.regular import regular
from webcrawl.verify.lines import LONGEST
from webcrawl.verify.snapshot import Snapshot

NOTED = "SELECT path, length FROM output WHERE path = ? OR path GLOB ?"


def check_pagefiles(snapshot: Snapshot, jobdir: Path) -> Iterator[DamagedFile]:
    """Rows lie one behind the other, and end where their files end; a damaged row is reported with the other logs."""
    noted = {path.removesuffix(".open"): length for path, length in snapshot.rows(NOTED, (LOG, f"{FOLDER}/*"))}
    log, length = jobdir / LOG, noted.pop(LOG, 0)
    if not log.exists():  # reported, if it was noted
        return
    number, end, at = 0, 0, 0
    with regular(log) as file:
        while at < length:
            row = file.readline(min(LONGEST, length - at)).split(b"\t")
            if len(row) != 10 or not all(row[place].strip().isdigit() for place in (6, 8, 9)):
                return
            size, of, offset = (int(row[place]) for place in (6, 8, 9))
            if of == number + 1 and offset == 0 and noted.pop(name_of(number), 0) == end:
                number, end = of, 0
            if (of, offset) != (number, end):
                yield DamagedFile(log, at, f"page file {of}, offset {offset}: not where the page before ends")
                return
            end, at = end + size, at + sum(map(len, row)) + 9
    if noted.pop(name_of(number), 0) != end:
        yield DamagedFile(jobdir / name_of(number), end, "another length than logs/store.log says")
    for name in sorted(noted):
        yield DamagedFile(jobdir / name, 0, "no page of it is in logs/store.log")
