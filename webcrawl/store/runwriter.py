"""Writes sorted fingerprint files: once, whole, and synced before a checkpoint names them."""

from __future__ import annotations

import contextlib
import os
import zlib
from pathlib import Path

import numpy as np

from webcrawl.store.disk import Disk
from webcrawl.store.runs import HEADER, LAST, MAGIC, PAGE, TRAILER, VERSION, Keys, trailer_crc


class RunWriter:
    """Writes ascending keys, each with a second value if there are two columns.

    After an error the file is useless: remove it with `abandon`.
    """

    def __init__(self, disk: Disk, path: Path, columns: int = 1) -> None:
        self.path, self.count, self.columns = path, 0, columns
        self._disk = disk
        self._rest = np.empty((columns, 0), np.uint64)
        self._last = np.uint64(0)
        self._index: list[Keys] = []
        self._crcs: list[int] = []
        self._fd: int | None = disk.create(path)
        try:
            self._put(HEADER.pack(MAGIC, VERSION, columns))
        except BaseException:
            with contextlib.suppress(OSError):  # report the first error
                self.abandon()
            raise

    def __repr__(self) -> str:
        return f"<RunWriter {self.path.name} count={self.count} columns={self.columns}>"

    def append(self, *columns: Keys) -> None:
        """Appends keys, each above all before (equal only if the second values differ)."""
        rows = np.stack(columns)
        if rows.dtype != np.uint64 or len(rows) != self.columns:
            raise TypeError(f"{self.path}: {len(rows)} columns of {rows.dtype}")
        if rows.shape[1] == 0:
            return
        keys = rows[0]
        if keys[0] < self._last or bool((keys[1:] < keys[:-1]).any()):
            raise ValueError(f"{self.path}: keys out of order")
        self._last = keys[-1]
        self.count += len(keys)
        rows = np.concatenate((self._rest, rows), axis=1)
        whole = rows.shape[1] // PAGE
        self._write(rows[:, : whole * PAGE])
        self._rest = rows[:, whole * PAGE :].copy()

    def _write(self, rows: Keys) -> None:
        if rows.shape[1] == 0:
            return
        self._index.append(rows[0, ::PAGE].copy())
        pages = rows.reshape(self.columns, -1, PAGE).transpose(1, 0, 2).astype("<u8").tobytes()
        size = PAGE * 8 * self.columns
        self._crcs.extend(zlib.crc32(pages[at : at + size]) for at in range(0, len(pages), size))
        self._put(pages)

    def _put(self, data: bytes) -> None:
        if self._fd is None:
            raise ValueError(f"{self.path}: finished or abandoned")
        self._disk.write(self._fd, data)

    def finish(self) -> None:
        """Completes and syncs the file; the next checkpoint must name it."""
        try:
            if self._rest.shape[1]:
                pad = np.full((self.columns, PAGE - self._rest.shape[1]), LAST)
                self._write(np.concatenate((self._rest, pad), axis=1))
            index = b"".join(part.astype("<u8").tobytes() for part in self._index)
            tables = index + np.array(self._crcs, "<u4").tobytes()
            crc = trailer_crc(tables, self.columns, self.count)
            self._put(tables + TRAILER.pack(MAGIC, VERSION, self.columns, self.count, len(self._crcs), crc))
            if self._fd is not None:
                self._disk.sync(self._fd)
            self._disk.sync_folder(self.path.parent)
        finally:
            self._close()

    def abandon(self) -> None:
        """Closes and removes a file that will not be finished."""
        self._close()
        self._disk.unlink(self.path)

    def _close(self) -> None:
        if self._fd is not None:
            fd, self._fd = self._fd, None
            os.close(fd)
