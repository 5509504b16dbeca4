"""Builds the index of earlier captures: by URL the latest one, by payload digest the latest that holds it.

The lines of all CDXJ files are divided by their keys into parts that fit in memory, on disk; then each part is sorted
and appended to the index. What kill -9 leaves is removed, and the next start begins anew.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from webcrawl.store.disk import Disk
from webcrawl.store.jobdir.index_line import LONGEST, BadLine, digest_key, read_line, url_key
from webcrawl.store.regular import regular
from webcrawl.store.runs import RunWriter

Rows = npt.NDArray[np.uint64]  # three columns: key, stamp, place

PIECE = 1 << 18  # bytes of a file per slice: about 1,000 lines, 10 ms
AT_ONCE = 1 << 18  # rows sorted at once: 6 MiB, and as much again for the order
LINE = 250  # bytes of a line, usually
OFFSET_BITS = 44  # of a place: 16 TiB of a file; the number of the file is above them
MOST_FILES = 1 << (64 - OFFSET_BITS)


class Building:
    """Writes the index of these files to `target`. Afterwards `captures` is their number, `told` a line per lack."""

    def __init__(self, disk: Disk, files: Sequence[Path], target: Path) -> None:
        self._disk, self._files, self._target = disk, files, target
        self._folder = target.with_name(f"{target.name}.parts")
        self.captures = self.bytes_read = 0
        self.told: list[str] = []
        sizes = [_size(path) for path in files]
        self.bytes_all = sum(sizes)
        self._shift = np.uint64(64 - max(1, (2 * self.bytes_all // LINE // AT_ONCE).bit_length()))
        self._new: tuple[array[int], ...] = (array("Q"), array("Q"), array("Q"))

    def __repr__(self) -> str:
        return f"<Building {self._target} captures={self.captures}>"

    def slices(self) -> Iterator[None]:
        """Does the work in slices of some ten milliseconds. OSError: this crawl's disk."""
        for path in (self._folder, self._target):
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(path) if path.is_dir() else self._disk.unlink(path)
        self._folder.mkdir(parents=True)
        for number, path in enumerate(self._files[:MOST_FILES]):
            try:
                yield from self._read(number, path)
            except FileReadError as error:
                self.told.append(f"{path}: {error}: the rest of it is left out")
        if len(self._files) > MOST_FILES:
            self.told.append(f"{len(self._files)} index files: only the first {MOST_FILES} are read")
        self._divide()
        yield from self._join()
        shutil.rmtree(self._folder)

    # -- the lines

    def _read(self, number: int, path: Path) -> Iterator[None]:
        bad = 0
        place = number << OFFSET_BITS
        for lines in _lines(path):
            for line in lines:
                try:
                    self._take(line, place)
                except BadLine:
                    bad += 1
                place += len(line)
            self.bytes_read += sum(map(len, lines))
            if len(self._new[0]) >= AT_ONCE:
                self._divide()
            yield
        if bad:
            self.told.append(f"{path}: lines that cannot be read: {bad}, left out")

    def _take(self, data: bytes, place: int) -> None:
        line = read_line(data)
        if line is None:
            return
        self.captures += 1
        keys, stamps, places = self._new
        for key in (url_key(line.url), digest_key(line.digest) if line.has_payload else None):
            if key is not None:
                keys.append(key)
                stamps.append(int(line.stamp))
                places.append(place)

    # -- the parts

    def _divide(self) -> None:
        """Appends what is in memory to the parts."""
        rows = _latest(np.stack([np.frombuffer(column, np.uint64) for column in self._new], axis=1))
        self._new = (array("Q"), array("Q"), array("Q"))
        if not len(rows):
            return
        parts = rows[:, 0] >> self._shift
        begins = np.flatnonzero(np.diff(parts, prepend=parts[:1] + np.uint64(1)))
        for part, some in zip(parts[begins], np.split(rows, begins[1:]), strict=True):
            fd = self._disk.append(self._folder / f"{int(part):06d}")
            try:
                self._disk.write(fd, some.tobytes())
            finally:
                os.close(fd)

    def _join(self) -> Iterator[None]:
        writer = RunWriter(self._disk, self._target, columns=2)
        try:
            for path in sorted(self._folder.iterdir()):
                rows = _latest(np.fromfile(path, np.uint64).reshape(-1, 3))
                writer.append(np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 2]))
                yield
            writer.finish()
        except BaseException:
            with contextlib.suppress(OSError):  # report the first error
                writer.abandon()
            raise


def has_captures(files: Sequence[Path]) -> bool:
    """Whether there is anything to compare with: reads as far as the first line that is a capture."""
    return any(map(_has_capture, files))


def _has_capture(path: Path) -> bool:
    with contextlib.suppress(FileReadError):
        for lines in _lines(path):
            for line in lines:
                with contextlib.suppress(BadLine):
                    if read_line(line) is not None:
                        return True
    return False


class FileReadError(Exception):
    """A file of the earlier crawl cannot be read."""


def _latest(rows: Rows) -> Rows:
    """Of each key the row with the latest stamp, in the order of the keys."""
    rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
    last = np.append(rows[1:, 0] != rows[:-1, 0], np.ones(min(len(rows), 1), np.bool_))
    latest: Rows = rows[last]
    return latest


def _lines(path: Path) -> Iterator[list[bytes]]:
    """The lines with their ends, some at a time, in bounded memory."""
    tail = b""
    try:
        with regular(path) as file:
            while piece := file.read(PIECE):
                *lines, tail = (tail + piece).split(b"\n")
                lines = [line + b"\n" for line in lines]
                if len(tail) > LONGEST:  # of a damaged file
                    lines, tail = [*lines, tail], b""
                yield lines
    except OSError as error:
        raise FileReadError(error.strerror or str(error)) from error
    if tail:
        yield [tail]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
