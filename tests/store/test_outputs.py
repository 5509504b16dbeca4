"""Output files: what a checkpoint noted stays, what came later is truncated, what is missing is
damage.
"""

import errno
import os
import sys
import zlib
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.faults import BreakingDisk
from tests.support.outputs import Crawl
from tests.support.saving import prepared
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import Disk
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.outputs import Outputs


@pytest.fixture(name="crawl")
def _crawl(tmp_path):
    """A crawl whose log has one line that a checkpoint noted, and another one."""
    with closing(Crawl(tmp_path)) as crawl:
        crawl.log = crawl.outputs.open("logs/crawl.log")
        crawl.log.write(b"noted\n")
        crawl.checkpoint()
        crawl.log.write(b"not noted\n")
        yield crawl


class TestWriting:
    def test_tell_is_where_the_next_write_begins(self, crawl):
        """`tell` gives the position of the next record, after a restart too."""
        assert crawl.outputs.open("a.warc.gz").tell() == 0

        assert crawl.log.tell() == len(b"noted\nnot noted\n")
        assert repr(crawl.log).endswith("logs/crawl.log 16 bytes>")

    def test_the_kernel_is_told_to_forget_it_now_and_then(self, tmp_path, monkeypatch):
        """Every WINDOW bytes, in a thread, the file is dropped from the page cache: no archive must
        fill the memory.
        """
        forgotten = []
        disk = Disk()
        monkeypatch.setattr("webcrawl.store.output.LET_GO_BYTES", 100)
        monkeypatch.setattr(
            disk,
            "let_go",
            lambda fd: (forgotten.append(os.fstat(fd).st_size), Disk.let_go(disk, fd)),
        )
        data = [bytes([value]) * 40 for value in range(10)]
        with closing(Crawl(tmp_path, disk)) as crawl:
            output = crawl.outputs.open("a.warc.gz")
            for part in data:
                output.write(part)
                crawl.db.worker.result(crawl.db.worker.submit(int))
            crawl.checkpoint()

        assert forgotten == [120, 240, 360]
        assert (tmp_path / "a.warc.gz").read_bytes() == b"".join(data)

    def test_a_disk_that_takes_no_advice_does_no_harm(self, tmp_path, monkeypatch):
        """Some file systems do not support it, nor does macOS."""
        disk, fd = Disk(), os.open(tmp_path, os.O_RDONLY)
        os.close(fd)
        disk.let_go(fd)
        monkeypatch.delattr(os, "posix_fadvise")
        monkeypatch.setattr(sys, "platform", "darwin")
        disk.let_go(fd)

    @pytest.mark.parametrize("data", [b"abc", bytearray(b"abc"), memoryview(b"abc")])
    def test_any_buffer_may_be_written(self, crawl, data):
        """Bytes, bytearrays and views are written whole."""
        output = crawl.outputs.open("x")
        output.write(data)

        assert (output.path.read_bytes(), output.tell()) == (b"abc", 3)

    def test_a_file_is_open_once(self, crawl):
        """A file cannot be opened twice: two writers would tear each other's records."""
        with pytest.raises(ValueError, match="already open"):
            crawl.outputs.open("logs/crawl.log")

    def test_small_writes_go_to_the_disk_together(self, tmp_path):
        """Bytes are buffered until the next checkpoint at the latest; `tell` counts them."""
        with (
            closing(CrawlDB(tmp_path / "state")) as db,
            closing(Outputs(db, tmp_path, at_once=10)) as outputs,
        ):
            output = outputs.open("x")
            output.write(b"12345")
            output.write(b"67890")
            assert (output.tell(), (tmp_path / "x").read_bytes()) == (10, b"")

            output.write(b"a")
            assert (tmp_path / "x").read_bytes() == b"1234567890a"
            output.write(b"b")
            db.checkpoint()
            assert (tmp_path / "x").read_bytes() == b"1234567890ab"

    def test_what_waits_outlives_a_failed_write(self, tmp_path):
        """The data of a write that raises is dropped; what was buffered before is written by the
        next write.
        """
        disk = BreakingDisk()
        with (
            closing(CrawlDB(tmp_path / "state", disk)) as db,
            closing(Outputs(db, tmp_path, at_once=10)) as outputs,
        ):
            output = outputs.open("x")
            output.write(b"1234567890")
            disk.fail_at = disk.operations + 1
            with pytest.raises(StoreError):
                output.write(b"lost")
            output.write(b"abc")

            assert (output.tell(), (tmp_path / "x").read_bytes()) == (13, b"1234567890abc")

    def test_a_closed_file_takes_no_more(self, crawl):
        """After close a write is an error; opening again continues at the end."""
        log = crawl.log
        log.close()
        with pytest.raises(ValueError, match="closed"):
            log.write(b"x")
        crawl.outputs.open("logs/crawl.log").write(b"again\n")

        assert log.path.read_bytes() == b"noted\nnot noted\nagain\n"


class TestRecovery:
    def test_what_came_after_the_checkpoint_is_truncated(self, crawl, tmp_path):
        """Opening the outputs truncates a longer file, whether or not that file is opened itself."""
        crawl.close()
        crawl = Crawl(tmp_path)

        assert (tmp_path / "logs/crawl.log").read_bytes() == b"noted\n"
        crawl.outputs.open("logs/crawl.log").write(b"done again\n")
        assert (tmp_path / "logs/crawl.log").read_bytes() == b"noted\ndone again\n"
        crawl.close()

    def test_a_file_begun_after_the_checkpoint_begins_anew(self, crawl, tmp_path):
        """A file that no checkpoint has noted is emptied when it is opened."""
        crawl.outputs.open("a.warc.gz").write(b"record")
        crawl.close()
        crawl = Crawl(tmp_path)

        assert crawl.outputs.open("a.warc.gz").tell() == 0
        assert (tmp_path / "a.warc.gz").read_bytes() == b""
        crawl.close()

    def test_a_closed_file_keeps_its_last_bytes(self, crawl, tmp_path):
        """The checkpoint after a close notes all of the file."""
        output = crawl.outputs.open("a.warc.gz")
        output.write(b"record")
        output.close()
        crawl.checkpoint()
        assert repr(crawl.outputs).endswith("open=1 noted=2>")
        crawl.checkpoint()
        crawl.close()
        crawl = Crawl(tmp_path)

        assert crawl.outputs.open("a.warc.gz").tell() == 6
        crawl.close()

    @pytest.mark.parametrize("left", [None, 0, 5])
    def test_a_file_shorter_than_noted_is_damage(self, crawl, tmp_path, left):
        """Missing bytes or a missing file raise DamagedFile before any other file is truncated."""
        other = crawl.outputs.open("other")
        other.write(b"noted too")
        crawl.checkpoint()
        other.write(b" and more")
        crawl.close()
        path = tmp_path / "logs/crawl.log"
        if left is None:
            path.unlink()
        else:
            path.write_bytes(path.read_bytes()[:left])

        with pytest.raises(DamagedFile) as caught:
            Crawl(tmp_path)
        assert (caught.value.path, caught.value.offset) == (path, left or 0)
        assert (tmp_path / "other").read_bytes() == b"noted too and more"

    def test_check_tells_every_damaged_file(self, crawl, tmp_path):
        """Check finds files that lost bytes while the crawl was running."""
        assert list(crawl.outputs.check()) == []
        (tmp_path / "logs/crawl.log").unlink()

        assert ["missing, 6 bytes" in damage.why for damage in crawl.outputs.check()] == [True]
        assert repr(crawl.outputs).endswith("open=1 noted=1>")


class TestFullDisk:
    def test_a_failed_write_leaves_whole_records(self, tmp_path):
        """A partial write to a full disk is truncated; the caller gets the cause and may go on
        later.
        """
        disk = BreakingDisk()
        with closing(Crawl(tmp_path, disk)) as crawl:
            output = crawl.outputs.open("a.warc.gz")
            output.write(b"first,")
            disk.fail_at = disk.operations + 1
            with pytest.raises(StoreError, match="No space") as caught:
                output.write(b"second,")
            assert caught.value.__cause__.errno == errno.ENOSPC
            assert output.path.read_bytes() == b"first,"
            output.write(b"third,")
            crawl.checkpoint()

        assert (tmp_path / "a.warc.gz").read_bytes() == b"first,third,"

    def test_a_torn_record_is_truncated_before_the_next(self, tmp_path):
        """If truncating fails too, the next write does it first, and writes nothing until it
        succeeds.
        """
        disk = BreakingDisk()
        with closing(Crawl(tmp_path, disk)) as crawl:
            output = crawl.outputs.open("a.warc.gz")
            output.write(b"first,")
            disk.fail_at, disk.for_good = disk.operations + 1, True
            for _ in range(2):
                with pytest.raises(StoreError):
                    output.write(b"second,")
            assert output.path.read_bytes() == b"first,sec"
            disk.fail_at = 0
            output.write(b"third,")

            assert output.path.read_bytes() == b"first,third,"

    def test_a_failed_sync_fails_the_checkpoint(self, tmp_path):
        """A sync that failed in `prepare` makes the checkpoint fail: a second sync would report
        success.
        """
        disk = BreakingDisk(error=errno.EIO)
        with closing(Crawl(tmp_path, disk)) as crawl:
            log = crawl.outputs.open("log")
            log.write(b"noted\n")
            crawl.checkpoint()
            log.write(b"lost\n")
            disk.fail_at = disk.operations + 1
            with pytest.raises(StoreError, match="injected at operation"):
                crawl.checkpoint()
            with pytest.raises(StoreError, match="cannot be used after an earlier error"):
                crawl.db.checkpoint()

        with closing(Crawl(tmp_path)):
            assert (tmp_path / "log").read_bytes() == b"noted\n"

    def test_what_is_written_during_a_sync_is_synced_again(self, tmp_path):
        """Bytes written while a sync is running do not count as synced."""
        with closing(Crawl(tmp_path)) as crawl:
            log = crawl.outputs.open("log")
            log.write(b"a")
            crawl.db.disk.sync = lambda fd: (os.fsync(fd), log.write(b"b"))
            log.sync()

            assert log.unsynced

    def test_what_is_written_after_a_sync_is_synced_again(self, tmp_path):
        """Bytes written between prepare and save are synced by save before they are noted."""
        with closing(Crawl(tmp_path)) as crawl:
            log = crawl.outputs.open("log")
            log.write(b"a")
            prepared(crawl.db)
            assert not log.unsynced
            log.write(b"b")
            assert log.unsynced
            crawl.db.checkpoint()

            assert not log.unsynced
            assert crawl.db.query("SELECT path, length FROM output") == [("log", 2)]


# -- The crc32 stored with an output's length is always that of the file's first `length` bytes.


def noted(crawl):
    """The lengths of noted files; asserts that their crcs are right."""
    lengths = {}
    for name, length, crc in crawl.db.query("SELECT path, length, bytes_crc FROM output"):
        path = crawl.root / name
        if not path.exists():  # until it has its final name
            path = crawl.root / f"{name}.open"
        assert zlib.crc32(path.read_bytes()[:length]) == crc, name
        lengths[name] = length
    return lengths


class TestCrc:
    def test_across_restarts(self, tmp_path):
        """After a restart the crc continues from the noted one, without what was truncated."""
        for step in range(1, 4):
            with closing(Crawl(tmp_path)) as crawl:
                log = crawl.outputs.open("log")
                log.write(b"counts\n")
                crawl.checkpoint()
                log.write(b"cut off\n")
                log.flush()
                assert noted(crawl) == {"log": 7 * step}

    def test_a_file_that_is_finished(self, tmp_path):
        """The crc stays with the file when it gets its final name."""
        with closing(Crawl(tmp_path)) as crawl:
            output = crawl.outputs.open("a.open")
            output.write(b"one")
            crawl.checkpoint()
            output.write(b"two")
            output.finish()
            crawl.checkpoint()

            assert noted(crawl) == {"a": 6}

    def test_a_file_that_is_opened_again(self, tmp_path):
        """Closing a file and opening it again does not affect the crc, before or after a
        checkpoint.
        """
        with closing(Crawl(tmp_path)) as crawl:
            for _ in range(3):
                for _ in range(2):
                    output = crawl.outputs.open("a")
                    output.write(b"abc")
                    output.close()
                crawl.checkpoint()

            assert noted(crawl) == {"a": 18}

    def test_a_full_disk(self, tmp_path):
        """Bytes that could not be written to a full disk do not count."""
        disk = BreakingDisk()
        with closing(Crawl(tmp_path, disk)) as crawl:
            output = crawl.outputs.open("a")
            output.write(b"abc")
            disk.fail_at = disk.operations + 1
            with pytest.raises(StoreError):
                output.write(b"d" * 1000)
            output.write(b"efg")
            crawl.checkpoint()

            assert noted(crawl) == {"a": 6}

    @given(
        steps=st.lists(
            st.one_of(st.binary(max_size=9), st.sampled_from(["checkpoint", "crash", "flush"]))
        )
    )
    @examples(25)
    def test_any_order(self, tmp_path_factory, steps):
        """Writes, checkpoints and crashes in any order."""
        root = tmp_path_factory.mktemp("crawl")
        crawl = Crawl(root, at_once=5)
        output = crawl.outputs.open("a")
        for step in [*steps, "checkpoint"]:
            if isinstance(step, bytes):
                output.write(step)
            elif step == "flush":
                output.flush()
            elif step == "checkpoint":
                crawl.checkpoint()
                noted(crawl)
            else:
                crawl.close()
                crawl = Crawl(root, at_once=5)
                output = crawl.outputs.open("a")
        assert noted(crawl) == {"a": output.tell()}
        crawl.close()

    @pytest.mark.parametrize(
        "change", ["length = 3", "path = 'b'", "bytes_crc = 1", "length = 'x'"]
    )
    def test_a_damaged_row(self, tmp_path, change):
        """An altered length is refused before anything is truncated."""
        with closing(Crawl(tmp_path)) as crawl:
            crawl.outputs.open("a").write(b"abcdef")
            crawl.checkpoint()
            crawl.db.execute(f"UPDATE output SET {change}")
            crawl.db.checkpoint()
        (tmp_path / "b").write_bytes(b"abcdefg")

        with pytest.raises(DamagedFile, match=r"table output, [ab]: wrong checksum"):
            Crawl(tmp_path)
        assert ((tmp_path / "a").read_bytes(), (tmp_path / "b").read_bytes()) == (
            b"abcdef",
            b"abcdefg",
        )
