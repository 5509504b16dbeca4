"""LARM's page files: bodies one after the other in large files, and logs/store.log with places."""

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

LOG = "logs/store.log"


class PageFileFacts(NamedTuple):
    """The fields of the log on a page, beside its link."""

    normalised: str  # the form in which URLs are compared
    status: int
    mime: str
    title: str


def line(link: Link, about: PageFileFacts, size: int, number: int, offset: int) -> bytes:
    """Return a page's line in logs/store.log.

    Its fields are page, URL, comparison form, way to it, status, MIME type, size, title, page file,
    and offset in that. The way is the last letter of the discovery path; LARM has the kind of the
    link there, which is no longer known.
    """
    texts = "\t".join(map(field, (link.via, link.url, about.normalised, link.hops[-1:])))
    page = f"{about.status}\t{field(about.mime)}\t{size}\t{field(about.title)}"
    return f"{texts}\t{page}\t{number}\t{offset}\n".encode()


FOLDER, ENDING = "pages", ".pfl"
STATE = "pagefiles"  # in the database: the number of the file to which the next page goes
SIZE = 50_000_000  # bytes of a file at most, as in LARM; only a longer page makes it longer


def name_of(number: int) -> str:
    """Return the path of this page file once it is finished."""
    return f"{FOLDER}/pagefile_{number:05d}{ENDING}"


class PageFiles:
    """Appends bodies to one file after the other.

    A file that a former run left open is continued.
    """

    def __init__(self, db: CrawlDB, outputs: Outputs, size: int = SIZE) -> None:
        self._db = db
        self._outputs = outputs
        self._size = size
        self._log = outputs.open(LOG)
        self._number = int(db.get(STATE) or b"0")
        self._output: Output | None = None
        if outputs.holds(name_of(self._number) + OPEN):
            self._output = outputs.open(name_of(self._number) + OPEN)
        outputs.sweep(f"{FOLDER}/*{ENDING}{OPEN}")

    def write(self, link: Link, about: PageFileFacts, body: bytes) -> None:
        """Store a page. If this raises, the crawl ends, and the next start cuts both files back."""
        if self._output is not None and self._output.tell() + len(body) > self._size:
            self.close()
        if self._output is None:
            self._output = self._outputs.open(name_of(self._number) + OPEN)
        number = self._number
        offset = self._output.tell()
        self._output.write(body)
        self._log.write(line(link, about, len(body), number, offset))

    def close(self) -> None:
        """Finish the open file. It loses its `.open` after the next checkpoint has noted it."""
        if self._output is not None and self._output.tell():
            self._output.finish()
            self._output = None
            self._number += 1
            self._db.set(STATE, b"%d" % self._number)


NOTED = "SELECT path, length FROM output WHERE path = ? OR path GLOB ?"


def _place_in_files(line: bytes) -> tuple[int, int, int] | None:
    """Return size, file number and offset of a page, or None if the row is damaged."""
    row = line.split(b"\t")
    if len(row) != 10:
        return None
    fields = row[6], row[8], row[9]
    if not all(field.strip().isdigit() for field in fields):
        return None
    size, number, offset = map(int, fields)
    return size, number, offset


def check_pagefiles(snapshot: Snapshot, jobdir: Path) -> Iterator[DamagedFile]:
    """Check that pages lie one behind the other, and end where their files end.

    A damaged row ends the check: it is reported with the other logs.
    """
    noted = {
        path.removesuffix(OPEN): length
        for path, length in snapshot.rows(NOTED, (LOG, f"{FOLDER}/*"))
    }
    log = jobdir / LOG
    length = noted.pop(LOG, 0)
    # Its absence is reported if it was noted
    if not log.exists():
        return
    number = 0
    end = 0
    with regular(log) as file:
        for at, line in lines_of(file, length):
            place = _place_in_files(line)
            if place is None:
                return
            size, of, offset = place
            if of == number + 1 and offset == 0 and noted.pop(name_of(number), 0) == end:
                number = of
                end = 0
            if (of, offset) != (number, end):
                yield DamagedFile(
                    log,
                    at,
                    f"page file {of}, offset {offset}: does not begin where the previous page ends",
                )
                return
            end += size
    if noted.pop(name_of(number), 0) != end:
        yield DamagedFile(
            jobdir / name_of(number), end, "its length differs from what logs/store.log says"
        )
    for name in sorted(noted):
        yield DamagedFile(jobdir / name, 0, "logs/store.log has no page of this file")
