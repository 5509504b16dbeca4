"""The log that no crash cuts back."""

import os

import pytest

from tests.support.faults import BreakingDisk
from webcrawl.store.disk import Disk
from webcrawl.store.errors import StoreError
from webcrawl.store.requests_log import BLOCK, SyncedLog


def test_a_line_is_in_the_file_when_write_returns(tmp_path):
    """Nothing is buffered: a kill -9 cannot take it back."""
    log = SyncedLog(Disk(), tmp_path / "logs/x.log")
    log.write(b"one\n")

    assert (tmp_path / "logs/x.log").read_bytes() == b"one\n"
    log.sync()
    log.close()


def test_it_goes_on_where_it_ended(tmp_path):
    """No whole line is cut back, but what a power cut left of a line is."""
    path = tmp_path / "x.log"
    path.write_bytes(b"one\ntw")
    log = SyncedLog(Disk(), path)
    log.write(b"three\n")
    log.close()
    SyncedLog(Disk(), path).close()

    assert path.read_bytes() == b"one\nthree\n"


@pytest.mark.parametrize("torn", ["", "torn", "torn" * BLOCK])
@pytest.mark.parametrize("whole", ["", "one\n", "one\n" * BLOCK])
def test_the_last_whole_line_is_found(tmp_path, whole, torn):
    """However long the piece behind it is, and if there is none."""
    path = tmp_path / "x.log"
    path.write_text(whole + torn)
    SyncedLog(Disk(), path).close()

    assert path.read_text() == whole


def test_a_full_disk_leaves_no_piece_of_a_line(tmp_path):
    """A write that fails has written nothing: `verify` called the line that followed the piece damaged for ever."""
    path, disk = tmp_path / "x.log", BreakingDisk()
    log = SyncedLog(disk, path)
    log.write(b"one\n")
    disk.fail_at = disk.operations + 1
    with pytest.raises(StoreError, match=r"x\.log: .*No space left"):
        log.write(b"two\n")
    assert path.read_bytes() == b"one\n"

    log.write(b"three\n")
    log.close()
    assert path.read_bytes() == b"one\nthree\n"


def test_a_disk_that_cannot_even_cut_back(tmp_path):
    """Then the next write does, or the next run."""
    path, disk = tmp_path / "x.log", BreakingDisk()
    log = SyncedLog(disk, path)
    log.write(b"one\n")
    disk.fail_at, disk.for_good = disk.operations + 1, True
    for _ in range(3):
        with pytest.raises(StoreError):
            log.write(b"two\n")
    assert path.read_bytes() == b"one\ntw"
    disk.for_good = False
    log.write(b"three\n")
    log.close()

    assert path.read_bytes() == b"one\nthree\n"


def test_a_disk_that_fails_is_a_store_error(tmp_path):
    """With the path: the crawl ends with it."""
    log = SyncedLog(Disk(), tmp_path / "x.log")
    os.close(log._fd)

    for failing in (lambda: log.write(b"x"), log.sync):
        with pytest.raises(StoreError, match=r"x\.log: .*Bad file"):
            failing()
    with pytest.raises(StoreError, match=r"x\.log: "):
        SyncedLog(BreakingDisk(1), tmp_path / "new/x.log")
