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
AT_ONCE = 256  # rows
HEXADECIMAL = ("neardup", "cluster")  # many a reader of JSON has no whole numbers of 64 bits


def write(
    tables: Sequence[Path], target: Path, scratch: Path, forgotten: Forgotten | None = None
) -> int:
    """Write all their rows to `target`, which appears when it is whole, and return their number.

    Rows of what is `forgotten` are left out.
    """
    rows = WRITERS[ending(target)](_batches(tables, forgotten), scratch)
    scratch.replace(target)
    return rows


def ending(target: Path) -> str:
    """Return the ending of WRITERS that the name has. Raise ValueError if it has none."""
    for found in WRITERS:
        if target.name.endswith(found):
            return found
    raise ValueError(f"{target}: the name must end in {' or '.join(WRITERS)}")


def _parquet(batches: Iterable[pa.RecordBatch], path: Path) -> int:
    return write_parquet(Disk(), path, SCHEMA, batches)[1]


def _json(batches: Iterable[pa.RecordBatch], path: Path) -> int:
    rows = 0
    with zstd.open(path, "wb", level=3) as packed:
        for batch in batches:
            lines = [json.dumps(_line(row), ensure_ascii=False) + "\n" for row in batch.to_pylist()]
            packed.write("".join(lines).encode())
            rows += len(lines)
    return rows


def _batches(tables: Sequence[Path], forgotten: Forgotten | None) -> Iterator[pa.RecordBatch]:
    """Yield batches that need the memory of a row group."""
    for path in tables:
        for batch in _batches_of(path):
            yield batch.filter(remembered(batch, forgotten)) if forgotten else batch


def _batches_of(path: Path) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(path) as table:
        for group in range(table.num_row_groups):
            yield from table.read_row_group(group, columns=SCHEMA.names).to_batches(AT_ONCE)


def remembered(batch: pa.RecordBatch, forgotten: Forgotten) -> pa.Array:
    """Return for each document whether its site does not want to be forgotten."""
    urls, times = (batch.column(name).to_pylist() for name in ("url", "fetch_time"))
    return pa.array(
        [not forgotten.has(url, at.timestamp()) for url, at in zip(urls, times, strict=True)]
    )


def _line(row: Mapping[str, Any]) -> dict[str, Any]:
    names = [name for name in row if name not in ("text", "id")]
    metadata = {name: _plain(name, row[name]) for name in names}
    return {"text": row["text"] or "", "id": row["id"], "metadata": metadata}


def _plain(name: str, value: Any) -> Any:
    if value is None:
        becomes_text = name in HEXADECIMAL or SCHEMA.field(name).type == pa.string()
        # datasets takes a column that has nothing in its first rows for one of nothing, and fails
        # later.
        return "" if becomes_text else None
    if name in HEXADECIMAL:
        return f"{value:016x}"
    return value.isoformat(timespec="milliseconds") if isinstance(value, datetime) else value


WRITERS: dict[str, Callable[[Iterable[pa.RecordBatch], Path], int]] = {
    ".parquet": _parquet,
    ".jsonl.zst": _json,
}
