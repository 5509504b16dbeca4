"""One append-only output file, which knows how much of it is written."""

from __future__ import annotations

import os
from pathlib import Path

from webcrawl.store import rowcrc
from webcrawl.store.disk import Buffer, Disk
from webcrawl.store.errors import StoreError
from webcrawl.store.worker import Worker

# Bytes written between two calls that drop the file from the page cache. Otherwise the archive soon fills it, and
# memory that was never used before is expensive, above all on a virtual machine (docs/performance.md).
WINDOW = 8 << 20
OPEN = ".open"  # a file's suffix until it is finished
STREAM, PARQUET = ".arrows.open", ".parquet"  # of a table: what grows, and what it becomes
Mark = tuple[int, int]  # a file's length, and the crc32 of that many bytes


class Output:
    """One file, open for appending; made by `Outputs.open`."""

    def __init__(self, disk: Disk, path: Path, mark: Mark, at_once: int, worker: Worker) -> None:
        self.path = path
        self._disk, self._fd, self._worker = disk, disk.append(path), worker
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
            with self._disk.waiting():
                self._disk.write(self._fd, data)
        except OSError as error:
            self._cut_back()
            raise StoreError(f"{self.path}: {error}") from error
        self._crc = rowcrc.crc32_of_many(data, self._crc)
        self._waiting.clear()
        self._size = 0
        self.unsynced = True
        if self._length - self._let_go > WINDOW:
            self._worker.submit(self._disk.let_go, self._fd)  # on a busy disk the kernel makes its caller wait
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
