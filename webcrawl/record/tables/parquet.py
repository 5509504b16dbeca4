"""A table as a file: an Arrow IPC stream while it grows, then Parquet, written in a thread.

Each batch of rows is one write, so a stream that is cut back to a checkpoint ends between two
batches. A Parquet file cannot be cut back, nor read before its footer is written.
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
OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
READING = pa.ipc.IpcReadOptions(use_threads=False)


class StreamWriter:
    """Writes batches to an output that is empty."""

    def __init__(self, output: Output, schema: pa.Schema) -> None:
        self.output = output
        self._schema = schema
        self._pieces = _Pieces()
        self._writer = pa.ipc.new_stream(
            pa.PythonFile(self._pieces, mode="w"), schema, options=OPTIONS
        )

    def write(self, columns: Iterable[Sequence[Any] | RepeatedColumn]) -> int:
        """Append rows, given as one sequence of values per column; returns their number."""
        arrays = [
            _array(values, field.type) for values, field in zip(columns, self._schema, strict=True)
        ]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        self._writer.write_batch(batch)
        self.output.write(self._pieces.take())
        return int(batch.num_rows)


class _Pieces:
    """A file for pyarrow, whose bytes are taken from time to time."""

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

    def take(self) -> bytes:
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data


def read_stream(source: Path | bytes) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a stream, a file or a part.

    Raise pa.ArrowException or OSError for damage.
    """
    with _file(source) as file, pa.ipc.open_stream(file, options=READING) as reader:
        yield from reader


def read_schema(source: Path | bytes) -> pa.Schema:
    """Return the columns of a stream."""
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
        # There are lone surrogates: checking every text beforehand would cost more than all else
        return pa.array([_encodable(value) for value in values], kind)


def _repeated(values: Sequence[str], times: Sequence[int]) -> pa.Array:
    """Return strings without an object for each row, in a quarter of the time."""
    texts = [value.encode(errors="backslashreplace") for value in values]
    ends = np.cumsum(np.repeat(list(map(len, texts)), times), dtype=np.int32)
    offsets = np.concatenate((np.zeros(1, np.int32), ends))
    data = b"".join(map(mul, texts, times))
    return pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(data))


def _encodable(value: Any) -> Any:
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


ROWS = 1 << 14  # of a Parquet file, at once


def batches(path: Path, columns: Sequence[str], length: int = 0) -> Iterator[pa.RecordBatch]:
    """Yield batches of these columns; of a stream, those in its first `length` bytes.

    Raise pyarrow's errors, of any kind, for damage.
    """
    if path.name.endswith(STREAM):
        with regular(path) as file:
            for batch in read_stream(file.read(length)):
                yield batch.select(columns)
        return
    # A file of pyarrow's own: it reads in threads of its own, and one that still lets go of
    # something of Python's while the interpreter ends has the process aborted
    with (
        regular(path) as file,
        pa.OSFile(f"/dev/fd/{file.fileno()}") as own,
        pq.ParquetFile(own) as table,
    ):
        yield from table.iter_batches(ROWS, columns=[*columns], use_threads=False)


def rows(path: Path, *columns: str, length: int = 0) -> Iterator[tuple[Any, ...]]:
    """Yield the values of these columns, row by row."""
    for batch in batches(path, columns, length):
        yield from zip(*(batch.column(name).to_pylist() for name in columns), strict=True)


# A row group at most; DuckDB wants at least 122,880 rows
GROUP_ROWS, GROUP_BYTES = 1 << 17, 32 << 20
LEVEL = 3  # of zstd: 6 % smaller than level 1, in the same time
# Columns whose values differ from row to row and have long prefixes in common: 15 % smaller, and a
# third faster, than with a dictionary, which would outgrow its page.
PREFIXED = ("url", "url_surtkey", "url_path", "to_url")


def write_parquet(
    disk: Disk, path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> tuple[Mark, int]:
    """Write and sync a new file, in the memory of a row group; return its mark and its rows.

    If it cannot be written, remove what there is of it.
    """
    disk.unlink(path)
    sink = _Sink(disk, disk.create(path))
    try:
        rows = _write(sink, schema, batches)
        disk.sync(sink.fd)
        disk.sync_folder(path.parent)
    except BaseException:
        sink.give_up()
        # The first error is the one to report
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
            count += batch.num_rows
            size += batch.nbytes
            if count >= GROUP_ROWS or size >= GROUP_BYTES:
                rows += _group(writer, group, count)
                group = []
                count = 0
                size = 0
        rows += _group(writer, group, count)
    return rows


def _group(writer: pq.ParquetWriter, batches: list[pa.RecordBatch], count: int) -> int:
    if count:
        writer.write_table(pa.Table.from_batches(batches), row_group_size=count)
    return count


class _Sink:
    """A new file as pyarrow wants one, with the mark of what is written.

    After `give_up` it takes anything and keeps nothing: a writer that failed writes once more when
    it is deleted, and the descriptor may be another file's by then.
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

    def give_up(self) -> None:
        os.close(self.fd)
        self.fd = -1
