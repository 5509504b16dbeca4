"""The log that no crash truncates."""

import errno

import pytest

from tests.support.faults import BreakingDisk
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import Disk
from webcrawl.store.errors import StoreError
from webcrawl.store.requests_log import BLOCK, KEY, MOST, SyncedLog, Windows, read


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
    """A write that fails has written nothing: `verify` called the line that followed the piece
    damaged for ever.
    """
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


def test_a_disk_that_cannot_even_truncate(tmp_path):
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
    disk = BreakingDisk(error=errno.EIO)
    log = SyncedLog(disk, tmp_path / "x.log")
    disk.fail_at, disk.for_good = disk.operations + 1, True

    for failing in (lambda: log.write(b"x"), log.sync):
        with pytest.raises(StoreError, match=r"x\.log: .*Input/output error"):
            failing()
    log.close()
    with pytest.raises(StoreError, match=r"x\.log: "):
        SyncedLog(BreakingDisk(1), tmp_path / "new/x.log")


# -- From when to when nobody knows what became of requests.


@pytest.fixture(name="run")
def _run(tmp_path):
    """One run of a crawl, from a time on, with checkpoints at others; `end`: it says so before the
    last of them.

    `last_sent_at`: when the last request of all runs before was sent.
    """
    now = [0.0]

    def run(begun, *saved, end, last_sent_at=0.0):
        now[0] = begun
        db = CrawlDB(tmp_path / "state")
        try:
            windows = Windows(db, lambda: now[0], last_sent_at)
            for at in saved:
                now[0] = at
                if end and at == saved[-1]:
                    windows.end()
                db.checkpoint()
            return windows.found, read(db.get(KEY)).at
        finally:
            db.close()

    return run


def test_a_kill_leaves_a_window(run):
    """From its last checkpoint to the start of the next run; a run that ends leaves none."""
    assert run(1.0, 2.0, 3.0, end=False) == ([], 3.0)
    assert run(10.0, 11.0, end=True) == ([(3.0, 10.0)], 11.0)
    assert run(20.0, 21.0, end=True, last_sent_at=10.5) == ([(3.0, 10.0)], 21.0)


def test_a_run_that_is_killed_before_its_first_checkpoint_widens_it(run):
    """What both runs did is not known."""
    run(1.0, 2.0, end=False)
    assert run(5.0, end=False)[0] == [(2.0, 5.0)]
    assert run(9.0, 10.0, end=True)[0] == [(2.0, 9.0)]


@pytest.mark.parametrize(("ended", "since"), [([2.0, 3.0], 3.0), ([], 0.0)])
def test_a_kill_before_the_first_checkpoint_leaves_one(run, ended, since):
    """The log of requests has some that no checkpoint knows of: of a resumed run, or of the very
    first.
    """
    if ended:
        run(1.0, *ended, end=True)
    run(5.0, end=False)

    assert run(9.0, 10.0, end=True, last_sent_at=6.0)[0] == [(since, 9.0)]
    assert run(20.0, 21.0, end=True, last_sent_at=9.5)[0] == [(since, 9.0)]


def test_the_oldest_windows_are_forgotten(run):
    """A crawl that is killed every minute for a year stays small."""
    for at in range(0, 20 * 3, 20):
        found, _ = run(at + 1.0, at + 2.0, end=False)
    assert len(found) == 2 <= MOST
