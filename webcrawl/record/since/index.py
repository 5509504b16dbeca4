"""The index of earlier captures in a crawl's state folder, made once and used by all its runs."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import time
import zlib
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from gzip import GzipFile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from webcrawl.base.dates import digits
from webcrawl.base.digest import algorithm
from webcrawl.base.readable import count
from webcrawl.record.since.cdx_server import SERVER_PREFIX
from webcrawl.record.since.sources import (
    FILES_LIST,
    FOLDER,
    FileSignature,
    NoEarlier,
    read_algorithms,
    read_indexed_files,
    signature_of,
    write_indexed_files,
)
from webcrawl.store.disk import Disk, regular
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.jobdir.index_line import (
    OTHER_COLUMNS,
    BadLine,
    CaptureLine,
    digest_key,
    read_line,
    url_key,
)
from webcrawl.store.lines import LONGEST_LINE
from webcrawl.store.runs import Run, RunWriter

Rows = npt.NDArray[np.uint64]  # three columns: key, stamp, place

GONE_PREFIX = "gone "  # before the folder of indexes that are missing, among the figures of a check
PIECE_BYTES = 1 << 18  # of a file per slice: about 1,000 lines, which take 10 ms
ROWS_AT_ONCE = 1 << 18  # are sorted: 6 MiB, and as much again for their order
USUAL_LINE_BYTES = 250
GZIP = ".gz"
LINES_ENDING = ".lines"  # of the unpacked lines of a packed index
GZIP_RATIO = 10  # of the size of lines to their size packed, about
# A place has the number of the file, and below it 44 bits for an offset in a file of up to 16 TiB
OFFSET_BITS = 44
MOST_FILES = 1 << (64 - OFFSET_BITS)
# Added to the stamp of a capture that holds a payload: more than any stamp, so that such a capture
# goes before all that only refer to the payload
HOLDER_RANK = 1 << 47


class IndexBuilder:
    """Builds the index of earlier captures from index files.

    The first pass divides the rows by their keys into parts, and the second one sorts each part in
    memory. A million captures take 7 s of CPU and 30 MB of memory.
    """

    def __init__(self, disk: Disk, files: Sequence[Path], target: Path) -> None:
        """`target` is the file to be written."""
        self._disk = disk
        self._files = files
        self._target = target
        self._folder = target.with_name(f"{target.name}.parts")
        self.captures = 0  # how many there are
        self.bytes_read = 0
        self.algorithms: set[str] = set()  # of their digests
        self.messages: list[str] = []  # a line for all that could not be read
        sizes = [_unpacked_size(path) for path in files]
        self.bytes_all = sum(sizes)
        # A line has two rows: one for its URL, and one for its payload
        parts = 2 * self.bytes_all // USUAL_LINE_BYTES // ROWS_AT_ONCE
        # The first bits of a key are the number of its part
        self._shift = np.uint64(64 - max(1, parts.bit_length()))
        # Key, stamp and place of the rows in memory
        self._columns: tuple[array[int], ...] = (array("Q"), array("Q"), array("Q"))

    def slices(self) -> Iterator[None]:
        """Build the index, and yield about every 10 ms. Raise OSError if it cannot be written.

        A file of the earlier crawl that cannot be read is reported in `messages`.
        """
        # What a killed run has left is removed: the index is built from the beginning
        for path in (self._folder, self._target, *self._target.parent.glob(f"*{LINES_ENDING}")):
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(path) if path.is_dir() else self._disk.unlink(path)
        self._folder.mkdir(parents=True)
        for number, path in enumerate(self._files[:MOST_FILES]):
            try:
                yield from self._read_file(number, path)
            except FileReadError as error:
                self.messages.append(f"{path}: {error}: the rest of it was not read")
        if len(self._files) > MOST_FILES:
            self.messages.append(
                f"{len(self._files)} index files: only the first {MOST_FILES} are read"
            )
        self._append_to_parts()
        yield from self._merge_parts()
        shutil.rmtree(self._folder)

    # -- the lines

    def _read_file(self, number: int, path: Path) -> Iterator[None]:
        """Add the rows of a file. Raise FileReadError if it cannot be read to its end."""
        bad = 0
        place = number << OFFSET_BITS
        pieces = self._unpacked(number, path) if path.suffix == GZIP else lines_of(path)
        for lines in pieces:
            for line in lines:
                try:
                    self._add_line(line, place)
                except BadLine:
                    bad += 1
                place += len(line)
            self.bytes_read += sum(map(len, lines))
            if len(self._columns[0]) >= ROWS_AT_ONCE:
                self._append_to_parts()
            yield
        if bad:
            self.messages.append(f"{path}: {count(bad, 'line')} could not be read")

    def _unpacked(self, number: int, path: Path) -> Iterator[list[bytes]]:
        """Yield the lines of a packed file, and store them: a place cannot lead into a packed file."""
        fd = self._disk.create(_unpacked_lines_path(self._target.parent, number))
        try:
            try:
                for lines in lines_of(path):
                    self._disk.write(fd, b"".join(lines))
                    yield lines
            finally:
                self._disk.sync(fd)
        finally:
            os.close(fd)

    def _add_line(self, data: bytes, place: int) -> None:
        """Add the rows of a line: one for its URL, and one for its payload. Raise BadLine."""
        line = read_line(data)
        if line is None:
            return
        self.captures += 1
        keys, stamps, places = self._columns
        stamp = int(line.stamp)
        ranks = {url_key(line.url): stamp}
        if line.has_payload:
            ranks[digest_key(line.digest)] = stamp + HOLDER_RANK
            self.algorithms.add(algorithm(line.digest))
        elif line.repeats_payload:
            ranks[digest_key(line.digest)] = stamp
            self.algorithms.add(algorithm(line.digest))
        keys.extend(ranks)
        stamps.extend(ranks.values())
        places.extend([place] * len(ranks))

    # -- the parts

    def _append_to_parts(self) -> None:
        """Append the rows in memory to the files of their parts."""
        rows = _latest(
            np.stack([np.frombuffer(column, np.uint64) for column in self._columns], axis=1)
        )
        self._columns = (array("Q"), array("Q"), array("Q"))
        if not len(rows):
            return
        parts = rows[:, 0] >> self._shift
        begins = np.flatnonzero(np.diff(parts, prepend=parts[:1] + np.uint64(1)))
        for part, part_rows in zip(parts[begins], np.split(rows, begins[1:]), strict=True):
            fd = self._disk.append(self._folder / f"{int(part):06d}")
            try:
                self._disk.write(fd, part_rows.tobytes())
            finally:
                os.close(fd)

    def _merge_parts(self) -> Iterator[None]:
        """Sort each part, and write the index: the parts are in the order of their keys."""
        writer = RunWriter(self._disk, self._target, columns=2)
        try:
            for path in sorted(self._folder.iterdir()):
                rows = _latest(np.fromfile(path, np.uint64).reshape(-1, 3))
                writer.append(np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 2]))
                yield
            writer.finish()
        except BaseException:
            # The first error is the one to report
            with contextlib.suppress(OSError):
                writer.abandon()
            raise


def has_captures(files: Sequence[Path]) -> bool:
    """Return whether any of the files has a capture. They are read up to the first one."""
    return any(map(_has_capture, files))


def _has_capture(path: Path) -> bool:
    with contextlib.suppress(FileReadError):
        for lines in lines_of(path):
            for line in lines:
                with contextlib.suppress(BadLine):
                    if read_line(line) is not None:
                        return True
    return False


class FileReadError(Exception):
    """A file of the earlier crawl cannot be read."""


def _latest(rows: Rows) -> Rows:
    """Return the row with the latest stamp of each key, in the order of the keys."""
    rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
    last = np.append(rows[1:, 0] != rows[:-1, 0], np.ones(min(len(rows), 1), np.bool_))
    latest: Rows = rows[last]
    return latest


def lines_of(path: Path) -> Iterator[list[bytes]]:
    """Yield the lines of an index file, packed or not, with their ends, in lists of some hundreds.

    Raise FileReadError if the file cannot be read, or has other columns.
    """
    tail = b""
    is_first = True
    try:
        with regular(path) as file, GzipFile(fileobj=file) if path.suffix == GZIP else file as data:
            while piece := data.read(PIECE_BYTES):
                *whole, tail = (tail + piece).split(b"\n")
                lines = [line + b"\n" for line in whole]
                # A damaged file may have no line ends: memory must stay bounded
                if len(tail) > LONGEST_LINE:
                    lines.append(tail)
                    tail = b""
                if is_first and OTHER_COLUMNS.match(piece):
                    raise FileReadError("it does not begin with the columns N b a m s k")
                is_first = False
                yield lines
    except (OSError, EOFError, zlib.error) as error:
        raise FileReadError(getattr(error, "strerror", None) or str(error)) from error
    if tail:
        yield [tail]


def _unpacked_lines_path(folder: Path, number: int) -> Path:
    return folder / f"{number}{LINES_ENDING}"


def _unpacked_size(path: Path) -> int:
    """Return the size of a file, estimated if it is packed; 0 if it cannot be read."""
    try:
        return path.stat().st_size * (GZIP_RATIO if path.suffix == GZIP else 1)
    except OSError:
        return 0


logger = logging.getLogger(__name__)

RUN_FILE = "captures.run"


def check_has_captures(files: Sequence[Path]) -> None:
    """Raise NoEarlier if no file has a capture.

    A hive calls this before its drones start, so that it reports that once and not for each drone.
    """
    if not has_captures(files):
        raise NoEarlier(no_captures_message(files))


def no_captures_message(files: Sequence[Path]) -> str:
    return (
        f"-a since: {', '.join(map(str, files[:3]))} contain no captures, so there is nothing "
        "to compare with"
    )


class EarlierIndex:
    """Finds the captures of URLs and payloads in index files of earlier crawls.

    `open` must be called first. Of CDX servers the index only notes since when they are asked, in
    `begun`. What a server has from then on may be of this crawl, which may be truncated to a
    checkpoint after the server has indexed its archive.
    """

    def __init__(
        self, disk: Disk, state: Path, files: Sequence[Path], servers: Sequence[str] = ()
    ) -> None:
        """`state` is the folder of the crawl's state, and `servers` are addresses of CDX servers."""
        self._disk = disk
        self._folder = state / FOLDER
        self._files = files
        self._servers = servers
        self._run: Run | None = None
        self.begun = ""  # 14 digits
        self.algorithms: set[str] = set()  # of the digests by which payloads are found
        self.progress = (0, 0)  # bytes read so far, and bytes in all files

    def open(self) -> Iterator[None]:
        """Open the index. If it is missing or was made from other files, build it, in slices.

        Raise StoreError if it cannot be written. Raise NoEarlier if no file has a capture.
        """
        path = self._folder / RUN_FILE
        # A resumed crawl must not get captures that it made itself: the time of its first run counts
        server_times = [
            signature.time
            for signature in read_indexed_files(self._folder) or ()
            if signature.path.startswith(SERVER_PREFIX)
        ]
        begun = min(server_times, default=time.time_ns())
        signatures = list(map(signature_of, self._files))
        signatures += [FileSignature(address, 0, begun) for address in self._servers]
        self.begun = digits(begun / 1e9)[:14]
        self._run = self._index_of_earlier_run(path, signatures)
        if self._run is None:
            try:
                yield from self._build(path, signatures)
            except OSError as error:
                raise StoreError(f"{self._folder}: {error.strerror or error}") from error
            self._run = Run(path)
        self.algorithms = read_algorithms(self._folder)

    def latest_of_url(self, url: str) -> tuple[CaptureLine, Path] | None:
        """Return the latest capture of a URL, and the index file that names it.

        Raise OSError if that file cannot be read.
        """
        # Keys are hashes: the line of another URL may have the same key
        entry = self._line_of_key(url_key(url))
        return entry if entry is not None and entry[0].url == url else None

    def with_payload(self, digest: str) -> tuple[CaptureLine, Path] | None:
        """Return a capture that has this payload, or else one that refers to it, and its file."""
        if not digest:
            return None
        entry = self._line_of_key(digest_key(digest))
        return entry if entry is not None and entry[0].digest == digest else None

    def holder(self, digest: str) -> tuple[CaptureLine, Path] | None:
        """Return a capture that has this payload itself, and its index file."""
        entry = self.with_payload(digest)
        return entry if entry is not None and entry[0].has_payload else None

    def close(self) -> None:
        if self._run is not None:
            self._run.close()

    def _line_of_key(self, key: int) -> tuple[CaptureLine, Path] | None:
        """Return the line with this key, and its index file, or None.

        Raise OSError if the file cannot be read.
        """
        if self._run is None:
            raise ValueError(f"{self._folder}: not open")
        rows = self._run.between(key, key)
        if not rows.shape[1]:
            return None
        place = int(rows[1, 0])
        number = place >> OFFSET_BITS
        offset = place & ((1 << OFFSET_BITS) - 1)
        path = self._files[number]
        is_packed = path.suffix == GZIP
        with regular(_unpacked_lines_path(self._folder, number) if is_packed else path) as file:
            file.seek(offset)
            try:
                line = read_line(file.readline(LONGEST_LINE))
            except BadLine:
                # The file has changed since the index was built
                return None
        return None if line is None else (line, path)

    # -- building

    def _build(self, path: Path, signatures: list[FileSignature]) -> Iterator[None]:
        """Build the index in slices, and log what is read. Raise NoEarlier if there is no capture."""
        self._folder.mkdir(exist_ok=True)
        # The list of files says that the index is complete: it is removed first, and written last
        self._disk.unlink(self._folder / FILES_LIST)
        builder = IndexBuilder(self._disk, self._files, path)
        if self._files:
            files = count(len(self._files), "index file")
            logger.info("since: reading %s, about %.1f MB", files, builder.bytes_all / 1e6)
        for _ in builder.slices():
            self.progress = builder.bytes_read, builder.bytes_all
            yield
        for line in builder.messages:
            logger.warning("since: %s", line)
        if not builder.captures and not self._servers:
            raise NoEarlier(no_captures_message(self._files))
        if self._files:
            logger.info("since: %s found", count(builder.captures, "capture"))
        write_indexed_files(self._disk, self._folder, signatures, builder.algorithms)

    def _index_of_earlier_run(self, path: Path, signatures: list[FileSignature]) -> Run | None:
        """Return the index that an earlier run made of the same files.

        Return None if there is none, or if it is incomplete or damaged: it is built anew then.
        """
        try:
            for number, file in enumerate(self._files):
                if file.suffix == GZIP:
                    _unpacked_lines_path(self._folder, number).stat()
            return Run(path) if read_indexed_files(self._folder) == signatures else None
        except (OSError, DamagedFile):
            return None


def check_since(state: Path, counts: Counter[str]) -> Iterator[DamagedFile]:
    """Yield each damaged page of the index, unless it is incomplete: then it is built anew.

    Add to `counts`, by folder, how many index files of earlier crawls are missing: revisit records
    refer to what was archived there.
    """
    path = state / FOLDER / RUN_FILE
    indexed_files = read_indexed_files(path.parent)
    if indexed_files is None:
        return
    for index, *_ in indexed_files:
        if not index.startswith(SERVER_PREFIX) and not Path(index).exists():
            counts[f"{GONE_PREFIX}{Path(index).parent}"] += 1
    try:
        run = Run(path)
    except FileNotFoundError:
        yield DamagedFile(path, 0, "the file is missing, though it had been made")
        return
    with contextlib.closing(run):
        counts["earlier captures"] += run.count
        yield from run.check()
