"""The crawl's database: created whole, locked, recognised, and always as of the last checkpoint."""

import errno
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from unittest.mock import MagicMock

import pytest

from tests.support.places import ROOT
from webcrawl.store.crawldb import SHORT_PASS, CrawlDB, SavedValue
from webcrawl.store.disk import Disk
from webcrawl.store.errors import DamagedFile, StateLocked, StateVersion, StoreError
from webcrawl.store.schema import APPLICATION, TABLES

CHILD = """
import sys
from pathlib import Path
from webcrawl.store.crawldb import CrawlDB

db = CrawlDB(Path(sys.argv[1]))
db.set("x", b"committed")
db.checkpoint()
db.set("x", b"not committed")
db.executemany("INSERT INTO block VALUES (?, ?)", ((i, bytes(8000)) for i in range(4000)))  # beyond the page cache
print("ready", flush=True)
sys.stdin.read()
"""


def _contents(folder):
    """The bytes of every file, without the lock, which is empty, and SQLite's shared memory, which
    is not content.
    """
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.name not in ("lock", "crawl.db-shm")
    }


def _modes(folder):
    """The permission bits of the database's files."""
    return {path.name: path.stat().st_mode & 0o777 for path in folder.glob("crawl.db*")}


class NotTheOwner(Disk):
    """Files are somebody else's."""

    def make_private(self, path):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def _make(folder, rows=0):
    db = CrawlDB(folder)
    db.set("x", b"1")
    db.executemany(
        "INSERT INTO block VALUES (?, ?)", ((i, bytes([i % 256]) * 3000) for i in range(rows))
    )
    db.checkpoint()
    db.close()
    return folder / "crawl.db"


class TestOpening:
    def test_a_new_folder_becomes_an_empty_crawl(self, tmp_path):
        """The folder and the database are created if needed."""
        with closing(CrawlDB(tmp_path / "a" / "b")) as db:
            assert db.get("x") is None
            assert {
                table
                for (table,) in db.query("SELECT name FROM sqlite_schema WHERE type = 'table'")
            } >= {
                "meta",
                "block",
                "host",
                "waiting",
                "run",
                "output",
            }

    def test_a_new_state_is_its_owners_alone(self, tmp_path):
        """Nobody else may read the database, its log and its index: keys are in them."""
        with closing(CrawlDB(tmp_path)) as db:
            db.set("x", b"1")
            db.checkpoint()
            assert _modes(tmp_path) == dict.fromkeys(
                ("crawl.db", "crawl.db-shm", "crawl.db-wal"), 0o600
            )

    def test_a_state_that_others_could_read(self, tmp_path):
        """A state that an earlier version made for all to read is its owner's alone from its
        opening on.
        """
        path = _make(tmp_path)
        path.chmod(0o644)
        with closing(sqlite3.connect(path)) as before:
            # leaves a log and an index of the same mode
            before.execute("PRAGMA user_version").fetchone()
            with closing(CrawlDB(tmp_path)):
                assert _modes(tmp_path) == dict.fromkeys(
                    ("crawl.db", "crawl.db-shm", "crawl.db-wal"), 0o600
                )

    def test_a_mode_that_cannot_be_changed(self, tmp_path, caplog):
        """A state of somebody else's, whose mode is not ours to change, is named in the log and
        used.
        """
        path = _make(tmp_path)
        path.chmod(0o644)

        with closing(CrawlDB(tmp_path, NotTheOwner())) as db:
            assert db.get("x") == b"1"
        assert f"{path}: other users may read it: Operation not permitted" in caplog.text

    def test_a_half_made_database_is_made_anew(self, tmp_path):
        """What a killed creation left under the temporary name is ignored and replaced."""
        (tmp_path / "crawl.new").write_bytes(b"half")
        (tmp_path / "crawl.new-journal").write_bytes(b"half")

        with closing(CrawlDB(tmp_path)) as db:
            assert db.get("x") is None
        assert sorted(_contents(tmp_path)) == ["crawl.db"]

    def test_a_log_without_its_database_is_damage(self, tmp_path):
        """A missing crawl.db with a log is not replaced by an empty one, into which SQLite would
        replay the log.
        """
        (tmp_path / "crawl.db-wal").write_bytes(b"frames")

        with pytest.raises(DamagedFile, match="left behind without its crawl"):
            CrawlDB(tmp_path)
        assert _contents(tmp_path) == {"crawl.db-wal": b"frames"}

    @pytest.mark.parametrize(
        ("version", "why"),
        [
            (
                4,
                r"written by an earlier webcrawl \(version 4 of the state, this program reads 5\)",
            ),
            (
                6,
                r"written by a later webcrawl \(version 6 of the state, this program reads 5\)",
            ),
        ],
    )
    def test_another_version_is_refused(self, tmp_path, version, why):
        """A state of an earlier or later version raises StateVersion and is not changed."""
        path = _make(tmp_path)
        with closing(sqlite3.connect(path)) as db:
            db.execute(f"PRAGMA user_version = {version}")
        before = path.read_bytes()

        with pytest.raises(StateVersion, match=why):
            CrawlDB(tmp_path)
        assert path.read_bytes() == before

    def test_another_programs_database_is_refused(self, tmp_path):
        """Another program's SQLite file raises DamagedFile and is not changed."""
        path = tmp_path / "crawl.db"
        with closing(sqlite3.connect(path)) as db:
            db.executescript(TABLES)
        before = _contents(tmp_path)

        with pytest.raises(DamagedFile, match="at byte 68: another program's"):
            CrawlDB(tmp_path)
        assert _contents(tmp_path) == before

    @pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"x" * 10_000, b"\0" * 8192])
    def test_a_file_that_is_no_database_is_refused(self, tmp_path, content):
        """Any other file of that name raises DamagedFile and is not changed."""
        (tmp_path / "crawl.db").write_bytes(content)

        with pytest.raises(DamagedFile, match="not a SQLite database"):
            CrawlDB(tmp_path)
        assert _contents(tmp_path) == {"crawl.db": content}

    @pytest.mark.parametrize("lost", [1, 100, 8192, 8193, 50_000])
    def test_a_truncated_file_is_refused(self, tmp_path, lost):
        """Opening a truncated database raises DamagedFile and does not change it."""
        path = _make(tmp_path, rows=30)
        truncated = path.read_bytes()[:-lost]
        path.write_bytes(truncated)

        with pytest.raises(DamagedFile):
            CrawlDB(tmp_path)
        assert path.read_bytes() == truncated

    def test_a_refused_folder_can_be_opened_once_it_is_repaired(self, tmp_path):
        """A failed opening releases the lock."""
        path = _make(tmp_path)
        whole = path.read_bytes()
        path.write_bytes(b"x")
        with pytest.raises(DamagedFile):
            CrawlDB(tmp_path)
        path.write_bytes(whole)

        with closing(CrawlDB(tmp_path)) as db:
            assert db.get("x") == b"1"

    def test_a_folder_that_cannot_be_made_is_an_error_of_the_store(self, tmp_path):
        """If the folder's path is a file, opening raises StoreError with the cause."""
        (tmp_path / "file").write_text("")

        with pytest.raises(StoreError) as caught:
            CrawlDB(tmp_path / "file")
        assert isinstance(caught.value.__cause__, FileExistsError)


class TestLock:
    def test_a_second_owner_is_refused(self, tmp_path):
        """Opening a crawl that is in use raises StateLocked."""
        with (
            closing(CrawlDB(tmp_path)),
            pytest.raises(StateLocked, match="another process is using this crawl"),
        ):
            CrawlDB(tmp_path)

    def test_closing_gives_the_crawl_free(self, tmp_path):
        """After close it can be opened again."""
        CrawlDB(tmp_path).close()

        CrawlDB(tmp_path).close()

    def test_a_killed_owner_holds_nothing_and_leaves_the_checkpoint(self, tmp_path):
        """A crawl in use by another process is refused; after its kill -9 the state is the last
        checkpoint's.
        """
        command = [sys.executable, "-c", CHILD, str(tmp_path)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
        ) as child:
            assert child.stdout.readline() == b"ready\n"
            with pytest.raises(StateLocked):
                CrawlDB(tmp_path)
            child.send_signal(signal.SIGKILL)

        with closing(CrawlDB(tmp_path)) as db:
            assert db.get("x") == b"committed"
            assert db.query("SELECT count(*) FROM block") == [(0,)]
            assert db.query("PRAGMA integrity_check") == [("ok",)]


class Counter:
    """A minimal Part."""

    def __init__(self, db, name):
        self.db, self.name, self.value = db, name, int(db.get(name) or 0)
        self.prepared = 0
        db.join(self)

    def prepare(self):
        self.prepared += 1
        yield

    def save(self):
        self.db.set(self.name, b"%d" % self.value)


class TestCheckpoint:
    @pytest.mark.parametrize(
        ("seconds", "passes"), [([SHORT_PASS / 2], 1), ([8, 3, 2], 3), ([8, 5], 2)]
    )
    def test_what_changes_while_it_is_prepared_is_prepared_too(
        self, tmp_path, monkeypatch, seconds, passes
    ):
        """A pass that took long is followed by another one, as long as each takes less than half of
        the one before.
        """
        now, rest = 0.0, iter(seconds)
        monkeypatch.setattr("webcrawl.store.crawldb.time.monotonic", lambda: now)
        with closing(CrawlDB(tmp_path)) as db:
            part = Counter(db, "n")

            def prepare():
                nonlocal now
                part.prepared += 1
                now += next(rest)
                yield

            part.prepare = prepare
            for _ in db.prepare():
                pass

        assert part.prepared == passes

    def test_what_came_after_the_last_one_is_gone(self, tmp_path):
        """Closing without a checkpoint discards the open transaction, as a crash does."""
        with closing(CrawlDB(tmp_path)) as db:
            db.set("x", b"1")
            db.checkpoint()
            db.set("x", b"2")
            assert db.get("x") == b"2"

        with closing(CrawlDB(tmp_path)) as db:
            assert db.get("x") == b"1"

    def test_parts_agree(self, tmp_path):
        """All parts are saved by the same checkpoint."""
        with closing(CrawlDB(tmp_path)) as db:
            first, second = Counter(db, "first"), Counter(db, "second")
            first.value = second.value = 1
            assert list(db.prepare()).count(None) >= 2
            db.checkpoint()
            first.value = second.value = 2

        with closing(CrawlDB(tmp_path)) as db:
            assert (Counter(db, "first").value, Counter(db, "second").value) == (1, 1)
        assert (first.prepared, second.prepared) == (1, 1)

    def test_a_reader_sees_the_last_one_while_the_owner_works(self, tmp_path):
        """Another connection neither sees the open transaction nor waits for it."""
        with closing(CrawlDB(tmp_path)) as db:
            db.set("x", b"1")
            db.checkpoint()
            db.set("x", b"2")

            with closing(sqlite3.connect(f"file:{db.path}?mode=ro", uri=True)) as reader:
                assert reader.execute("SELECT value FROM meta WHERE name = 'x'").fetchall() == [
                    (b"1",)
                ]
                db.checkpoint()
                assert reader.execute("SELECT value FROM meta WHERE name = 'x'").fetchall() == [
                    (b"2",)
                ]

    def test_a_commit_is_synced(self, tmp_path):
        """SQLite syncs its log at every COMMIT, and never copies it back during one."""
        with closing(CrawlDB(tmp_path)) as db:
            assert db.query("PRAGMA journal_mode") == [("wal",)]
            assert db.query("PRAGMA synchronous") == [(2,)]
            assert db.query("PRAGMA wal_autocheckpoint") == [(0,)]

    def test_a_checkpoint_of_nothing_is_none(self, tmp_path):
        """A checkpoint without changes does nothing."""
        with closing(CrawlDB(tmp_path)) as db:
            db.checkpoint()
            db.checkpoint()

    def test_a_file_is_removed_after_the_commit_that_no_longer_names_it(self, tmp_path):
        """Discarded files stay until the next checkpoint."""
        doomed = tmp_path / "old.run"
        doomed.write_bytes(b"keys")
        with closing(CrawlDB(tmp_path)) as db:
            db.set("x", b"1")
            db.discard(doomed)
            assert doomed.exists()
            db.checkpoint()

        assert not doomed.exists()

    def test_a_file_is_removed_once(self, tmp_path):
        """A file created later with the name of a discarded one is not removed."""
        path = tmp_path / "old.run"
        path.write_bytes(b"keys")
        with closing(CrawlDB(tmp_path)) as db:
            db.discard(path)
            db.checkpoint()
            path.write_bytes(b"others")
            db.checkpoint()

        assert path.read_bytes() == b"others"

    def test_a_failed_checkpoint_removes_nothing(self, tmp_path):
        """A file stays as long as the last checkpoint names it."""
        doomed = tmp_path / "old.run"
        doomed.write_bytes(b"keys")
        with closing(CrawlDB(tmp_path)) as db:
            db.discard(doomed)
            Counter(db, "first").value = None
            with pytest.raises(TypeError):
                db.checkpoint()

        assert doomed.exists()

    def test_after_an_error_nothing_goes_on(self, tmp_path):
        """An error in a part's save leaves the last checkpoint in force, and all later calls give
        the reason.
        """
        with closing(CrawlDB(tmp_path)) as db:
            part = Counter(db, "first")
            part.value = 1
            db.checkpoint()
            part.value = None
            with pytest.raises(TypeError):
                db.checkpoint()
            for call in (db.checkpoint, lambda: db.get("first"), lambda: db.set("first", b"3")):
                with pytest.raises(
                    StoreError, match="cannot be used after an earlier error: %d format"
                ):
                    call()

        with closing(CrawlDB(tmp_path)) as db:
            assert db.get("first") == b"1"

    def test_a_lack_of_memory_is_named_as_the_reason(self, tmp_path):
        """Later calls say so, though the error has no words of its own."""
        with closing(CrawlDB(tmp_path)) as db:
            Counter(db, "first").save = MagicMock(side_effect=MemoryError)
            with pytest.raises(MemoryError):
                db.checkpoint()
            with pytest.raises(
                StoreError, match="cannot be used after an earlier error: out of memory"
            ):
                db.get("first")

    def test_an_error_among_the_rows_of_a_change_counts(self, tmp_path):
        """If the iterator of rows raises, the rows already written are not committed."""

        def rows():
            yield (1, b"")
            raise KeyError("row")

        with closing(CrawlDB(tmp_path)) as db:
            with pytest.raises(KeyError):
                db.executemany("INSERT INTO block VALUES (?, ?)", rows())
            with pytest.raises(StoreError, match="cannot be used after an earlier error"):
                db.checkpoint()

        with closing(CrawlDB(tmp_path)) as db:
            assert db.query("SELECT * FROM block") == []


class TestIdentity:
    def test_a_repr_says_which_crawl(self, tmp_path):
        """The repr shows the file and whether the database has failed."""
        with closing(CrawlDB(tmp_path)) as db:
            assert repr(db) == f"<CrawlDB {tmp_path}/crawl.db parts=0 failed=False>"

    def test_the_file_says_whose_it_is(self, tmp_path):
        """SQLite's application id is set, so that tools like `file` recognise the database."""
        with closing(sqlite3.connect(_make(tmp_path))) as db:
            assert db.execute("PRAGMA application_id").fetchone() == (APPLICATION,)


class TestSmallValues:
    def test_a_range(self, tmp_path):
        """Values are read and removed by a range of names, the end left out."""
        with closing(CrawlDB(tmp_path)) as db:
            db.set_all((name, name.encode()) for name in ("b/2", "a", "b/10", "b/1", "b0"))

            assert db.between("b/1", "b/2") == [("b/1", b"b/1"), ("b/10", b"b/10")]
            db.delete("b/1", "b/2")
            assert [name for name, _ in db.named("")] == ["a", "b/2", "b0"]

    def test_damage_in_a_range(self, tmp_path):
        """A value that does not match its checksum is damage, however it is read."""
        with closing(CrawlDB(tmp_path)) as db:
            db.set_all([("b/1", b"one"), ("b/2", b"two")])
            db.execute("UPDATE meta SET value = x'00' WHERE name = 'b/2'")

            assert db.between("b/1", "b/2") == [("b/1", b"one")]
            with pytest.raises(DamagedFile, match="table meta, b/2: wrong checksum"):
                db.between("b/1", "b/3")


def test_a_value_that_is_written_when_it_has_changed(db):
    """An empty one is written only in the place of one that had something in it."""
    value, written = SavedValue(db, "x"), []
    set_value = db.set
    db.set = lambda name, data: (written.append(data), set_value(name, data))
    value.save(b"none", is_empty=True)
    for data in (b"some", b"some", b"other"):
        value.save(data)
    value.save(b"none", is_empty=True)

    assert written == [b"some", b"other", b"none"]
    assert SavedValue(db, "x").data == b"none"
