"""Files of the user's, outside JOBDIR, to which a crawl appends: its feeds.

After a crash they are truncated to the checkpoint.

They are not the crawl's alone: the user may edit, move or remove them, and other programs may
append to them. So a file is truncated to the length that the last checkpoint noted only if this
crawl alone has written what would go: the file is no longer than the crawl meant to make it, and
its last bytes before that length are those that were noted. Any other file stays as it is, and is
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

# Before a path, in the table meta: the mark of a file that was open at the checkpoint, and of one
# that was closed before it
OPEN_MARK, SHUT_MARK = "feed.open.", "feed.shut."
JOURNAL = "feeds."  # and a number: a file in the state folder
FIRST_JOURNAL = "feeds"  # in the table meta: journals below this number say nothing new
# The first word of a line in the journal. The size that follows is where the crawl began to write,
# what the file may have after the next write, and what the file has after the crawl's end
OPENED_AT, MAY_REACH, ENDED_AT = "begun", "meant", "ended"
TAIL_BYTES = 4096  # before the end of a file: it is recognised by them
FIRST_LINE_BYTES = 8192  # that are kept of a file's first line
NEWLINE_REST = 3  # bytes after the b"\n" of a newline, at most: in UTF-32
BUFFER_BYTES = 1 << 16  # per file
DELETE_VALUE = "DELETE FROM meta WHERE name = ?"


@dataclass(frozen=True, slots=True)
class FileMark:
    """The length and checksum by which a file that the crawl has written to is recognised."""

    length: int  # without what ends the file, such as the bracket of a JSON list
    crc: int  # of the last TAIL_BYTES before that
    max_length: int  # the most bytes that the crawl has meant the file to have
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
        self.users = 1  # callers that have the path open
        # writes what a compressor still holds; set by the caller that compresses
        self.settle: Callable[[], object] = _settle_nothing
        self._buffer: list[bytes] = []
        self._buffered = 0  # bytes
        self.is_shared = False  # with another program, which writes to it too
        self.unsynced = False
        self.committed = -1  # bytes that the last checkpoint has noted
        self.is_late = files.is_over  # nothing of a page is in it
        self._mark_before_ending: FileMark | None = None
        self.is_continued = mark is not None and bool(mark.first)
        self.first = mark.first if mark is not None else b""
        self.last = mark.last if mark is not None else b""
        self._open(mark, overwrite=overwrite)

    def _open(self, mark: FileMark | None, *, overwrite: bool = False) -> None:
        """Open the path for appending, and note in the journal where the crawl begins to write.

        That is at the end of the file. The crawl's own file is first truncated to the length in its
        mark; another's file is emptied if `overwrite` says so.
        """
        disk = self._files.disk
        try:
            fd = disk.append(self.path)
            size = os.fstat(fd).st_size
            if mark is not None:
                start = mark.length
            elif overwrite:
                start = 0
            else:
                start = size
            if size != start:
                disk.truncate(fd, start)
                self.unsynced = True
            self._tail = os.pread(fd, TAIL_BYTES, max(0, start - TAIL_BYTES))
            self._files.note(OPENED_AT, start, self.path, zlib.crc32(self._tail))
        except OSError as error:
            raise StoreError(f"{self.path}: {words_of(error)}") from error
        self._file = Appender(disk, fd, start)
        self._identity = identity(fd)
        self._is_name_synced = False  # in its folder

    def write(self, data: bytes) -> int:
        """Buffer all of `data`."""
        self._buffer.append(data)
        self._buffered += len(data)
        if self._buffered > BUFFER_BYTES:
            self.flush()
        return len(data)

    def tell(self) -> int:
        """Return the position of the next byte."""
        return self._file.length + self._buffered

    def keep(self, data: bytes) -> None:
        """Remember the beginning and the end of what is written, which is `data` before it is
        compressed.
        """
        if b"\n" not in self.first and len(self.first) <= FIRST_LINE_BYTES:
            end = data.find(b"\n") + 1
            self.first += data[: end + NEWLINE_REST if end else FIRST_LINE_BYTES + 1]
        self.last = (self.last + data[-16:])[-16:]

    def flush(self) -> None:
        """Append the buffer to the file, after a line in the journal about the file's new length.

        Raise StoreError if the disk does not take all of it: then what was written is removed, and
        the buffer is kept.
        """
        if not self._buffer:
            return
        data = b"".join(self._buffer)
        try:
            # Bytes that a failed write has left would look like another program's
            if not self.is_shared:
                self._file.drop_torn_end()
            self._notice_changes_by_others()
            # Before the bytes: a run after a kill removes only what this one meant to write. A
            # shared file is never truncated
            if not self.is_shared:
                self._files.note(MAY_REACH, self._file.length + len(data), self.path)
            with self._files.disk.waiting():
                self._append(data)
        except OSError as error:
            raise StoreError(f"{self.path}: {words_of(error)}") from error
        self._buffer.clear()
        self._buffered = 0
        self._tail = (self._tail + data)[-TAIL_BYTES:]
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

    def _notice_changes_by_others(self) -> None:
        """Look at the path before a write, and warn of what others have done to the file.

        A file that was moved or removed is opened anew at its path. One that has another length
        than the crawl gave it `is_shared` from now on, and is appended to at its present end.
        """
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
        """Return the mark that a checkpoint notes; call `flush` first.

        What ends the file (see `freeze`) is not in its length, only in its `max_length`.
        """
        if self._mark_before_ending is not None:
            return replace(self._mark_before_ending, max_length=self._file.length)
        return FileMark(
            self._file.length, zlib.crc32(self._tail), self._file.length, self.first, self.last
        )

    def freeze(self) -> None:
        """Keep the mark of the file as it is now; call before writing what ends the file, such as `]`.

        A later run that appends removes what follows.
        """
        self.settle()
        self.flush()
        self._mark_before_ending = self.mark()

    def sync(self) -> None:
        """Make what was written survive a power cut."""
        self.unsynced = False  # set before syncing: bytes written meanwhile need another sync
        self._files.disk.sync(self._file.fd)
        if not self._is_name_synced:
            self._files.disk.sync_folder(self.path.parent)
            self._is_name_synced = True

    def close(self) -> None:
        """Write the rest and close the file, unless another caller still has the path open."""
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
        # of the files closed since the last checkpoint; None: shared with another program
        self._closed_marks: dict[Path, FileMark | None] = {}
        self._left_by_former_runs: dict[Path, LeftFile] = {}  # those not opened again
        self._descriptors_closing: list[Future[None]] = []
        self._syncing: Future[None] | None = None
        self._journals: list[Path] = []  # that the next checkpoint makes needless
        self._journal_number = 0  # of the journal that this run appends to
        self._is_recovered = False
        # by SHUT_MARK and path; filled by `end`, after which crawl.db may be closed
        self._saved_shut_marks: dict[str, bytes] = {}
        self.is_over = False  # the crawl: no checkpoint follows
        db.join(self)

    # -- what former runs have left

    def recover(self) -> None:
        """Remove what a crashed run has appended to its files after its last checkpoint.

        A file that others have changed stays as it is, with a warning, and is no longer taken for
        the crawl's. A second call does nothing.
        """
        if self._is_recovered:
            return
        self._is_recovered = True
        self._read_marks_and_journals()
        for path, left in [*self._left_by_former_runs.items()]:
            has_nothing_to_truncate = left.is_ended or left.mark.max_length == left.mark.length
            if has_nothing_to_truncate:
                continue
            if _is_as_left(path, left.mark):
                self._truncate(path, left)
            else:
                del self._left_by_former_runs[path]
                if path.exists():
                    line = (
                        "%s was changed after the crawl wrote to it, so it is not truncated: some lines may "
                        "appear twice"
                    )
                    logger.warning(line, path)

    def _read_marks_and_journals(self) -> None:
        """Find out which files former runs have left, and in which state.

        That is what the last checkpoint says of the files that were open, and what the journals
        say since. Also choose the number of this run's journal.
        """
        for name, value in self._db.named(OPEN_MARK):
            path = Path(name.removeprefix(OPEN_MARK))
            self._left_by_former_runs[path] = LeftFile(FileMark(*msgpack.unpackb(value)))
        first = int(self._db.get(FIRST_JOURNAL) or 0)
        journals: dict[int, Path] = {}
        for journal in self._db.folder.glob(f"{JOURNAL}*"):
            digits = journal.suffix[1:]
            if digits.isdecimal():
                journals[int(digits)] = journal
        # A run appends to no older journal, whose last line may have been truncated by a kill
        self._journal_number = max([first, *(number + 1 for number in journals)])
        self._journals = [journals[number] for number in sorted(journals)]
        for number in sorted(journals):
            if number >= first:
                self._read_journal(journals[number])

    def _read_journal(self, journal: Path) -> None:
        with regular(journal) as file:
            lines = file.readlines()
        for line in lines:
            with suppress(ValueError):  # a line that was truncated says nothing
                word, size, crc, name = json.loads(line)
                self._apply_journal_line(word, size, crc, Path(name))

    def _apply_journal_line(self, word: str, size: int, crc: int, path: Path) -> None:
        """Update what is known of a file that a former run has left by a line of its journal.

        `crc` is of the file's tail, and only in a line OPENED_AT. Lines of a file that no
        checkpoint and no such line names say nothing.
        """
        left = self._left_by_former_runs.get(path)
        if word == OPENED_AT:
            mark = left.mark if left is not None else None
            if mark is None or (mark.length, mark.crc) != (size, crc):
                mark = self._mark_in_crawl_db(path)
            # A mark of other bytes is of what was there before the crawl wrote to the file anew
            if mark is None or (mark.length, mark.crc) != (size, crc):
                mark = FileMark(size, crc, size)
            self._left_by_former_runs[path] = LeftFile(replace(mark, max_length=size))
        elif left is not None:
            left.mark = replace(left.mark, max_length=max(left.mark.max_length, size))
            left.is_ended = word == ENDED_AT

    def _mark_in_crawl_db(self, path: Path) -> FileMark | None:
        """Return the mark that a checkpoint has noted of a closed file."""
        name = f"{SHUT_MARK}{path}"
        value = self._saved_shut_marks.get(name) if self.is_over else self._db.get(name)
        return FileMark(*msgpack.unpackb(value)) if value else None

    def _truncate(self, path: Path, left: LeftFile) -> None:
        """Truncate a file to the length in its mark, and note in the journal that it now has that."""
        length = left.mark.length
        try:
            self.disk.truncate_file(path, length)
            self.note(OPENED_AT, length, path, left.mark.crc)
        except OSError as error:
            raise StoreError(f"{path}: {words_of(error)}") from error
        left.mark = replace(left.mark, max_length=length)

    # -- files

    def knows(self, path: Path) -> bool:
        """Return whether this crawl has written to the file, and it is as the crawl left it."""
        self.recover()
        return path in self._open or self._mark_of(path) is not None

    def open(self, path: Path, *, overwrite: bool) -> UserFile:
        """Open an absolute path for appending; a path that is open is shared by its callers.

        A file that is as this crawl has left it is truncated to the length in its mark first; any
        other file keeps what is there, or is emptied if `overwrite` says so.
        """
        self.recover()
        opened = self._open.get(path)
        if opened is not None:
            opened.users += 1
            return opened
        mark = self._mark_of(path)
        self._closed_marks.pop(path, None)
        self._left_by_former_runs.pop(path, None)
        opened = self._open[path] = UserFile(self, path, mark, overwrite=overwrite)
        return opened

    def _mark_of(self, path: Path) -> FileMark | None:
        """Return the mark of a closed file that is as the crawl has left it, or None."""
        if path in self._closed_marks:
            mark = self._closed_marks[path]
        elif path in self._left_by_former_runs:
            mark = self._left_by_former_runs[path].mark
        else:
            mark = self._mark_in_crawl_db(path)
        if mark is None or not _is_as_left(path, mark):
            return None
        return mark

    def ended(self, file: UserFile, fd: int) -> None:
        """Take over a file that its last caller has closed: keep its mark, and close `fd`.

        After the end of the crawl no checkpoint notes the mark, so the journal gets a line.
        """
        del self._open[file.path]
        self._closed_marks[file.path] = None if file.is_shared else file.mark()
        is_committed = file.is_late or file.mark().length == file.committed
        # Without this line the next run truncates the file, if it may
        if self.is_over and is_committed and not file.is_shared:
            self.note(ENDED_AT, file.mark().max_length, file.path)
        self.let_go(fd)

    def let_go(self, fd: int) -> None:
        """Sync a file and close its descriptor: in the worker's thread while the crawl runs."""
        close = partial(_sync_and_close, self.disk.sync, fd)
        if self.is_over:
            close()
        else:
            self._descriptors_closing.append(self._db.worker.submit(close))

    def end(self) -> None:
        """Prepare for the end of the crawl, after which files are noted in the journal only.

        The marks of closed files are read now, before crawl.db is closed.
        """
        # Scrapy opens a feed without items later still, when crawl.db is closed
        self.recover()
        self._saved_shut_marks = dict(self._db.named(SHUT_MARK))
        self.is_over = True

    def flush(self) -> None:
        """Write what is buffered, so that readers who follow a file see it."""
        for file in self._open.values():
            file.flush()

    def note(self, word: str, size: int, path: Path, crc: int = 0) -> None:
        """Append a line to the journal: OPENED_AT, MAY_REACH or ENDED_AT, and this size of the file.

        `crc` is the checksum of the file's tail, for OPENED_AT. Nothing is synced.
        """
        journal = self._db.folder / f"{JOURNAL}{self._journal_number}"
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
        """Write and sync all files, note their marks in crawl.db, and begin a new journal.

        A crawl that has opened no file has nothing to save.
        """
        if not self._is_recovered:
            return
        self._finish_syncing()
        for file in self._open.values():
            file.settle()
            file.flush()
        _sync([file for file in self._open.values() if file.unsynced])
        self._save_marks()
        self._begin_new_journal()

    def _save_marks(self) -> None:
        """Note the marks of open, closed and left files, which `save` has synced, in crawl.db."""
        for path, file in self._open.items():
            self._save_mark(path, None if file.is_shared else file.mark(), OPEN_MARK)
            file.committed = file.mark().length
        for path, mark in self._closed_marks.items():
            self._save_mark(path, mark, SHUT_MARK)
        for path, left in self._left_by_former_runs.items():
            self._save_mark(path, left.mark, SHUT_MARK)
        self._closed_marks.clear()
        self._left_by_former_runs.clear()

    def _begin_new_journal(self) -> None:
        """Have the journals removed after the COMMIT: the marks say all that is in them."""
        for journal in self._journals:
            self._db.discard(journal)
        self._journals.clear()
        self._journal_number += 1
        self._db.set(FIRST_JOURNAL, b"%d" % self._journal_number)

    def _finish_syncing(self) -> None:
        """Wait for the syncs in the worker's thread. Raise StoreError if one has failed."""
        syncing = [
            *self._descriptors_closing,
            *([self._syncing] if self._syncing is not None else ()),
        ]
        self._descriptors_closing.clear()
        self._syncing = None
        for future in syncing:
            try:
                self._db.worker.result(future)
            except OSError as error:
                raise StoreError(words_of(error)) from error

    def _save_mark(self, path: Path, mark: FileMark | None, kind: str) -> None:
        """Note the mark of an open or closed file in crawl.db, in the place of any former one.

        None: the file is shared with another program, and gets no mark.
        """
        other = SHUT_MARK if kind == OPEN_MARK else OPEN_MARK
        self._db.execute(DELETE_VALUE, (f"{other}{path}",))
        if mark is None:
            self._db.execute(DELETE_VALUE, (f"{kind}{path}",))
        else:
            value = msgpack.packb([mark.length, mark.crc, mark.max_length, mark.first, mark.last])
            self._db.set(f"{kind}{path}", value)


def _is_as_left(path: Path, mark: FileMark) -> bool:
    """Return whether a file is what the crawl has left, and no longer than the crawl has made it.

    It is recognised by the checksum of the last bytes before the length in its mark.
    """
    try:
        with regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if not mark.length <= size <= mark.max_length:
                return False
            tail = os.pread(
                file.fileno(), min(TAIL_BYTES, mark.length), max(0, mark.length - TAIL_BYTES)
            )
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


def _settle_nothing() -> None:
    """Do nothing, for a file that is not compressed."""
