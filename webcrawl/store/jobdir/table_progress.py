"""What a checkpoint notes of the tables beside their files: readable without pyarrow."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from webcrawl.store.output import OPEN

FOLDER = "tables"
STATE = "tables"  # in the table meta: what is noted of three tables
CHANGES, DOCUMENTS = ALONE = "tables/changes", "tables/documents"  # and of each that an output has alone
ROWS = "table."  # before the name of a Parquet file there: how many rows it has


@dataclass(slots=True)
class Stream:
    """One that is not yet a Parquet file."""

    name: str  # with the folder, without an ending
    rows: int


@dataclass(slots=True)
class Part:
    """Of crawl.log, from byte `start` to `end`: its lines are rows of `pages`, or some are those of another table.

    Where a run wrote no tables, it ends.
    """

    start: int
    end: int
    rows: int


@dataclass(slots=True)
class Progress:
    """All that a checkpoint notes of the tables, beside their files."""

    serial: dict[str, int] = field(default_factory=dict)  # of the next file of each table
    streams: list[Stream] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    hosts: str = ""  # the file of the table `hosts`

    @classmethod
    def of(cls, data: bytes | None) -> Self:
        """The note of the last checkpoint; ValueError, TypeError or KeyError if it is damaged."""
        if data is None:
            return cls()
        noted = json.loads(data)
        streams, parts = noted["streams"], noted["parts"]
        return cls(
            dict(noted["serial"]), [Stream(*one) for one in streams], [Part(*one) for one in parts], noted["hosts"]
        )

    def pack(self, streams: Iterable[Stream]) -> bytes:
        """The same with these streams, as it is stored."""
        noted = {
            "serial": self.serial,
            "streams": [(one.name, one.rows) for one in streams],
            "parts": [(part.start, part.end, part.rows) for part in self.parts],
            "hosts": self.hosts,
        }
        return json.dumps(noted).encode()

    def begin(self, log: int) -> Part:
        """The part that grows from now on, where crawl.log has so many bytes."""
        if not self.parts or self.parts[-1].end != log:
            self.parts.append(Part(log, log, 0))
        return self.parts[-1]

    def next_name(self, table: str) -> str:
        """The name of the table's next file, which has never been used."""
        serial = self.serial[table] = self.serial.get(table, -1) + 1
        return f"{FOLDER}/{table}-{serial:05d}"


def where(jobdir: Path, name: str) -> Path | None:
    """A file's present path; None if it is not here."""
    return next((path for path in (jobdir / name, jobdir / f"{name}{OPEN}") if path.exists()), None)
