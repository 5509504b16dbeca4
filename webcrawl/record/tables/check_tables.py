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
    FOLDER,
    PAGES_KEY,
    ROWS_PREFIX,
    SEPARATE_KEYS,
    LogRange,
    TableProgress,
    current_path,
)
from webcrawl.record.warc.capture import UNMODIFIED
from webcrawl.record.warc.reader import sound_records
from webcrawl.record.warc.unpacked_stream import TornRecord
from webcrawl.store.disk import regular
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.crawl_line import LOG, STATUS, URL, each
from webcrawl.store.jobdir.index_line import NOT_MODIFIED
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.output import OPEN, STREAM

UNREAD_TABLES = "tables unread"  # among the figures: there are tables, but pyarrow is not installed
UNCOMPARED_ROWS = "archived rows not compared"  # their archive files are not here
TABLES_WITHOUT_OWN_KEY = ("pages", "links", "hosts", "chunks")


def check_tables(
    snapshot: Snapshot, jobdir: Path, damaged: Collection[Path], counts: Counter[str]
) -> Iterator[DamagedFile]:
    """Compare the tables with crawl.log, the archive and each other. Yield what is wrong.

    Files that are `damaged`, and files that their owner has removed, are left out. Rows are counted
    in `counts`.
    """
    lengths = dict(
        snapshot.rows("SELECT path, length FROM output WHERE path GLOB ?", (f"{FOLDER}/*",))
    )
    saved = {key: snapshot.get(key) for key in (PAGES_KEY, *SEPARATE_KEYS)}
    notes = {key: data for key, data in saved.items() if data is not None}
    if not notes:
        return
    keys = ", ".join(notes)
    try:
        progress = {key: TableProgress.of(data) for key, data in saved.items()}
        stream_rows = {
            f"{stream.name}{STREAM}": stream.rows
            for table_progress in progress.values()
            for stream in table_progress.streams
        }
        rows = _rows_of_finished(snapshot) | stream_rows
    except (ValueError, TypeError, KeyError) as error:
        yield snapshot.damaged(f"table meta, {keys}: {error!r}", value=b"".join(notes.values()))
        return
    streams = {name for name in lengths if name.endswith(STREAM)}
    noted_once = streams ^ stream_rows.keys()
    if noted_once:
        yield snapshot.damaged(
            f"table meta, {keys}: {min(noted_once)} is noted in only one of two places"
        )
        return
    if find_spec("pyarrow") is None:
        counts[UNREAD_TABLES] += bool(lengths)
        return
    tables = {}
    for table in (*TABLES_WITHOUT_OWN_KEY, *map(_table_of_key, SEPARATE_KEYS)):
        own = {name: lengths[name] for name in sorted(lengths) if _table_of_file(name) == table}
        tables[table] = _TableFiles(jobdir, own, rows, damaged)
    parts = progress[PAGES_KEY].parts
    yield from check_pages(
        jobdir, tables["pages"].rows, tables["links"].rows, parts, damaged, counts
    )
    for key in SEPARATE_KEYS:
        table = _table_of_key(key)
        yield from check_separate_table(
            jobdir, table, tables[table].rows, progress[key].parts, damaged, counts
        )
    for files in tables.values():
        yield from files.remaining_damage()


def _rows_of_finished(snapshot: Snapshot) -> dict[str, int]:
    """Return the number of rows in each finished file. Raise ValueError if one is not a number."""
    saved = snapshot.rows("SELECT name, value FROM meta WHERE name GLOB ?", (f"{ROWS_PREFIX}*",))
    return {name.removeprefix(ROWS_PREFIX): int(value) for name, value in saved}


def _table_of_key(key: str) -> str:
    return key.removeprefix(f"{FOLDER}/")


def _table_of_file(name: str) -> str:
    return name.removeprefix(f"{FOLDER}/").partition("-")[0]


class _TableFiles:
    """The files of one table, in the order in which they were written."""

    def __init__(
        self, jobdir: Path, lengths: dict[str, int], rows: dict[str, int], damaged: Collection[Path]
    ) -> None:
        """`lengths` and `rows` are what a checkpoint noted of the files, by name."""
        self._jobdir = jobdir
        self._lengths = lengths
        self._noted_rows = rows
        self._damaged = damaged
        self._is_read = False
        self.damages: list[DamagedFile] = []

    def rows(self, *columns: str) -> Iterator[Row]:
        """Yield the values of these columns, row by row; None for a row that cannot be read.

        What is wrong with a file is added to `damages`.
        """
        from webcrawl.record.tables.parquet import batches  # noqa: PLC0415 - pyarrow is optional

        self._is_read = True
        for name, length in self._lengths.items():
            path = current_path(self._jobdir, name)
            expected = self._noted_rows.get(name, 0)
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
            # So that the rows of later files are compared with their own lines
            yield from repeat(None, max(0, expected - count))

    def remaining_damage(self) -> Iterator[DamagedFile]:
        """Yield what is wrong with the files. Read them, if that has not been done yet."""
        if not self._is_read:
            for _ in self.rows("url_host_name"):
                pass
        yield from self.damages


# The first records of pages. An answer that may not be kept has a metadata record.
PAGE_RECORD_KINDS = ("response", "revisit", "resource", "conversion", "metadata")


class ArchivePlaceCheck:
    """Checks places in the archive, which come in the order in which they were written.

    So one file is open at a time.
    """

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

    def flaw(
        self, name: str, offset: int, length: int, time: datetime, digest: str | None
    ) -> str | None:
        """Return what is wrong with the record at this place, or an empty string.

        `time` and `digest` are those of the page. Return None for a place in a file that is damaged
        or missing, which is not checked.
        """
        file = self._open_file(name)
        if file is None:
            return None
        try:
            record = next(
                sound_records(self._folder / name, file, 0, offset, offset + length), None
            )
        except TornRecord as torn:
            return f"{name} has no record at byte {offset}: {torn}"
        if record is None:
            return f"{name} has no record at byte {offset}: the file ends before that"
        # In WARC 1.0 the date has whole seconds only, so the beginning is compared
        date = record.fields.get("warc-date", "-").rstrip("Z")
        fetched = time.isoformat(timespec="milliseconds")
        is_of_page = record.kind in PAGE_RECORD_KINDS and fetched.startswith(date)
        if record.length != length or not is_of_page:
            return f"{name} has a different record at byte {offset}"
        if record.kind != "conversion" and _has_other_payload(record.fields, f"sha1:{digest}"):
            return f"{name} has a different payload at byte {offset}"
        return ""

    def _open_file(self, name: str) -> BinaryIO | None:
        """Return this archive file, open; None if it is damaged or missing."""
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


def _has_other_payload(fields: Mapping[str, str], digest: str) -> bool:
    """Return whether a record names another payload than that of this SHA-1.

    A record with a transfer coding names no payload. A revisit record has the digest of the record
    that it refers to. That may be a SHA-256. If the profile does not say that the payloads are
    identical, it may also be the digest of another coding of the same body.
    """
    named = fields.get("warc-payload-digest")
    if named is None or UNMODIFIED in fields.get("warc-profile", ""):
        return False
    named_digest = normal(named)
    return algorithm(named_digest) != SHA256 and named_digest != digest


CHECKED_COLUMNS = (
    *("fetch_status", "url", "links"),
    *("warc_filename", "warc_record_offset", "warc_record_length", "fetch_time", "content_digest"),
)
Row = tuple[Any, ...] | None  # None: a row that cannot be read
Rows = Callable[..., Iterator[Row]]


def check_pages(
    jobdir: Path,
    pages: Rows,
    links: Rows,
    parts: list[LogRange],
    damaged: Collection[Path],
    counts: Counter[str],
) -> Iterator[DamagedFile]:
    """Compare the rows of `pages` with crawl.log, `links` and the archive. Yield what differs.

    After the first difference from the log, the log is not compared any more, because all later
    rows would differ. The same holds for `links`.
    """
    log = jobdir / LOG
    link_rows = links("from_url")
    agrees_with_log = log not in damaged
    lines: Iterator[tuple[str, str]] = iter(())
    if agrees_with_log:
        lines = chain.from_iterable(log_lines(log, part) for part in parts)
    with ArchivePlaceCheck(jobdir, damaged) as records:
        agrees_with_links = True
        for number, row in enumerate(pages(*CHECKED_COLUMNS)):
            line = next(lines, None)
            if row is None:
                # How many of the links are its own is not known
                agrees_with_links = False
                continue
            counts["rows"] += 1
            status, url, count, *place = row
            if agrees_with_log and line != (str(status), visible(url)):
                agrees_with_log = False
                yield _damaged_row(
                    jobdir,
                    number,
                    f"it has {status} {url}, but crawl.log has {' '.join(line or ('no line',))}",
                )
            if agrees_with_links and not _are_links_of(url, islice(link_rows, count)):
                agrees_with_links = False
                yield _damaged_row(
                    jobdir,
                    number,
                    f"{url}: its {count} rows in the table links are not all of this page",
                )
            is_archived = place[0] is not None
            if is_archived:
                flaw = records.flaw(*place)
                counts[UNCOMPARED_ROWS if flaw is None else "archived rows"] += 1
                if flaw:
                    yield _damaged_row(jobdir, number, f"{url}: {flaw}")
        if agrees_with_log and next(lines, None) is not None:
            yield DamagedFile(log, 0, f"it has more lines than {FOLDER}/ has pages")
        # All links are read, also if they are not compared: their files may be damaged
        further_links = sum(1 for _ in link_rows)
        if further_links and agrees_with_links:
            yield DamagedFile(jobdir / FOLDER, 0, "it has more links than its pages have")


def _are_links_of(url: str, links: Iterable[Sequence[Any] | None]) -> bool:
    """Return whether all of these rows of `links` that can be read are of this page."""
    return not any(link is not None and link[0] != url for link in links)


def _damaged_row(jobdir: Path, number: int, why: str) -> DamagedFile:
    return DamagedFile(jobdir / FOLDER, 0, f"row {number} of pages: {why}")


def log_lines(log: Path, part: LogRange) -> Iterator[tuple[str, str]]:
    """Yield status and URL of each line in a part of crawl.log."""
    for _, fields in each(log, part.start, part.end):
        if len(fields) > URL:
            status = fields[STATUS].decode("ascii", "replace")
            yield status, fields[URL].decode("ascii", "replace")
        else:
            # The damage is reported with the log. The line counts, because it has a row.
            yield "", ""


def check_separate_table(
    jobdir: Path,
    table: str,
    read: Rows,
    parts: list[LogRange],
    damaged: Collection[Path],
    counts: Counter[str],
) -> Iterator[DamagedFile]:
    """Yield the first row of each run that has no line in crawl.log.

    The rows are in the order of the lines, but not every line has a row. After a row without a line
    the later rows of the run are not compared.
    """
    log = jobdir / LOG
    rows = read("fetch_status", "url")
    number = 0
    for part in parts:
        lines = log_lines(log, part) if log not in damaged else None
        for row in islice(rows, part.rows):
            number += 1
            if row is None:
                continue
            counts[table] += 1
            status, url = row
            if lines is not None and not _has_line(lines, table, status, visible(url)):
                lines = None
                yield DamagedFile(
                    jobdir / FOLDER,
                    0,
                    f"row {number - 1} of {table}: crawl.log has no line {status} {url}",
                )
    if next(rows, None) is not None:
        yield DamagedFile(jobdir / FOLDER, 0, f"it has more rows of {table} than were noted")


def _has_line(lines: Iterator[tuple[str, str]], table: str, status: int, url: str) -> bool:
    """Read lines up to the one of this row; return whether there is one."""
    statuses = {str(status)}
    if table == "documents":
        # In crawl.log. Its document has the status of the earlier answer
        # (docs/reprocess-and-since.md).
        statuses.add(str(NOT_MODIFIED))
    return any(line_url == url and line_status in statuses for line_status, line_url in lines)
