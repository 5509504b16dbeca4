"""Reads files of tables: Parquet, or a stream that is not finished."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from webcrawl.record.tables.table_stream import read_stream
from webcrawl.store.output import OPEN, STREAM
from webcrawl.store.regular import regular

ROWS = 1 << 14  # of a Parquet file, at once


def where(jobdir: Path, name: str) -> Path | None:
    """A file's present path; None if it is not here."""
    return next((path for path in (jobdir / name, jobdir / f"{name}{OPEN}") if path.exists()), None)


def batches(path: Path, columns: Sequence[str], length: int = 0) -> Iterator[pa.RecordBatch]:
    """These columns; of a stream its first `length` bytes. Raises pyarrow's errors, of any kind, for damage."""
    if path.name.endswith(STREAM):
        with regular(path) as file:
            for batch in read_stream(file.read(length)):
                yield batch.select(columns)
        return
    with regular(path) as file, pq.ParquetFile(file) as table:
        yield from table.iter_batches(ROWS, columns=[*columns], use_threads=False)


def rows(path: Path, *columns: str, length: int = 0) -> Iterator[tuple[Any, ...]]:
    """The values of these columns, row by row."""
    for batch in batches(path, columns, length):
        yield from zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
