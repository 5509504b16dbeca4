"""Many syncs are waited for at once."""

import time
from functools import partial
from threading import Barrier

import pytest

from webcrawl.store import worker as module
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import Disk
from webcrawl.store.outputs import Outputs
from webcrawl.store.requests_log import SyncedLog
from webcrawl.store.worker import side_by_side

SLOW = 0.1  # seconds of a sync


class SlowDisk(Disk):
    """A disk on which whatever syncs takes long, once it is `slow`."""

    slow = False

    def sync(self, fd):
        super().sync(fd)
        time.sleep(SLOW * self.slow)

    def sync_folder(self, folder):
        super().sync_folder(folder)
        time.sleep(SLOW * self.slow)


def test_all_at_once():
    """Jobs that wait for each other end."""
    barrier = Barrier(5, timeout=120)

    side_by_side([barrier.wait] * 5)


def test_more_than_lanes():
    """Each job is done once, however many share a thread."""
    done = []

    side_by_side([partial(done.append, number) for number in range(100)], lanes=3)

    assert sorted(done) == list(range(100))


def test_an_error_of_one():
    """All are done before the error of one is raised."""
    done = []

    with pytest.raises(ZeroDivisionError):
        side_by_side([partial(divmod, 1, 0), *[partial(done.append, number) for number in range(10)]])
    assert len(done) == 10


@pytest.mark.parametrize("error", [RuntimeError, MemoryError])
def test_no_threads(monkeypatch, error):
    """Where no thread can be had, the jobs are done one after the other."""

    def refused():
        raise error

    done = []
    monkeypatch.setattr(module, "Worker", refused)

    side_by_side([partial(done.append, number) for number in range(5)])

    assert done == [0, 1, 2, 3, 4]


def test_a_checkpoint_of_many_outputs(tmp_path):
    """The time of a checkpoint on a slow disk does not grow with the number of its files."""
    disk = SlowDisk()
    db = CrawlDB(tmp_path / "state", disk)
    outputs = Outputs(db, tmp_path)
    for number in range(12):
        outputs.open(f"folder{number % 4}/{number}.log.open").write(b"line\n")
    disk.slow, begun = True, time.monotonic()

    for _ in db.prepare(once=True):
        time.sleep(0.001)
    for output in list(outputs._open.values()):
        output.finish()
    db.checkpoint()
    outputs.close()

    assert time.monotonic() - begun < 8 * SLOW  # one after the other: 12 files, 5 folders, 12 new names
    assert len(list(tmp_path.glob("folder*/*.log"))) == 12
    db.close()


def test_nothing_changes_any_more(tmp_path):
    """Ahead of the last checkpoint all is done once, however long that takes."""
    passes = []

    class Part:
        def prepare(self):
            passes.append(1)
            time.sleep(0.6 / len(passes) ** 2)
            yield

        def save(self):
            pass

    db = CrawlDB(tmp_path)
    db.join(Part())
    list(db.prepare(once=True))
    db.close()

    assert len(passes) == 1


def test_a_log_that_is_synced(tmp_path):
    """What was synced is not synced again."""
    disk, synced = SlowDisk(), []
    disk.sync = synced.append
    log = SyncedLog(disk, tmp_path / "requests.log")
    for line in (b"1\n", b"2\n"):
        log.write(line)
        log.sync()
        log.sync()
    log.close()

    assert len(synced) == 2
