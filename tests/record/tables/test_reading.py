"""How Parquet files are read."""

import io
import threading

import pyarrow as pa
import pytest

from webcrawl.record.tables import parquet
from webcrawl.store.disk import Disk

SCHEMA = pa.schema([("url", pa.string()), ("kind", pa.string())])


class Watched(io.FileIO):
    """Notes the threads that read it."""

    def __init__(self, path):
        super().__init__(path)
        self.threads = set()

    def read(self, *size):
        self.threads.add(threading.get_ident())
        return super().read(*size)


@pytest.mark.parametrize("rows", [1, 40_000])
def test_no_thread_of_pyarrow_reads_in_python(tmp_path, monkeypatch, rows):
    """What a thread of pyarrow's has of Python's, it may let go only while the process ends, which aborts it."""
    batch = pa.RecordBatch.from_pylist([{"url": f"http://a.test/{one}", "kind": "a"} for one in range(rows)], SCHEMA)
    parquet.write_parquet(Disk(), tmp_path / "one.parquet", SCHEMA, [batch])
    opened = []
    monkeypatch.setattr(parquet, "regular", lambda path: opened.append(Watched(path)) or opened[0])

    read = list(parquet.rows(tmp_path / "one.parquet", "url"))

    assert read == [(f"http://a.test/{one}",) for one in range(rows)]
    assert opened[0].threads <= {threading.get_ident()}
    assert opened[0].closed


def test_a_file_that_is_exchanged(tmp_path, monkeypatch):
    """What was opened and checked is read, whatever has its name by then."""
    path = tmp_path / "one.parquet"
    parquet.write_parquet(Disk(), path, SCHEMA, [pa.RecordBatch.from_pylist([{"url": "u", "kind": "a"}], SCHEMA)])
    real = parquet.regular

    def exchanged(path):
        file = real(path)
        path.unlink()
        path.write_bytes(b"another")
        return file

    monkeypatch.setattr(parquet, "regular", exchanged)
    assert list(parquet.rows(path, "url")) == [("u",)]
