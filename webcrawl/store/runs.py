"""Sorted fingerprint files: pages of keys, an index of first keys, checksums (layout:
docs/on-disk.md).

Written once, whole, and synced before a checkpoint names them. Pages are read singly or in
sequential sweeps, depending on the keys looked up. Files are not mapped: resident pages of a
mapping count as the crawl's memory, and mapping measured slower.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from webcrawl.store.disk import Disk
from webcrawl.store.errors import DamagedFile

Keys = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]

MAGIC = b"WCRLRUN\n"
VERSION = 1
PAGE = 4096  # keys per page: 32 KiB, which costs about as much as any random read
SPAN = 64  # pages read at once in a sweep: 2 MiB per column
GAP = 4  # unneeded pages that are read along with needed ones: cheaper than another system call
HEADER = struct.Struct("<8sII")  # magic, version, columns
# magic, version, columns, count, pages, crc32 of all that follows the pages
TRAILER = struct.Struct("<8sIIQQI")
# Keys, 4 KiB: eight standard deviations to either side. Reading them takes 7 us per file; with
# whole pages a look-up in three files took 35 us of CPU
NEAR = 512
# pads the last page; the count tells how many keys are real
LAST = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


class Run:
    """One sorted file, open for reading by any number of threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # a FIFO would wait, and is too short
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            self._open()
        except BaseException:
            os.close(self._fd)
            raise

    def _open(self) -> None:
        """Read header, trailer and tables of the file, and check that they fit each other and its
        size.

        Sets the number of keys and columns, and the first key and the checksum of each page. Raise
        DamagedFile if anything is wrong.
        """
        size = os.fstat(self._fd).st_size
        if size < HEADER.size + TRAILER.size:
            raise DamagedFile(self.path, size, "too short for a fingerprint file")
        head = HEADER.unpack(os.pread(self._fd, HEADER.size, 0))
        trailer_at = size - TRAILER.size
        magic, version, columns, count, pages, crc = TRAILER.unpack(
            os.pread(self._fd, TRAILER.size, trailer_at)
        )
        if head[0] != MAGIC:
            raise DamagedFile(self.path, 0, "not a fingerprint file")
        is_known_form = version == VERSION and columns in (1, 2)
        if head != (magic, version, columns) or not is_known_form:
            raise DamagedFile(self.path, trailer_at, "header and trailer do not match")
        self.count: int = count
        self.columns: int = columns
        self._page_bytes = PAGE * 8 * columns
        # The tables have the first key of each page, in 8 bytes, and its checksum, in 4
        tables_at = HEADER.size + pages * self._page_bytes
        fills_file = tables_at + pages * 12 == trailer_at
        fills_pages = (pages - 1) * PAGE < count <= pages * PAGE
        if not fills_file or not fills_pages:
            raise DamagedFile(
                self.path, trailer_at, f"{size} bytes are not the right size for {count} keys"
            )
        tables = os.pread(self._fd, pages * 12, tables_at)
        if trailer_crc(tables, columns, count) != crc:
            raise DamagedFile(self.path, tables_at, "wrong checksum of the index")
        self._index: Keys = np.frombuffer(tables, "<u8", pages)
        self._crcs = np.frombuffer(tables, "<u4", offset=pages * 8)

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        return f"<Run {self.path.name} count={self.count} columns={self.columns}>"

    def _read(self, first_page: int, end_page: int) -> Keys:
        """Return the pages from `first_page` up to but not including `end_page`.

        The array has one row per column of the file, without the padding of the last page.
        """
        rows = np.empty((end_page - first_page, self.columns, PAGE), "<u8")
        view = memoryview(rows.data).cast("B")
        at = HEADER.size + first_page * self._page_bytes
        while view.nbytes:
            # It may give less than was asked for
            got = os.preadv(self._fd, [view], at)
            if got == 0:
                raise DamagedFile(self.path, at, "the file ends early")
            view = view[got:]
            at += got
        real_keys = min(end_page * PAGE, self.count) - first_page * PAGE
        return rows.transpose(1, 0, 2).reshape(self.columns, -1)[:, :real_keys]

    def between(self, low: int, high: int) -> Keys:
        """Return the rows with low <= key <= high."""
        first_page = max(0, int(np.searchsorted(self._index, np.uint64(low), "left")) - 1)
        end_page = int(np.searchsorted(self._index, np.uint64(high), "right"))
        if end_page <= first_page:
            return np.empty((self.columns, 0), np.uint64)
        return between(self._read(first_page, end_page), low, high)

    def within(self, low: int, high: int) -> int:
        """Return a number of rows with low <= key <= high that the file has at the least.

        Nothing is read: only the pages that lie between them as a whole are counted.
        """
        first_page = int(np.searchsorted(self._index, np.uint64(low), "left"))
        end_page = int(np.searchsorted(self._index, np.uint64(high), "right"))
        return max(end_page - first_page - 1, 0) * PAGE

    def first(self, low: int, high: int, max_rows: int) -> Keys:
        """Return the first `max_rows` rows with low <= key <= high.

        Only pages that may have them are read.
        """
        first_page = max(0, int(np.searchsorted(self._index, np.uint64(low), "left")) - 1)
        end_page = min(
            int(np.searchsorted(self._index, np.uint64(high), "right")),
            first_page + 2 + max_rows // PAGE,
        )
        if end_page <= first_page:
            return np.empty((self.columns, 0), np.uint64)
        return between(self._read(first_page, end_page), low, high)[:, :max_rows]

    def contains(self, keys: Keys, seconds: Keys | None = None) -> Mask:
        """Return for each of these ascending keys whether the file has it, as a mask.

        With `seconds`, whether it has the key with this second value.
        """
        if keys.dtype != np.uint64:
            # numpy compares uint64 with int64 as float64: wrong answers
            raise TypeError(f"keys must be uint64, not {keys.dtype}")
        found = np.zeros(len(keys), np.bool_)
        pages = np.searchsorted(self._index, keys, "right").astype(np.int64) - 1
        first = int(np.searchsorted(pages, 0))
        while first < len(keys):
            span_end = _span_end(pages, first)
            pages_read = self._read(int(pages[first]), int(pages[span_end - 1]) + 1)
            if seconds is None:
                found[first:span_end] = contained(keys[first:span_end], pages_read[0])
            else:
                for row in range(first, span_end):
                    found[row] = _pair_in(pages_read, keys[row], seconds[row]) or self._pair_before(
                        pages[row], keys[row], seconds[row]
                    )
            first = span_end
        return found

    def holds(self, key: int, second: int) -> bool:
        """Return whether the file contains this pair.

        Keys are spread evenly, so the key's place is estimated, and reading NEAR keys there usually
        shows that it is absent. Otherwise the whole page is searched.
        """
        sought = np.uint64(key)
        page = int(np.searchsorted(self._index, sought, "right")) - 1
        if page < 0:
            return False
        # The last page is padded
        real_keys = min(PAGE, self.count - page * PAGE)
        low = int(self._index[page])
        high = int(self._index[page + 1]) if page + 1 < len(self._index) else 1 << 64
        # Keys are hashes, spread evenly: the place is right to within some dozen of 4,096 places
        expected = real_keys * (key - low) // max(high - low, 1)
        first = max(0, min(expected - NEAR // 2, real_keys - NEAR))
        data = os.pread(
            self._fd, 8 * min(NEAR, real_keys), HEADER.size + page * self._page_bytes + 8 * first
        )
        near_keys = np.frombuffer(data, "<u8", len(data) // 8)
        position = int(np.searchsorted(near_keys, sought))
        is_behind = position == len(near_keys)
        may_be_there = (
            first + position < real_keys if is_behind else bool(near_keys[position] == sought)
        )
        # At 0 it may be before what was read
        if position > 0 and not may_be_there:
            return False
        return bool(self.contains(np.array([sought]), np.array([second], np.uint64))[0])

    def _pair_before(self, page: int, key: np.uint64, second: np.uint64) -> bool:
        """Return whether an earlier page has the pair: equal keys may span several pages.

        With 64 bits that happens only by accident or attack.
        """
        while page > 0 and self._index[page] == key:
            page -= 1
            if _pair_in(self._read(page, page + 1), key, second):
                return True
        return False

    def check(self) -> Iterator[DamagedFile]:
        """Yield each page whose checksum is wrong, or whose keys are not in order or not as in the
        index.
        """
        last_key = -1
        for page, crc in enumerate(self._crcs):
            page_at = HEADER.size + page * self._page_bytes
            data = os.pread(self._fd, self._page_bytes, page_at)
            if zlib.crc32(data) != crc:
                yield DamagedFile(self.path, page_at, "wrong checksum of a page")
                continue
            keys = np.frombuffer(data, "<u8", PAGE)
            follows_page_before = int(keys[0]) >= last_key
            is_ascending = not bool((keys[1:] < keys[:-1]).any())
            is_indexed = bool(keys[0] == self._index[page])
            if not (follows_page_before and is_ascending and is_indexed):
                yield DamagedFile(self.path, page_at, "keys out of order")
            last_key = int(keys[-1])

    def close(self) -> None:
        """Close the file. It may be called repeatedly; `count` remains valid."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def between(rows: Keys, low: int, high: int) -> Keys:
    """Return the rows with low <= key <= high; keys are the first column, ascending."""
    begin = np.searchsorted(rows[0], np.uint64(low), "left")
    end = np.searchsorted(rows[0], np.uint64(high), "right")
    return rows[:, begin:end]


def contained(needles: Keys, haystack: Keys) -> Mask:
    """Return for each of the ascending needles whether the ascending haystack contains it."""
    if len(haystack) == 0:
        return np.zeros(len(needles), np.bool_)
    where = np.searchsorted(haystack, needles)
    np.minimum(where, len(haystack) - 1, out=where)
    return np.asarray(haystack[where] == needles)


def trailer_crc(tables: bytes, columns: int, count: int) -> int:
    """Return one checksum of the index, the pages' checksums and the trailer's numbers."""
    # In the place of the checksum itself the trailer counts with 0
    return zlib.crc32(
        TRAILER.pack(MAGIC, VERSION, columns, count, len(tables) // 12, 0), zlib.crc32(tables)
    )


def _span_end(pages: npt.NDArray[np.int64], at: int) -> int:
    """Return the end of the keys that one read covers: at most SPAN pages, without gaps of more
    than GAP pages.
    """
    end = int(np.searchsorted(pages, pages[at] + SPAN))
    gaps = np.nonzero(np.diff(pages[at:end]) > GAP)[0]
    if len(gaps):
        return at + int(gaps[0]) + 1
    return end


def _pair_in(rows: Keys, key: np.uint64, second: np.uint64) -> bool:
    """Return whether a row has this key and this second value; the keys are ascending."""
    begin, end = np.searchsorted(rows[0], key, "left"), np.searchsorted(rows[0], key, "right")
    return bool((rows[1, begin:end] == second).any())


class RunWriter:
    """Writes ascending keys, each with a second value if there are two columns.

    After an error the file is useless: remove it with `abandon`.
    """

    def __init__(self, disk: Disk, path: Path, columns: int = 1) -> None:
        """Create the file, which must not exist, and write its header. `columns`: 2 with second
        values.
        """
        self.path = path
        self.count = 0
        self.columns = columns
        self._disk = disk
        self._rest = np.empty((columns, 0), np.uint64)  # rows that do not fill a page yet
        self._last = np.uint64(0)  # the highest key so far
        # of each page that is written, the first key and the checksum
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
        """Append rows: keys, and second values if there are two columns.

        Each key is above all before, or equal with another second value; whole pages are written at
        once. Raise ValueError if keys are out of order.
        """
        rows = np.stack(columns)
        if rows.dtype != np.uint64 or len(rows) != self.columns:
            raise TypeError(
                f"{self.path}: expected {self.columns} columns of uint64, got "
                f"{len(rows)} of {rows.dtype}"
            )
        if rows.shape[1] == 0:
            return
        keys = rows[0]
        if keys[0] < self._last or bool((keys[1:] < keys[:-1]).any()):
            raise ValueError(f"{self.path}: keys out of order")
        self._last = keys[-1]
        self.count += len(keys)
        rows = np.concatenate((self._rest, rows), axis=1)
        whole_pages = rows.shape[1] // PAGE
        self._write(rows[:, : whole_pages * PAGE])
        self._rest = rows[:, whole_pages * PAGE :].copy()

    def _write(self, rows: Keys) -> None:
        """Write rows that fill whole pages: each has all its keys, then all its second values."""
        if rows.shape[1] == 0:
            return
        self._index.append(rows[0, ::PAGE].copy())
        pages = rows.reshape(self.columns, -1, PAGE).transpose(1, 0, 2).astype("<u8").tobytes()
        size = PAGE * 8 * self.columns
        self._crcs.extend(zlib.crc32(pages[at : at + size]) for at in range(0, len(pages), size))
        self._put(pages)

    def _put(self, data: bytes) -> None:
        if self._fd is None:
            raise ValueError(f"{self.path}: is already finished or abandoned")
        self._disk.write(self._fd, data)

    def finish(self) -> None:
        """Write the last page, padded, the tables and the trailer, and sync the file and its name.

        The next checkpoint must name it.
        """
        try:
            if self._rest.shape[1]:
                pad = np.full((self.columns, PAGE - self._rest.shape[1]), LAST)
                self._write(np.concatenate((self._rest, pad), axis=1))
            index = b"".join(part.astype("<u8").tobytes() for part in self._index)
            tables = index + np.array(self._crcs, "<u4").tobytes()
            crc = trailer_crc(tables, self.columns, self.count)
            self._put(
                tables
                + TRAILER.pack(MAGIC, VERSION, self.columns, self.count, len(self._crcs), crc)
            )
            if self._fd is not None:
                self._disk.sync(self._fd)
            # Its name must last, too: the next checkpoint names it
            self._disk.sync_folder(self.path.parent)
        finally:
            self._close()

    def abandon(self) -> None:
        """Close and remove a file that will not be finished."""
        self._close()
        self._disk.unlink(self.path)

    def _close(self) -> None:
        if self._fd is not None:
            fd, self._fd = self._fd, None
            os.close(fd)
