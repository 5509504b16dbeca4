"""Rows of `chunks`, beside those of the documents that they are of."""

import shutil
from collections import Counter

from tests.support.saving import prepared, settled
from tests.support.tables import Job, rows
from webcrawl.record.tables.table_writer import BATCH_ROWS

URL = "https://www.example.co.uk/{}"
TEXT = b"".join(b"<p>%d lamps give light.</p>" % number for number in range(100))


def visited(root, first, last, **options):
    """Some pages and a checkpoint; the job is open."""
    job = Job(root, tables=False, documents=True, chunks=500, **options)
    for number in range(first, last):
        job.page(URL.format(number), body=TEXT, title=f"Title {number}")
    job.checkpoint()
    return job


def test_rows_of_a_document(tmp_path):
    """Each chunk names its document, and where it is in the document's text."""
    visited(tmp_path, 0, 2).stop()
    document = rows(tmp_path, "documents")[1]
    found = [row for row in rows(tmp_path, "chunks") if row["document_id"] == document["id"]]

    assert [row["ordinal"] for row in found] == [*range(len(found))]
    assert len(found) > 3
    for row in found:
        assert document["text"][row["start"] :].startswith(row["text"])
        assert (row["url"], row["title"]) == (URL.format(1), "Title 1")
        assert row["fetch_time"] == document["fetch_time"]


def test_identifiers(tmp_path):
    """The same text of the same URL has its identifier in any crawl; no two rows share one."""
    visited(tmp_path / "a", 0, 3).stop()
    visited(tmp_path / "b", 2, 3).stop()
    first, second = ({row["id"] for row in rows(tmp_path / job, "chunks")} for job in "ab")

    assert len(first) == len(rows(tmp_path / "a", "chunks"))
    assert second < first


def test_killed(tmp_path):
    """After a crash the next run has the chunks of each page once."""
    job = visited(tmp_path / "job", 0, BATCH_ROWS + 3, full=1)
    job.page(URL.format("lost"), body=TEXT)
    job.documents.end()
    prepared(job.db)
    settled(job.db)
    left = shutil.copytree(tmp_path / "job", tmp_path / "left")
    job.close()
    visited(left, BATCH_ROWS + 3, BATCH_ROWS + 5).stop()

    found = Counter(row["url"] for row in rows(left, "chunks"))
    assert found.keys() == {URL.format(number) for number in range(BATCH_ROWS + 5)}
    assert len(set(found.values())) == 1
    assert len({row["id"] for row in rows(left, "chunks")}) == found.total()
