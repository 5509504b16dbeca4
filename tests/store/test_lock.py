"""A crawl has one owner, whatever becomes of the file `lock`."""

import errno
import fcntl
import shutil
import sqlite3
from contextlib import closing
from functools import partial

import pytest

from tests.support.outputs import Crawl
from tests.support.saving import settled
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StateLocked, StoreError
from webcrawl.store.lock import Lock, is_held


@pytest.fixture(name="crawl")
def _crawl(tmp_path):
    """A crawl with an owner."""
    with closing(Crawl(tmp_path / "job")) as crawl:
        crawl.log = crawl.outputs.open("logs/crawl.log")
        crawl.log.write(b"noted\n")
        crawl.checkpoint()
        yield crawl


def free(_fd, _operation):
    """In place of flock: a file system on which nothing is ever locked."""


class TestFiles:
    @pytest.mark.parametrize("again", [False, True], ids=["removed", "made anew"])
    def test_without_its_file_the_lock_holds(self, tmp_path, again):
        """When the lock's file is removed, or another one is in its place, a second owner is
        refused.
        """
        with closing(Lock(tmp_path)):
            (tmp_path / "lock").unlink()
            if again:
                (tmp_path / "lock").touch()

            with pytest.raises(StateLocked, match="another process is using this crawl"):
                Lock(tmp_path)

    def test_a_file_replaced_before_it_is_locked(self, tmp_path, monkeypatch):
        """A lock on a file that is no longer at its path is not enough: the file that is there is
        locked.
        """
        locked, flock = [], fcntl.flock

        def late(fd, operation):
            if not locked:
                (tmp_path / "lock").unlink()
                (tmp_path / "lock").touch()
            locked.append(fd)
            flock(fd, operation)

        monkeypatch.setattr(fcntl, "flock", late)
        with (
            closing(Lock(tmp_path)),
            (tmp_path / "lock").open() as file,
            pytest.raises(BlockingIOError),
        ):
            flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert len(locked) == 3

    def test_what_was_locked_is_free_after_a_refusal(self, tmp_path):
        """A refused owner holds nothing: not the new file that it has locked before it came to the
        folder.
        """
        with closing(Lock(tmp_path)):
            (tmp_path / "lock").unlink()
            with pytest.raises(StateLocked):
                Lock(tmp_path)

        Lock(tmp_path).close()

    def test_who_looks_takes_nothing(self, tmp_path):
        """Whether a folder is locked can be seen, also without the file, and nothing is made or
        kept by looking.
        """
        assert not is_held(tmp_path / "none")
        assert not is_held(tmp_path)
        assert [*tmp_path.iterdir()] == []
        with closing(Lock(tmp_path)):
            assert is_held(tmp_path)
            (tmp_path / "lock").unlink()
            assert is_held(tmp_path)
        assert not is_held(tmp_path)
        Lock(tmp_path).close()

    def test_another_folder_is_another_crawl(self, tmp_path):
        """A copy of the folder has an owner of its own."""
        (tmp_path / "one").mkdir()
        with closing(Lock(tmp_path / "one")):
            shutil.copytree(tmp_path / "one", tmp_path / "two")

            Lock(tmp_path / "two").close()

    def test_the_same_folder_twice(self, tmp_path):
        """A folder that the owner has already is not in its own way."""
        with closing(Lock(tmp_path)) as lock:
            lock.add(tmp_path)

            assert repr(lock) == "<Lock held=2>"

    def test_a_file_system_that_locks_no_folders(self, tmp_path, monkeypatch):
        """Where folders cannot be locked, the file is."""
        flock = fcntl.flock

        def files_only(fd, operation):
            if fcntl.fcntl(fd, fcntl.F_GETFL) & 3 == 0:  # opened for reading only, as folders are
                raise OSError(errno.EBADF, "no")
            flock(fd, operation)

        monkeypatch.setattr(fcntl, "flock", files_only)
        with closing(Lock(tmp_path)), pytest.raises(StateLocked):
            Lock(tmp_path)

    def test_another_failure_is_not_somebody_elses_lock(self, tmp_path, monkeypatch):
        """An error of the disk is told as what it is."""

        def broken(_fd, _operation):
            raise OSError(errno.EIO, "broken")

        monkeypatch.setattr(fcntl, "flock", broken)
        with pytest.raises(StoreError, match="broken"):
            CrawlDB(tmp_path)


class TestOutputs:
    def test_a_replaced_state_is_no_way_in(self, tmp_path, crawl):
        """Whoever puts a copy in the state's place does not get at the outputs of the crawl that
        runs.
        """
        crawl.log.write(b"not noted\n")
        crawl.log.flush()
        settled(crawl.db)  # nothing changes while it is copied
        (tmp_path / "job/state").rename(tmp_path / "moved")
        shutil.copytree(tmp_path / "moved", tmp_path / "job/state")

        with pytest.raises(StateLocked, match="job: another process"):
            Crawl(tmp_path / "job")
        assert (tmp_path / "job/logs/crawl.log").read_bytes() == b"noted\nnot noted\n"


class TestWriter:
    @pytest.fixture(autouse=True)
    def _impatient(self, monkeypatch):
        monkeypatch.setattr(
            "webcrawl.store.schema.sqlite3.connect", partial(sqlite3.connect, timeout=0)
        )

    @pytest.mark.parametrize("changed", [False, True])
    def test_sqlite_has_one_writer_too(self, tmp_path, monkeypatch, crawl, changed):
        """Where nothing can be locked, SQLite's lock keeps a second owner out, also right after a
        checkpoint.
        """
        monkeypatch.setattr(fcntl, "flock", free)
        crawl.log.write(b"not noted\n")
        crawl.log.flush()
        if changed:
            crawl.db.set("x", b"1")

        with pytest.raises(StateLocked):
            Crawl(tmp_path / "job")
        assert (tmp_path / "job/logs/crawl.log").read_bytes() == b"noted\nnot noted\n"
