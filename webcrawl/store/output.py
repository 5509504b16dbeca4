"""One append-only output file, which knows how much of it is written."""

from __future__ import annotations

import os
from pathlib import Path

from webcrawl.store import rowcrc
from webcrawl.store.disk import Appender, Buffer, Disk
from webcrawl.store.errors import StoreError
from webcrawl.store.worker import Worker

# Bytes written between two calls that drop the file from the page cache. Otherwise the archive soon
# fills it, and memory that was never used before is expensive, above all on a virtual machine.
LET_GO_BYTES = 8 << 20
OPEN = ".open"  # a file's suffix until it is finished
STREAM, PARQUET = ".arrows.open", ".parquet"  # of a table: what grows, and what it becomes
Mark = tuple[int, int]  # a file's length, and the crc32 of that many bytes


class Output:
    """One file, open for appending; made by `Outputs.open`."""

    def __init__(self, disk: Disk, path: Path, mark: Mark, at_once: int, worker: Worker) -> None:
        """Open the file for appending.

        `mark`: its length and checksum by the last checkpoint. `at_once`: the bytes that are
        buffered at most. `worker`: lets go of what was written.
        """
        self.path = path
        length, self._crc = mark
        self._disk = disk
        self._worker = worker
        self._file = Appender(disk, disk.append(path), length)
        self._buffer: list[bytes] = []
        self._buffered_bytes = 0
        self._max_buffered = at_once  # bytes; then they are written
        self._let_go_at = length  # the length when the file was last dropped from the page cache
        self.unsynced = False
        self.closed = False
        self.finished = False

    def __repr__(self) -> str:
        return f"<Output {self.path} {self.tell()} bytes>"

    def tell(self) -> int:
        """Return the position of the next byte; buffered bytes count."""
        return self._file.length + self._buffered_bytes

    def mark(self) -> Mark:
        """Return length and crc of what is written; call `flush` first."""
        return self._file.length, self._crc

    def write(self, data: Buffer) -> None:
        """Buffer all of `data`, or raise an error and take none of it."""
        if self.closed:
            raise ValueError(f"{self.path}: is closed")
        data = bytes(data)
        self._buffer.append(data)
        self._buffered_bytes += len(data)
        if self._buffered_bytes > self._max_buffered:
            try:
                self.flush()
            except StoreError:
                self._buffer.pop()
                self._buffered_bytes -= len(data)
                raise

    def flush(self) -> None:
        """Write the buffer, and add it to the checksum; now and then have the page cache emptied.

        On an error the buffer is kept, and a partial write is truncated.
        """
        if not self._buffer:
            return
        data = b"".join(self._buffer)
        try:
            with self._disk.waiting():
                self._file.append(data)
        except OSError as error:
            raise StoreError(f"{self.path}: {error}") from error
        self._crc = rowcrc.crc32_of_many(data, self._crc)
        self._buffer.clear()
        self._buffered_bytes = 0
        self.unsynced = True
        if self._file.length - self._let_go_at > LET_GO_BYTES:
            # on a busy disk the kernel makes its caller wait
            self._worker.submit(self._disk.let_go, self._file.fd)
            self._let_go_at = self._file.length

    def sync(self) -> None:
        """Make what was written so far survive a power cut."""
        self.unsynced = False  # set before syncing: bytes written meanwhile need another sync
        self._disk.sync(self._file.fd)

    def close(self) -> None:
        self.closed = True

    def finish(self) -> None:
        """Close a file whose name ends in `.open`.

        The suffix is removed after a checkpoint has noted all of it.
        """
        if self.path.suffix != OPEN:
            raise ValueError(f"{self.path}: does not end in {OPEN}")
        self.closed = True
        self.finished = True

    def release(self) -> None:
        os.close(self._file.fd)
