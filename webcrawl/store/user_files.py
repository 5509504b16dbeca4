"""Files of the user's, outside JOBDIR, to which a crawl appends: its feeds.

After a crash they are cut back.

They are not the crawl's alone: the user may edit, move or remove them, and other programs may
append to them. So a file is cut back to the length that the last checkpoint noted only if this
crawl alone has written what would go: the file is no longer than the crawl meant to make it, and
its last bytes before the cut are those that were noted. Any other file stays as it is, and is
appended to.

The journal `state/feeds.N` says, since the last checkpoint, where the crawl began to write to a
file, and how long it has meant to make it; each line is written before the bytes.
"""

from __future__ import annotations

import json
import logging
import os
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import msgpack

from webcrawl.base.errors import words_of
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import Appender, regular
from webcrawl.store.errors import StoreError
from webcrawl.store.lock import identity
from webcrawl.store.worker import side_by_side

logger = logging.getLogger(__name__)

# before a path, in the table meta: written to at the checkpoint, or before it
OPEN, SHUT = "feed.open.", "feed.shut."
JOURNAL = "feeds."  # and a number: a file in the state folder
NUMBER = "feeds"  # in the table meta: journals below this number say nothing new
BEGUN, MEANT, ENDED = "begun", "meant", "ended"  # the first word of a line in the journal
TAIL = 4096  # bytes before the end of a file by which it is recognised
HEAD = 8192  # bytes of its first line that are kept
AT_ONCE = 1 << 16  # bytes buffered per file
FORGET = "DELETE FROM meta WHERE name = ?"


@dataclass(frozen=True, slots=True)
class FileMark:
    """The length and checksum by which a file that the crawl has written to is recognised."""

    length: int  # without what ends the file, such as the bracket of a JSON list
    crc: int  # of the last TAIL bytes before that
    most: int  # bytes that the crawl has meant the file to have
    first: bytes = b""  # the first line that the crawl has written, before it was compressed
    last: bytes = b""  # its last bytes, before they were compressed


@dataclass(slots=True)
class LeftFile:
    """A file as a former run has left it."""

    mark: FileMark
    # after the run's last checkpoint: all of it is the checkpoint's, or ends the file
    is_ended: bool = False


class UserFile:
    """One file that is open for appending; made by `UserFiles.open`."""

    def __init__(
        self, files: UserFiles, path: Path, mark: FileMark | None, *, overwrite: bool
    ) -> None:
        """`mark`: that of the file as this crawl has left it.

        None if the file is another's, or not there.
        """
        self.path = path
        self._files = files
        self.users = 1
        self.settle: Callable[[], object] = _nothing  # writes out what is still to be compressed
        self._waiting: list[bytes] = []
        self._buffered = 0
        self.is_shared = False
        self.unsynced = False
        self.committed = -1  # bytes that the last checkpoint has noted
        self.is_late = files.is_over  # nothing of a page is in it
        self._final: FileMark | None = None
        self.is_continued = mark is not None and bool(mark.first)
        self.first = mark.first if mark is not None else b""
        self.last = mark.last if mark is not None else b""
        self._open(mark, overwrite=overwrite)

    def _open(self, mark: FileMark | None, *, overwrite: bool = False) -> None:
        disk = self._files.disk
        try:
            fd = disk.append(self.path)
            size = os.fstat(fd).st_size
            if mark is not None:
                wanted = mark.length
            elif overwrite:
                wanted = 0
            else:
                wanted = size
            if size != wanted:
                disk.truncate(fd, wanted)
                self.unsynced = True
            self._tail = os.pread(fd, TAIL, max(0, wanted - TAIL))
            self._files.note(BEGUN, wanted, self.path, zlib.crc32(self._tail))
        except OSError as error:
            raise StoreError(f"{self.path}: {words_of(error)}") from error
        self._file = Appender(disk, fd, wanted)
        self._identity = identity(fd)
        self._is_placed = False  # its folder is on disk, with its name

    def write(self, data: bytes) -> int:
        """Buffer all of `data`."""
        self._waiting.append(data)
        self._buffered += len(data)
        if self._buffered > AT_ONCE:
            self.flush()
        return len(data)

    def tell(self) -> int:
        """Return the position of the next byte."""
        return self._file.length + self._buffered

    def keep(self, data: bytes) -> None:
        """Remember the beginning and the end of what is written, which is `data` before it is
        compressed.
        """
        if b"\n" not in self.first and len(self.first) <= HEAD:
            self.first += data[: data.find(b"\n") + 1] or data[: HEAD + 1]
        self.last = (self.last + data[-16:])[-16:]

    def flush(self) -> None:
        """Write the buffer.

        Raise StoreError if the disk does not take it, and cut off what it took.
        """
        if not self._waiting:
            return
        data = b"".join(self._waiting)
        try:
            # Else bytes that a failed write has left would look like another program's
            if not self.is_shared:
                self._file.cut_back()
            self._look()
            # This line goes first: a run after a kill cuts off only what this one meant to write
            if not self.is_shared:
                self._files.note(MEANT, self._file.length + len(data), self.path)
            with self._files.disk.waiting():
                self._append(data)
        except OSError as error:
            raise StoreError(f"{self.path}: {words_of(error)}") from error
        self._waiting.clear()
        self._buffered = 0
        self._tail = (self._tail + data)[-TAIL:]
        self.unsynced = True

    def _append(self, data: bytes) -> None:
        """Append all of `data`, or nothing.

        In a shared file what fails stays: another program may write there.
        """
        if not self.is_shared:
            self._file.append(data)
            return
        self._files.disk.write(self._file.fd, data)
        self._file.length += len(data)

    def _look(self) -> None:
        """Notice what others have done to the file since it was written to last."""
        if identity(self.path) != self._identity:
            # What is written to the open file would be gone with its descriptor
            logger.warning(
                "%s was moved or removed: what follows is written to a new file of the same name",
                self.path,
            )
            self._files.let_go(self._file.fd)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._open(None)
        size = os.fstat(self._file.fd).st_size
        if size != self._file.length:
            if not self.is_shared:
                line = (
                    "%s: another program is writing to this file too, so its last lines may appear twice "
                    "if the crawl is killed"
                )
                logger.warning(line, self.path)
            self.is_shared = True
            self._file.length = size

    def mark(self) -> FileMark:
        """Return what a checkpoint notes; call `flush` first."""
        if self._final is not None:
            return replace(self._final, most=self._file.length)
        return FileMark(
            self._file.length, zlib.crc32(self._tail), self._file.length, self.first, self.last
        )

    def freeze(self) -> None:
        """Call before what ends the file: a later run that appends cuts that off first."""
        self.settle()
        self.flush()
        self._final = self.mark()

    def sync(self) -> None:
        """Make what was written survive a power cut."""
        self.unsynced = False  # set before syncing: bytes written meanwhile need another sync
        self._files.disk.sync(self._file.fd)
        if not self._is_placed:
            self._files.disk.sync_folder(self.path.parent)
            self._is_placed = True

    def close(self) -> None:
        """Write the rest. Another caller that has the path open may continue."""
        self.users -= 1
        if self.users:
            return
        self.settle()
        self.flush()
        self._files.ended(self, self._file.fd)


class UserFiles:
    """All files of the user's that the crawl appends to: a Part of the checkpoint."""

    def __init__(self, db: CrawlDB) -> None:
        self._db = db
        self.disk = db.disk
        self._open: dict[Path, UserFile] = {}
        # since the last checkpoint; None: shared with another program
        self._ended: dict[Path, FileMark | None] = {}
        self._left: dict[Path, LeftFile] = {}  # by former runs, and not opened again
        self._closing: list[Future[None]] = []
        self._syncing: Future[None] | None = None
        self._journals: list[Path] = []
        self._number = 0
        self._is_read = False
        self._shut_marks: dict[str, bytes] = {}  # by path, once crawl.db is being closed
        self.is_over = False
        db.join(self)

    # -- what former runs have left

    def recover(self) -> None:
        """Cut back what a crashed run has written after its last checkpoint.

        A second call does nothing.
        """
        if self._is_read:
            return
        self._is_read = True
        self._read()
        for path, left in [*self._left.items()]:
            has_nothing_to_cut = left.is_ended or left.mark.most == left.mark.length
            if has_nothing_to_cut:
                continue
            if _is_as_left(path, left.mark):
                self._cut(path, left)
            else:
                del self._left[path]
                if path.exists():
                    line = (
                        "%s was changed after the crawl wrote to it, so it is not cut back: some lines may "
                        "appear twice"
                    )
                    logger.warning(line, path)

    def _read(self) -> None:
        for name, value in self._db.named(OPEN):
            self._left[Path(name.removeprefix(OPEN))] = LeftFile(FileMark(*msgpack.unpackb(value)))
        least = int(self._db.get(NUMBER) or 0)
        journals: dict[int, Path] = {}
        for path in self._db.folder.glob(f"{JOURNAL}*"):
            digits = path.suffix[1:]
            if digits.isdecimal():
                journals[int(digits)] = path
        # A run appends to no older journal, whose last line may have been cut off by a kill
        self._number = max([least, *(number + 1 for number in journals)])
        self._journals = [journals[number] for number in sorted(journals)]
        for number in sorted(journals):
            if number >= least:
                self._read_journal(journals[number])

    def _read_journal(self, journal: Path) -> None:
        with regular(journal) as file:
            lines = file.readlines()
        for line in lines:
            with suppress(ValueError):  # a line that was cut off says nothing
                word, size, crc, name = json.loads(line)
                self._heard(word, size, crc, Path(name))

    def _heard(self, word: str, size: int, crc: int, path: Path) -> None:
        """Take in a line of a journal."""
        left = self._left.get(path)
        if word == BEGUN:
            known = left.mark if left is not None else None
            if known is None or (known.length, known.crc) != (size, crc):
                known = self._shut(path)
            # A mark of other bytes is of what was there before the crawl wrote to the file anew
            if known is None or (known.length, known.crc) != (size, crc):
                known = FileMark(size, crc, size)
            self._left[path] = LeftFile(replace(known, most=size))
        elif left is not None:
            left.mark = replace(left.mark, most=max(left.mark.most, size))
            left.is_ended = word == ENDED

    def _shut(self, path: Path) -> FileMark | None:
        value = (
            self._shut_marks.get(f"{SHUT}{path}") if self.is_over else self._db.get(f"{SHUT}{path}")
        )
        return FileMark(*msgpack.unpackb(value)) if value else None

    def _cut(self, path: Path, left: LeftFile) -> None:
        length = left.mark.length
        try:
            self.disk.cut(path, length)
            self.note(BEGUN, length, path, left.mark.crc)
        except OSError as error:
            raise StoreError(f"{path}: {words_of(error)}") from error
        left.mark = replace(left.mark, most=length)

    # -- files

    def knows(self, path: Path) -> bool:
        """Return whether this crawl has written to the file, and it is as the crawl left it."""
        self.recover()
        return path in self._open or self._mark_of(path) is not None

    def open(self, path: Path, *, overwrite: bool) -> UserFile:
        """Open an absolute path for appending, after what this crawl has written, or after what is
        there.

        `overwrite`: empty a file that is there and not this crawl's.
        """
        self.recover()
        opened = self._open.get(path)
        if opened is not None:
            opened.users += 1
            return opened
        mark = self._mark_of(path)
        self._ended.pop(path, None)
        self._left.pop(path, None)
        opened = self._open[path] = UserFile(self, path, mark, overwrite=overwrite)
        return opened

    def _mark_of(self, path: Path) -> FileMark | None:
        """Return the mark of a closed file that is as the crawl has left it, or None."""
        if path in self._ended:
            mark = self._ended[path]
        elif path in self._left:
            mark = self._left[path].mark
        else:
            mark = self._shut(path)
        if mark is None or not _is_as_left(path, mark):
            return None
        return mark

    def ended(self, file: UserFile, fd: int) -> None:
        """Take note of a file that is closed."""
        del self._open[file.path]
        self._ended[file.path] = None if file.is_shared else file.mark()
        is_committed = file.is_late or file.mark().length == file.committed
        # Without this line the next run cuts the file back, if it may
        if self.is_over and is_committed and not file.is_shared:
            self.note(ENDED, file.mark().most, file.path)
        self.let_go(fd)

    def let_go(self, fd: int) -> None:
        """Close a descriptor once its file is synced."""
        close = partial(_sync_and_close, self.disk.sync, fd)
        if self.is_over:
            close()
        else:
            self._closing.append(self._db.worker.submit(close))

    def end(self) -> None:
        """Prepare for the end of the crawl: what ends its files is noted in the journal only."""
        # Scrapy opens a feed without items later still, when crawl.db is closed
        self.recover()
        self._shut_marks = dict(self._db.named(SHUT))
        self.is_over = True

    def flush(self) -> None:
        """Write what is buffered, so that readers who follow a file see it."""
        for file in self._open.values():
            file.flush()

    def note(self, word: str, size: int, path: Path, crc: int = 0) -> None:
        """Add a line to the journal."""
        journal = self._db.folder / f"{JOURNAL}{self._number}"
        if not self._journals or self._journals[-1] != journal:
            self._journals.append(journal)
        fd = self.disk.append(journal)
        try:
            self.disk.write(fd, f"{json.dumps([word, size, crc, str(path)])}\n".encode())
        finally:
            os.close(fd)

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        """Sync in a thread; `save` syncs the little that is written meanwhile."""
        if not self._open:
            return
        self.flush()
        ready = [file for file in self._open.values() if file.unsynced]
        self._syncing = self._db.worker.submit(partial(_sync, ready))
        yield from self._db.worker.until_done(self._syncing)

    def save(self) -> None:
        if not self._is_read:
            return
        self._finish_syncing()
        for file in self._open.values():
            file.settle()
            file.flush()
        _sync([file for file in self._open.values() if file.unsynced])
        for path, file in self._open.items():
            self._note(path, None if file.is_shared else file.mark(), OPEN)
            file.committed = file.mark().length
        for path, mark in self._ended.items():
            self._note(path, mark, SHUT)
        for path, left in self._left.items():
            self._note(path, left.mark, SHUT)
        self._ended.clear()
        self._left.clear()
        for journal in self._journals:
            self._db.discard(journal)
        self._journals.clear()
        self._number += 1
        self._db.set(NUMBER, b"%d" % self._number)

    def _finish_syncing(self) -> None:
        syncing = [*self._closing, *([self._syncing] if self._syncing is not None else ())]
        self._closing.clear()
        self._syncing = None
        for one in syncing:
            try:
                self._db.worker.result(one)
            except OSError as error:
                raise StoreError(words_of(error)) from error

    def _note(self, path: Path, mark: FileMark | None, kind: str) -> None:
        other = SHUT if kind == OPEN else OPEN
        self._db.execute(FORGET, (f"{other}{path}",))
        if mark is None:
            self._db.execute(FORGET, (f"{kind}{path}",))
        else:
            value = msgpack.packb([mark.length, mark.crc, mark.most, mark.first, mark.last])
            self._db.set(f"{kind}{path}", value)


def _is_as_left(path: Path, mark: FileMark) -> bool:
    """Return whether a file is what the crawl has left, and no longer than the crawl has made it."""
    try:
        with regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if not mark.length <= size <= mark.most:
                return False
            tail = os.pread(file.fileno(), min(TAIL, mark.length), max(0, mark.length - TAIL))
    except OSError:
        return False
    return zlib.crc32(tail) == mark.crc


def _sync(files: list[UserFile]) -> None:
    side_by_side([file.sync for file in files])


def _sync_and_close(sync: Callable[[int], None], fd: int) -> None:
    try:
        sync(fd)
    finally:
        os.close(fd)


def _nothing() -> None:
    """Do nothing, for a file that is not compressed."""
