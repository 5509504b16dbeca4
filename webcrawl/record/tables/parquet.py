"""Writes and reads a table's files: an Arrow IPC stream while it grows, and then Parquet.

Each batch of rows is one write, so a stream that is truncated to a checkpoint ends between two
batches. A Parquet file cannot be truncated, nor read before its footer is written.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from operator import mul
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from webcrawl.record.tables.rows import RepeatedColumn
from webcrawl.store import rowcrc
from webcrawl.store.disk import Disk, regular
from webcrawl.store.output import STREAM, Mark, Output

# lz4 takes 40 bytes per link in place of 148, with less CPU than uncompressed. zstd is 40 % smaller
# and takes twice the time.
WRITE_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
READ_OPTIONS = pa.ipc.IpcReadOptions(use_threads=False)


class StreamWriter:
    """Writes batches of rows as an Arrow IPC stream."""

    def __init__(self, output: Output, schema: pa.Schema) -> None:
        """The output must be empty."""
        self.output = output
        self._schema = schema
        self._pieces = _PieceBuffer()
        self._writer = pa.ipc.new_stream(
            pa.PythonFile(self._pieces, mode="w"), schema, options=WRITE_OPTIONS
        )

    def write(self, columns: Iterable[Sequence[Any] | RepeatedColumn]) -> int:
        """Append rows, given as one sequence of values per column. Return their number."""
        arrays = [
            _array(values, field.type) for values, field in zip(columns, self._schema, strict=True)
        ]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        self._writer.write_batch(batch)
        self.output.write(self._pieces.drain())
        return int(batch.num_rows)


class _PieceBuffer:
    """A file object for pyarrow, which keeps what is written until `drain` is called."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: Any) -> int:
        self._pieces.append(bytes(data))
        return len(self._pieces[-1])

    def flush(self) -> None:
        """Do nothing: the bytes stay here until they are taken."""

    def close(self) -> None:
        """Do nothing: a stream may end anywhere between two batches."""

    def drain(self) -> bytes:
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data


def read_stream(source: Path | bytes) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a stream, which is a file or the bytes of its beginning.

    Raise pa.ArrowException or OSError if it is damaged.
    """
    with _file(source) as file, pa.ipc.open_stream(file, options=READ_OPTIONS) as reader:
        yield from reader


def read_schema(source: Path | bytes) -> pa.Schema:
    """Return the schema of a stream. Raise pa.ArrowException or OSError if it is damaged."""
    with _file(source) as file, pa.ipc.open_stream(file) as reader:
        return reader.schema


def _file(source: Path | bytes) -> pa.NativeFile:
    return pa.OSFile(str(source)) if isinstance(source, Path) else pa.BufferReader(source)


def _array(values: Sequence[Any] | RepeatedColumn, kind: pa.DataType) -> pa.Array:
    if isinstance(values, RepeatedColumn):
        return _repeated(*values)
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        # A text has a lone surrogate. To check every text beforehand would cost more than all else.
        return pa.array([_encodable(value) for value in values], kind)


def _repeated(values: Sequence[str], times: Sequence[int]) -> pa.Array:
    """Return an array of repeated strings, without a Python object for each row.

    That takes a quarter of the time.
    """
    texts = [value.encode(errors="backslashreplace") for value in values]
    ends = np.cumsum(np.repeat(list(map(len, texts)), times), dtype=np.int32)
    offsets = np.concatenate((np.zeros(1, np.int32), ends))
    data = b"".join(map(mul, texts, times))
    return pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(data))


def _encodable(value: Any) -> Any:
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


BATCH_ROWS = 1 << 14  # of a Parquet file, read at once


def batches(path: Path, columns: Sequence[str], length: int = 0) -> Iterator[pa.RecordBatch]:
    """Yield batches of these columns of a file. Of a stream only the first `length` bytes count.

    If the file is damaged, pyarrow raises exceptions of any kind.
    """
    if path.name.endswith(STREAM):
        with regular(path) as file:
            for batch in read_stream(file.read(length)):
                yield batch.select(columns)
        return
    # pyarrow opens the file itself, and not a Python object: it reads in threads of its own, and a
    # thread that releases a Python object while the interpreter ends aborts the process
    with (
        regular(path) as file,
        pa.OSFile(f"/dev/fd/{file.fileno()}") as own,
        pq.ParquetFile(own) as table,
    ):
        yield from table.iter_batches(BATCH_ROWS, columns=[*columns], use_threads=False)


def rows(path: Path, *columns: str, length: int = 0) -> Iterator[tuple[Any, ...]]:
    """Yield the values of these columns, row by row."""
    for batch in batches(path, columns, length):
        yield from zip(*(batch.column(name).to_pylist() for name in columns), strict=True)


# Of a row group. DuckDB recommends at least 122,880 rows.
MAX_GROUP_ROWS = 1 << 17
MAX_GROUP_BYTES = 32 << 20
ZSTD_LEVEL = 3  # 6 % smaller than level 1, in the same time
# Columns whose values differ from row to row, and have long prefixes in common. They are written as
# differences (DELTA_BYTE_ARRAY): 15 % smaller, and a third faster, than with a dictionary, which
# would outgrow its page.
PREFIXED_COLUMNS = ("url", "url_surtkey", "url_path", "to_url")


def write_parquet(
    disk: Disk, path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> tuple[Mark, int]:
    """Write and sync a new file; return its length and checksum, and its number of rows.

    At most one row group is in memory. If the file cannot be written, it is removed.
    """
    disk.unlink(path)
    sink = _Sink(disk, disk.create(path))
    try:
        rows = _write_groups(sink, schema, batches)
        disk.sync(sink.fd)
        disk.sync_folder(path.parent)
    except BaseException:
        sink.close_file()
        # Only the first error is reported
        with contextlib.suppress(OSError):
            disk.unlink(path)
        raise
    sink.close_file()
    return sink.mark, rows


def _write_groups(sink: _Sink, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
    """Write all batches as row groups, and return the number of rows."""
    rows = 0
    size = 0
    count = 0
    group: list[pa.RecordBatch] = []
    prefixed = [name for name in schema.names if name in PREFIXED_COLUMNS]
    with pq.ParquetWriter(
        pa.PythonFile(sink, mode="w"),
        schema,
        compression="zstd",
        compression_level=ZSTD_LEVEL,
        use_dictionary=[name for name in schema.names if name not in prefixed],
        column_encoding=dict.fromkeys(prefixed, "DELTA_BYTE_ARRAY"),
    ) as writer:
        for batch in batches:
            group.append(batch)
            count += batch.num_rows
            size += batch.nbytes
            if count >= MAX_GROUP_ROWS or size >= MAX_GROUP_BYTES:
                rows += _write_group(writer, group, count)
                group = []
                count = 0
                size = 0
        rows += _write_group(writer, group, count)
    return rows


def _write_group(writer: pq.ParquetWriter, batches: list[pa.RecordBatch], count: int) -> int:
    """Write a row group of `count` rows, unless it is empty. Return `count`."""
    if count:
        writer.write_table(pa.Table.from_batches(batches), row_group_size=count)
    return count


class _Sink:
    """A file object for pyarrow that writes to a descriptor, and sums what it writes.

    After `close_file` it discards everything. A writer that failed writes once more when it is
    deleted, and the descriptor may be another file's by then.
    """

    closed = False

    def __init__(self, disk: Disk, fd: int) -> None:
        self._disk = disk
        self.fd = fd
        self._length = 0
        self._crc = 0

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
        """Do nothing: the file is synced as a whole."""

    def close(self) -> None:
        """Do nothing: the file is closed after it is synced."""

    def close_file(self) -> None:
        os.close(self.fd)
        self.fd = -1
