"""Damage to what is known of listings and hubs."""

from collections import Counter
from contextlib import closing
from random import Random

import pytest

from webcrawl.base.model import Link
from webcrawl.crawl.revisit.check_revisits import check_signals
from webcrawl.crawl.revisit.listing_versions import checksum as of_listed
from webcrawl.crawl.revisit.signals import Signals
from webcrawl.net.websub.subscriptions import Subscriptions
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.urls.url_fingerprint import Fingerprints

NOW = 1_800_000_000.0


@pytest.fixture
def state(tmp_path):
    """The state of a crawl that knows a listing and a hub."""
    with closing(CrawlDB(tmp_path)) as db:
        signals = Signals(db, Fingerprints(bytes(16)), Random(1))
        signals.read("http://a.test/map", [(f"http://a.test/{number}", 5.0) for number in range(99)], NOW)
        signals.followed("http://a.test/", changed=True)
        hubs = Subscriptions(db, bytes(16), "http://x")
        hubs.offered("http://a.test/", ["http://h.test/"], Link("http://a.test/").pack(), "a.test", NOW)
        db.checkpoint()
    return tmp_path


def change(state, sql, *values):
    with closing(CrawlDB(state)) as db:
        db.execute(sql, values)
        db.checkpoint()


def damage(state):
    """Lines, and figures."""
    found = Counter()
    with closing(Snapshot(state)) as snapshot:
        return [str(one) for one in check_signals(snapshot, found)], found


def test_sound_tables(state):
    """Listings and subscriptions are counted."""
    assert damage(state) == ([], {"listings": 1, "subscriptions": 1})


def test_a_crawl_without_them(tmp_path):
    """Most have none of these tables."""
    with closing(CrawlDB(tmp_path)) as db:
        db.checkpoint()
    assert damage(tmp_path) == ([], {})


@pytest.mark.parametrize(
    "where",
    ["listed SET count = 3", "listed SET dates = keys", "subscription SET due = 5"],
)
def test_changed_rows(state, where):
    """Their checksums tell."""
    change(state, f"UPDATE {where}")
    (line,), _ = damage(state)
    assert line.endswith("checksum")


def test_rows_that_nobody_wrote(state):
    """Their checksums agree, and what they say is impossible."""
    row = (5, 3, 0, b"x", b"y")
    change(state, "INSERT INTO listed VALUES (?, ?, ?, ?, ?, ?)", *row, of_listed(*row))
    lines, _ = damage(state)
    assert len(lines) == 1
