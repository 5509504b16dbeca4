"""A checkpoint's note of the tables beside their files, and finished files, without pyarrow."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from webcrawl.base.readable import count
from webcrawl.record.objectstore.storing import addresses_of_absent_files, distinct_addresses
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawls import is_crawl, is_locked
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.outputs import lengths
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.output import OPEN, PARQUET

FOLDER = "tables"
STATE = "tables"  # in the table meta: what is noted of three tables
# The same for each table that has an output of its own
CHANGES, DOCUMENTS = ALONE = "tables/changes", "tables/documents"
ROWS = "table."  # before the name of a Parquet file there: how many rows it has


@dataclass(slots=True)
class TableStream:
    """One that is not yet a Parquet file."""

    name: str  # with the folder, without an ending
    rows: int


@dataclass(slots=True)
class LogRange:
    """Lines of crawl.log, from byte `start` to `end`, that are rows of `pages` or of others.

    Where a run wrote no tables, it ends.
    """

    start: int
    end: int
    rows: int


@dataclass(slots=True)
class TableProgress:
    """All that a checkpoint notes of the tables, beside their files."""

    serial: dict[str, int] = field(default_factory=dict)  # of the next file of each table
    streams: list[TableStream] = field(default_factory=list)
    parts: list[LogRange] = field(default_factory=list)
    hosts: str = ""  # the file of the table `hosts`

    @classmethod
    def of(cls, data: bytes | None) -> Self:
        """Return the note of the last checkpoint.

        Raise ValueError, TypeError or KeyError if it is damaged.
        """
        if data is None:
            return cls()
        noted = json.loads(data)
        streams = noted["streams"]
        parts = noted["parts"]
        return cls(
            dict(noted["serial"]),
            [TableStream(*one) for one in streams],
            [LogRange(*one) for one in parts],
            noted["hosts"],
        )

    def pack(self, streams: Iterable[TableStream]) -> bytes:
        """Return the same with these streams, as it is stored."""
        noted = {
            "serial": self.serial,
            "streams": [(one.name, one.rows) for one in streams],
            "parts": [(part.start, part.end, part.rows) for part in self.parts],
            "hosts": self.hosts,
        }
        return json.dumps(noted).encode()

    def begin(self, log: int) -> LogRange:
        """Return the part that grows from now on, where crawl.log has so many bytes."""
        if not self.parts or self.parts[-1].end != log:
            self.parts.append(LogRange(log, log, 0))
        return self.parts[-1]

    def next_name(self, table: str) -> str:
        """Return the name of the table's next file, which has never been used."""
        serial = self.serial[table] = self.serial.get(table, -1) + 1
        return f"{FOLDER}/{table}-{serial:05d}"


def where(jobdir: Path, name: str) -> Path | None:
    """Return a file's present path; None if it is not here."""
    return next((path for path in (jobdir / name, jobdir / f"{name}{OPEN}") if path.exists()), None)


@dataclass(slots=True)
class CrawlTable:
    """A table that crawls have made, named after its rows.

    `left_out`: what of it is in no file that is here.
    """

    table: str
    files: list[Path] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    is_cut: bool = False  # a crawl that does not run has rows in no finished file

    def add(self, crawl: Path) -> None:
        """Add what one crawl has made, as of its last checkpoint if it has one."""
        if not crawl.is_dir():
            self.left_out.append(f"{crawl}: left out, because this drone's folder is missing")
        noted, rows = self._noted(crawl)
        here = {
            path.relative_to(crawl).as_posix()
            for path in (crawl / FOLDER).glob(f"{self.table}-*{PARQUET}")
        }
        gone = []
        for name in sorted(here.union(noted)):
            path = where(crawl, name)
            if path is None:
                gone.append(name)
            else:
                self.files.append(path)
        if rows:
            self._leave_out_rows(crawl, rows)
        if gone:
            self._leave_out_files(crawl, gone)

    def _leave_out_rows(self, crawl: Path, rows: int) -> None:
        """Note that so many rows are in no finished file."""
        runs = is_locked(crawl)
        self.is_cut = self.is_cut or not runs
        why = "the crawl is running" if runs else "resume the crawl to finish them"
        number = count(rows, self.table.removesuffix("s"))
        self.left_out.append(f"{crawl}: left out {number}, not in a finished file yet: {why}")

    def _leave_out_files(self, crawl: Path, gone: Sequence[str]) -> None:
        """Note that these finished files are missing, and where a store has them."""
        stored = addresses_of_absent_files(crawl)
        places = distinct_addresses(stored[name] for name in gone if name in stored)
        why = f"in the store ({places})" if places else "no longer here"
        self.left_out.append(f"{crawl}: left out {count(len(gone), 'file')} of {self.table}: {why}")

    def _noted(self, crawl: Path) -> tuple[list[str], int]:
        """Return the names of the files that are finished, and how many rows are in none of them."""
        # If the state is damaged, `webcrawl verify` reports it
        with suppress(StoreError, ValueError, TypeError, KeyError):
            if is_crawl(crawl):
                return JobDir(crawl).read(self._of_checkpoint)
        return [], 0

    def _of_checkpoint(self, snapshot: Snapshot) -> tuple[list[str], int]:
        start = f"{FOLDER}/{self.table}-"
        names = [
            name for name in lengths(snapshot) if name.startswith(start) and name.endswith(PARQUET)
        ]
        rows = 0
        for state in (STATE, *ALONE):
            for stream in TableProgress.of(snapshot.get(state)).streams:
                if stream.name.startswith(start):
                    rows += stream.rows
        return names, rows
