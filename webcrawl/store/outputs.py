"""Output files that a crawl only appends to: their lengths are part of the checkpoint, recovery cuts the rest off.

With each length goes the crc32 of so many bytes, which only `scrapy verify` compares.
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
AT_ONCE = 1 << 16  # bytes of a file that wait for each other: a call to the kernel for 5 pages, not one for each
# Bytes between two calls that have the kernel forget a file: else the archive is soon all that it has in memory, and
# memory that was never used before is dear, on a virtual machine above all (docs/performance.md).
WINDOW = 8 << 20
OPEN = ".open"  # at the end of a name until its file is finished
Mark = tuple[int, int]  # of a file: its length, the crc32 of so many bytes
NOTHING: Mark = 0, 0


class Output:
    """One file, open for appending; made by `Outputs.open`."""

    def __init__(self, disk: Disk, path: Path, mark: Mark, at_once: int) -> None:
        self.path = path
        self._disk, self._fd = disk, disk.append(path)
        self._length, self._crc = mark  # the crc of what is written, without what waits
        self._waiting: list[bytes] = []
        self._size, self._at_once = 0, at_once  # bytes that wait to be written, and how many may
        self._let_go = self._length  # when the kernel was last told to forget it
        self.unsynced = self._torn = False
        self.closed = self.finished = False

    def __repr__(self) -> str:
        return f"<Output {self.path} {self._length} bytes>"

    def tell(self) -> int:
        """Bytes taken: where the next ones begin."""
        return self._length

    def mark(self) -> Mark:
        """All that was taken and is written: `flush` comes before it."""
        return self._length - self._size, self._crc

    def write(self, data: Buffer) -> None:
        """Takes all of `data`, or raises an error and takes none of it; it is written with some that follows."""
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
        """Writes what waits, or raises an error and lets it wait: what a full disk let through is cut off again."""
        if not self._waiting:
            return
        try:
            if self._torn:
                self._disk.truncate(self._fd, self._length - self._size)
                self._torn = False
            data = b"".join(self._waiting)
            self._disk.write(self._fd, data)
        except OSError as error:
            self._mend()
            raise StoreError(f"{self.path}: {error}") from error
        self._crc = rowcrc.crc32_of_many(data, self._crc)
        self._waiting.clear()
        self._size = 0
        self.unsynced = True
        if self._length - self._let_go > WINDOW:
            self._disk.let_go(self._fd)
            self._let_go = self._length

    def _mend(self) -> None:
        try:
            self._disk.truncate(self._fd, self._length - self._size)
            self._torn = False
        except OSError:  # tried again by the next write, and by recovery
            self._torn = True

    def sync(self) -> None:
        """What was written so far survives a power cut."""
        self.unsynced = False  # first: what is written meanwhile needs another sync
        self._disk.sync(self._fd)

    def close(self) -> None:
        """Nothing more comes; the next checkpoint notes the last length and lets go of the file."""
        self.closed = True

    def finish(self) -> None:
        """Closes a file whose name ends in `.open`: once a checkpoint has noted all of it, it loses that ending."""
        if self.path.suffix != OPEN:
            raise ValueError(f"{self.path}: has no {OPEN} to lose")
        self.closed = self.finished = True

    def release(self) -> None:
        os.close(self._fd)


class Outputs:
    """All outputs of a crawl, below `root`; a Part: lengths are noted after their bytes are synced.

    Opening cuts every file back to its noted length. A file that is shorter than noted, or missing, is damaged;
    then nothing is cut. A finished file is noted under its last name and renamed after that COMMIT, so until then, and
    after a crash in between, it is found under its name with `.open`.
    """

    def __init__(self, db: CrawlDB, root: Path, at_once: int = AT_ONCE) -> None:
        self._db, self._root, self._at_once = db, root, at_once
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
        self._unnamed = {name for name in self._noted if not (root / name).exists()}  # they have their .open still
        for name, (length, _) in self._noted.items():
            self._cut(self._where(name), length)
        self._rename()
        db.join(self)

    def __repr__(self) -> str:
        return f"<Outputs {self._root} open={len(self._open)} noted={len(self._noted)}>"

    def _where(self, name: str) -> Path:
        """Where the bytes of a noted file are."""
        path = self._root / name
        unfinished = self._root / f"{name}{OPEN}"
        return unfinished if not path.exists() and unfinished.exists() else path

    def _rename(self) -> None:
        """Finished files get their last names, if a COMMIT has noted these; what fails is done later, or at a start."""
        if not self._unnamed or not self._committed():
            return
        for name in sorted(self._unnamed):
            try:
                self._db.disk.rename(self._root / f"{name}{OPEN}", self._root / name)
            except OSError as error:
                logger.warning("%s: keeps its %s: %s", self._root / name, OPEN, error)
            else:
                self._unnamed.discard(name)

    def _committed(self) -> bool:
        """Whether the last `save` was followed by its COMMIT: if not, the database takes no more calls."""
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
        """The file `path` below the root, at its end; what was begun after the last checkpoint begins anew."""
        output = self._open.get(path)
        if output is not None and not output.closed:
            raise ValueError(f"{output.path}: open already")
        if (output is not None and output.finished) or path.removesuffix(OPEN) in self._unnamed:
            raise ValueError(f"{self._root / path}: finished")
        if output is not None:
            output.closed = False
            return output
        full = self._root / path
        try:
            full.parent.mkdir(parents=True, exist_ok=True)
            if path not in self._noted and full.exists():
                self._cut(full, 0)
            output = self._open[path] = Output(self._db.disk, full, self._noted.get(path, NOTHING), self._at_once)
        except OSError as error:
            raise StoreError(f"{full}: {error}") from error
        return output

    def sweep(self, pattern: str) -> None:
        """Removes what matches below the root and no checkpoint has noted: nobody will ask for that name again."""
        for path in self._root.glob(pattern):
            name = path.relative_to(self._root).as_posix()
            if name not in self._noted and name not in self._open and name.removesuffix(OPEN) not in self._unnamed:
                try:
                    self._db.disk.unlink(path)
                except OSError as error:
                    raise StoreError(f"{path}: {error}") from error

    # -- the checkpoint

    def prepare(self) -> Iterator[None]:
        """Syncs in a thread; what is written meanwhile is little, and synced by `save`."""
        self._rename()
        for output in self._open.values():
            output.flush()
        ready = [output for output in self._open.values() if output.unsynced]
        self._syncing = threading.Thread(target=self._sync, args=(ready,), name="sync-outputs", daemon=True)
        self._syncing.start()
        while self._syncing.is_alive():
            yield

    def _sync(self, outputs: list[Output]) -> None:
        try:
            for output in outputs:
                output.sync()
        except OSError as error:  # a second fsync would say that all is well: it is said once, and counts
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
            self._open.pop(name).release()

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
        """A new file's name, and those of the folders down to it, which may be as new."""
        while True:
            self._db.disk.sync_folder(folder)
            if folder in (self._root, folder.parent):
                return
            folder = folder.parent

    def close(self) -> None:
        """Closes all files; what is not in a checkpoint is cut off at the next start."""
        if self._syncing is not None:
            self._syncing.join()
        self._rename()
        for output in self._open.values():
            output.release()
        self._open.clear()

    def check(self) -> Iterator[DamagedFile]:
        """Each output that is shorter than the last checkpoint noted."""
        for name, (length, _) in self._noted.items():
            path = self._where(name)
            if not path.exists():
                yield DamagedFile(path, 0, f"missing, {length} bytes are noted")
            elif path.stat().st_size < length:
                yield DamagedFile(path, path.stat().st_size, f"the file ends early, {length} bytes are noted")
