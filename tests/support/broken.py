"""`scrapy crawl web` on a disk with a fault at one chosen operation: it fails, or the process dies
there.
"""

import errno
import os
import re
import signal
import sqlite3
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from types import SimpleNamespace

from tests.support.crawling import Running, _crawl, _forked, copy_of
from tests.support.faults import ForgetfulDisk

FAILS = ("eio", "full", "late")  # one error; a full disk from then on; done, but reported as failed
# killed before it, or after it; a power cut that also loses unsynced data
DIES = ("before", "after", "power")


@dataclass(frozen=True)
class Fault:
    """What happens at the n-th operation of this name."""

    what: str = ""
    number: int = 1
    how: str = "eio"

    def __str__(self) -> str:
        return f"{self.how} {self.what} {self.number}"


NOTHING = Fault()


class DoomedDisk(ForgetfulDisk):
    """Logs its operations to a file, one per line, until the fault."""

    def __init__(self, fault: Fault, notes: Path) -> None:
        super().__init__()
        self._fault, self._lock = fault, RLock()
        self._counts: Counter[str] = Counter()
        self._notes = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC)
        self._full = False

    def step(self, what, work, half=lambda: None, error=OSError):
        """Does the work, unless the fault is at this operation; then, depending on the fault, all,
        half or none.
        """
        with self._lock:
            self._counts[what] += 1
            os.write(self._notes, f"{what}\n".encode())
            fault = self._fault
            if not self._full and (what, self._counts[what]) != (fault.what, fault.number):
                return work()
            self._full = fault.how == "full"
            if fault.how in ("late", "after"):
                work()
            else:
                half()
            if fault.how in FAILS:
                raise error(errno.ENOSPC if self._full else errno.EIO, f"injected: {fault}")
            if fault.how == "power":
                self.crash()
            os.kill(os.getpid(), signal.SIGKILL)
            return None

    def create(self, path, mode=0o644):
        return self.step(f"create {_kind(path)}", lambda: ForgetfulDisk.create(self, path, mode))

    def append(self, path):
        return self.step(f"append {_kind(path)}", lambda: ForgetfulDisk.append(self, path))

    def write(self, fd, data):
        view = memoryview(data).cast("B")
        half = view[: len(view) // 2]
        name = f"write {_kind(self._paths[fd])}"
        self.step(
            name,
            lambda: ForgetfulDisk.write(self, fd, view),
            lambda: ForgetfulDisk.write(self, fd, half),
        )

    def sync(self, fd):
        self.step(f"sync {_kind(self._paths[fd])}", lambda: ForgetfulDisk.sync(self, fd))

    def truncate(self, fd, length):
        self.step(
            f"truncate {_kind(self._paths[fd])}", lambda: ForgetfulDisk.truncate(self, fd, length)
        )

    def rename(self, old, new):
        self.step(f"rename {_kind(old)}", lambda: ForgetfulDisk.rename(self, old, new))

    def unlink(self, path):
        self.step(f"unlink {_kind(path)}", lambda: ForgetfulDisk.unlink(self, path))

    def sync_folder(self, folder):
        self.step(f"sync folder {folder.name}", lambda: ForgetfulDisk.sync_folder(self, folder))


class DoomedConnection:
    """SQLite's connection, with COMMIT as one of the disk's operations."""

    def __init__(self, connection, disk):
        self._connection, self._disk = connection, disk

    def execute(self, sql, *args):
        if sql != "COMMIT":
            return self._connection.execute(sql, *args)
        return self._disk.step(sql, lambda: self._connection.execute(sql), error=_sqlite_error)

    def __getattr__(self, name):
        return getattr(self._connection, name)


def _sqlite_error(number, text):
    return sqlite3.OperationalError(
        f"{'database or disk is full' if number == errno.ENOSPC else 'disk I/O error'} ({text})"
    )


def _kind(path):
    """A file's name without the numbers, which change from run to run."""
    return re.sub(r"-\d[\d-]*", "", path.name)


def run(crawl, fault=NOTHING):
    """Crawls on the doomed disk; returns the exit status."""
    words = crawl.words()
    arguments = (
        words,
        str(crawl.project),
        str(crawl.output),
        fault,
        crawl.jobdir.with_suffix(".ops"),
    )
    process = _forked.Process(target=_doomed, args=arguments, daemon=True)
    process.start()
    return Running(crawl, process).wait()


def roomy(crawl, free, **settings):
    """Starts the crawl on a disk with as many MiB free as the file `free` says."""
    arguments = (crawl.words(**settings), str(crawl.project), str(crawl.output), free)
    process = _forked.Process(target=_roomy, args=arguments, daemon=True)
    process.start()
    return Running(crawl, process)


def operations(crawl):
    """How often the last run did each operation."""
    return Counter(crawl.jobdir.with_suffix(".ops").read_text().splitlines())


def before(crawl, fault):
    """What the last run did just before the operation at which this fault happened."""
    done = ["", *crawl.jobdir.with_suffix(".ops").read_text().splitlines()]
    places = [at for at, what in enumerate(done) if what == fault.what]
    return done[places[fault.number - 1] - 1]


def copied(crawl, folder):
    """The same crawl, to be resumed from a copy of its JOBDIR."""
    copy_of(crawl.jobdir, folder)
    return type(crawl)(folder, crawl.arguments, crawl.settings)


def _doomed(words, project, output, fault, notes):
    """The child process."""
    from webcrawl.store import crawldb

    disk, connect = DoomedDisk(fault, notes), crawldb.connect
    crawldb.Disk = lambda: disk
    crawldb.connect = lambda path: DoomedConnection(connect(path), disk)
    small()
    _crawl(words, project, output)


def small():
    """In the child process: files and buffers so small that a small crawl does all that a large one
    does.
    """
    import webcrawl.crawl.outputs.warc
    import webcrawl.frontier.seen.content
    import webcrawl.frontier.seen.disk
    from webcrawl.frontier.seen.protocol import Layout

    webcrawl.crawl.outputs.warc.MB = 15_000
    webcrawl.frontier.seen.content.FRESH = 4
    layout = Layout(chunk=8, budget=64, largest=64, row=8, fresh=16, at_once=1)
    webcrawl.frontier.seen.disk.layout = lambda _: layout


def _roomy(words, project, output, free):
    """The child process: reads the free space from the file, often."""
    from webcrawl.crawl import disk_space

    disk_space.INTERVAL = 0.02
    disk_space.shutil = SimpleNamespace(
        disk_usage=lambda _: SimpleNamespace(free=int(free.read_text() or 0) << 20)
    )
    _crawl(words, project, output)
