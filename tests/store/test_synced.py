"""The log that no crash cuts back."""

import os

import pytest

from tests.support.faults import BreakingDisk
from webcrawl.store.disk import Disk
from webcrawl.store.errors import StoreError
from webcrawl.store.requests_log import SyncedLog


def test_a_line_is_in_the_file_when_write_returns(tmp_path):
    """Nothing is buffered: a kill -9 cannot take it back."""
    log = SyncedLog(Disk(), tmp_path / "logs/x.log")
    log.write(b"one\n")

    assert (tmp_path / "logs/x.log").read_bytes() == b"one\n"
    log.sync()
    log.close()


def test_it_goes_on_where_it_ended(tmp_path):
    """Nothing is cut back, and a line that a power cut tore gets its end."""
    path = tmp_path / "x.log"
    path.write_bytes(b"one\ntw")
    log = SyncedLog(Disk(), path)
    log.write(b"three\n")
    log.close()
    SyncedLog(Disk(), path).close()

    assert path.read_bytes() == b"one\ntw\nthree\n"


def test_a_disk_that_fails_is_a_store_error(tmp_path):
    """With the path: the crawl ends with it."""
    log = SyncedLog(Disk(), tmp_path / "x.log")
    os.close(log._fd)

    for failing in (lambda: log.write(b"x"), log.sync):
        with pytest.raises(StoreError, match=r"x\.log: .*Bad file"):
            failing()
    with pytest.raises(StoreError, match=r"x\.log: "):
        SyncedLog(BreakingDisk(1), tmp_path / "new/x.log")
