"""Values of the table `meta`, as every command reads them."""

import sqlite3
from contextlib import closing

import pytest

from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir import meta_row
from webcrawl.store.jobdir.job_dir import JobDir


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

    with pytest.raises(DamagedFile, match="table meta, terms: checksum"):
        job.read(meta_row.terms)
    assert job.read(lambda snapshot: meta_row.terms(snapshot, odd)) == {}
    assert odd == ["terms in state/crawl.db cannot be read"]
