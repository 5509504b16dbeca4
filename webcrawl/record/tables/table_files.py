"""What a checkpoint notes of the tables, and where their files are. No pyarrow is needed here."""

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
# Keys in the table meta. The first one has the progress of pages, links and hosts.
PAGES_KEY = "tables"
# Those of the tables that are separate outputs. `documents` includes `chunks`.
CHANGES_KEY, DOCUMENTS_KEY = SEPARATE_KEYS = "tables/changes", "tables/documents"
ROWS_PREFIX = "table."  # before the name of a Parquet file, in the table meta: its number of rows


@dataclass(slots=True)
class TableStream:
    """An Arrow stream of rows that is not a Parquet file yet."""

    name: str  # with the folder, without an ending
    rows: int


@dataclass(slots=True)
class LogRange:
    """A part of crawl.log, from byte `start` to `end`, whose lines have rows in the tables.

    There is a new part after each run that wrote no tables.
    """

    start: int
    end: int
    rows: int


@dataclass(slots=True)
class TableProgress:
    """What a checkpoint notes of tables, beside the lengths of their files."""

    serial: dict[str, int] = field(default_factory=dict)  # of the last file of each table
    streams: list[TableStream] = field(default_factory=list)
    parts: list[LogRange] = field(default_factory=list)
    hosts: str = ""  # the file of the table `hosts`

    @classmethod
    def of(cls, data: bytes | None) -> Self:
        """Return the progress that a checkpoint noted; without `data`, that of a new crawl.

        Raise ValueError, TypeError or KeyError if the note is damaged.
        """
        if data is None:
            return cls()
        noted = json.loads(data)
        streams = noted["streams"]
        parts = noted["parts"]
        return cls(
            dict(noted["serial"]),
            [TableStream(*stream) for stream in streams],
            [LogRange(*part) for part in parts],
            noted["hosts"],
        )

    def pack(self, streams: Iterable[TableStream]) -> bytes:
        """Return the note of a checkpoint, with these streams."""
        noted = {
            "serial": self.serial,
            "streams": [(stream.name, stream.rows) for stream in streams],
            "parts": [(part.start, part.end, part.rows) for part in self.parts],
            "hosts": self.hosts,
        }
        return json.dumps(noted).encode()

    def begin(self, log_bytes: int) -> LogRange:
        """Return the part of crawl.log that this run continues or begins, at its present length."""
        if not self.parts or self.parts[-1].end != log_bytes:
            self.parts.append(LogRange(log_bytes, log_bytes, 0))
        return self.parts[-1]

    def next_name(self, table: str) -> str:
        """Return the name of the table's next file, which has never been used."""
        serial = self.serial[table] = self.serial.get(table, -1) + 1
        return f"{FOLDER}/{table}-{serial:05d}"


def current_path(jobdir: Path, name: str) -> Path | None:
    """Return the path of a file, finished or with `.open`; None if it is missing."""
    for path in (jobdir / name, jobdir / f"{name}{OPEN}"):
        if path.exists():
            return path
    return None


@dataclass(slots=True)
class CrawlTable:
    """The finished files of a table, of one crawl or of all drones of a hive."""

    table: str
    files: list[Path] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # a line for all that no file here has
    is_incomplete: bool = False  # a crawl that is not running has rows in no finished file

    def add(self, crawl: Path) -> None:
        """Add the files of one crawl: those in its folder, and those of its last checkpoint."""
        if not crawl.is_dir():
            self.left_out.append(f"{crawl}: left out, because this drone's folder is missing")
        noted, unfinished_rows = self._noted(crawl)
        present = {
            path.relative_to(crawl).as_posix()
            for path in (crawl / FOLDER).glob(f"{self.table}-*{PARQUET}")
        }
        missing = []
        for name in sorted(present.union(noted)):
            path = current_path(crawl, name)
            if path is None:
                missing.append(name)
            else:
                self.files.append(path)
        if unfinished_rows:
            self._leave_out_rows(crawl, unfinished_rows)
        if missing:
            self._leave_out_files(crawl, missing)

    def _leave_out_rows(self, crawl: Path, rows: int) -> None:
        """Add a line about rows that are in no finished file."""
        is_running = is_locked(crawl)
        self.is_incomplete = self.is_incomplete or not is_running
        why = "the crawl is running" if is_running else "resume the crawl to finish them"
        number = count(rows, self.table.removesuffix("s"))
        self.left_out.append(f"{crawl}: left out {number}, not in a finished file yet: {why}")

    def _leave_out_files(self, crawl: Path, missing: Sequence[str]) -> None:
        """Add a line about finished files that are missing, and about the store that has them."""
        stored = addresses_of_absent_files(crawl)
        places = distinct_addresses(stored[name] for name in missing if name in stored)
        why = f"in the store ({places})" if places else "no longer here"
        files = count(len(missing), "file")
        self.left_out.append(f"{crawl}: left out {files} of {self.table}: {why}")

    def _noted(self, crawl: Path) -> tuple[list[str], int]:
        """Return the finished files of a checkpoint, and how many rows are in none of them."""
        # If the state is damaged, `webcrawl verify` reports it
        with suppress(StoreError, ValueError, TypeError, KeyError):
            if is_crawl(crawl):
                return JobDir(crawl).read(self._of_checkpoint)
        return [], 0

    def _of_checkpoint(self, snapshot: Snapshot) -> tuple[list[str], int]:
        """Return what `_noted` does. Raise ValueError, TypeError or KeyError for a damaged note."""
        start = f"{FOLDER}/{self.table}-"
        names = [
            name for name in lengths(snapshot) if name.startswith(start) and name.endswith(PARQUET)
        ]
        rows = 0
        for state in (PAGES_KEY, *SEPARATE_KEYS):
            for stream in TableProgress.of(snapshot.get(state)).streams:
                if stream.name.startswith(start):
                    rows += stream.rows
        return names, rows
