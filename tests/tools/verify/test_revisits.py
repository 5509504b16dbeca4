"""`scrapy verify` of a crawl that fetches pages again: each record is read, each block has one
queue.
"""

import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from random import Random

import msgpack
import pytest

from tests.support.jobs import stopped
from tests.support.revisits import DAY, NOW, Told, made, page
from webcrawl.base.zstd_frame import pack_checked
from webcrawl.crawl.revisit.buckets import BUCKET, COUNT, DIVIDED, SORTED, TIME
from webcrawl.store import rowcrc
from webcrawl.store.crawldb import CrawlDB
from webcrawl.tools.commands.verify import verify_and_print
from webcrawl.tools.verify_crawl import verify

PAGES = 5000

pytestmark = pytest.mark.xdist_group("verify revisits")  # one stopped crawl for all tests


@pytest.fixture(name="job", scope="module")
def _job(tmp_path_factory):
    """A stopped crawl with buckets of all kinds, and rows ahead."""
    job = stopped(tmp_path_factory.mktemp("stopped") / "job")
    with closing(CrawlDB(job / "state")) as db:
        policy, random = Told(), Random(1)
        policy.when = {
            page(number).url: NOW + random.random() * 40 * DAY for number in range(PAGES)
        }
        revisits = made(db, policy, rate=50.0, memory=1 << 16)
        for number in range(PAGES):
            holds = int(NOW + DAY) if number % 100 == 0 else 0
            revisits.keep(page(number, etag=random.randbytes(20), holds=holds), NOW)
        for step in range(3):
            revisits.pop_due(NOW + step, 1)
        for number in range(5):
            revisits.ahead.found(page(number, NOW))
        revisits.announce("http://h/under-way", NOW)
        revisits.pop_due(NOW + 3, 1)
        db.checkpoint()
    return job


@pytest.fixture(name="copy")
def _copy(job, tmp_path):
    return shutil.copytree(job, tmp_path / "job")


def told(job):
    return [damage.why for damage in verify(job, Counter())]


def changed(job, sql, *values):
    with closing(sqlite3.connect(job / "state/crawl.db", isolation_level=None)) as db:
        db.execute(sql, values)


def saved(job, name):
    with closing(sqlite3.connect(job / "state/crawl.db")) as db:
        return db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()[0]


def first_bucket(job):
    with closing(sqlite3.connect(job / "state/crawl.db")) as db:
        return db.execute(
            "SELECT min(name) FROM meta WHERE name GLOB ?", (f"{BUCKET}*",)
        ).fetchone()[0]


def save(job, name, value):
    changed(
        job, "INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", name, value, rowcrc.meta(name, value)
    )


def test_a_sound_one_is_counted(job, capsys):
    """Without damage the summary has the records that wait, and the rows ahead."""
    found = Counter()
    assert list(verify(job, found)) == []
    assert (found["revisits"], found["ahead"]) == (PAGES - 3, 6)
    assert verify_and_print(str(job)) == 0
    assert (
        f"revisits: {PAGES - 3} pages waiting, 6 fetched ahead of time" in capsys.readouterr().out
    )


def test_a_crawl_without_revisits_says_nothing(tmp_path, capsys):
    """A state without these tables is whole."""
    assert verify_and_print(str(stopped(tmp_path / "job"))) == 0
    assert "revisits:" not in capsys.readouterr().out


def test_a_missing_block(copy):
    """A block that a bucket names must be there."""
    changed(copy, "DELETE FROM revisit WHERE id = (SELECT max(id) FROM revisit)")
    (why,) = told(copy)
    assert "is missing" in why
    assert "revisit" in why


def test_a_block_that_nobody_names(copy):
    """Each block belongs to a queue."""
    changed(copy, "INSERT INTO revisit SELECT max(id) + 1, data FROM revisit")
    (why,) = told(copy)
    assert why.endswith("no queue refers to it")
    assert why.startswith("table revisit")


def test_buckets_that_overlap(copy):
    """No two buckets have the same block, and no two intervals overlap."""
    name = first_bucket(copy)
    start = int(name.removeprefix(BUCKET), 16)
    save(copy, f"{BUCKET}{start + (1 << 8):010x}", b"\0" + saved(copy, name)[1:])
    whys = told(copy)
    assert any("more than one queue refers to it" in why for why in whys)
    assert any("overlaps" in why for why in whys)


@pytest.mark.parametrize("name", ["xyz", "00000000001", "0000000001"])
def test_a_bucket_with_a_wrong_name(copy, name):
    """A bucket's name is the start of an interval of its width."""
    save(copy, BUCKET + name, b"\1" + saved(copy, first_bucket(copy))[1:])
    assert "not a valid bucket" in told(copy)[0]


@pytest.mark.parametrize("value", [b"", b"\x09", b"\x00"])
def test_a_bucket_without_its_queue(copy, value):
    """A bucket has a width and a queue."""
    save(copy, first_bucket(copy), value)
    assert told(copy)


@pytest.mark.parametrize("junk", [b"\x05abcde", b"\x07abcde\x02x", b"\x09abcd", b"\xff"])
def test_sorted_records_that_are_none(copy, junk):
    """What is sorted are records too."""
    save(copy, SORTED, saved(copy, SORTED)[: TIME + COUNT] + pack_checked(junk))
    (why,) = told(copy)
    assert SORTED in why


def test_a_bucket_that_is_missing(copy):
    """The records of all buckets are counted, so that none gets lost without a word."""
    changed(copy, "DELETE FROM meta WHERE name = ?", first_bucket(copy))
    assert any(f"{PAGES - 3} records, but the buckets have" in why for why in told(copy))


@pytest.mark.parametrize("value", [msgpack.packb(7), msgpack.packb([[1, 2]]), b"\xc1"])
def test_divided_buckets_that_are_none(copy, value):
    """The buckets that are being divided are saved as such."""
    save(copy, DIVIDED, value)
    assert any(DIVIDED in why for why in told(copy))


def test_rows_ahead(copy):
    """A row has its checksum, and a record or a link under way."""
    changed(copy, "UPDATE ahead SET data = zeroblob(length(data)) WHERE length(data)")
    assert len(told(copy)) == 5
    for since, data in ((5, b"not a record"), (5, b""), (-5, b"x")):
        row = (77, since, data)
        changed(copy, "INSERT OR REPLACE INTO ahead VALUES (?, ?, ?, ?)", *row, rowcrc.ahead(*row))
        assert len(told(copy)) == 6


@pytest.mark.campaign
def test_any_bit(copy):
    """A flipped bit of a bucket's row or of a block is noticed, and nothing else than damage is
    raised.
    """
    random = Random(2)
    for table, column, where in (
        ("meta", "value", "name GLOB 'revisit.*' AND length(value)"),
        ("revisit", "data", "1"),
        ("ahead", "data", "length(data)"),
    ):
        with closing(sqlite3.connect(copy / "state/crawl.db")) as db:
            rows = db.execute(
                f"SELECT rowid, {column} FROM {table} WHERE {where}"
                if table != "meta"
                else f"SELECT name, {column} FROM {table} WHERE {where}"
            ).fetchall()
        key = "name" if table == "meta" else "rowid"
        for number, data in random.sample(rows, min(len(rows), 8)):
            spoilt = bytearray(data)
            spoilt[random.randrange(len(spoilt))] ^= 1 << random.randrange(8)
            changed(copy, f"UPDATE {table} SET {column} = ? WHERE {key} = ?", bytes(spoilt), number)
            assert told(copy), (table, number)
            changed(copy, f"UPDATE {table} SET {column} = ? WHERE {key} = ?", data, number)
    assert told(copy) == []
