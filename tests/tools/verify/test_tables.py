"""`scrapy verify` compares the tables with crawl.log, the archive and each other."""

import json
import sqlite3
from collections import Counter
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.tables import Job
from webcrawl.record.tables.table_files import TableProgress
from webcrawl.store import rowcrc
from webcrawl.tools.commands.verify import verify_and_print
from webcrawl.tools.verify_crawl import verify


@pytest.fixture(name="job")
def _job(tmp_path):
    """A stopped crawl of six pages, each with two links."""
    job = Job(tmp_path / "job")
    for number in range(6):
        job.page(
            f"http://a.test/{number}",
            [("a", f"/{number}/1", "", ""), ("a", f"/{number}/2", "", "")],
        )
    job.stop()
    return job.root


def told(job):
    return [str(damage).removeprefix(f"{job}/") for damage in verify(job, Counter())]


def noted(job, name, data):
    """Makes crawl.db's note of a file that of this data."""
    mark = len(data), rowcrc.crc32_of_many(data)
    with closing(sqlite3.connect(job / "state/crawl.db")) as db, db:
        row = (*mark, rowcrc.output(name, *mark), name)
        db.execute("UPDATE output SET length = ?, bytes_crc = ?, crc = ? WHERE path = ?", row)


def changed(job, table, change):
    """Writes a table's file anew, with other rows, as if the crawl had written it so."""
    name = f"tables/{table}-00000.parquet"
    rows = change(pq.read_table(job / name).to_pylist())
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, pq.read_schema(job / name)), sink)
    data = sink.getvalue().to_pybytes()
    (job / name).write_bytes(data)
    noted(job, name, data)


def with_row(number, **values):
    return lambda rows: [*rows[:number], {**rows[number], **values}, *rows[number + 1 :]]


def test_a_sound_crawl(job):
    """Nothing is reported, and its pages are counted."""
    found = Counter()

    assert list(verify(job, found)) == []
    assert found["rows"] == 6


def test_an_archive_that_was_taken_away(job, capsys):
    """Rows whose archive files are not here are not said to agree with the archive."""
    said = []
    for _ in range(2):
        assert verify_and_print(str(job)) == 0
        said += [line for line in capsys.readouterr().out.splitlines() if line.startswith("tables")]
        for path in (job / "warc").iterdir():
            path.unlink()

    assert said == [
        "tables: 6 pages, in agreement with crawl.log and the archive",
        "tables: 6 pages, in agreement with crawl.log",
    ]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (
            {"fetch_status": 404},
            "row 2 of pages: it has 404 http://a.test/2, but crawl.log has 200 http://a.test/2",
        ),
        (
            {"links": 3},
            "row 2 of pages: http://a.test/2: its 3 rows in the table links are not all of this page",
        ),
        ({"warc_record_offset": 7}, "row 2 of pages: http://a.test/2: test-"),
        ({"warc_record_length": 7}, "row 2 of pages: http://a.test/2: test-"),
        ({"content_digest": "A" * 32}, "row 2 of pages: http://a.test/2: test-"),
    ],
)
def test_a_row_that_says_something_else(job, values, why):
    """It is named, with what it says."""
    changed(job, "pages", with_row(2, **values))
    damages = told(job)

    assert len(damages) == 1
    assert why in damages[0]


def test_the_place_of_another_page(job):
    """A record that is there, and is another page's, is noticed."""
    place = ("warc_record_offset", "warc_record_length")

    def swapped(rows):
        one, two = ({name: row[name] for name in place} for row in rows[:2])
        return [{**rows[0], **two}, {**rows[1], **one}, *rows[2:]]

    changed(job, "pages", swapped)

    assert [damage.partition(": test-")[0] for damage in told(job)] == [
        f"tables: damaged at byte 0: row {number} of pages: http://a.test/{number}"
        for number in (0, 1)
    ]


@pytest.mark.parametrize("table", ["pages", "links", "hosts"])
def test_another_number_of_rows(job, table):
    """A file with more rows than were noted is damaged, whatever they are."""
    changed(job, table, lambda rows: [*rows, *(rows[-1:] or [{"url_host_name": "a.test"}])])

    assert any(f"tables/{table}-00000.parquet: damaged at byte 0" in damage for damage in told(job))


def test_a_flipped_bit_is_reported_once(job):
    """The checksum tells; the rows of a damaged file are not compared."""
    path = job / "tables/pages-00000.parquet"
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)

    assert [damage.partition(":")[0] for damage in told(job)] == ["tables/pages-00000.parquet"]


def test_without_the_log(job):
    """A missing log is reported once, and the rows are compared with all else."""
    changed(job, "pages", with_row(2, warc_record_offset=7))
    (job / "logs/crawl.log").unlink()

    assert [damage.partition(":")[0] for damage in told(job)] == ["logs/crawl.log", "tables"]


def test_what_is_no_parquet(job):
    """Any bytes that were noted as a table."""
    (job / "tables/links-00000.parquet").write_bytes(b"no table")
    noted(job, "tables/links-00000.parquet", b"no table")

    assert [damage.partition(":")[0] for damage in told(job)] == ["tables/links-00000.parquet"]


@pytest.mark.parametrize(
    "change",
    [
        lambda note: note | {"streams": [["tables/pages-00007", 1]]},
        lambda note: note | {"parts": [[0, 1, "x", 4]]},
        lambda note: {},
    ],
)
def test_a_note_that_cannot_be(job, change):
    """What the checkpoint notes of the tables has its form, and names streams that are there."""
    with closing(sqlite3.connect(job / "state/crawl.db")) as db, db:
        (value,) = db.execute("SELECT value FROM meta WHERE name = 'tables'").fetchone()
        value = json.dumps(change(json.loads(value))).encode()
        db.execute(
            "UPDATE meta SET value = ?, crc = ? WHERE name = 'tables'",
            (value, rowcrc.meta("tables", value)),
        )

    assert [damage for damage in told(job) if "table meta, tables" in damage]


def test_a_stream_that_a_running_crawl_has_replaced(tmp_path):
    """A crawl may convert and remove a stream while it is verified: its Parquet file is there then."""
    job = Job(tmp_path / "job")
    job.page("http://a.test/")
    job.checkpoint()
    (tmp_path / "job/tables/pages-00000.arrows.open").rename(
        tmp_path / "job/tables/pages-00000.parquet.open"
    )

    assert told(tmp_path / "job") == []
    job.close()


def test_the_note_can_be_read_back():
    """What is packed is what is read."""
    progress = TableProgress()
    progress.begin(10).end = 20
    name = progress.next_name("pages")

    again = TableProgress.of(progress.pack([]))
    assert (again, name) == (progress, "tables/pages-00000")
    assert again.next_name("pages") == "tables/pages-00001"
    assert again.begin(20) is again.parts[0]
    assert again.begin(21) is again.parts[1]
