"""Writes a table as a Parquet file, in a thread, and all of it through `Disk`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from webcrawl.store import rowcrc
from webcrawl.store.disk import Disk
from webcrawl.store.output import Mark

GROUP_ROWS, GROUP_BYTES = 1 << 17, 32 << 20  # of a row group at most; DuckDB wants at least 122,880 rows
LEVEL = 3  # of zstd: 6 % smaller than level 1, in the same time
# Columns whose values differ from row to row and have long prefixes in common: 15 % smaller, and a third faster, than
# with a dictionary, which would outgrow its page.
PREFIXED = ("url", "url_surtkey", "url_path", "to_url")


def write_parquet(disk: Disk, path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> tuple[Mark, int]:
    """Writes and syncs a new file, in the memory of a row group; returns its mark and its rows.

    If it cannot be written, what there is of it is removed.
    """
    disk.unlink(path)
    sink = _Sink(disk, disk.create(path))
    try:
        rows = _write(sink, schema, batches)
        disk.sync(sink.fd)
        disk.sync_folder(path.parent)
    except BaseException:
        sink.give_up()
        with contextlib.suppress(OSError):
            disk.unlink(path)
        raise
    sink.give_up()
    return sink.mark, rows


def _write(sink: _Sink, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
    rows = size = count = 0
    group: list[pa.RecordBatch] = []
    prefixed = [name for name in schema.names if name in PREFIXED]
    with pq.ParquetWriter(
        pa.PythonFile(sink, mode="w"),
        schema,
        compression="zstd",
        compression_level=LEVEL,
        use_dictionary=[name for name in schema.names if name not in prefixed],
        column_encoding=dict.fromkeys(prefixed, "DELTA_BYTE_ARRAY"),
    ) as writer:
        for batch in batches:
            group.append(batch)
            count, size = count + batch.num_rows, size + batch.nbytes
            if count >= GROUP_ROWS or size >= GROUP_BYTES:
                rows += _group(writer, group, count)
                group, count, size = [], 0, 0
        rows += _group(writer, group, count)
    return rows


def _group(writer: pq.ParquetWriter, batches: list[pa.RecordBatch], count: int) -> int:
    if count:
        writer.write_table(pa.Table.from_batches(batches), row_group_size=count)
    return count


class _Sink:
    """A new file as pyarrow wants one, with the mark of what is written.

    After `give_up` it takes anything and keeps nothing: a writer that failed writes once more when it is deleted, and
    the descriptor may be another file's by then.
    """

    closed = False

    def __init__(self, disk: Disk, fd: int) -> None:
        self._disk, self.fd = disk, fd
        self._length = self._crc = 0

    @property
    def mark(self) -> Mark:
        return self._length, self._crc

    def write(self, data: Any) -> int:
        data = bytes(data)
        if self.fd >= 0:
            self._disk.write(self.fd, data)
            self._crc = rowcrc.crc32_of_many(data, self._crc)
            self._length += len(data)
        return len(data)

    def tell(self) -> int:
        return self._length

    def flush(self) -> None:
        """It is synced as a whole."""

    def close(self) -> None:
        """Not before it is synced."""

    def give_up(self) -> None:
        os.close(self.fd)
        self.fd = -1
