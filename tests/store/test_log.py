"""The write-ahead log stays bounded, whatever the rhythm of writes and checkpoints."""

import os
import sqlite3
import threading
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from tests.support.saving import prepared, settled
from webcrawl.store.crawldb import CrawlDB

LIMIT = 1_000_000
ROUND = 20  # rows of 5 kB in one transaction
WRITTEN = 400_000  # at most what one round adds to the log, including pages that lose a row


class Uncopyable(sqlite3.Connection):
    """A connection through which no log can be copied back."""

    def execute(self, sql, *args):
        if "wal_checkpoint" in sql:
            raise sqlite3.OperationalError("disk I/O error")
        return super().execute(sql, *args)


def _others_may_write(db):
    """Whether another process would get the database's write lock."""
    with closing(sqlite3.connect(db.path, timeout=0, isolation_level=None)) as other:
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        other.execute("ROLLBACK")
        return True


def _size(db):
    return (db.folder / "crawl.db-wal").stat().st_size


def _work(db, round_):
    rows = ((round_ * ROUND + i, os.urandom(5000)) for i in range(ROUND))
    db.executemany("INSERT INTO block VALUES (?, ?)", rows)
    db.executemany(
        "DELETE FROM block WHERE id = ?", (((round_ - 3) * ROUND + i,) for i in range(ROUND))
    )


def _work_long(db):
    """Until the log is longer than its limit."""
    db.executemany(
        "INSERT INTO block VALUES (?, ?)", ((i, os.urandom(5000)) for i in range(2 * LIMIT // 5000))
    )


def _go_on(slices):
    for _ in slices:
        time.sleep(0.001)


class TestLog:
    @pytest.mark.parametrize(
        "copied", [True, False], ids=["copied in time", "next one begins at once"]
    )
    def test_it_never_exceeds_its_limit_by_more_than_two_rounds(self, tmp_path, copied):
        """After many checkpoints the log is at most its limit plus what was written meanwhile."""
        with closing(CrawlDB(tmp_path, log_limit=LIMIT)) as db:
            sizes = []
            for round_ in range(30):
                _work(db, round_)
                prepared(db)
                db.checkpoint()
                if copied:
                    settled(db)
                sizes.append(_size(db))

        assert max(sizes) < LIMIT + 2 * WRITTEN < 30 * ROUND * 5000
        with closing(CrawlDB(tmp_path)) as db:
            assert db.query("PRAGMA integrity_check") == [("ok",)]
            assert db.query("SELECT count(*) FROM block") == [(3 * ROUND,)]

    def test_a_long_log_that_a_crash_left_begins_anew(self, tmp_path):
        """The first transaction after a start also shortens a log beyond the limit."""
        CrawlDB(tmp_path).close()
        # a second connection, so that closing the crawl's does not empty the log;
        with closing(sqlite3.connect(tmp_path / "crawl.db", isolation_level=None)) as other:
            other.execute("BEGIN")
            # while it reads, the log cannot restart
            other.execute("SELECT count(*) FROM block").fetchone()
            with closing(CrawlDB(tmp_path)) as db:
                for round_ in range(10):
                    _work(db, round_)
                    db.checkpoint()
            other.execute("ROLLBACK")
            before = _size(db)
            with closing(CrawlDB(tmp_path, log_limit=LIMIT)) as db:
                db.set("x", b"1")
                db.checkpoint()

                assert before > LIMIT
                assert _size(db) < 50_000

    def test_a_reader_that_holds_it_up_does_no_harm(self, tmp_path):
        """While a reader's transaction is open, the log grows and the reader's view is stable; then
        the log shrinks.
        """
        with closing(CrawlDB(tmp_path, log_limit=LIMIT)) as db:
            _work(db, 0)
            db.checkpoint()
            with closing(sqlite3.connect(db.path, isolation_level=None)) as reader:
                reader.execute("BEGIN")
                assert reader.execute("SELECT count(*) FROM block").fetchone() == (ROUND,)
                for round_ in range(1, 10):
                    _work(db, round_)
                    db.checkpoint()
                assert reader.execute("SELECT count(*) FROM block").fetchone() == (ROUND,)
                longest = _size(db)
            db.checkpoint()  # ends the transaction that began beside the reader's
            _work(db, 10)
            db.checkpoint()

            assert longest > 2 * LIMIT
            assert _size(db) <= WRITTEN

    def test_one_that_is_too_long_is_truncated_in_slices(self, tmp_path):
        """Between a checkpoint and the next change it is copied back and truncated; no slice waits
        for that.
        """
        with closing(CrawlDB(tmp_path, log_limit=LIMIT)) as db:
            _work_long(db)
            db.checkpoint()
            before, free = _size(db), _others_may_write(db)
            release = threading.Event()
            db.worker.submit(release.wait)  # whatever else is to be done for the disk
            slices = db.go_on()
            try:
                waited = next(slices, "") is next(slices, "") is None
            finally:
                release.set()
            _go_on(slices)

            assert before > LIMIT
            assert free
            assert waited
            assert _size(db) == 0
            assert not _others_may_write(db)
            assert db.query("SELECT count(*) FROM block") == [(2 * LIMIT // 5000,)]

    def test_a_change_may_come_before_that(self, tmp_path):
        """It waits until the log is truncated, and belongs to the next checkpoint."""
        with closing(CrawlDB(tmp_path, log_limit=LIMIT)) as db:
            _work_long(db)
            db.checkpoint()
            slices = db.go_on()
            next(slices, None)
            db.set("x", b"1")
            after = _size(db)
            _go_on(slices)
            db.checkpoint()

            assert after == 0
        with closing(CrawlDB(tmp_path)) as db:
            assert db.get("x") == b"1"

    def test_a_reader_does_not_stop_the_crawl(self, tmp_path):
        """While somebody reads, a log that is too long is not truncated; the crawl goes on, and it
        is truncated afterwards.
        """
        with closing(CrawlDB(tmp_path, log_limit=LIMIT)) as db:
            with closing(sqlite3.connect(db.path, isolation_level=None)) as reader:
                reader.execute("BEGIN")
                reader.execute("SELECT count(*) FROM block").fetchone()
                _work_long(db)
                db.checkpoint()
                _go_on(db.go_on())
                free, longest = _others_may_write(db), _size(db)
            db.set("x", b"1")
            db.checkpoint()
            _go_on(db.go_on())

            assert not free
            assert longest > LIMIT
            assert _size(db) == 0

    def test_it_is_synced_before_the_commit(self, tmp_path, monkeypatch):
        """`prepare` syncs the log, so that the COMMIT has little left to sync."""
        synced, sync = [], os.fsync
        with closing(CrawlDB(tmp_path)) as db:
            _work(db, 0)
            monkeypatch.setattr(
                os,
                "fsync",
                lambda fd: (synced.append(str(Path(f"/proc/self/fd/{fd}").readlink())), sync(fd)),
            )
            prepared(db)

        assert synced == [str(tmp_path / "crawl.db-wal")]

    def test_it_is_copied_back_after_a_checkpoint(self, tmp_path):
        """Soon after a checkpoint the database file alone, without its log, has what was committed."""
        with closing(CrawlDB(tmp_path)) as db:
            _work(db, 0)
            db.checkpoint()
            settled(db)
            (tmp_path / "copy.db").write_bytes(db.path.read_bytes())
            with closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
                assert copy.execute("SELECT count(*) FROM block").fetchone() == (ROUND,)

    def test_copying_that_fails_loses_nothing(self, tmp_path, caplog, monkeypatch):
        """If the log cannot be copied back, that is logged, and the log stays as it is."""
        monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Uncopyable))
        with closing(CrawlDB(tmp_path)) as db:
            _work(db, 0)
            db.checkpoint()
            settled(db)
            assert _size(db) > ROUND * 5000
        monkeypatch.undo()

        (line,) = caplog.messages
        assert (
            line
            == f"{tmp_path}/crawl.db: its write-ahead log could not be copied back: disk I/O error"
        )
        with closing(CrawlDB(tmp_path)) as db:
            assert db.query("SELECT count(*) FROM block") == [(ROUND,)]
