"""Damage to tables with one small value per host."""

from contextlib import closing

import pytest

from webcrawl.crawl.rendering.deciding import Need
from webcrawl.crawl.revisit.check_revisits import check_host_tables
from webcrawl.crawl.revisit.signals import Announcers
from webcrawl.store import rowcrc
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.host_table import HostTable
from webcrawl.store.jobdir.snapshot import Snapshot


@pytest.fixture(name="state")
def _state(tmp_path):
    """A state that has a row in each."""
    with closing(CrawlDB(tmp_path)) as db:
        Announcers(db).change("a.test")
        HostTable(db, "rendering", Need, Need.unpack).change("a.test")
        db.checkpoint()
    return tmp_path


def damage(state, sql="", *values):
    """What is found after this change."""
    with closing(CrawlDB(state)) as db:
        if sql:
            db.execute(sql, values)
        db.checkpoint()
    with closing(Snapshot(state)) as snapshot:
        return [str(one) for one in check_host_tables(snapshot)]


def test_sound_tables(state, tmp_path):
    """Nothing is wrong with them, nor with a crawl that has none."""
    assert damage(state) == []
    assert damage(tmp_path / "other") == []


@pytest.mark.parametrize("table", ["announcer", "rendering"])
def test_a_changed_row(state, table):
    """Its checksum tells."""
    (line,) = damage(state, f"UPDATE {table} SET data = x'01'")
    assert line.endswith(f"table {table}, a.test: checksum")


@pytest.mark.parametrize(
    ("table", "data", "what"),
    [
        ("announcer", b"\x90", "a host's listings"),
        ("rendering", b"\x90", "what rendering has shown of a host"),
        ("rendering", b"\x98\x00\x00\x00\x00\x00\x00\x00\xff", "what rendering has shown of a host"),  # -1 at its end
    ],
)
def test_a_row_that_nobody_wrote(state, table, data, what):
    """Its checksum agrees, and what it says is impossible."""
    (line,) = damage(state, f"UPDATE {table} SET data = ?, crc = ?", data, rowcrc.of_host("a.test", data))
    assert line.endswith(f"not {what}")
