"""Append-only output files. A checkpoint notes their lengths; recovery truncates them to these.

Each length is stored with the crc32 of that many bytes, which only `scrapy verify` checks.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from webcrawl.store import rowcrc
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import Buffer, Disk
from webcrawl.store.errors import DamagedFile, StoreError

logger = logging.getLogger(__name__)

NOTED = "SELECT path, length, bytes_crc, crc FROM output ORDER BY path"
NOTE = "INSERT OR REPLACE INTO output VALUES (?, ?, ?, ?)"
FORGET = "DELETE FROM output WHERE path = ?"
AT_ONCE = 1 << 16  # bytes buffered per file: one system call for 5 pages instead of one for each
# Bytes written between two calls that drop the file from the page cache. Otherwise the archive soon fills it, and
# memory that was never used before is expensive, above all on a virtual machine (docs/performance.md).
WINDOW = 8 << 20
OPEN = ".open"  # a file's suffix until it is finished
Mark = tuple[int, int]  # a file's length, and the crc32 of that many bytes
NOTHING: Mark = 0, 0


class Output:
    """One file, open for appending; made by `Outputs.open`."""

    def __init__(self, disk: Disk, path: Path, mark: Mark, at_once: int) -> None:
        self.path = path
        self._disk, self._fd = disk, disk.append(path)
        self._length, self._crc = mark  # the length includes buffered bytes, the crc does not
        self._waiting: list[bytes] = []
        self._size, self._at_once = 0, at_once  # bytes buffered, and at most
        self._let_go = self._length  # the length when the file was last dropped from the page cache
        self.unsynced = self._torn = False
        self.closed = self.finished = False

    def __repr__(self) -> str:
        return f"<Output {self.path} {self._length} bytes>"

    def tell(self) -> int:
        """The position of the next byte; buffered bytes count."""
        return self._length

    def mark(self) -> Mark:
        """Length and crc of what is written; call `flush` first."""
        return self._length - self._size, self._crc

    def write(self, data: Buffer) -> None:
        """Buffers all of `data`, or raises an error and takes none of it."""
        if self.closed:
            raise ValueError(f"{self.path}: closed")
        size = len(data := bytes(data))
        self._waiting.append(data)
        self._size += size
        self._length += size
        if self._size > self._at_once:
            try:
                self.flush()
            except StoreError:
                self._waiting.pop()
                self._size -= size
                self._length -= size
                raise

    def flush(self) -> None:
        """Writes the buffer. On an error the buffer is kept, and a partial write is truncated again."""
        if not self._waiting:
            return
        try:
            if self._torn:
                self._disk.truncate(self._fd, self._length - self._size)
                self._torn = False
            data = b"".join(self._waiting)
            self._disk.write(self._fd, data)
        except OSError as error:
            self._cut_back()
            raise StoreError(f"{self.path}: {error}") from error
        self._crc = rowcrc.crc32_of_many(data, self._crc)
        self._waiting.clear()
        self._size = 0
        self.unsynced = True
        if self._length - self._let_go > WINDOW:
            self._disk.let_go(self._fd)
            self._let_go = self._length

    def _cut_back(self) -> None:
        try:
            self._disk.truncate(self._fd, self._length - self._size)
            self._torn = False
        except OSError:  # the next write tries again, and so does recovery
            self._torn = True

    def sync(self) -> None:
        """Makes what was written so far survive a power cut."""
        self.unsynced = False  # set before syncing: bytes written meanwhile need another sync
        self._disk.sync(self._fd)

    def close(self) -> None:
        """Ends writing; the next checkpoint notes the final length and closes the file."""
        self.closed = True

    def finish(self) -> None:
        """Closes a file whose name ends in `.open`. The suffix is removed after a checkpoint has noted all of it."""
        if self.path.suffix != OPEN:
            raise ValueError(f"{self.path}: does not end in {OPEN}")
        self.closed = self.finished = True

    def release(self) -> None:
        os.close(self._fd)


class Outputs:
    """All outputs of a crawl, below `root`. As a Part it notes lengths after syncing the bytes.

    Opening truncates every file to its noted length. If one is shorter than noted or missing, that is DamagedFile and
    nothing is truncated. A finished file is noted under its final name and renamed after that COMMIT: until then, and
    after a crash in between, it still has its `.open`.
    """

    def __init__(self, db: CrawlDB, root: Path, at_once: int = AT_ONCE) -> None:
        self._db, self._root, self._at_once = db, root, at_once
        db.own(root)
        self._open: dict[str, Output] = {}
        self._syncing: threading.Thread | None = None
        self._error: OSError | None = None
        self._noted: dict[str, Mark] = {}
        for row in db.query(NOTED):
            if not rowcrc.agrees(rowcrc.output, row):
                raise DamagedFile(db.path, 0, f"table output, {row[0]}: checksum")
            self._noted[row[0]] = row[1:3]
        damages = list(self.check())
        if damages:
            raise damages[0]
        self._missed: set[str] = set()
        self._unnamed = {name for name in self._noted if not (root / name).exists()}  # still with .open
        for name, (length, _) in self._noted.items():
            self._cut(self._where(name), length)
        self._rename()
        db.join(self)

    def __repr__(self) -> str:
        return f"<Outputs {self._root} open={len(self._open)} noted={len(self._noted)}>"

    def _where(self, name: str) -> Path:
        """The present path of a noted file."""
        path = self._root / name
        unfinished = self._root / f"{name}{OPEN}"
        return unfinished if not path.exists() and unfinished.exists() else path

    def _rename(self) -> None:
        """Gives finished files their final names if a COMMIT has noted them. A failed rename is retried later."""
        if not self._unnamed or not self._committed():
            return
        for name in sorted(self._unnamed):
            try:
                self._db.disk.rename(self._root / f"{name}{OPEN}", self._root / name)
            except OSError as error:
                logger.warning("%s: keeps its %s: %s", self._root / name, OPEN, error)
            else:
                self._unnamed.discard(name)

    def _miss(self) -> None:
        """Warns once of each closed file that is gone. The crawl needs it only at its next start."""
        for name in self._noted.keys() - self._open.keys() - self._unnamed - self._missed:
            if not (self._root / name).exists():
                self._missed.add(name)
                logger.warning("%s: moved or removed: the crawl cannot be resumed without it", self._root / name)

    def _committed(self) -> bool:
        """Whether the COMMIT after the last `save` succeeded: if not, the database refuses all calls."""
        try:
            self._db.query("SELECT 1")
        except StoreError:
            return False
        return True

    def _cut(self, path: Path, length: int) -> None:
        if path.stat().st_size == length:
            return
        try:
            fd = self._db.disk.append(path)
            try:
                self._db.disk.truncate(fd, length)
                self._db.disk.sync(fd)
            finally:
                os.close(fd)
        except OSError as error:
            raise StoreError(f"{path}: {error}") from error

    def open(self, path: str) -> Output:
        """Opens `path`, relative to the root, for appending. A file that no checkpoint has noted is emptied first."""
        output = self._open.get(path)
        if output is not None and not output.closed:
            raise ValueError(f"{output.path}: already open")
        if (output is not None and output.finished) or path.removesuffix(OPEN) in self._unnamed:
            raise ValueError(f"{self._root / path}: finished")
        if output is not None:
            output.closed = False
            return output
        full = self._root / path
        self._db.presence.check()  # in a root that was moved the folders would be created again, where it was
        try:
            full.parent.mkdir(parents=True, exist_ok=True)
            if path not in self._noted and full.exists():
                self._cut(full, 0)
            output = self._open[path] = Output(self._db.disk, full, self._noted.get(path, NOTHING), self._at_once)
            self._db.presence.add(full)
        except OSError as error:
            raise StoreError(f"{full}: {error}") from error
        return output

    def flush(self) -> None:
        """Writes what is buffered, so that whoever follows a file sees it."""
        for output in self._open.values():
            output.flush()

    def sweep(self, pattern: str) -> None:
        """Removes files that match `pattern` and that no checkpoint has noted: their names are not opened again."""
        for path in self._root.glob(pattern):
            name = path.relative_to(self._root).as_posix()
            if name not in self._noted and name not in self._open and name.removesuffix(OPEN) not in self._unnamed:
                try:
                    self._db.disk.unlink(path)
                except OSError as error:
                    raise StoreError(f"{path}: {error}") from error

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        """Syncs in a thread; `save` syncs the little that is written meanwhile."""
        self._rename()
        self._miss()
        self.flush()
        ready = [output for output in self._open.values() if output.unsynced]
        self._syncing = threading.Thread(target=self._sync, args=(ready,), name="sync-outputs", daemon=True)
        self._syncing.start()
        while self._syncing.is_alive():
            yield

    def _sync(self, outputs: list[Output]) -> None:
        try:
            for output in outputs:
                output.sync()
        except OSError as error:  # a second fsync would report success: the error must be kept
            self._error = error

    def save(self) -> None:
        if self._syncing is not None:
            self._syncing.join()
        if self._error is not None:
            raise StoreError(f"{self._root}: {self._error}") from self._error
        for folder in {output.path.parent for name, output in self._open.items() if name not in self._noted}:
            self._sync_folders(folder)
        for output in self._open.values():
            output.flush()
            if output.unsynced:
                output.sync()
        self._note()
        for name in [name for name, output in self._open.items() if output.closed]:
            output = self._open.pop(name)
            self._db.presence.forget(output.path)
            output.release()

    def _note(self) -> None:
        marks = {name: output.mark() for name, output in self._open.items()}
        finished = [name for name, output in self._open.items() if output.finished]
        for name in finished:
            self._noted.pop(name, None)
            marks[name.removesuffix(OPEN)] = marks.pop(name)
        changed = {name: mark for name, mark in marks.items() if mark != self._noted.get(name)}
        if finished:
            self._db.executemany(FORGET, [(name,) for name in finished])
        self._db.executemany(NOTE, [(name, *mark, rowcrc.output(name, *mark)) for name, mark in changed.items()])
        self._noted.update(changed)
        self._unnamed.update(name.removesuffix(OPEN) for name in finished)

    def _sync_folders(self, folder: Path) -> None:
        """Syncs the folders from this one up to the root: all of them may be new."""
        while True:
            self._db.disk.sync_folder(folder)
            if folder in (self._root, folder.parent):
                return
            folder = folder.parent

    def close(self) -> None:
        """Closes all files. The next start truncates what no checkpoint has noted."""
        if self._syncing is not None:
            self._syncing.join()
        self._rename()
        for output in self._open.values():
            output.release()
        self._open.clear()

    def check(self) -> Iterator[DamagedFile]:
        """Yields each output that is missing or shorter than the last checkpoint noted."""
        for name, (length, _) in self._noted.items():
            path = self._where(name)
            if not path.exists():
                yield DamagedFile(path, 0, f"missing, {length} bytes are noted")
            elif path.stat().st_size < length:
                yield DamagedFile(path, path.stat().st_size, f"the file ends early, {length} bytes are noted")
