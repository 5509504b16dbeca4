"""Batches of a stream, from columns."""

import io
import threading

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from webcrawl.record.tables import parquet
from webcrawl.record.tables.columns import SCHEMAS
from webcrawl.record.tables.parquet import RepeatedColumn, StreamWriter, read_stream
from webcrawl.store.disk import Disk

TEXTS = st.sampled_from(["http://a.test/", "é", "", "\ud800x"])


class Written:
    """An output that keeps what is written."""

    def __init__(self):
        self.data = b""

    def write(self, data):
        self.data += data


def written(urls, rows):
    output = Written()
    same = [["x"] * rows for _ in range(4)]
    StreamWriter(output, SCHEMAS["links"]).write([urls, *same, [True] * rows])
    return output.data


@given(pairs=st.lists(st.tuples(TEXTS, st.integers(0, 3)), max_size=5))
@example([("é", 2), ("", 0), ("\ud800x", 1)])
def test_repeated_texts_are_texts(pairs):
    """A column of repeated texts is written as the same texts one by one, byte for byte."""
    texts = [text for text, times in pairs for _ in range(times)]
    repeated = RepeatedColumn([text for text, _ in pairs], [times for _, times in pairs])

    data = written(repeated, len(texts))
    assert data == written(texts, len(texts))
    (batch,) = read_stream(data)
    assert batch.column("from_url").to_pylist() == [
        text.encode(errors="backslashreplace").decode() for text in texts
    ]


# -- How Parquet files are read.

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
    """What a thread of pyarrow's has of Python's, it may let go only while the process ends, which
    aborts it.
    """
    batch = pa.RecordBatch.from_pylist(
        [{"url": f"http://a.test/{one}", "kind": "a"} for one in range(rows)], SCHEMA
    )
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
    parquet.write_parquet(
        Disk(), path, SCHEMA, [pa.RecordBatch.from_pylist([{"url": "u", "kind": "a"}], SCHEMA)]
    )
    real = parquet.regular

    def exchanged(path):
        file = real(path)
        path.unlink()
        path.write_bytes(b"another")
        return file

    monkeypatch.setattr(parquet, "regular", exchanged)
    assert list(parquet.rows(path, "url")) == [("u",)]
