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
PATIENCE = 30.0  # seconds in which the thread must say that it runs
LOOK = 1.0  # seconds between two looks at whether it still lives


class Birth:
    """The birth of a thread that is started after this was made."""

    def __init__(self) -> None:
        self._before = thread_ids()

    def wait(self, heard: Callable[[float], bool]) -> None:
        """Return when `heard` reports the thread. `heard` waits for the seconds that it is given.

        Raise RuntimeError if it is dead: no thread lives that did not live before, or it says
        nothing for long.
        """
        end = time.monotonic() + PATIENCE
        while not heard(LOOK):
            lives = thread_ids() - self._before  # looked at first, so that what it said last counts
            if heard(0):
                break
            if not lives or time.monotonic() > end:
                raise RuntimeError("can't start new thread: it gave no sign of life")


class Worker:
    """Does one job after the other, in their order.

    Making one raises RuntimeError if its thread cannot be started.
    """

    def __init__(self, *, stack: int = STACK) -> None:
        self._jobs: Jobs = SimpleQueue()
        begun = _thread.allocate_lock()
        begun.acquire()
        self._alive = _thread.allocate_lock()
        self._alive.acquire()  # until the thread ends
        born = Birth()
        # The size holds for all threads that the process starts from now on
        before = threading.stack_size(stack)
        try:
            # 11 of 40 crawls that were short of memory hung in Thread.start
            _thread.start_new_thread(_work, (self._jobs, begun, self._alive))
        finally:
            threading.stack_size(before)
        born.wait(lambda seconds: begun.acquire(timeout=seconds))

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
        lives = self._alive.locked()  # looked at first, so that what it did last counts
        if not (future.done() or lives):
            raise MemoryError("a worker thread has died")
        return future.done()

    def until_done(self, future: Future[T]) -> Iterator[None]:
        """Yield until this job has ended: the caller does other things meanwhile."""
        while not self.done(future):
            yield

    def result(self, future: Future[T]) -> T:
        """Wait for this job, and return what it returned, or raise its error."""
        while not self.done(future):
            wait([future], LOOK)
        return future.result()

    def close(self) -> None:
        """Wait for all jobs, then end the thread. A second call does nothing."""
        self._jobs.put(None)
        with self._alive:
            pass


def _work(jobs: Jobs, begun: _thread.LockType, alive: _thread.LockType) -> None:
    try:
        begun.release()
        while one := jobs.get():
            _do(*one)
            del one  # its result may be large
    finally:
        alive.release()


def _do(future: Future[Any], job: Callable[[], Any]) -> None:
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
LANES = 16

Job = Callable[[], object]


def side_by_side(jobs: Sequence[Job], lanes: int = LANES) -> None:
    """Do all jobs in several threads, and return when all have ended.

    Raise the first error of a job then. If the system refuses threads, fewer do the work.
    """
    if len(jobs) < 2:
        for job in jobs:
            job()
        return
    with ExitStack() as opened:
        workers: list[Worker] = []
        try:
            while len(workers) < min(lanes, len(jobs)) - 1:
                workers.append(Worker())
                opened.callback(workers[-1].close)
        except (RuntimeError, MemoryError):  # no more threads: those that there are do it
            pass
        ways = len(workers) + 1
        under_way = [
            worker.submit(_in_turn, jobs[at::ways]) for at, worker in enumerate(workers, start=1)
        ]
        errors = _in_turn(jobs[::ways])
        for worker, future in zip(workers, under_way, strict=True):
            found: list[Exception] = worker.result(future)
            errors += found
    if errors:
        raise errors[0]


def _in_turn(jobs: Sequence[Job]) -> list[Exception]:
    errors = []
    for job in jobs:
        try:
            job()
        except Exception as error:  # noqa: BLE001 - `side_by_side` raises it
            errors.append(error)
    return errors
