"""What the system may be short of for a moment, as settings name it: event loops and pipelines of a
crawl.
"""

import asyncio
import errno
import faulthandler
import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import uvloop

from tests.support.prepared import memory
from webcrawl.crawl.exit_watch import watch_exit
from webcrawl.store.worker import side_by_side

SHORT = 0.5  # seconds
LOOKS = 20


class Short(uvloop.Loop):
    """An event loop whose system lets it connect nowhere, until half a second after the first
    attempt.
    """

    number = errno.EMFILE
    _end = 0.0

    async def create_connection(self, *args, **options):
        self._end = self._end or time.monotonic() + SHORT
        if time.monotonic() < self._end:
            raise OSError(self.number, os.strerror(self.number))
        return await super().create_connection(*args, **options)


class ShortOfDescriptors(Short):
    """The process has too many files open."""


class ShortOfFiles(Short):
    """All processes together have."""

    number = errno.ENFILE


class ShortOfPorts(Short):
    """Every local port is in use."""

    number = errno.EADDRNOTAVAIL


class ShortOfBuffers(Short):
    """The kernel has no room for a socket's buffers."""

    number = errno.ENOBUFS


class ShortOfMemory(Short):
    """The kernel has no memory for a socket."""

    number = errno.ENOMEM


class Hoarder:
    """A pipeline that holds every free descriptor of the process for half a second, from the first
    page on.
    """

    _held: list[int] | None = None

    def process_item(self, item):
        if self._held is None:
            self.hoard()
        return item

    def hoard(self):
        self._held = []
        with suppress(OSError):
            while True:
                self._held.append(os.open(os.devnull, os.O_RDONLY))
        asyncio.get_running_loop().call_later(SHORT, self._release)

    def _release(self):
        for fd in self._held:
            os.close(fd)


class EarlyHoarder(Hoarder):
    """One that does so before the lists of seeds are opened."""

    def open_spider(self):
        self.hoard()


class NoThread:
    """A pipeline after whose twentieth page the system starts no thread, and says so."""

    def __init__(self):
        self._left = 20

    def process_item(self, item):
        self._left -= 1
        if not self._left:
            self.shorten()
        return item

    def shorten(self):
        threading._start_new_thread = self.start

    def start(self, *_):
        raise RuntimeError("can't start new thread")


class StillbornThread(NoThread):
    """One whose threads die of a want of memory before they can say that they run."""

    def start(self, *_):
        return 0


def is_within(function, frame):
    """Whether what runs in this frame was called by this function, or by what it called."""
    while frame is not None and frame.f_code is not function.__code__:
        frame = frame.f_back
    return frame is not None


class Threads:
    """A pipeline that tells of each thread that Python starts from its opening on, and of those of
    C libraries.

    Not of those that sync files side by side: one thread does it, too, where no other may be had;
    nor of the one that says why a process does not end, which ends the same without it.
    Before 3.12 only those that still live at the end are told of, because Python raises no event
    for the thread of a Worker.

    A list of the system's is cut off where a thread ends while it is made, so the first one is of
    several looks; and who was born before the opening is no new one, though they missed it.
    """

    def open_spider(self):
        self._before = set().union(*(self._living() for _ in range(LOOKS)))
        self._opened = time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")
        sys.addaudithook(self._hear)

    def process_item(self, item):
        return item

    def close_spider(self):
        while any(is_within(side_by_side, frame) for frame in sys._current_frames().values()):
            time.sleep(SHORT / LOOKS)
        # The system lists a thread for a moment after its end
        listed = set.intersection(*(self._living() for _ in range(LOOKS)))
        new = [name for name in listed - self._before if self._born(name) > self._opened]
        self._tell(f"{len(new)} new ones")
        if new:
            faulthandler.dump_traceback(2)  # says which threads of Python's there are

    @staticmethod
    def _born(name):
        """In ticks since the machine started; field 22 of proc_pid_stat(5)."""
        stat = Path(f"/proc/self/task/{name}/stat").read_text()
        return int(stat.rpartition(")")[2].split()[19])

    def _hear(self, event, _):
        if not event.startswith("_thread.start_"):
            return
        frame = sys._getframe()
        if not any(is_within(one, frame) for one in (side_by_side, watch_exit)):
            self._tell(event)

    def _living(self):
        time.sleep(SHORT / LOOKS)
        return set(os.listdir("/proc/self/task"))  # noqa: PTH208 - names are enough

    def _tell(self, what):
        os.write(2, f"threads: {what}\n".encode())


class NoMemory(NoThread):
    """One after whose twentieth page the process gets no more address space."""

    def shorten(self):
        memory(0)()
