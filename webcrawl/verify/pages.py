"""Checks the rows of the table `pages`, one by one, against crawl.log, the archive and the table `links`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from webcrawl.store.errors import DamagedFile
from webcrawl.tables.progress import FOLDER, LOG, Part
from webcrawl.text.percent import visible
from webcrawl.verify.logged import STATUS, URL, logged
from webcrawl.verify.records import Records

COLUMNS = (
    *("fetch_status", "url", "links"),
    *("warc_filename", "warc_record_offset", "warc_record_length", "fetch_time", "content_digest"),
)
Row = tuple[Any, ...] | None  # None: of a file that is not here
Rows = Callable[..., Iterator[Row]]


def check_pages(
    jobdir: Path, pages: Rows, links: Rows, parts: list[Part], damaged: Collection[Path], found: Counter[str]
) -> Iterator[DamagedFile]:
    """Yields each row that says something else; of those that follow a missing or superfluous one, the first only."""
    log = jobdir / LOG
    left = links("from_url")
    agrees = log not in damaged
    lines = chain.from_iterable(lines_of(log, part) for part in parts) if agrees else iter(())
    with Records(jobdir, damaged) as records:
        counted = True
        for number, row in enumerate(pages(*COLUMNS)):
            line = next(lines, None)
            if row is None:
                counted = False  # how many links were its own is not known
                continue
            found["rows"] += 1
            status, url, count, *place = row
            if agrees and line != (str(status), visible(url)):
                agrees = False
                yield _odd(jobdir, number, f"{status} {url}, where crawl.log has {' '.join(line or ('no line',))}")
            if counted and any(link is not None and link[0] != url for link in islice(left, count)):
                counted = False
                yield _odd(jobdir, number, f"{url} has other links than its {count} rows of the table links")
            if place[0] is not None and (why := records.odd(*place)):
                yield _odd(jobdir, number, f"{url}: {why}")
        if agrees and next(lines, None) is not None:
            yield DamagedFile(log, 0, f"more lines than {FOLDER}/ has pages")
        if sum(1 for _ in left) and counted:
            yield DamagedFile(jobdir / FOLDER, 0, "more links than its pages have")


def _odd(jobdir: Path, number: int, why: str) -> DamagedFile:
    return DamagedFile(jobdir / FOLDER, 0, f"row {number} of pages: {why}")


def lines_of(log: Path, part: Part) -> Iterator[tuple[str, str]]:
    """Status and URL of each line of this part."""
    for _, fields in logged(log, part.start, part.end):
        status, url = (fields[STATUS], fields[URL]) if len(fields) > URL else (b"", b"")
        yield status.decode("ascii", "replace"), url.decode("ascii", "replace")
