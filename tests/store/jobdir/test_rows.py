"""The health of a host, in one word."""

import sqlite3
from contextlib import closing
from types import SimpleNamespace

import pytest

from webcrawl.base.model import Status
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir import meta_row
from webcrawl.store.jobdir.host_row import Health, health_of
from webcrawl.store.jobdir.job_dir import JobDir


@pytest.mark.parametrize(
    ("failures", "retired", "health"),
    [
        (0, 0, Health.HEALTHY),
        (1, 0, Health.FAILING),
        (5, 0, Health.DEFERRED),
        (0, Status.HOST_BUDGET, Health.SPENT),
        (2, Status.HOST_BUDGET, Health.FAILING),
        (9, Status.DNS_FAILED, Health.GIVEN_UP),
    ],
)
def test_the_health_of_a_host(failures, retired, health):
    """A host given up is that alone; one that fails says so, though it has given all its pages."""
    assert (
        health_of(SimpleNamespace(failures=failures, retired=retired, pages=0, block_pages=None), 5)
        is health
    )


# -- Values of the table `meta`, as every command reads them.


def kept(folder, name, value):
    db = CrawlDB(folder / "state")
    db.set(name, value)
    db.checkpoint()
    db.close()
    return JobDir.open(folder)


def test_a_flipped_bit(tmp_path):
    """Whoever needs the value hears of the damage; whoever does without has a line about it."""
    kept(tmp_path, "terms", b"{}")
    with closing(sqlite3.connect(tmp_path / "state/crawl.db")) as db, db:
        db.execute("UPDATE meta SET value = ? WHERE name = 'terms'", (b"{]",))
    job, odd = JobDir.open(tmp_path), []

    with pytest.raises(DamagedFile, match="table meta, terms: wrong checksum"):
        job.read(meta_row.terms)
    assert job.read(lambda snapshot: meta_row.terms(snapshot, odd)) == {}
    assert odd == ["terms in state/crawl.db cannot be read"]
