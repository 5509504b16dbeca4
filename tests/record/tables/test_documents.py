"""What is in a row of `documents`, that its files are as those of the other tables, and that others
read them.
"""

import json
import shutil
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.saving import prepared, settled
from tests.support.tables import Job, files, rows
from tests.support.warc_crawl import NOW
from webcrawl.base.zstd_frame import zstd
from webcrawl.record.tables import table_writer
from webcrawl.record.tables.columns import SCHEMAS
from webcrawl.record.tables.table_writer import BATCH_ROWS
from webcrawl.tools.documents_export import write

URL = "https://www.example.co.uk/{}"
WORDS = " ".join(f"word{number}" for number in range(300))


def visited(root, first, last, **options):
    """Some pages and a checkpoint; the job is open."""
    job = Job(root, tables=False, documents=True, **options)
    for number in range(first, last):
        job.page(
            URL.format(number),
            body=f"<p>{WORDS} {number}".encode(),
            title=f"Title {number}",
            language="en",
        )
    job.checkpoint()
    return job


def urls(root):
    return [row["url"] for row in rows(root, "documents")]


@pytest.fixture(name="job", scope="module")
def _job(tmp_path_factory):
    root = tmp_path_factory.mktemp("documents") / "job"
    visited(root, 0, 5).stop()
    return root


@pytest.fixture(name="lines", scope="module")
def _lines(job, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lines")
    assert (
        write(
            sorted((job / "tables").glob("documents-*.parquet")),
            folder / "x.jsonl.zst",
            folder / "part",
        )
        == 5
    )
    return folder / "x.jsonl.zst"


class TestRows:
    def test_of_a_page(self, job):
        """What the page and its answer say, what the extractor says, and where the archive has it."""
        row = rows(job, "documents")[0]
        wanted = {
            "url": URL.format(0),
            "text": f"{WORDS} 0",
            "title": "Title 0",
            "language": "en",
            "fetch_time": datetime.fromtimestamp(round(NOW * 1000) / 1000, UTC),
            "fetch_status": 200,
            "url_host_registered_domain": "example.co.uk",
            "content_mime_type": "text/html",
            "change": "new",
            "flaw": None,
            "words": None,
        }

        assert {name: row[name] for name in wanted} == wanted
        assert row["warc_filename"].endswith(".warc.gz")
        assert row["warc_record_offset"] > 0

    def test_identifiers_and_clusters(self, job, tmp_path):
        """A fetch has its identifier, in whatever crawl it is; near-duplicates have one cluster."""
        found = rows(job, "documents")
        visited(tmp_path, 3, 4).stop()

        assert len({row["id"] for row in found}) == 5
        assert rows(tmp_path, "documents")[0]["id"] == found[3]["id"]
        assert {row["cluster"] for row in found} == {found[0]["neardup"]}


class TestFiles:
    @pytest.mark.parametrize("committed", [False, True])
    def test_killed(self, tmp_path, committed):
        """The next run has each page once, whether or not the last checkpoint was noted."""
        job = visited(tmp_path / "job", 0, BATCH_ROWS + 3, full=1)
        job.page(URL.format("lost"))
        job.documents.end()
        prepared(job.db)
        if committed:
            job.db.checkpoint()
        settled(job.db)
        left = shutil.copytree(tmp_path / "job", tmp_path / "left")
        job.close()
        visited(left, BATCH_ROWS + 3, BATCH_ROWS + 5).stop()

        found = urls(left)
        assert [url for url in found if not url.endswith("lost")] == [
            URL.format(number) for number in range(BATCH_ROWS + 5)
        ]
        assert (URL.format("lost") in found) == committed
        assert all(name.endswith(".parquet") for name in files(left))

    def test_long_texts_are_written_early(self, tmp_path, monkeypatch):
        """What waits in memory is bounded, in rows and in characters."""
        monkeypatch.setattr(table_writer, "BATCH_CHARS", 1000)
        job, waiting = visited(tmp_path, 0, 0), []
        for number in range(4):
            job.page(URL.format(number), body=b"<p>" + b"word " * 80)
            waiting.append(len(job.documents._rows.get("documents", ())))

        assert waiting == [1, 2, 0, 1]
        job.stop()
        assert len(urls(tmp_path)) == 4

    def test_clusters_go_on(self, job, tmp_path):
        """A run knows those of earlier ones, from finished files and from a stream that a kill
        left.
        """
        first = rows(job, "documents")[0]["cluster"]
        killed = visited(tmp_path / "killed", 0, 2)
        left = shutil.copytree(tmp_path / "killed", tmp_path / "left")
        killed.close()
        again = shutil.copytree(job, tmp_path / "again")
        for root in (left, again):
            visited(root, 5, 7).stop()

            assert {row["cluster"] for row in rows(root, "documents")} == {first}

    def test_a_damaged_file_costs_its_clusters_alone(self, job, tmp_path, caplog):
        """The run goes on without them, and says so."""
        again = shutil.copytree(job, tmp_path / "again")
        file = again / "tables/documents-00000.parquet"
        file.write_bytes(bytes(file.stat().st_size))
        run = visited(again, 5, 6)

        assert "its clusters are forgotten" in caplog.text
        run.close()


class TestReaders:
    """Other programs read both forms without an adapter."""

    def test_one_file_of_several(self, job, tmp_path):
        """All rows of all files, in their order."""
        tables = sorted((job / "tables").glob("documents-*.parquet")) * 3
        assert write(tables, tmp_path / "x.parquet", tmp_path / "part") == 15

        assert pq.read_schema(tmp_path / "x.parquet").equals(SCHEMAS["documents"])
        assert pq.read_table(tmp_path / "x.parquet")["url"].to_pylist() == urls(job) * 3

    def test_duckdb(self, job, lines):
        """It counts the same in both."""
        import duckdb  # here: what is imported while tests are collected is never given back

        of_table = duckdb.sql(
            f"SELECT url, id, text FROM '{job}/tables/documents-*.parquet' ORDER BY url"
        ).fetchall()
        of_lines = duckdb.sql(
            f"SELECT metadata.url, id, text FROM read_json('{lines}') ORDER BY 1"
        ).fetchall()
        assert of_table == [(url, str(name), text) for url, name, text in of_lines]
        assert len(of_table) == 5

    def test_no_string_of_json_is_null(self, lines):
        """Datasets fails at a column that has nothing in its first rows, and a string later."""
        strings = {one.name for one in SCHEMAS["documents"] if one.type == pa.string()} - {
            "id",
            "text",
        }
        with zstd.open(lines, "rt") as file:
            found = [json.loads(line)["metadata"] for line in file]

        assert {type(one[name]) for one in found for name in strings} == {str}

    def test_datasets(self, job, lines, tmp_path):
        """`load_dataset` has the columns of both."""
        datasets = pytest.importorskip("datasets", reason="pip install datasets")
        options = {"split": "train", "cache_dir": str(tmp_path)}
        table = datasets.load_dataset(
            "parquet", data_files=f"{job}/tables/documents-*.parquet", **options
        )
        texts = datasets.load_dataset("json", data_files=str(lines), **options)

        assert table["text"] == texts["text"] == [row["text"] for row in rows(job, "documents")]
        assert [one["url"] for one in texts["metadata"]] == list(table["url"]) == urls(job)

    def test_datatrove(self, job, lines):
        """Its readers have text, id and metadata."""
        pytest.importorskip("datatrove", reason="pip install datatrove")
        from datatrove.pipeline.readers import JsonlReader, ParquetReader

        table = [*ParquetReader(str(job / "tables"), glob_pattern="documents-*.parquet").run()]
        texts = [*JsonlReader(str(lines.parent), glob_pattern="*.jsonl.zst").run()]
        assert [(one.id, one.text, one.metadata["url"]) for one in table] == [
            (one.id, one.text, one.metadata["url"]) for one in texts
        ]
        assert len(table) == 5
        json.dumps(texts[0].metadata)
