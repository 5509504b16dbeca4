"""The thread that does what must not block the event loop."""

import _thread
import gc
import sys
import threading
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Barrier

import pytest

from tests.support.crawling import wait_until
from webcrawl.store import worker
from webcrawl.store import worker as module
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import Disk
from webcrawl.store.outputs import Outputs
from webcrawl.store.requests_log import SyncedLog
from webcrawl.store.worker import Worker, side_by_side


def threads():
    """The names that the kernel gives to this process's threads."""
    return {path.name for path in Path("/proc/self/task").iterdir()}


@pytest.fixture(name="one")
def _one():
    with closing(Worker()) as made:
        yield made


def test_jobs_are_done_in_their_order(one):
    """A job begins when the one before it has ended, in a thread that is not the caller's."""
    done, here = [], threading.get_ident()

    futures = [
        one.submit(lambda number: done.append(number) or threading.get_ident(), number)
        for number in range(5)
    ]

    assert here not in {one.result(future) for future in futures}
    assert done == [0, 1, 2, 3, 4]


def test_an_error_is_the_waiting_callers(one):
    """What a job raises is raised where its result is asked for; the thread goes on."""
    failed = one.submit([].pop)

    with pytest.raises(IndexError):
        one.result(failed)
    assert one.result(one.submit(len, "abc")) == 3


def test_closing_waits_for_all_jobs(one):
    """`close` returns when all jobs are done. A second call changes nothing."""
    jobs = [one.submit(time.sleep, 0.01), one.submit(len, "abc")]

    one.close()
    one.close()

    assert [job.result(0) for job in jobs] == [None, 3]


def test_a_worker_that_is_forgotten_ends():
    """The thread of a worker that nobody closes ends with it."""
    before = threads()
    forgotten = Worker()
    (born,) = threads() - before
    del forgotten
    gc.collect()

    wait_until(lambda: born not in threads())


def test_a_thread_that_is_refused(monkeypatch):
    """Where the system starts no thread, there is no worker, and later threads have stacks as large
    as ever.
    """

    def refuse(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    before = threading.stack_size()

    with pytest.raises(RuntimeError, match="can't start new thread"):
        Worker()
    assert threading.stack_size() == before


def test_a_thread_that_dies_at_birth(monkeypatch):
    """A thread that is gone before it says that it runs is not waited for."""
    monkeypatch.setattr(_thread, "start_new_thread", lambda *_: 0)
    monkeypatch.setattr(worker, "CHECK_SECONDS", 0.01)
    monkeypatch.setattr(worker, "START_SECONDS", 1e9)

    with pytest.raises(RuntimeError, match="can't start new thread: it gave no sign of life"):
        Worker()


def test_a_thread_that_says_nothing(monkeypatch):
    """A thread that lives and never says that it runs is not waited for without an end."""
    start, end = _thread.start_new_thread, threading.Event()
    monkeypatch.setattr(_thread, "start_new_thread", lambda *_: start(end.wait, ()))
    monkeypatch.setattr(worker, "CHECK_SECONDS", 0.01)
    monkeypatch.setattr(worker, "START_SECONDS", 0.01)

    with pytest.raises(RuntimeError, match="can't start new thread: it gave no sign of life"):
        Worker()
    end.set()


def test_a_thread_that_dies_at_work(one, monkeypatch):
    """Nobody waits for the result of a thread that had no memory to give it."""

    def die(*_):
        raise MemoryError

    dead = []
    monkeypatch.setattr(worker, "_do", die)
    monkeypatch.setattr(sys, "unraisablehook", dead.append)
    future = one.submit(len, "")

    with pytest.raises(MemoryError):
        one.result(future)
    one.close()
    wait_until(lambda: dead)  # or Python reports it in a later test


# -- Many syncs are waited for at once.

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

    side_by_side([partial(done.append, number) for number in range(100)])

    assert sorted(done) == list(range(100))


def test_an_error_of_one():
    """All are done before the error of one is raised."""
    done = []

    with pytest.raises(ZeroDivisionError):
        side_by_side(
            [partial(divmod, 1, 0), *[partial(done.append, number) for number in range(10)]]
        )
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
    opened = [outputs.open(f"folder{number % 4}/{number}.log.open") for number in range(12)]
    for output in opened:
        output.write(b"line\n")
    disk.slow, begun = True, time.monotonic()

    for _ in db.prepare(once=True):
        time.sleep(0.001)
    for output in opened:
        output.finish()
    db.checkpoint()
    outputs.close()

    # one after the other: 12 files, 5 folders, 12 new names
    assert time.monotonic() - begun < 20 * SLOW
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
