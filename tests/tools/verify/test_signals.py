"""Damage to what is known of listings and hubs, and to tables with one small value per host."""

from collections import Counter
from contextlib import closing
from random import Random

import pytest

from webcrawl.base.model import Link
from webcrawl.crawl.rendering.deciding import Need
from webcrawl.crawl.revisit.check_revisits import check_host_tables, check_signals
from webcrawl.crawl.revisit.listings import checksum as of_listed
from webcrawl.crawl.revisit.signals import Signals
from webcrawl.net.websub import Subscriptions
from webcrawl.store import rowcrc
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.host_table import HostTable
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.urls.url_fingerprint import Fingerprints

NOW = 1_800_000_000.0


@pytest.fixture
def state(tmp_path):
    """The state of a crawl that knows a listing, a hub, a host that announces, and one that is
    rendered.
    """
    with closing(CrawlDB(tmp_path)) as db:
        signals = Signals(db, Fingerprints(bytes(16)), Random(1))
        signals.read(
            "http://a.test/map", [(f"http://a.test/{number}", 5.0) for number in range(99)], NOW
        )
        signals.followed("http://a.test/", changed=True)
        hubs = Subscriptions(db, bytes(16), "http://x")
        hubs.offered(
            "http://a.test/", ["http://h.test/"], Link("http://a.test/").pack(), "a.test", NOW
        )
        HostTable(db, "rendering", Need, Need.unpack).change("a.test")
        db.checkpoint()
    return tmp_path


def damage(state, sql="", *values):
    """Lines, and figures, after this change."""
    with closing(CrawlDB(state)) as db:
        if sql:
            db.execute(sql, values)
        db.checkpoint()
    found = Counter()
    with closing(Snapshot(state)) as snapshot:
        return [
            str(one) for one in (*check_signals(snapshot, found), *check_host_tables(snapshot))
        ], found


def test_sound_tables(state):
    """Listings and subscriptions are counted."""
    assert damage(state) == ([], {"listings": 1, "subscriptions": 1})


def test_a_crawl_without_them(tmp_path):
    """Most have none of these tables."""
    assert damage(tmp_path) == ([], {})


@pytest.mark.parametrize(
    "where",
    [
        *("listed SET count = 3", "listed SET dates = keys", "subscription SET due = 5"),
        *("announcer SET data = x'01'", "rendering SET data = x'01'"),
    ],
)
def test_changed_rows(state, where):
    """Their checksums tell."""
    (line,), _ = damage(state, f"UPDATE {where}")
    assert line.endswith("checksum")
    assert f"table {where.partition(' ')[0]}, " in line


def test_a_listing_that_nobody_wrote(state):
    """Its checksum agrees, and what it says is impossible."""
    row = (5, 3, 0, b"x", b"y")
    lines, _ = damage(state, "INSERT INTO listed VALUES (?, ?, ?, ?, ?, ?)", *row, of_listed(*row))
    assert len(lines) == 1


@pytest.mark.parametrize(
    ("table", "data", "what"),
    [
        ("announcer", b"\x90", "a host's listings"),
        ("rendering", b"\x90", "what rendering has shown of a host"),
        # -1 at its end
        (
            "rendering",
            b"\x98\x00\x00\x00\x00\x00\x00\x00\xff",
            "what rendering has shown of a host",
        ),
    ],
)
def test_a_row_that_nobody_wrote(state, table, data, what):
    """Its checksum agrees, and what it says is impossible."""
    (line,), _ = damage(
        state, f"UPDATE {table} SET data = ?, crc = ?", data, rowcrc.of_host("a.test", data)
    )
    assert line.endswith(f"cannot be read as {what}")
