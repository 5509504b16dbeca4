"""What is in a row of `changes`, and that its streams and files are as those of the other tables."""

import re
from datetime import UTC, datetime
from math import log

import pytest

from tests.support.places import ROOT
from tests.support.tables import Job, files, rows
from tests.support.warc_crawl import NOW, exchange
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.base.page_values import By, Change, PageJudgement

URL = "https://www.example.co.uk:8443/{}"
UNCHANGED = PageJudgement(Change.UNCHANGED, By.DIGEST, NOW - 60.0, 5, 5)


@pytest.fixture(name="job")
def _job(tmp_path):
    return Job(tmp_path / "job", archive=False, tables=False, changes=True)


def only(job):
    job.stop()
    (row,) = rows(job.root, "changes")
    return row


def urls(root):
    return [row["url"] for row in rows(root, "changes")]


def moment(seconds):
    return datetime.fromtimestamp(round(seconds * 1000) / 1000, UTC)


class TestRows:
    def test_of_a_changed_page(self, job):
        """It says what changed, when it was fetched before, who announced it, and what the server
        says.
        """
        judged = PageJudgement(
            Change.CHANGED, By.TEXT, NOW - 3600.5, 2**64 - 1, 7, 12, announced=True
        )
        job.visit(
            URL.format("a"), judged, headers=[(b"ETag", b'"x"'), (b"Last-Modified", b"yesterday")]
        )

        assert only(job) == {
            "url": URL.format("a"),
            "url_host_name": "www.example.co.uk",
            "url_host_tld": "uk",
            "url_host_registered_domain": "example.co.uk",
            "fetch_time": moment(NOW),
            "previous_fetch_time": moment(NOW - 3600.5),
            "interval_seconds": 3600.5,
            "change": "changed",
            "known_by": "text",
            "fetch_status": 200,
            "etag": '"x"',
            "last_modified": "yesterday",
            "content_digest": exchange(URL.format("a"), b"<p>body").digest.removeprefix("sha1:"),
            "digest": 2**64 - 1,
            "previous_digest": 7,
            "text_distance": 12,
            "announced": True,
        }

    def test_of_a_new_page(self, job):
        """What there is nothing to compare with is null."""
        job.visit(URL.format("a"), PageJudgement(Change.NEW, digest=3))
        row = only(job)

        nothing = {name for name, value in row.items() if value is None}
        assert nothing == {
            *("previous_fetch_time", "interval_seconds", "known_by", "etag", "last_modified"),
            *("previous_digest", "text_distance"),
        }

    @pytest.mark.parametrize(
        ("status", "judged", "by"),
        [
            (304, PageJudgement(Change.UNCHANGED, By.STATUS, NOW - 60.0), "status-304"),
            (404, PageJudgement(Change.GONE, None, NOW - 60.0), None),
        ],
    )
    def test_of_an_answer_without_a_body(self, job, status, judged, by):
        """It has no digest: what the page was like is in the row before."""
        job.visit(URL.format("a"), judged, status)
        row = only(job)

        assert (row["fetch_status"], row["change"], row["known_by"]) == (status, judged.change, by)
        assert (row["content_digest"], row["digest"], row["previous_digest"]) == (None, None, None)

    def test_what_was_not_judged_has_no_row(self, job):
        """Redirects, robots.txt and failures say nothing of a page."""
        job.end(Link(URL.format("a")), Outcome(Status.TIMEOUT, at=NOW, ended=1.0))
        job.end(
            Link(URL.format("b")),
            Outcome(301, at=NOW, ended=1.0),
            exchange(URL.format("b"), b"", status=301),
        )
        job.stop()

        assert files(job.root) == []

    def test_headers_that_are_no_text(self, job):
        """Any bytes have a row, and long ones are truncated."""
        job.visit(URL.format("a"), UNCHANGED, headers=[(b"ETag", b"\xff" * 5000)])

        assert only(job)["etag"] == "ÿ" * 1000


class TestFiles:
    def test_beside_the_other_tables(self, tmp_path):
        """Each output has its own note, and the other's files stay."""
        for first in (0, 3):
            job = Job(tmp_path, changes=True)
            for number in range(first, first + 3):
                job.page(URL.format(number))
                job.visit(URL.format(number), UNCHANGED)
            job.checkpoint()
            job.stop()

        assert urls(tmp_path) == [URL.format(number) for number in range(6)]
        assert len(rows(tmp_path, "pages")) == 12
        assert all(name.endswith(".parquet") for name in files(tmp_path))


# -- DuckDB answers what docs/outputs.md asks of the table `changes`.

DAY = 86400.0
SECTION = (
    (ROOT / "docs/outputs.md").read_text().partition("\n## changes\n")[2].partition("\n## ")[0]
)
QUESTIONS = re.findall(r"^```sql\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)


@pytest.fixture(name="requested")
def _requested(tmp_path, monkeypatch):
    """The answers, of a crawl that fetched ten pages again, each after two days; the last three had
    changed.
    """
    # here: what is imported while tests are collected is never given back, and duckdb complains of
    # that
    import duckdb

    job = Job(tmp_path / "job", archive=False, tables=False, changes=True)
    for number in range(10):
        url, started = f"http://{number}.example.org/", 1e9 + number * DAY / 2
        change, by = (Change.CHANGED, By.TEXT) if number >= 7 else (Change.UNCHANGED, By.STATUS)
        job.visit("http://new.example.com/", PageJudgement(Change.NEW), started=started)
        job.visit(url, PageJudgement(change, by, started - 2 * DAY, distance=20), started=started)
    job.stop()
    monkeypatch.chdir(job.root)
    return [duckdb.sql(question).fetchall() for question in QUESTIONS]


def test_what_changed_in_the_last_day(requested):
    """The pages whose text changed, the newest first."""
    assert [row[0] for row in requested[0]] == ["http://9.example.org/", "http://8.example.org/"]


def test_how_often_pages_change(requested):
    """By top-level domain, with what was changed more than once between two fetches taken into
    account.
    """
    ((domain, fetches, changed, rate),) = requested[1]

    assert (domain, fetches, changed) == ("org", 10, 3)
    assert rate == pytest.approx(-log(7.5 / 10.5) / 2)
