"""`scrapy verify` compares tables that an output has alone, changes and documents, with crawl.log."""

from collections import Counter

import pytest

from tests.support.tables import Job
from tests.tools.verify.test_tables import changed, told, with_row
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.base.page_values import By, Change, PageJudgement
from webcrawl.tools.verify_crawl import verify


@pytest.fixture(name="job")
def _job(tmp_path):
    """Two runs with four revisits each, with failures between; the second goes on after a run
    without the table.
    """
    for first, changes in ((0, True), (4, False), (8, True)):
        job = Job(tmp_path / "job", archive=False, tables=False, changes=changes)
        for number in range(first, first + 4):
            job.end(Link("http://b.test/"), Outcome(Status.TIMEOUT, at=1.0, ended=1.0))
            job.visit(
                f"http://a.test/{number}", PageJudgement(Change.UNCHANGED, By.STATUS, 1.0), 304
            )
        job.stop()
    return job.root


def test_a_sound_crawl(job):
    """Nothing is reported, and the fetches are counted."""
    found = Counter()

    assert list(verify(job, found)) == []
    assert found["changes"] == 8


@pytest.mark.parametrize("values", [{"fetch_status": 200}, {"url": "http://a.test/7"}])
def test_a_row_without_a_line(job, values):
    """It is named; what follows it in this run is not compared, and the next run is."""
    changed(job, "changes", with_row(2, **values))
    wrong = {"fetch_status": 304, "url": "http://a.test/2", **values}

    assert told(job) == [
        (
            f"tables: damaged at byte 0: row 2 of changes: crawl.log has no line "
            f"{wrong['fetch_status']} {wrong['url']}"
        )
    ]


def test_rows_in_another_order(job):
    """They are those of the log's lines."""
    changed(job, "changes", lambda rows: [rows[1], rows[0], *rows[2:]])

    assert told(job) == [
        "tables: damaged at byte 0: row 1 of changes: crawl.log has no line 304 http://a.test/0"
    ]


def test_a_row_too_many(job):
    """A file has as many rows as were noted."""
    changed(job, "changes", lambda rows: [*rows, rows[-1]])

    assert any(
        "tables/changes-00000.parquet: damaged at byte 0: it has 5 rows, but 4 are noted" in damage
        for damage in told(job)
    )


def test_a_file_that_its_owner_has_taken_away(job):
    """The others are compared all the same."""
    (job / "tables/changes-00000.parquet").unlink()
    found = Counter()

    assert list(verify(job, found)) == []
    assert found["changes"] == 4


def test_documents(tmp_path):
    """They are counted, and one of a page that crawl.log does not have is named."""
    job = Job(tmp_path / "job", archive=False, tables=False, documents=True)
    for number in range(4):
        job.page(f"http://a.test/{number}")
    job.stop()
    found = Counter()

    assert list(verify(job.root, found)) == []
    assert found["documents"] == 4
    changed(job.root, "documents", with_row(2, url="http://a.test/x"))
    assert told(job.root) == [
        "tables: damaged at byte 0: row 2 of documents: crawl.log has no line 200 http://a.test/x"
    ]


def test_a_document_that_an_earlier_crawl_has(tmp_path):
    """Its row has the status of the earlier answer, and its line the 304 of this one."""
    job = Job(tmp_path / "job", archive=False, tables=False, documents=True)
    job.page("http://a.test/0", status=304)
    job.page("http://a.test/1")
    job.stop()

    assert told(job.root) == []
