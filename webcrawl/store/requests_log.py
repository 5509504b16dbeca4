"""requests.log, which outlives everything: written at once, synced soon, no part of the checkpoint.

No whole line is ever removed. A piece of a line is: its request was not sent, for the line is
written before.

`Windows` keeps the times between the last checkpoint before a kill and the start after it. The
outcomes of requests in such a window are unknown: crawl.log is truncated to the checkpoint.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgpack

from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.store.disk import Appender, Disk
from webcrawl.store.errors import StoreError

BLOCK = 1 << 16  # bytes in which the end of the last whole line is looked for at a time


class SyncedLog:
    """A log of lines: what was written survives kill -9, and what was synced a power cut."""

    def __init__(self, disk: Disk, path: Path) -> None:
        """Open the log for appending, and remove the piece of a line at its end, if there is one."""
        self._disk = disk
        self._path = path
        self._unsynced = True  # there may be lines of a run that was killed
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            fd = disk.append(path)
            self._file = Appender(disk, fd, _length_of_whole_lines(fd), may_be_torn=True)
            self._file.drop_torn_end()  # a power cut, or a full disk, has left a piece of a line
        except OSError as error:
            raise StoreError(f"{path}: {error}") from error

    def write(self, line: bytes) -> None:
        """Append the line now. Raise StoreError if it cannot be; then nothing of it is left."""
        self._unsynced = True
        try:
            self._file.append(line)
        except OSError as error:
            raise StoreError(f"{self._path}: {error}") from error

    def sync(self) -> None:
        """Make what was written survive a power cut; do nothing if all of it does already."""
        if not self._unsynced:
            return
        # set before syncing: a line that is written meanwhile needs another sync
        self._unsynced = False
        try:
            self._disk.sync(self._file.fd)
        except OSError as error:
            raise StoreError(f"{self._path}: {error}") from error

    def close(self) -> None:
        os.close(self._file.fd)


def _length_of_whole_lines(fd: int) -> int:
    """Return the length of a file without what follows its last end of line.

    It is searched from the end, BLOCK bytes at a time.
    """
    end = os.fstat(fd).st_size
    while end:
        start = max(end - BLOCK, 0)
        last_newline = os.pread(fd, end - start, start).rfind(b"\n")
        if last_newline >= 0:
            return start + last_newline + 1
        end = start
    return 0


KEY = "requests.windows"
MOST = 1000  # windows; then the oldest is forgotten
# seconds since 1970: the last checkpoint before a kill, and the start after it
Window = tuple[float, float]


class SavedWindows(NamedTuple):
    """The windows as of the last checkpoint."""

    at: float = 0.0  # its time; 0: there was none
    over: bool = True  # no request followed in its run
    windows: tuple[Window, ...] = ()


class Windows(Part):
    """Part of each checkpoint. A run that ends without having said so leaves a window.

    `last_sent_at`: when the last request known of was sent, 0 if none was. Of a run that was killed
    before its first checkpoint nothing else is left.
    """

    def __init__(self, db: CrawlDB, clock: Callable[[], float], last_sent_at: float = 0.0) -> None:
        """Add a window to those saved if the last run ended without having said so.

        `last_sent_at`: when the last request in requests.log was sent, 0 if there is none.
        """
        self._db = db
        self._clock = clock
        saved = read(db.get(KEY))
        self.found = [*saved.windows]  # the windows, the oldest first
        # Only requests.log tells what the last run did after its last checkpoint
        if is_open(saved, last_sent_at):
            self.found = [*self.found, (saved.at, clock())][-MOST:]
        self._over = False  # no request follows the next checkpoint
        db.join(self)

    def end(self) -> None:
        """Let the next checkpoint note that no request follows."""
        self._over = True

    def save(self) -> None:
        self._db.set(KEY, bytes(msgpack.packb((self._clock(), self.found, self._over))))


def is_open(saved: SavedWindows, last_sent_at: float) -> bool:
    """Return whether something was done after this checkpoint that no later one knows of."""
    return not saved.over or last_sent_at > saved.at


def read(data: bytes | None) -> SavedWindows:
    """Unpack what a checkpoint has saved."""
    if data is None:
        return SavedWindows()
    at, windows, over = msgpack.unpackb(data)
    return SavedWindows(
        float(at), bool(over), tuple((float(since), float(until)) for since, until in windows)
    )
