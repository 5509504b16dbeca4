"""A thread for work that must not block the event loop, started once and early.

A thread that is started when it is needed may be refused then, in the middle of a crawl. Worse,
`Thread.start` waits for ever for a thread that died at birth for want of memory; here that is
noticed within a second.
"""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack
from functools import partial
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

from webcrawl.base.system import thread_ids

P = ParamSpec("P")
T = TypeVar("T")
Jobs = SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]

# bytes: address space, which a limit of memory counts; the system's default is eight times as much
STACK = 1 << 20
SYSTEMS = 0  # for the system's default
START_SECONDS = 30.0  # in which a new thread must report that it runs
CHECK_SECONDS = 1.0  # between two checks of whether a thread still lives


class ThreadStart:
    """Waits for a thread that is started after this object was made, and notices its death."""

    def __init__(self) -> None:
        self._ids_before = thread_ids()

    def wait(self, has_reported: Callable[[float], bool]) -> None:
        """Return when the new thread has reported that it runs.

        `has_reported` waits for the report, at most for the seconds that it is given. Raise
        RuntimeError if the thread is dead (no new thread lives), or reports nothing in
        START_SECONDS.
        """
        deadline = time.monotonic() + START_SECONDS
        while not has_reported(CHECK_SECONDS):
            # Before the last look at the report: a thread may report, and end at once
            new_threads = thread_ids() - self._ids_before
            if has_reported(0):
                break
            if not new_threads or time.monotonic() > deadline:
                raise RuntimeError("can't start new thread: it gave no sign of life")


class Worker:
    """Does one job after the other, in their order.

    Making one raises RuntimeError if its thread cannot be started.
    """

    def __init__(self, *, stack: int = STACK) -> None:
        """Start the thread, with `stack` bytes of stack, and wait until it runs."""
        self._jobs: Jobs = SimpleQueue()
        # Both locks are events that a dying thread can still set without memory: the thread
        # releases the first when it begins, and the second when it ends
        not_begun = _thread.allocate_lock()
        not_begun.acquire()
        self._not_ended = _thread.allocate_lock()
        self._not_ended.acquire()
        start = ThreadStart()
        # The size holds for all threads that the process starts from now on
        size_before = threading.stack_size(stack)
        try:
            # 11 of 40 crawls that were short of memory hung in Thread.start
            _thread.start_new_thread(_work, (self._jobs, not_begun, self._not_ended))
        finally:
            threading.stack_size(size_before)
        start.wait(lambda seconds: not_begun.acquire(timeout=seconds))

    def __del__(self) -> None:
        self._jobs.put(None)

    def submit(self, job: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a job done after those before it."""
        future: Future[T] = Future()
        self._jobs.put((future, partial(job, *args, **kwargs)))
        return future

    def done(self, future: Future[T]) -> bool:
        """Return whether this job has ended.

        Raise MemoryError if it never will: a thread that cannot even report an error dies.
        """
        # Before the look at the job: the thread may finish it, and end at once
        is_alive = self._not_ended.locked()
        if not (future.done() or is_alive):
            raise MemoryError("a worker thread has died")
        return future.done()

    def until_done(self, future: Future[T]) -> Iterator[None]:
        """Yield until this job has ended: the caller does other things meanwhile."""
        while not self.done(future):
            yield

    def result(self, future: Future[T]) -> T:
        """Wait for this job, and return what it returned, or raise its error."""
        while not self.done(future):
            wait([future], CHECK_SECONDS)
        return future.result()

    def close(self) -> None:
        """Wait for all jobs, then end the thread. A second call does nothing."""
        self._jobs.put(None)
        with self._not_ended:  # which the thread releases at its end
            pass


def _work(jobs: Jobs, not_begun: _thread.LockType, not_ended: _thread.LockType) -> None:
    """Run in the worker's thread: do the jobs up to the None that ends them.

    Both locks are released as events: `not_begun` now, `not_ended` when the thread ends.
    """
    try:
        not_begun.release()
        while entry := jobs.get():
            _do(*entry)
            del entry  # its result may be large
    finally:
        not_ended.release()


def _do(future: Future[Any], job: Callable[[], Any]) -> None:
    """Do a job that was not cancelled, and give its result or error to the future."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = job()
    except BaseException as error:  # noqa: BLE001 - `result` raises it
        future.set_exception(error)
    else:
        future.set_result(result)


# Threads that sync or rename at once. On a disk that takes 3 seconds per sync, a crawl with twelve
# outputs closes in 67 seconds; with one sync after the other it took 154
MAX_THREADS = 16

Job = Callable[[], object]


def side_by_side(jobs: Sequence[Job]) -> None:
    """Do all jobs, in this thread and as many others as are useful, and return when all have ended.

    If jobs fail, the others are done all the same, and the first error is raised at the end. If
    the system refuses threads, fewer do the work.
    """
    if len(jobs) < 2:
        for job in jobs:
            job()
        return
    with ExitStack() as opened:
        workers: list[Worker] = []
        try:
            while len(workers) < min(MAX_THREADS, len(jobs)) - 1:
                workers.append(Worker())
                opened.callback(workers[-1].close)
        except (RuntimeError, MemoryError):  # no more threads: those that there are do it
            pass
        # The jobs are dealt out like cards: the first share is this thread's
        shares = [jobs[first :: len(workers) + 1] for first in range(len(workers) + 1)]
        under_way = [
            worker.submit(_errors_of, share)
            for worker, share in zip(workers, shares[1:], strict=True)
        ]
        errors = _errors_of(shares[0])
        for worker, future in zip(workers, under_way, strict=True):
            workers_errors: list[Exception] = worker.result(future)
            errors += workers_errors
    if errors:
        raise errors[0]


def _errors_of(jobs: Sequence[Job]) -> list[Exception]:
    """Do these jobs one after the other, also after one has failed, and return their errors."""
    errors = []
    for job in jobs:
        try:
            job()
        except Exception as error:  # noqa: BLE001 - `side_by_side` raises it
            errors.append(error)
    return errors
