"""Checks that the tables can be read, have the noted rows, and agree with log and archive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from importlib.util import find_spec
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any, BinaryIO, Self

from webcrawl.base.digest import SHA256, algorithm, normal
from webcrawl.base.url_text import visible
from webcrawl.record.tables.table_files import (
    ALONE,
    FOLDER,
    ROWS,
    STATE,
    LogRange,
    TableProgress,
    where,
)
from webcrawl.record.warc.capture import UNMODIFIED
from webcrawl.record.warc.reader import sound_records
from webcrawl.record.warc.unpacked_stream import TornRecord
from webcrawl.store.disk import regular
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.crawl_line import LOG, STATUS, URL, each
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.output import OPEN, STREAM

# After it a document has the status of the earlier answer (docs/reprocess-and-since.md)
UNCHANGED = "304"
UNREAD = "tables unread"  # among the figures: there are tables, but pyarrow is not installed


def check_tables(
    snapshot: Snapshot, jobdir: Path, damaged: Collection[Path], found: Counter[str]
) -> Iterator[DamagedFile]:
    """Compare the tables with crawl.log, the archive and each other, and count rows.

    Files that are `damaged`, and those that their owner has taken away, are left out.
    """
    noted = dict(
        snapshot.rows("SELECT path, length FROM output WHERE path GLOB ?", (f"{FOLDER}/*",))
    )
    notes = {name: data for name in (STATE, *ALONE) if (data := snapshot.get(name)) is not None}
    if not notes:
        return
    try:
        progress = dict.fromkeys((STATE, *ALONE), TableProgress()) | {
            name: TableProgress.of(notes[name]) for name in notes
        }
        growing = {
            f"{stream.name}{STREAM}": stream.rows
            for table in progress.values()
            for stream in table.streams
        }
        rows = _rows_of_finished(snapshot) | growing
    except (ValueError, TypeError, KeyError) as error:
        names = ", ".join(notes)
        yield snapshot.damaged(f"table meta, {names}: {error!r}", value=b"".join(notes.values()))
        return
    streams = {name for name in noted if name.endswith(STREAM)}
    if odd := streams ^ growing.keys():
        yield snapshot.damaged(
            f"table meta, {', '.join(notes)}: {min(odd)} is noted in only one of two places"
        )
        return
    if find_spec("pyarrow") is None:
        found[UNREAD] += bool(noted)
        return
    tables = {
        table: _Table(
            jobdir,
            {name: noted[name] for name in sorted(noted) if _table(name) == table},
            rows,
            damaged,
        )
        for table in ("pages", "links", "hosts", "chunks", *map(_alone, ALONE))
    }
    parts = progress[STATE].parts
    yield from check_pages(
        jobdir, tables["pages"].rows, tables["links"].rows, parts, damaged, found
    )
    for note in ALONE:
        table = _alone(note)
        yield from check_alone(
            jobdir, table, tables[table].rows, progress[note].parts, damaged, found
        )
    for one in tables.values():
        yield from one.rest()


def _rows_of_finished(snapshot: Snapshot) -> dict[str, int]:
    """Return the number of rows in each finished file. Raise ValueError if one is not a number."""
    saved = snapshot.rows("SELECT name, value FROM meta WHERE name GLOB ?", (f"{ROWS}*",))
    return {name.removeprefix(ROWS): int(value) for name, value in saved}


def _alone(note: str) -> str:
    return note.removeprefix(f"{FOLDER}/")


def _table(name: str) -> str:
    return name.removeprefix(f"{FOLDER}/").partition("-")[0]


class _Table:
    """The files of one table, in the order in which they were written."""

    def __init__(
        self, jobdir: Path, lengths: dict[str, int], rows: dict[str, int], damaged: Collection[Path]
    ) -> None:
        self._jobdir = jobdir
        self._lengths = lengths
        self._expected = rows
        self._damaged = damaged
        self._begun = False
        self.damages: list[DamagedFile] = []

    def rows(self, *columns: str) -> Iterator[Row]:
        """Yield the values of these columns; what is wrong with a file is added to `damages`."""
        from webcrawl.record.tables.parquet import batches  # noqa: PLC0415 - pyarrow is optional

        self._begun = True
        for name, length in self._lengths.items():
            path = where(self._jobdir, name)
            expected = self._expected.get(name, 0)
            count = 0
            if path is not None and path not in self._damaged:
                try:
                    for batch in batches(path, columns, length):
                        count += batch.num_rows
                        yield from zip(
                            *(batch.column(column).to_pylist() for column in columns), strict=True
                        )
                except Exception as error:  # noqa: BLE001 - pyarrow's, of any kind, for bytes of any kind
                    self.damages.append(DamagedFile(path, 0, " ".join(str(error).split())))
                else:
                    if count != expected:
                        self.damages.append(
                            DamagedFile(path, 0, f"it has {count} rows, but {expected} are noted")
                        )
            # In place of rows that cannot be read, so that the later ones keep their lines
            yield from repeat(None, max(0, expected - count))

    def rest(self) -> Iterator[DamagedFile]:
        """Yield what is wrong with the files, and read those that are not read yet."""
        if not self._begun:
            for _ in self.rows("url_host_name"):
                pass
        yield from self.damages


# Metadata are those of withheld answers
TYPES = ("response", "revisit", "resource", "conversion", "metadata")


class ArchivePlaceCheck:
    """The archive's files, one open at a time: places come in the order in which they were written."""

    def __init__(self, jobdir: Path, damaged: Collection[Path]) -> None:
        self._folder = jobdir / "warc"
        self._damaged = damaged
        self._name = ""
        self._file: BinaryIO | None = None
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def odd(self, name: str, offset: int, length: int, time: datetime, digest: str | None) -> str:
        """Return what is wrong with this place, or an empty string.

        A place in a file that is damaged or missing is not checked.
        """
        file = self._of(name)
        if file is None:
            return ""
        try:
            record = next(
                sound_records(self._folder / name, file, 0, offset, offset + length), None
            )
        except TornRecord as torn:
            return f"{name} has no record at byte {offset}: {torn}"
        if record is None:
            return f"{name} has no record at byte {offset}: the file ends before that"
        # WARC 1.0 has whole seconds only
        date = record.fields.get("warc-date", "-").rstrip("Z")
        fetched = time.isoformat(timespec="milliseconds")
        is_of_page = record.kind in TYPES and fetched.startswith(date)
        if record.length != length or not is_of_page:
            return f"{name} has a different record at byte {offset}"
        if record.kind != "conversion" and _has_other(record.fields, f"sha1:{digest}"):
            return f"{name} has a different payload at byte {offset}"
        return ""

    def _of(self, name: str) -> BinaryIO | None:
        if name == self._name:
            return self._file
        self._open.close()
        self._name = name
        self._file = None
        for path in (self._folder / name, self._folder / f"{name}{OPEN}"):
            if path.exists() and path not in self._damaged:
                self._file = self._open.enter_context(regular(path))
                break
        return self._file


def _has_other(fields: Mapping[str, str], digest: str) -> bool:
    """Return whether the record names another payload than that of this SHA-1.

    None is named with a transfer coding. A revisit record has the digest of the record that it
    refers to: that may be a SHA-256, or, if the profile does not say that the payloads are
    identical, of another coding of the same body.
    """
    theirs = fields.get("warc-payload-digest")
    if theirs is None or UNMODIFIED in fields.get("warc-profile", ""):
        return False
    known = normal(theirs)
    return algorithm(known) != SHA256 and known != digest


COLUMNS = (
    *("fetch_status", "url", "links"),
    *("warc_filename", "warc_record_offset", "warc_record_length", "fetch_time", "content_digest"),
)
Row = tuple[Any, ...] | None  # None: of a file that is not here
Rows = Callable[..., Iterator[Row]]


def check_pages(
    jobdir: Path,
    pages: Rows,
    links: Rows,
    parts: list[LogRange],
    damaged: Collection[Path],
    found: Counter[str],
) -> Iterator[DamagedFile]:
    """Yield each row that differs from its line, and the first after a missing or superfluous row."""
    log = jobdir / LOG
    left = links("from_url")
    agrees = log not in damaged
    lines = chain.from_iterable(lines_of(log, part) for part in parts) if agrees else iter(())
    with ArchivePlaceCheck(jobdir, damaged) as records:
        counted = True
        for number, row in enumerate(pages(*COLUMNS)):
            line = next(lines, None)
            if row is None:
                # It is not known how many links were its own
                counted = False
                continue
            found["rows"] += 1
            status, url, count, *place = row
            if agrees and line != (str(status), visible(url)):
                agrees = False
                yield _odd(
                    jobdir,
                    number,
                    f"it has {status} {url}, but crawl.log has {' '.join(line or ('no line',))}",
                )
            if counted and not _are_of(url, islice(left, count)):
                counted = False
                yield _odd(
                    jobdir,
                    number,
                    f"{url}: its {count} rows in the table links are not all of this page",
                )
            is_archived = place[0] is not None
            if is_archived:
                found["archived rows"] += 1
                why = records.odd(*place)
                if why:
                    yield _odd(jobdir, number, f"{url}: {why}")
        if agrees and next(lines, None) is not None:
            yield DamagedFile(log, 0, f"it has more lines than {FOLDER}/ has pages")
        if sum(1 for _ in left) and counted:
            yield DamagedFile(jobdir / FOLDER, 0, "it has more links than its pages have")


def _are_of(url: str, links: Iterable[Sequence[Any] | None]) -> bool:
    """Return whether these rows of links, as far as they can be read, are of this page."""
    return not any(link is not None and link[0] != url for link in links)


def _odd(jobdir: Path, number: int, why: str) -> DamagedFile:
    return DamagedFile(jobdir / FOLDER, 0, f"row {number} of pages: {why}")


def lines_of(log: Path, part: LogRange) -> Iterator[tuple[str, str]]:
    """Yield status and URL of each line of this part."""
    for _, fields in each(log, part.start, part.end):
        if len(fields) > URL:
            status = fields[STATUS].decode("ascii", "replace")
            yield status, fields[URL].decode("ascii", "replace")
        else:
            # A torn line is reported with the log, and is a line all the same
            yield "", ""


def check_alone(
    jobdir: Path,
    table: str,
    read: Rows,
    parts: list[LogRange],
    damaged: Collection[Path],
    found: Counter[str],
) -> Iterator[DamagedFile]:
    """Yield the first row of each run that has no line: later ones may be compared wrongly."""
    log = jobdir / LOG
    rows = read("fetch_status", "url")
    number = 0
    for part in parts:
        lines = lines_of(log, part) if log not in damaged else None
        for row in islice(rows, part.rows):
            number += 1
            if row is None:  # of a file that is not here
                continue
            found[table] += 1
            status, url = row
            said = {str(status), UNCHANGED} if table == "documents" else {str(status)}
            asked = visible(url)
            # `any` reads on to the line
            if lines is not None and not any(on == asked and by in said for by, on in lines):
                lines = None
                yield DamagedFile(
                    jobdir / FOLDER,
                    0,
                    f"row {number - 1} of {table}: crawl.log has no line {status} {url}",
                )
    if next(rows, None) is not None:
        yield DamagedFile(jobdir / FOLDER, 0, f"it has more rows of {table} than were noted")
