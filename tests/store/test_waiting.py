"""How long the event loop has waited for files."""

from threading import Thread

import pytest

from webcrawl.crawl.bound import Cause, Look, judge
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import Disk
from webcrawl.store.outputs import AT_ONCE, Outputs


class SlowDisk(Disk):
    """Every write takes half a second of its own clock."""

    def __init__(self):
        self.now = 0.0

    def clock(self):
        return self.now

    def write(self, fd, data):
        self.now += 0.5
        super().write(fd, data)


@pytest.fixture(name="disk")
def _disk():
    return SlowDisk()


def test_a_slow_disk(tmp_path, disk):
    """Writing an output, and a checkpoint that writes, count once each; the crawl is then bound by the disk."""
    db = CrawlDB(tmp_path / "state", disk)
    outputs = Outputs(db, tmp_path)
    output = outputs.open("one.log")
    before, begun = disk.waited, disk.now
    output.write(b"x" * (AT_ONCE + 1))
    assert disk.waited - before == 0.5

    output.write(b"y")
    db.checkpoint()
    assert disk.waited - before == disk.now - begun >= 1.0
    look = Look(seconds=1.5, queued=9, waiting=9, ran=0.2, stalled=disk.waited - before)
    assert judge(look) is Cause.DISK
    outputs.close()
    db.close()


def test_an_error(disk):
    """A write that fails has taken its time too."""

    def fails():
        with disk.waiting():
            disk.now += 2.0
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        fails()
    assert disk.waited == 2.0


def test_other_threads(disk):
    """What other threads write holds the event loop up for no time."""

    def write():
        with disk.waiting():
            disk.now += 2.0

    thread = Thread(target=write)
    thread.start()
    thread.join()
    assert disk.waited == 0.0
