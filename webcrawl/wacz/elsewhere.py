"""How many records of a package refer to archives that are not in it, and so cannot be replayed from it alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from webcrawl.store.regular import regular
from webcrawl.verify.members import Torn
from webcrawl.wacz.pages import REVISIT
from webcrawl.wacz.records import records

MARK = REVISIT.encode()
STAMP = 14  # digits
DATE = "WARC-Refers-To-Date"


def elsewhere(archive: Path, index: Path, first: str) -> int:
    """Of an archive file with its index: those that refer to a time before the first of the package."""
    return sum(date < first for date in _referred(archive, index))


def first_of(indexes: Iterable[Path]) -> str:
    """The first time in these indexes, as a stamp."""
    return min((stamp for index in indexes for stamp in _stamps(index)), default=b"").decode("latin-1")


def _stamps(index: Path) -> Iterator[bytes]:
    with regular(index) as lines:
        for line in lines:
            yield line.partition(b" ")[2][:STAMP]


def _referred(archive: Path, index: Path) -> Iterator[str]:
    """The times of the captures that its revisit records refer to, as stamps."""
    end = archive.stat().st_size
    with regular(index) as lines, regular(archive) as file:
        for line in lines:
            if MARK in line:
                at = int(json.loads(line.split(b" ", 2)[2])["offset"])
                record = next(records(file, at, end), None)
                if record is None:
                    raise Torn("the file ends early")
                if date := record.fields.get(DATE, ""):
                    yield "".join(filter(str.isdecimal, date))[:STAMP]
