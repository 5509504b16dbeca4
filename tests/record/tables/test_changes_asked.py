"""DuckDB answers what docs/outputs.md asks of the table `changes`."""

import re
from math import log

import pytest

from tests.support.places import ROOT
from tests.support.tables import Job
from webcrawl.base.page_values import By, Change, Judged

DAY = 86400.0
SECTION = (ROOT / "docs/outputs.md").read_text().partition("\n## changes\n")[2].partition("\n## ")[0]
QUESTIONS = re.findall(r"^```sql\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)


@pytest.fixture(name="asked")
def _asked(tmp_path, monkeypatch):
    """The answers, of a crawl that fetched ten pages again, each after two days; the last three had changed."""
    import duckdb  # here: what is imported while tests are collected is never given back, and duckdb complains of that

    job = Job(tmp_path / "job", archive=False, tables=False, changes=True)
    for number in range(10):
        url, started = f"http://{number}.example.org/", 1e9 + number * DAY / 2
        change, by = (Change.CHANGED, By.TEXT) if number >= 7 else (Change.UNCHANGED, By.STATUS)
        job.visit("http://new.example.com/", Judged(Change.NEW), started=started)
        job.visit(url, Judged(change, by, started - 2 * DAY, distance=20), started=started)
    job.stop()
    monkeypatch.chdir(job.root)
    return [duckdb.sql(question).fetchall() for question in QUESTIONS]


def test_what_changed_in_the_last_day(asked):
    """The pages whose text changed, the newest first."""
    assert [row[0] for row in asked[0]] == ["http://9.example.org/", "http://8.example.org/"]


def test_how_often_pages_change(asked):
    """By top-level domain, with what was changed more than once between two fetches taken into account."""
    ((domain, fetches, changed, rate),) = asked[1]

    assert (domain, fetches, changed) == ("org", 10, 3)
    assert rate == pytest.approx(-log(7.5 / 10.5) / 2)
