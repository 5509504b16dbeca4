"""Checks the tables: readable, with the rows that were noted, and rows that agree with all that lies beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from importlib.util import find_spec
from itertools import repeat
from pathlib import Path
from typing import Any

from webcrawl.store.errors import DamagedFile
from webcrawl.store.output import OPEN
from webcrawl.store.regular import regular
from webcrawl.tables.progress import CHANGES, FOLDER, ROWS, STATE, STREAM, Progress
from webcrawl.verify.changes import check_changes
from webcrawl.verify.pages import Row, check_pages
from webcrawl.verify.snapshot import Snapshot

UNREAD = "tables unread"  # among the figures: there are tables, but pyarrow is not installed


def check_tables(
    snapshot: Snapshot, jobdir: Path, damaged: Collection[Path], found: Counter[str]
) -> Iterator[DamagedFile]:
    """Counts rows. Files that are `damaged`, and those that their owner has taken away, are left out."""
    noted = dict(snapshot.rows("SELECT path, length FROM output WHERE path GLOB ?", (f"{FOLDER}/*",)))
    notes = {name: data for name in (STATE, CHANGES) if (data := snapshot.get(name)) is not None}
    if not notes:
        return
    try:
        progress = dict.fromkeys((STATE, CHANGES), Progress()) | {name: Progress.of(notes[name]) for name in notes}
        grow = [stream for one in progress.values() for stream in one.streams]
        rows = {
            name.removeprefix(ROWS): int(value)
            for name, value in snapshot.rows("SELECT name, value FROM meta WHERE name GLOB ?", (f"{ROWS}*",))
        } | {f"{stream.name}{STREAM}": stream.rows for stream in grow}
    except (ValueError, TypeError, KeyError) as error:
        names = ", ".join(notes)
        yield snapshot.damaged(f"table meta, {names}: {error!r}", value=b"".join(notes.values()))
        return
    streams = {name for name in noted if name.endswith(STREAM)}
    if odd := streams ^ {f"{stream.name}{STREAM}" for stream in grow}:
        yield snapshot.damaged(f"table meta, {', '.join(notes)}: {min(odd)} is noted once only")
        return
    if find_spec("pyarrow") is None:
        found[UNREAD] += bool(noted)
        return
    tables = {
        table: _Table(jobdir, {name: noted[name] for name in sorted(noted) if _table(name) == table}, rows, damaged)
        for table in ("pages", "links", "hosts", "changes")
    }
    parts = progress[STATE].parts
    yield from check_pages(jobdir, tables["pages"].rows, tables["links"].rows, parts, damaged, found)
    yield from check_changes(jobdir, tables["changes"].rows, progress[CHANGES].parts, damaged, found)
    for table in tables.values():
        yield from table.rest()


def _table(name: str) -> str:
    return name.removeprefix(f"{FOLDER}/").partition("-")[0]


class _Table:
    """The files of one table, in the order in which they were written."""

    def __init__(self, jobdir: Path, lengths: dict[str, int], rows: dict[str, int], damaged: Collection[Path]) -> None:
        self._jobdir, self._lengths, self._expected, self._damaged = jobdir, lengths, rows, damaged
        self._begun = False
        self.damages: list[DamagedFile] = []

    def rows(self, *columns: str) -> Iterator[Row]:
        """The values of these columns; what is wrong with a file is added to `damages`."""
        self._begun = True
        for name, length in self._lengths.items():
            path = where(self._jobdir, name)
            expected, count = self._expected.get(name, 0), 0
            if path is not None and path not in self._damaged:
                try:
                    for batch in _batches(path, length, list(columns)):
                        count += batch.num_rows
                        yield from zip(*(batch.column(column).to_pylist() for column in columns), strict=True)
                except Exception as error:  # noqa: BLE001 - pyarrow's, of any kind, for bytes of any kind
                    self.damages.append(DamagedFile(path, 0, " ".join(str(error).split())))
                else:
                    if count != expected:
                        self.damages.append(DamagedFile(path, 0, f"{count} rows, {expected} are noted"))
            yield from repeat(None, max(0, expected - count))

    def rest(self) -> Iterator[DamagedFile]:
        """What is wrong with the files, all of which are read by now or here."""
        if not self._begun:
            for _ in self.rows("url_host_name"):
                pass
        yield from self.damages


def where(jobdir: Path, name: str) -> Path | None:
    """A file's present path; None if it is not here."""
    return next((path for path in (jobdir / name, jobdir / f"{name}{OPEN}") if path.exists()), None)


def _batches(path: Path, length: int, columns: list[str]) -> Iterator[Any]:
    from webcrawl.tables.stream import read_stream  # noqa: PLC0415 - pyarrow is optional

    if path.name.endswith(STREAM):
        with regular(path) as file:
            yield from read_stream(file.read(length))
        return
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    with regular(path) as file, pq.ParquetFile(file) as table:
        yield from table.iter_batches(columns=columns, use_threads=False)
