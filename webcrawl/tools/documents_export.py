"""Makes one file of a crawl's documents: Parquet, or JSON lines with `text`, `id`, `metadata`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from webcrawl.base.zstd_frame import zstd
from webcrawl.record.tables.columns import SCHEMAS
from webcrawl.record.tables.parquet import write_parquet
from webcrawl.store.disk import Disk
from webcrawl.urls.exclusion_rules import Forgotten

SCHEMA = SCHEMAS["documents"]
ROWS_PER_BATCH = 256
HEXADECIMAL = ("neardup", "cluster")  # many readers of JSON have no whole numbers of 64 bits


def write(
    tables: Sequence[Path], target: Path, scratch: Path, forgotten: Forgotten | None = None
) -> int:
    """Write the rows of all tables to one file, and return their number.

    The file is written at `scratch`, and renamed to `target` when it is complete. Documents of
    `forgotten` are left out. Raise ValueError if the name of `target` has none of the endings.
    """
    rows = WRITERS[ending(target)](_batches(tables, forgotten), scratch)
    scratch.replace(target)
    return rows


def ending(target: Path) -> str:
    """Return the ending of the name that is in WRITERS. Raise ValueError if it has none."""
    for known_ending in WRITERS:
        if target.name.endswith(known_ending):
            return known_ending
    raise ValueError(f"{target}: the name must end in {' or '.join(WRITERS)}")


def _write_parquet(batches: Iterable[pa.RecordBatch], path: Path) -> int:
    return write_parquet(Disk(), path, SCHEMA, batches)[1]


def _write_json(batches: Iterable[pa.RecordBatch], path: Path) -> int:
    """Write a JSON object per line, and return the number of lines."""
    rows = 0
    with zstd.open(path, "wb", level=3) as packed:
        for batch in batches:
            lines = [
                json.dumps(_json_row(row), ensure_ascii=False) + "\n" for row in batch.to_pylist()
            ]
            packed.write("".join(lines).encode())
            rows += len(lines)
    return rows


def _batches(tables: Sequence[Path], forgotten: Forgotten | None) -> Iterator[pa.RecordBatch]:
    """Yield the rows in batches. No more than one row group of a table is in memory at a time."""
    for path in tables:
        for batch in _batches_of(path):
            yield batch.filter(remembered(batch, forgotten)) if forgotten else batch


def _batches_of(path: Path) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(path) as table:
        for group in range(table.num_row_groups):
            yield from table.read_row_group(group, columns=SCHEMA.names).to_batches(ROWS_PER_BATCH)


def remembered(batch: pa.RecordBatch, forgotten: Forgotten) -> pa.Array:
    """Return for each document of a batch whether it stays, because no owner had it deleted."""
    urls = batch.column("url").to_pylist()
    times = batch.column("fetch_time").to_pylist()
    return pa.array(
        [not forgotten.has(url, at.timestamp()) for url, at in zip(urls, times, strict=True)]
    )


def _json_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with its text, its id, and all other columns as metadata."""
    names = [name for name in row if name not in ("text", "id")]
    metadata = {name: _json_value(name, row[name]) for name in names}
    return {"text": row["text"] or "", "id": row["id"], "metadata": metadata}


def _json_value(name: str, value: Any) -> Any:
    """Return the value of a column as JSON can have it."""
    if value is None:
        becomes_text = name in HEXADECIMAL or SCHEMA.field(name).type == pa.string()
        # The library datasets infers the type of a column from its first rows. If they are all
        # null, it fails at the first text.
        return "" if becomes_text else None
    if name in HEXADECIMAL:
        return f"{value:016x}"
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    return value


WRITERS: dict[str, Callable[[Iterable[pa.RecordBatch], Path], int]] = {
    ".parquet": _write_parquet,
    ".jsonl.zst": _write_json,
}
