"""SQLite's write-ahead log: kept short, synced without blocking the crawl, checked by frames.

For the format see sqlite.org/fileformat2.html, section 4. A torn end is no damage: no checkpoint
was finished there. It is damage if a finished checkpoint is missing. That can be told because
SQLite's index says how far the log was synced, and because no frame is written behind a COMMIT
before that COMMIT is synced.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import struct
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from webcrawl.base.errors import words_of
from webcrawl.store.disk import regular
from webcrawl.store.errors import DamagedFile
from webcrawl.store.worker import Worker

logger = logging.getLogger(__name__)

# Bytes, beyond which the log is truncated before the next transaction begins. Until then it only
# grows: SQLite can begin it anew between two transactions alone, and ours begin with each COMMIT
LIMIT = 256 << 20


def files(database: Path) -> tuple[Path, Path]:
    """Return the log of this database, and the log's index."""
    return Path(f"{database}-wal"), Path(f"{database}-shm")


def check_files(database: Path) -> None:
    """Check that both are files, if they are there.

    SQLite would wait for the other end of a pipe.
    """
    for path in files(database):
        if path.exists() and not path.is_file():
            raise DamagedFile(path, 0, "not a file")


class WriteAheadLog:
    """The file `crawl.db-wal`. COMMIT appends to it; syncing and copying back are a worker's jobs.

    SQLite can truncate the log when all of it was copied back. `truncate_ahead` and `truncate` do
    that while no transaction is open.
    """

    def __init__(self, database: Path, worker: Worker, limit: int = LIMIT) -> None:
        """Open a connection that only copies the log back: it stays open until `close`.

        `limit`: the bytes beyond which `is_long` says that the log has to be truncated.
        """
        self._database = database
        self._worker = worker
        self._limit = limit
        self._path, _ = files(database)
        self._copying: Future[None] | None = None
        self.copied = _size(database)  # bytes that the database has had, which never become fewer
        # Kept open: opened anew for each copy, it might find another crawl's files there
        self._db = sqlite3.connect(
            database, isolation_level=None, check_same_thread=False, timeout=60
        )
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # opens the log, too
        # A reader keeps the log from being truncated. The worker does not wait for its end
        self._db.execute("PRAGMA busy_timeout = 0")

    def close(self) -> None:
        """Call when the worker has ended. A second call does nothing."""
        self._db.close()

    def __len__(self) -> int:
        return _size(self._path)

    def sync_ahead(self) -> Iterator[None]:
        """Sync the log in a thread: so little is left for COMMIT, which blocks the event loop."""
        syncing = self._worker.submit(self._sync)
        yield from self._worker.until_done(syncing)
        syncing.result()

    def _sync(self) -> None:
        # COMMIT syncs again through SQLite's own descriptor; its failure counts
        with contextlib.suppress(OSError):
            fd = os.open(self._path, os.O_RDWR)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def copy_back(self) -> None:
        """Start copying committed pages into the database, unless a copy is already running."""
        if self._copying is None or self._copying.done():
            self._copying = self._worker.submit(self._copy)

    @property
    def is_long(self) -> bool:
        """Return whether the log has to be truncated before the next transaction begins."""
        return len(self) > self._limit

    def truncate_ahead(self) -> Iterator[None]:
        """Truncate a log that is too long, in the worker's thread, while no transaction is open."""
        if self.is_long:
            yield from self._worker.until_done(self._worker.submit(self._copy, "TRUNCATE"))

    def truncate(self) -> None:
        """Truncate the log if it is too long, and wait for that; call it before a transaction begins."""
        if self.is_long:
            self._worker.result(self._worker.submit(self._copy, "TRUNCATE"))

    def wait(self) -> None:
        """Wait until the copy that runs in the worker's thread has ended."""
        if self._copying is not None:
            self._worker.result(self._copying)

    def _copy(self, mode: str = "PASSIVE") -> None:
        """Copy committed pages into the database, in the worker's thread.

        `mode` is SQLite's: PASSIVE waits for no reader, TRUNCATE also truncates the log. A failure
        is only logged: it loses nothing, because the log stays.
        """
        try:
            # The database has lost its end: the log has what can still be saved of it
            if _size(self._database) < self.copied:
                return
            self._db.execute(f"PRAGMA wal_checkpoint({mode})")
        except (sqlite3.Error, MemoryError) as error:
            logger.warning(
                "%s: its write-ahead log could not be copied back: %s",
                self._database,
                words_of(error),
            )
        self.copied = max(self.copied, _size(self._database))


def _size(path: Path) -> int:
    """Return the size of a file; 0 if it is gone."""
    return path.stat().st_size if path.exists() else 0


LOG_HEADER, FRAME_HEADER = 32, 24  # bytes of the log's header, and of a frame's
MAGIC = 0x377F0682  # + 1: the checksums are of big-endian words
FRAMES_AT_ONCE = 256  # frames read at once: 2 MiB
Words = npt.NDArray[np.uint32]
Flags = npt.NDArray[np.bool_]


@dataclass(slots=True)
class _ValidFrames:
    """The end of the valid part of the log, and what follows the first invalid frame."""

    frames: int = 0  # valid ones, from the first on
    committed: int = 0  # those up to the last COMMIT
    bad: bool = False
    commits_behind: int = 0  # valid frames behind the invalid one that end a transaction
    behind: bool = False  # whether a valid frame follows one of those

    @property
    def hides_commits(self) -> bool:
        """Return whether finished transactions follow the invalid frame.

        Then the frame is no end that a crash tore.
        """
        return self.bad and self.commits_behind > 0 and self.behind


def check_log(path: Path) -> Iterator[DamagedFile]:
    """Yield the place from which on finished checkpoints are missing, if there is one.

    A running crawl may restart its log during the check; then the log is checked again.
    """
    damages: list[DamagedFile] = []
    for _ in range(10):
        if not path.exists():
            return
        with regular(path) as file:
            head = file.read(LOG_HEADER)
            damages = list(_damage_of(path, file, head))
            file.seek(0)
            if not damages or file.read(LOG_HEADER) == head:
                break
    yield from damages


def _damage_of(path: Path, file: BinaryIO, head: bytes) -> Iterator[DamagedFile]:
    """Yield the damage of this log, whose header is `head`, if there is one.

    There is none if the valid frames reach as far as SQLite's index says that the log was synced,
    and no finished transaction follows an invalid frame.
    """
    # The salt changes whenever SQLite begins the log anew: an older index says nothing of this one
    salt = head[16:24]
    synced = _synced_frames(Path(str(path).removesuffix("-wal") + "-shm"), salt)
    end = file.seek(0, 2)
    if end <= LOG_HEADER:
        if synced:
            yield DamagedFile(path, end, "the file ends early")
        return
    magic, _, page_size = struct.unpack_from(">III", head)
    words = np.frombuffer(head[:24], "<u4" if magic == MAGIC else ">u4").astype(np.uint32)
    header_sums = _checksums(words.reshape(1, -1))[0].tolist()
    is_log = magic in (MAGIC, MAGIC + 1)
    if not is_log or list(struct.unpack_from(">II", head, 24)) != header_sums:
        yield DamagedFile(path, 0, "wrong checksum of the log's header")
        return
    valid = _find_valid_frames(file, head, page_size, header_sums)
    if valid.committed < synced or valid.hides_commits:
        missing_from = LOG_HEADER + valid.frames * (FRAME_HEADER + page_size)
        yield DamagedFile(
            path,
            missing_from,
            "wrong checksum of a frame: SQLite would drop the checkpoints from here on",
        )


def _synced_frames(index: Path, salt: bytes) -> int:
    """Return how many frames SQLite's index knows up to the last COMMIT, which were all synced.

    `salt` marks the log that the index has to be of. 0: the index is torn, missing, or of
    another log.
    """
    if not index.exists():
        return 0
    with regular(index) as file:
        data = file.read(96)
    # SQLite writes this header twice: while the copies differ, a writer is between them
    if len(data) < 96 or data[:48] != data[48:]:
        return 0
    sums = _checksums(np.frombuffer(data[:40], np.uint32).reshape(1, -1))[0].tolist()
    is_of_this_log = salt in (b"", data[32:40])
    is_sound = list(struct.unpack_from("=II", data, 40)) == sums
    return int(struct.unpack_from("=I", data, 16)[0]) if is_of_this_log and is_sound else 0


def _find_valid_frames(
    file: BinaryIO, head: bytes, page_size: int, header_sums: list[int]
) -> _ValidFrames:
    """Check the checksums of all frames, and return how far they are valid.

    `head` is the log's header, `header_sums` are its two checksums, from which that of the first
    frame goes on.
    """
    valid = _ValidFrames()
    order = "<u4" if struct.unpack_from(">I", head)[0] == MAGIC else ">u4"
    # Each frame's sum goes on from that of the frame before, the first one's from the header's
    sums_before = np.array([header_sums], np.uint32)
    sum_step = _step_power(1 + page_size // 8)
    file.seek(LOG_HEADER)
    while data := file.read(FRAMES_AT_ONCE * (FRAME_HEADER + page_size)):
        count = len(data) // (FRAME_HEADER + page_size)
        frames = np.frombuffer(data, np.uint8, count * (FRAME_HEADER + page_size)).reshape(
            count, FRAME_HEADER + page_size
        )
        # The sum is of the first 8 bytes of a frame's header and of its page: not of salt and sum
        words = (
            np.concatenate((frames[:, :8], frames[:, FRAME_HEADER:]), axis=1)
            .view(order)
            .astype(np.uint32)
        )
        stored = frames[:, 16:24].copy().view(">u4").astype(np.uint32)
        seeds = np.concatenate((sums_before, stored[:-1]))
        are_valid: Flags = np.all(
            _checksums(words) + _transformed(sum_step, seeds) == stored, axis=1
        )
        # A frame with another salt was left by the log before this one
        are_valid &= np.all(frames[:, 8:16] == np.frombuffer(head[16:24], np.uint8), axis=1)
        # A COMMIT's frame has the size of the database in these bytes, any other frame has 0
        _count_frames(valid, are_valid, np.any(frames[:, 4:8], axis=1))
        if not count:
            break
        sums_before = stored[-1:]
    return valid


def _count_frames(valid: _ValidFrames, are_valid: Flags, are_commits: Flags) -> None:
    """Add the next frames to what is known of the log: which are valid, and which end a
    transaction.
    """
    for is_valid, is_commit in zip(are_valid.tolist(), are_commits.tolist(), strict=True):
        if not is_valid:
            valid.bad = True
        elif not valid.bad:
            valid.frames += 1
            if is_commit:
                valid.committed = valid.frames
        else:
            valid.behind = valid.behind or valid.commits_behind > 0
            valid.commits_behind += is_commit


# -- SQLite's checksum: (a, b) -> (a + b + x, a + 2b + x + y) for each pair of words x, y. It is
# linear, so a whole frame is a product with constants: 2 us where a loop takes 300.


def _step_power(exponent: int) -> Words:
    """Return what so many pairs of words of 0 make of a sum (a, b): the step's matrix to a power."""
    result, base = np.eye(2, dtype=np.uint32), np.array([[1, 1], [1, 2]], np.uint32)
    while exponent:
        if exponent & 1:
            result = result @ base
        base, exponent = base @ base, exponent >> 1
    return result


def _transformed(matrix: Words, rows: Words) -> Words:
    """Return the product of the matrix and each row, modulo 2^32 as SQLite's sums are."""
    product: Words = rows @ matrix.T
    return product


def _checksums(rows: Words) -> Words:
    """Return the checksum of each row of words, with 0 as the initial value."""
    return _transformed(_word_factors(rows.shape[1] // 2), rows)


@lru_cache(4)
def _word_factors(pairs: int) -> Words:
    """Return what each word of a row adds to its two checksums: a matrix of two rows.

    `pairs` is half the number of words.
    """
    columns = []
    # of the last pair: x to both, y to the second
    matrix = np.array([[1, 0], [1, 1]], np.uint32)
    step = np.array([[1, 1], [1, 2]], np.uint32)
    for _ in range(pairs):
        columns.append(matrix)
        matrix = step @ matrix
    return np.concatenate(columns[::-1], axis=1)
