"""The index of earlier captures in the state folder of a crawl, made once and used by all its runs."""

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
from webcrawl.record.since.cdx_server import SERVER
from webcrawl.record.since.sources import (
    FILES,
    FOLDER,
    FileSignature,
    NoEarlier,
    read_algorithms,
    read_kept,
    sign,
    write_kept,
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

GONE = "gone "  # before the folder of earlier indexes, among the figures of a check
PIECE = 1 << 18  # bytes of a file per slice: about 1,000 lines, 10 ms
AT_ONCE = 1 << 18  # rows sorted at once: 6 MiB, and as much again for the order
LINE = 250  # bytes of a line, usually
GZIP, LINES = ".gz", ".lines"
PACKED = 10  # times as long are lines as gzip makes them
OFFSET_BITS = 44  # of a place: 16 TiB of a file; the number of the file is above them
HOLDER = 1 << 47  # more than any stamp: what holds a payload goes before all that refers to it
MOST_FILES = 1 << (64 - OFFSET_BITS)


class IndexBuilder:
    """Writes the index of these files to `target`.

    Rows are divided by key into parts that are sorted in memory: two passes, however many there
    are. A million captures take 7 s of CPU and 30 MB of memory.

    Afterwards `captures` is their number, `algorithms` are those of their digests, and `told` has a
    line per lack.
    """

    def __init__(self, disk: Disk, files: Sequence[Path], target: Path) -> None:
        self._disk = disk
        self._files = files
        self._target = target
        self._folder = target.with_name(f"{target.name}.parts")
        self.captures = 0
        self.bytes_read = 0
        self.algorithms: set[str] = set()
        self.told: list[str] = []
        sizes = [_size(path) for path in files]
        self.bytes_all = sum(sizes)
        # A line has two rows: one for its URL, and one for its payload
        parts = 2 * self.bytes_all // LINE // AT_ONCE
        self._shift = np.uint64(64 - max(1, parts.bit_length()))
        self._new: tuple[array[int], ...] = (array("Q"), array("Q"), array("Q"))

    def slices(self) -> Iterator[None]:
        """Do the work in slices of some ten milliseconds. Raise OSError for this crawl's disk."""
        # An index that a kill has cut short is made anew
        for path in (self._folder, self._target, *self._target.parent.glob(f"*{LINES}")):
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(path) if path.is_dir() else self._disk.unlink(path)
        self._folder.mkdir(parents=True)
        for number, path in enumerate(self._files[:MOST_FILES]):
            try:
                yield from self._read(number, path)
            except FileReadError as error:
                self.told.append(f"{path}: {error}: the rest of it was not read")
        if len(self._files) > MOST_FILES:
            self.told.append(
                f"{len(self._files)} index files: only the first {MOST_FILES} are read"
            )
        self._divide()
        yield from self._join()
        shutil.rmtree(self._folder)

    # -- the lines

    def _read(self, number: int, path: Path) -> Iterator[None]:
        bad = 0
        place = number << OFFSET_BITS
        pieces = self._unpacked(number, path) if path.suffix == GZIP else lines_of(path)
        for lines in pieces:
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
            self.told.append(f"{path}: {count(bad, 'line')} could not be read")

    def _unpacked(self, number: int, path: Path) -> Iterator[list[bytes]]:
        """Yield and keep the lines of a packed file, in which they could not be found again."""
        fd = self._disk.create(_lines_of(self._target.parent, number))
        try:
            try:
                for lines in lines_of(path):
                    self._disk.write(fd, b"".join(lines))
                    yield lines
            finally:
                self._disk.sync(fd)
        finally:
            os.close(fd)

    def _take(self, data: bytes, place: int) -> None:
        line = read_line(data)
        if line is None:
            return
        self.captures += 1
        keys, stamps, places = self._new
        stamp = int(line.stamp)
        ranks = {url_key(line.url): stamp}
        if line.has_payload:
            ranks[digest_key(line.digest)] = stamp + HOLDER
            self.algorithms.add(algorithm(line.digest))
        elif line.repeats_payload:
            ranks[digest_key(line.digest)] = stamp
            self.algorithms.add(algorithm(line.digest))
        keys.extend(ranks)
        stamps.extend(ranks.values())
        places.extend([place] * len(ranks))

    # -- the parts

    def _divide(self) -> None:
        """Append what is in memory to the parts."""
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
            # The first error is the one to report
            with contextlib.suppress(OSError):
                writer.abandon()
            raise


def has_captures(files: Sequence[Path]) -> bool:
    """Return whether there is anything to compare with: read up to the first line with a capture."""
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
    """Yield the lines with their ends, some at a time, in bounded memory; also of a packed file.

    Raise FileReadError if it cannot be read.
    """
    tail = b""
    is_first = True
    try:
        with regular(path) as file, GzipFile(fileobj=file) if path.suffix == GZIP else file as data:
            while piece := data.read(PIECE):
                *whole, tail = (tail + piece).split(b"\n")
                lines = [line + b"\n" for line in whole]
                # A damaged file may have no end of a line, and memory is bounded
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


def _lines_of(folder: Path, number: int) -> Path:
    return folder / f"{number}{LINES}"


def _size(path: Path) -> int:
    """Return a file's size, about unpacked if it is packed: parts of the index must fit in memory."""
    try:
        return path.stat().st_size * (PACKED if path.suffix == GZIP else 1)
    except OSError:
        return 0


logger = logging.getLogger(__name__)

RUN = "captures.run"


def check(files: Sequence[Path]) -> None:
    """Raise NoEarlier if no file has a capture: a hive reports that once, and not each drone."""
    if not has_captures(files):
        raise NoEarlier(nothing_in(files))


def nothing_in(files: Sequence[Path]) -> str:
    return (
        f"-a since: {', '.join(map(str, files[:3]))} contain no captures, so there is nothing "
        "to compare with"
    )


class EarlierIndex:
    """Finds lines of the files. `state` is the state's folder; call `open` before anything else.

    Of CDX servers it only notes since when they are asked: what they have from then on may be of
    this crawl, which may be cut back to a checkpoint after its archive was indexed. `begun` is that
    time, as a stamp.
    """

    def __init__(
        self, disk: Disk, state: Path, files: Sequence[Path], servers: Sequence[str] = ()
    ) -> None:
        self._disk = disk
        self._folder = state / FOLDER
        self._files = files
        self._servers = servers
        self._run: Run | None = None
        self.begun = ""
        self.algorithms: set[str] = set()  # of the digests by which payloads are found
        self.progress = (0, 0)  # bytes read so far, and bytes in all files

    def open(self) -> Iterator[None]:
        """Open the index; build it first, in slices, unless it is there, of the same files.

        Raise StoreError if it cannot be written, and NoEarlier if no file has a capture.
        """
        path = self._folder / RUN
        # The start of the first run with a server: a resumed crawl asks for no later captures
        asked_since = [
            one.time for one in read_kept(self._folder) or () if one.path.startswith(SERVER)
        ]
        begun = min(asked_since, default=time.time_ns())
        now = list(map(sign, self._files))
        now += [FileSignature(address, 0, begun) for address in self._servers]
        self.begun = digits(begun / 1e9)[:14]
        self._run = self._kept(path, now)
        if self._run is None:
            try:
                yield from self._build(path, now)
            except OSError as error:
                raise StoreError(f"{self._folder}: {error.strerror or error}") from error
            self._run = Run(path)
        self.algorithms = read_algorithms(self._folder)

    def latest(self, url: str) -> tuple[CaptureLine, Path] | None:
        """Return the latest capture of a URL, and the index file that names it.

        Raise OSError if that file cannot be read.
        """
        # The line is compared, so a collision of keys finds nothing
        found = self._line(url_key(url))
        return found if found is not None and found[0].url == url else None

    def with_payload(self, digest: str) -> tuple[CaptureLine, Path] | None:
        """Return a capture that holds this payload; if there is none, one that refers to it."""
        if not digest:
            return None
        found = self._line(digest_key(digest))
        return found if found is not None and found[0].digest == digest else None

    def holder(self, digest: str) -> tuple[CaptureLine, Path] | None:
        """Return a capture that holds this payload."""
        found = self.with_payload(digest)
        return found if found is not None and found[0].has_payload else None

    def close(self) -> None:
        if self._run is not None:
            self._run.close()

    def _line(self, key: int) -> tuple[CaptureLine, Path] | None:
        if self._run is None:
            raise ValueError(f"{self._folder}: not open")
        rows = self._run.between(key, key)
        if not rows.shape[1]:
            return None
        place = int(rows[1, 0])
        path = self._files[number := place >> OFFSET_BITS]
        with regular(_lines_of(self._folder, number) if path.suffix == GZIP else path) as file:
            file.seek(place & ((1 << OFFSET_BITS) - 1))
            try:
                line = read_line(file.readline(LONGEST_LINE))
            except BadLine:
                # The file was changed
                return None
        return None if line is None else (line, path)

    # -- building

    def _build(self, path: Path, signs: list[FileSignature]) -> Iterator[None]:
        self._folder.mkdir(exist_ok=True)
        # The list of files says that the index is whole: it goes first, and is written last
        self._disk.unlink(self._folder / FILES)
        building = IndexBuilder(self._disk, self._files, path)
        if self._files:
            files = count(len(self._files), "index file")
            logger.info("since: reading %s, about %.1f MB", files, building.bytes_all / 1e6)
        for _ in building.slices():
            self.progress = building.bytes_read, building.bytes_all
            yield
        for line in building.told:
            logger.warning("since: %s", line)
        if not building.captures and not self._servers:
            raise NoEarlier(nothing_in(self._files))
        if self._files:
            logger.info("since: %s found", count(building.captures, "capture"))
        write_kept(self._disk, self._folder, signs, building.algorithms)

    def _kept(self, path: Path, signs: list[FileSignature]) -> Run | None:
        """Return the index that an earlier run made of the same files, or None if it is incomplete."""
        try:
            for number, file in enumerate(self._files):
                if file.suffix == GZIP:
                    _lines_of(self._folder, number).stat()
            return Run(path) if read_kept(self._folder) == signs else None
        except (OSError, DamagedFile):
            # An index that a kill has cut short, or that is damaged, is made anew
            return None


def check_since(state: Path, found: Counter[str]) -> Iterator[DamagedFile]:
    """Yield each damaged page of the index. One that is being made is ignored: it is made anew.

    Count the indexes of earlier crawls that are gone, by folder: revisit records refer to what was
    archived there.
    """
    path = state / FOLDER / RUN
    kept = read_kept(path.parent)
    if kept is None:
        return
    for index, *_ in kept:
        if not index.startswith(SERVER) and not Path(index).exists():
            found[f"{GONE}{Path(index).parent}"] += 1
    try:
        run = Run(path)
    except FileNotFoundError:
        yield DamagedFile(path, 0, "the file is missing, though it had been made")
        return
    with contextlib.closing(run):
        found["earlier captures"] += run.count
        yield from run.check()
