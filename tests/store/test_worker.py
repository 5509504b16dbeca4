"""The thread that does what must not block the event loop."""

import _thread
import gc
import threading
import time
from contextlib import closing

import pytest

from webcrawl.store import worker
from webcrawl.store.worker import Worker


@pytest.fixture(name="one")
def _one():
    with closing(Worker()) as made:
        yield made


def test_jobs_are_done_in_their_order(one):
    """A job begins when the one before it has ended, in a thread that is not the caller's."""
    done, here = [], threading.get_ident()

    futures = [one.submit(lambda number: done.append(number) or threading.get_ident(), number) for number in range(5)]

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
    alive = Worker()._alive
    gc.collect()

    with alive:
        pass


def test_a_thread_that_is_refused(monkeypatch):
    """Where the system starts no thread, there is no worker, and later threads have stacks as large as ever."""

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
    monkeypatch.setattr(worker, "LOOK", 0.01)
    monkeypatch.setattr(worker, "PATIENCE", 1e9)

    with pytest.raises(RuntimeError, match="can't start new thread: nothing heard of it"):
        Worker()


def test_a_thread_that_says_nothing(monkeypatch):
    """A thread that lives and never says that it runs is not waited for without an end."""
    start, end = _thread.start_new_thread, threading.Event()
    monkeypatch.setattr(_thread, "start_new_thread", lambda *_: start(end.wait, ()))
    monkeypatch.setattr(worker, "LOOK", 0.01)
    monkeypatch.setattr(worker, "PATIENCE", 0.01)

    with pytest.raises(RuntimeError, match="can't start new thread: nothing heard of it"):
        Worker()
    end.set()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_thread_that_dies_at_work(one, monkeypatch):
    """Nobody waits for the result of a thread that had no memory to give it."""

    def die(*_):
        raise MemoryError

    monkeypatch.setattr(worker, "_do", die)
    future = one.submit(len, "")

    with pytest.raises(MemoryError):
        one.result(future)
    one.close()
