"""Writes and checks LARM's page files: bodies in large files, and their places in logs/store.log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from webcrawl.base.model import Link
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import regular
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.log_lines import field
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.lines import lines_of
from webcrawl.store.output import OPEN, Output
from webcrawl.store.outputs import Outputs

LOG_PATH = "logs/store.log"


class PageFileFacts(NamedTuple):
    """What logs/store.log has of a page, beside its link and its place."""

    normalised: str  # the form in which URLs are compared
    status: int
    mime: str
    title: str


def log_line(link: Link, about: PageFileFacts, size: int, number: int, offset: int) -> bytes:
    """Return the line of a page in logs/store.log.

    Its ten fields are the linking page, URL, comparison form, kind of hop, status, MIME type, size,
    title, number of the page file, and offset in it. The kind of hop is the last letter of the
    discovery path: LARM has the kind of the link, which is no longer known here.
    """
    texts = "\t".join(map(field, (link.via, link.url, about.normalised, link.hops[-1:])))
    page = f"{about.status}\t{field(about.mime)}\t{size}\t{field(about.title)}"
    return f"{texts}\t{page}\t{number}\t{offset}\n".encode()


FOLDER, ENDING = "pages", ".pfl"
STATE_KEY = "pagefiles"  # in the database: the number of the file to which the next page goes
MAX_FILE_BYTES = 50_000_000  # as in LARM; a file with a single page may be longer


def page_file_name(number: int) -> str:
    """Return the path of this page file once it is finished."""
    return f"{FOLDER}/pagefile_{number:05d}{ENDING}"


class PageFiles:
    """Appends bodies to one page file after the other."""

    def __init__(self, db: CrawlDB, outputs: Outputs, size: int = MAX_FILE_BYTES) -> None:
        """Continue the file that an earlier run left open. A file has at most `size` bytes."""
        self._db = db
        self._outputs = outputs
        self._size = size
        self._log = outputs.open(LOG_PATH)
        self._number = int(db.get(STATE_KEY) or b"0")
        self._output: Output | None = None
        if outputs.holds(page_file_name(self._number) + OPEN):
            self._output = outputs.open(page_file_name(self._number) + OPEN)
        outputs.sweep(f"{FOLDER}/*{ENDING}{OPEN}")

    def write(self, link: Link, about: PageFileFacts, body: bytes) -> None:
        """Append a page and its line in the log.

        If this raises, the crawl ends, and the next start truncates both files.
        """
        if self._output is not None and self._output.tell() + len(body) > self._size:
            self.close()
        if self._output is None:
            self._output = self._outputs.open(page_file_name(self._number) + OPEN)
        number = self._number
        offset = self._output.tell()
        self._output.write(body)
        self._log.write(log_line(link, about, len(body), number, offset))

    def close(self) -> None:
        """Finish the open file, unless it is empty.

        It loses its `.open` after the next checkpoint has noted it.
        """
        if self._output is not None and self._output.tell():
            self._output.finish()
            self._output = None
            self._number += 1
            self._db.set(STATE_KEY, b"%d" % self._number)


NOTED_LENGTHS = "SELECT path, length FROM output WHERE path = ? OR path GLOB ?"


def _place_in_files(line: bytes) -> tuple[int, int, int] | None:
    """Return size, file number and offset of a page from its line, or None if it is damaged."""
    row = line.split(b"\t")
    if len(row) != 10:
        return None
    fields = row[6], row[8], row[9]
    if not all(field.strip().isdigit() for field in fields):
        return None
    size, number, offset = map(int, fields)
    return size, number, offset


def check_pagefiles(snapshot: Snapshot, jobdir: Path) -> Iterator[DamagedFile]:
    """Check that each page begins where the previous one ends, and the last one at the file's end.

    A damaged line ends the check: it is reported with the other logs.
    """
    noted = {
        path.removesuffix(OPEN): length
        for path, length in snapshot.rows(NOTED_LENGTHS, (LOG_PATH, f"{FOLDER}/*"))
    }
    log = jobdir / LOG_PATH
    length = noted.pop(LOG_PATH, 0)
    # A log that was noted and is missing is reported with the other outputs
    if not log.exists():
        return
    number = 0
    end = 0
    with regular(log) as file:
        for at, line in lines_of(file, length):
            place = _place_in_files(line)
            if place is None:
                return
            size, file_number, offset = place
            begins_next_file = file_number == number + 1 and offset == 0
            if begins_next_file and noted.pop(page_file_name(number), 0) == end:
                number = file_number
                end = 0
            if (file_number, offset) != (number, end):
                yield DamagedFile(
                    log,
                    at,
                    f"page file {file_number}, offset {offset}: "
                    "does not begin where the previous page ends",
                )
                return
            end += size
    if noted.pop(page_file_name(number), 0) != end:
        yield DamagedFile(
            jobdir / page_file_name(number), end, "its length differs from what logs/store.log says"
        )
    for name in sorted(noted):
        yield DamagedFile(jobdir / name, 0, "logs/store.log has no page of this file")
