"""Streams that grow with the crawl, and the Parquet files that they become, through kills, full
disks and restarts.
"""

import errno
import os
import shutil
import sqlite3
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.support.places import IN_MEMORY
from tests.support.saving import prepared, settled
from tests.support.tables import OPTIONS, Job, files, rows
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.record.tables.table_writer import CrawlTables
from webcrawl.store import rowcrc
from webcrawl.store.disk import Disk
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.tools.verify_crawl import verify

URL = "http://a.test/{}"


def urls(root, table="pages", column="url"):
    return [row[column] for row in rows(root, table)]


def sound(root):
    found = Counter()
    assert [str(damage) for damage in verify(root, found)] == []
    return found


def crawled(root, first, last, **options):
    """Some pages with two links each, and a checkpoint; the job is open."""
    job = Job(root, **options)
    for number in range(first, last):
        job.page(URL.format(number), [("a", f"/{number}/1", "", ""), ("a", f"/{number}/2", "", "")])
    job.checkpoint()
    return job


class TestFiles:
    def test_before_that_there_are_streams(self, tmp_path):
        """What grows is an Arrow stream with the rows of the last checkpoint, and verify reads it."""
        job = crawled(tmp_path, 0, 3)

        assert files(tmp_path) == ["links-00000.arrows.open", "pages-00000.arrows.open"]
        assert urls(tmp_path) == [URL.format(number) for number in range(3)]
        assert sound(tmp_path)["rows"] == 3
        job.close()

    def test_a_run_without_pages(self, tmp_path):
        """It leaves a table of hosts, and no empty files."""
        crawled(tmp_path, 0, 0).stop()

        assert files(tmp_path) == ["hosts-00000.parquet"]
        sound(tmp_path)

    def test_a_run_without_tables_between(self, tmp_path):
        """Its lines of crawl.log have no rows, and verify knows which these are."""
        crawled(tmp_path, 0, 2).stop()
        crawled(tmp_path, 2, 4, tables=False).stop()
        crawled(tmp_path, 4, 6).stop()

        assert urls(tmp_path) == [URL.format(number) for number in (0, 1, 4, 5)]
        assert sound(tmp_path)["rows"] == 4

    def test_a_file_that_its_owner_has_taken_away(self, tmp_path):
        """Finished files may go; the others are still compared with the log."""
        for first in (0, 3, 6):
            crawled(tmp_path, first, first + 3).stop()
        (tmp_path / "tables/pages-00001.parquet").unlink()

        assert sound(tmp_path)["rows"] == 6
        crawled(tmp_path, 9, 10).stop()
        assert sound(tmp_path)["rows"] == 7


class TestKilled:
    def test_a_stream_of_an_older_version(self, tmp_path):
        """It is finished with the columns that it has."""
        job = crawled(tmp_path / "job", 0, 3)
        settled(job.db)
        left = shutil.copytree(tmp_path / "job", tmp_path / "left")
        job.close()
        job = Job(left)
        job.checkpoint(until=("tables/pages", "tables/links"))
        job.checkpoint()

        assert files(left) == ["links-00000.parquet", "pages-00000.parquet"]
        job.close()


class Failing(Disk):
    """A disk on which no Parquet file can be written."""

    room = False

    def __init__(self, what):
        self._what = what
        self._fds = set()

    def create(self, path, mode=0o644):
        if not self.room and self._what == "create" and ".parquet" in path.name:
            raise OSError(28, os.strerror(28))
        fd = super().create(path, mode)
        if ".parquet" in path.name:
            self._fds.add(fd)
        return fd

    def write(self, fd, data):
        if not self.room and self._what == "write" and fd in self._fds:
            raise OSError(28, os.strerror(28))
        super().write(fd, data)

    def sync(self, fd):
        if not self.room and self._what == "sync" and fd in self._fds:
            raise OSError(28, os.strerror(28))
        super().sync(fd)


class Poor(Disk):
    """There is no memory to write Parquet files."""

    def create(self, path, mode=0o644):
        if ".parquet" in path.name:
            raise MemoryError
        return super().create(path, mode)


class TestFullDisk:
    def test_no_memory(self, tmp_path, caplog):
        """The rows stay in their stream, and the log says why."""
        crawled(tmp_path, 0, 3, disk=Poor()).stop()

        assert "pages-00000.parquet: could not be written yet: out of memory" in caplog.text
        assert sound(tmp_path)["rows"] == 3

    def test_no_descriptor(self, tmp_path, caplog, monkeypatch):
        """A stream that cannot be opened for want of one is not damaged: it is tried again."""

        def none_left(source):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), str(source))

        monkeypatch.setattr("webcrawl.record.tables.table_writer.read_schema", none_left)
        crawled(tmp_path, 0, 3).stop()
        monkeypatch.undo()

        assert (
            "pages-00000.parquet: could not be written yet: [Errno 24] Too many open files"
            in caplog.text
        )
        crawled(tmp_path, 3, 4).stop()
        assert sound(tmp_path)["rows"] == 4

    @pytest.mark.parametrize("what", ["create", "write", "sync"])
    def test_a_file_that_cannot_be_written(self, tmp_path, caplog, what):
        """The rows stay in their stream, the log says so, and the next run writes the file."""
        job = crawled(tmp_path, 0, 3, disk=Failing(what))
        job.stop()

        assert files(tmp_path) == ["links-00000.arrows.open", "pages-00000.arrows.open"]
        assert (
            "pages-00000.parquet: could not be written yet: [Errno 28] No space left on device"
            in caplog.text
        )
        assert sound(tmp_path)["rows"] == 3
        crawled(tmp_path, 3, 4).stop()
        assert urls(tmp_path) == [URL.format(number) for number in range(4)]
        assert all(name.endswith(".parquet") for name in files(tmp_path))

    def test_a_table_of_hosts_that_cannot_be_written(self, tmp_path):
        """The last run's stays, until a run writes its own: no host is there twice."""
        crawled(tmp_path, 0, 1).stop()
        crawled(tmp_path, 1, 2, disk=Failing("write")).stop()
        assert files(tmp_path, "hosts") == ["hosts-00000.parquet"]
        crawled(tmp_path, 2, 3).stop()

        assert files(tmp_path, "hosts") == ["hosts-00002.parquet"]
        sound(tmp_path)

    def test_closing_waits_for_the_thread(self, tmp_path):
        """A process that ends while a file is written would be ended by its thread."""
        job = Job(tmp_path, full=1)
        for number in range(300):
            job.page(URL.format(number))
        prepared(job.db)
        job.close()

        assert not job.tables.conversions._worker._not_ended.locked()

    def test_room_again(self, tmp_path):
        """A later checkpoint tries again."""
        disk = Failing("write")
        job = Job(tmp_path, disk, full=1)
        for number in range(300):
            job.page(URL.format(number))
        job.checkpoint(until=("tables/pages",))
        disk.room = True
        for _ in range(3):
            job.checkpoint(until=("tables/pages",))

        assert files(tmp_path, "pages") == ["pages-00000.parquet", "pages-00001.parquet"]
        job.close()

    def test_a_stream_that_cannot_be_written(self, tmp_path):
        """The end of that URL is not booked: whoever tells of it gets the error."""

        class Full(Disk):
            full = False

            def write(self, fd, data):
                if self.full:
                    raise OSError(28, os.strerror(28))
                super().write(fd, data)

        disk = Full()
        job = crawled(tmp_path, 0, 3, disk=disk, archive=False)
        disk.full = True
        links = [("a", f"http://{number * 7919}.test/", "", "") for number in range(200_000)]
        with pytest.raises(StoreError, match="No space left"):
            _two(job, links)
        disk.full = False
        job.close()
        crawled(tmp_path, 3, 4).stop()

        assert urls(tmp_path) == [URL.format(number) for number in range(4)]
        sound(tmp_path)


def _two(job, links):
    """The rows of a URL are made when the next one ends."""
    for number in (3, 4):
        job.page(URL.format(number), links)


class TestDamage:
    def test_a_damaged_stream_ends_the_crawl(self, tmp_path):
        """A file that is not what was written is not passed on as one that is."""
        crawled(tmp_path, 0, 300, archive=False).close()
        path = tmp_path / "tables/pages-00000.arrows.open"
        data = bytearray(path.read_bytes())
        data[len(data) // 2 :] = bytes(len(data) - len(data) // 2)
        path.write_bytes(data)
        job = Job(tmp_path, archive=False)
        with pytest.raises(DamagedFile, match=path.name):
            job.checkpoint(until=("tables/pages",))

        job.close()

    def test_a_damaged_note(self, tmp_path):
        """State that cannot be read stops the crawl before anything is written."""
        crawled(tmp_path, 0, 3, archive=False).close()
        with closing(sqlite3.connect(tmp_path / "state/crawl.db")) as db, db:
            db.execute(
                "UPDATE meta SET value = ?, crc = ? WHERE name = 'tables'",
                (b"{}", rowcrc.meta("tables", b"{}")),
            )

        job = Job(tmp_path, archive=False, tables=False)
        with pytest.raises(DamagedFile, match="table meta, tables"):
            CrawlTables(job.db, job.outputs, tmp_path, **OPTIONS)
        job.close()


class Machine(RuleBasedStateMachine):
    """Rows, rotations, checkpoints, kills and restarts in any order, beside a list of what must be
    there.
    """

    def __init__(self):
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(dir=IN_MEMORY)
        self._root = Path(self._folder.name) / "0"
        self._runs = 0
        self._saved, self._now = [], []
        self._job = None
        self._open()

    def _open(self, full=2000):
        self._job = Job(self._root, archive=False, full=full)

    @rule(count=st.integers(1, 600), links=st.integers(0, 3))
    def pages(self, count, links):
        for _ in range(count):
            url = URL.format(len(self._now))
            self._job.page(url, [("a", f"/{number}", "x", "") for number in range(links)])
            self._now.append((url, links))

    @rule()
    def failure(self):
        url = URL.format(len(self._now))
        self._job.end(Link(url), Outcome(Status.TIMEOUT, ended=1.0))
        self._now.append((url, 0))

    @rule()
    def checkpoint(self):
        self._job.checkpoint()
        self._saved = list(self._now)

    @rule(ending=st.booleans(), committed=st.booleans())
    def kill(self, ending, committed):
        if ending:
            self._job.tables.end()
        prepared(self._job.db)
        if committed:
            self._job.db.checkpoint()
            self._saved = list(self._now)
        settled(self._job.db)
        self._runs += 1
        left = shutil.copytree(self._root, self._root.with_name(str(self._runs)))
        self._job.close()
        self._root, self._now = left, list(self._saved)
        self._open()

    @rule()
    def stop(self):
        self._job.stop()
        self._saved = list(self._now)
        assert all(name.endswith(".parquet") for name in files(self._root))
        assert [(row["url"], row["links"]) for row in rows(self._root, "pages")] == self._saved
        assert Counter(urls(self._root, "links", "from_url")) == +Counter(dict(self._saved))
        self._open()

    @invariant()
    def verified(self):
        if self._job is not None and (self._root / "state/crawl.db").exists() and self._saved:
            assert sound(self._root)["rows"] == len(self._saved)

    def teardown(self):
        self._job.close()
        self._folder.cleanup()


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=8, stateful_step_count=8, deadline=None)
