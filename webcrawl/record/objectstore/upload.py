"""Sends one file after the other to the store, in a thread, and verifies each copy.

While the store is unreachable, the intervals between the tries grow.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, suppress
from dataclasses import dataclass
from hashlib import md5, sha256
from pathlib import Path
from typing import Any

from webcrawl.base.doubling import DoublingWait
from webcrawl.base.errors import lack, words_of
from webcrawl.base.program import program
from webcrawl.base.readable import text_without_credentials
from webcrawl.net.shortage import is_ours
from webcrawl.record.objectstore.store_folder import (
    PIECE_BYTES,
    StoreFolder,
    StoreRefusal,
    UploadStopped,
)
from webcrawl.store.disk import regular
from webcrawl.store.rowcrc import crc32_of_many
from webcrawl.store.worker import SYSTEMS, Worker

logger = logging.getLogger(__name__)

# How a copy was verified
READ_BACK = "read back"
CHECKSUM = "checksum"
MD5_BYTES = 16
OnPiece = Callable[[], None]  # called for each piece; raises UploadStopped to end the upload


class CopyDiffers(Exception):  # noqa: N818 - reads as what it is
    """The store has other bytes than those that were sent."""


class FileChecksums:
    """Checksums of a file that is read once: those that the crawl notes, and S3's own."""

    def __init__(self) -> None:
        self.length = 0
        self.crc = 0
        self._sha = sha256()
        self._md5 = md5(usedforsecurity=False)
        self._part_digests = b""

    def add(self, piece: bytes) -> None:
        self.length += len(piece)
        self.crc = crc32_of_many(piece, self.crc)
        self._sha.update(piece)
        self._md5.update(piece)
        self._part_digests += md5(piece, usedforsecurity=False).digest()

    @property
    def sha256(self) -> str:
        return self._sha.hexdigest()

    @property
    def etags(self) -> frozenset[str]:
        """Return the two ETags that S3 may give the file: sent at once, or in these pieces."""
        count = len(self._part_digests) // MD5_BYTES
        of_parts = md5(self._part_digests, usedforsecurity=False).hexdigest()
        return frozenset((self._md5.hexdigest(), f"{of_parts}-{count}"))


def upload(
    store: StoreFolder,
    path: Path,
    name: str,
    crc: int | None,
    own_names: set[str],
    on_piece: OnPiece,
) -> tuple[FileChecksums, str]:
    """Send a file, and return its checksums and how the copy was verified.

    `crc` is the checksum of the file, if a checkpoint noted it. `own_names` are the files that this
    process has begun to write to the store.

    If the store has the same file already, it is verified and not sent again. A different file of
    this name is replaced only if this process wrote it, or if it is the beginning of this file,
    which a killed run wrote.

    Raise StoreRefusal if the file is damaged or cannot be read, or if the store has a different
    file of this name. Raise CopyDiffers if the copy is not the same as the file.
    """
    size = _size(path)
    # No intent is noted before an upload: what a killed run left is judged by its bytes
    stored_bytes = store.size(name)
    is_new = name not in own_names
    # The copy of a damaged file would count as sound
    if crc is not None and _crc_of(path, on_piece) != crc:
        raise StoreRefusal(
            f"{path}: is damaged, so it was not stored: `{program()} verify` shows where"
        )
    if stored_bytes is not None and is_new:
        sums = FileChecksums()
        if stored_bytes == size and _has_same_content(store, path, name, sums, on_piece):
            return sums, READ_BACK
        if not _is_beginning_of(store, path, name, stored_bytes, on_piece):
            raise StoreRefusal(
                f"{name} is in the store already with different content (from another crawl, or "
                "damaged) and was not replaced"
            )
    sums = FileChecksums()
    # The store is asked not to replace a file (If-None-Match). With the check above alone, two
    # crawls with one address overwrote two archive files of four.
    store.put(name, size, _summed_pieces(path, sums, crc, on_piece), new=stored_bytes is None)
    # Not before: after a put that failed, the file in the store may be another crawl's
    own_names.add(name)
    return sums, verify(store, name, sums, on_piece)


def verify(store: StoreFolder, name: str, sums: FileChecksums, on_piece: OnPiece) -> str:
    """Compare the copy in the store with what was sent, and return how: CHECKSUM or READ_BACK.

    Raise CopyDiffers if it is not the same.
    """
    size = store.size(name)
    if size != sums.length:
        raise CopyDiffers(f"{name}: {sums.length} bytes were sent, but the store has {size}")
    # S3's checksum is of the parts that it received. Where the ETag is something else, as with KMS,
    # the copy is read back.
    if store.etag(name) in sums.etags:
        return CHECKSUM
    if sha256_in_store(store, name, on_piece) != sums.sha256:
        raise CopyDiffers(f"{name}: the content that was read back differs from what was sent")
    return READ_BACK


def sha256_in_store(store: StoreFolder, name: str, on_piece: OnPiece) -> str:
    """Return the SHA-256 of a file, read from the store."""
    checksum = sha256()
    with closing(store.read(name)) as pieces:
        for piece in pieces:
            on_piece()
            checksum.update(piece)
    return checksum.hexdigest()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise _unreadable(path, error) from error


def _pieces(path: Path) -> Iterator[bytes]:
    """Yield the pieces of a local file. Raise StoreRefusal if it cannot be read."""
    try:
        with regular(path) as file:
            while piece := file.read(PIECE_BYTES):
                yield piece
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> Exception:
    # A lack of descriptors or memory passes: the file is tried again
    if is_ours(error):
        return error
    return StoreRefusal(f"{path}: {error.strerror or error}; the file was not stored")


def _crc_of(path: Path, on_piece: OnPiece) -> int:
    crc = 0
    for piece in _pieces(path):
        on_piece()
        crc = crc32_of_many(piece, crc)
    return crc


def _summed_pieces(
    path: Path, sums: FileChecksums, crc: int | None, on_piece: OnPiece
) -> Iterator[bytes]:
    """Yield the pieces of a file, and add each to `sums` before it is sent.

    Raise CopyDiffers at the end if the file has not the checksum `crc`: it changed meanwhile.
    """
    for piece in _pieces(path):
        on_piece()
        sums.add(piece)
        yield piece
    if crc is not None and sums.crc != crc:
        raise CopyDiffers(f"{path}: the file changed while it was being sent")


def _has_same_content(
    store: StoreFolder, path: Path, name: str, sums: FileChecksums, on_piece: OnPiece
) -> bool:
    """Return whether the store has the same bytes as the file, which is added to `sums`."""
    for piece in _pieces(path):
        on_piece()
        sums.add(piece)
    return sha256_in_store(store, name, on_piece) == sums.sha256


def _is_beginning_of(
    store: StoreFolder, path: Path, name: str, length: int, on_piece: OnPiece
) -> bool:
    """Return whether the file in the store, of `length` bytes, is a proper beginning of this one."""
    if length >= _size(path):
        return False
    with closing(store.read(name)) as stored_pieces, regular(path) as file:
        for piece in stored_pieces:
            on_piece()
            if file.read(len(piece)) != piece:
                return False
    return True


# Between two tries. The interval doubles with each failure.
MIN_RETRY_SECONDS = 1.0
MAX_RETRY_SECONDS = 300.0
CLOSE_SECONDS = 1.0  # that the end of the thread may take before it is left alone


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file of which the store has a verified copy."""

    sums: FileChecksums
    by: str  # how it was verified: READ_BACK or CHECKSUM


class UploadThread:
    """A thread that sends files to a store, one after the other.

    The crawl's thread calls its public methods, which never wait for the store. All failures are
    counted. While the store is unreachable, only the first failure of each kind is logged.
    """

    def __init__(
        self, address: str, open_store: Callable[[], StoreFolder], clock: Callable[[], float]
    ) -> None:
        """`open_store` is called in the thread. The address is for messages only."""
        self._address = address
        self._open_store = open_store
        self._clock = clock
        self._store: StoreFolder | None = None
        # Packages for stores were not written for small stacks
        self._worker = Worker(stack=SYSTEMS)
        self._stopped = False
        self._own_names: set[str] = set()  # names that this process wrote, perhaps in part
        self._wait = DoublingWait(MIN_RETRY_SECONDS, MAX_RETRY_SECONDS)
        self._retry_at = 0.0
        self._away_since = 0.0
        self._logged_errors: set[type] = set()
        self.progressed_at = clock()  # when the last piece was sent or read
        self.failures = 0

    @property
    def is_due(self) -> bool:
        """Return whether the wait after the last failure is over."""
        return self._clock() >= self._retry_at

    @property
    def is_away(self) -> bool:
        """Return whether the last try failed."""
        return self._away_since > 0.0

    def check(self) -> Future[None]:
        """Have the thread check whether the store answers; a failure is logged and counted."""
        return self._worker.submit(self._check)

    def send(self, name: str, path: Path, crc: int | None) -> Future[UploadedFile | None]:
        """Return a job that sends a file; its result is None if the file must be sent later.

        The job raises StoreRefusal if a later try would not help either.
        """
        return self._worker.submit(self._send, name, path, crc)

    def remove(self, name: str) -> Future[bool]:
        """Return a job that removes a file, and whose result is whether the store has removed it."""
        return self._worker.submit(self._remove, name)

    def done(self, job: Future[Any]) -> bool:
        return self._worker.done(job)

    def stop(self) -> None:
        """Have the upload under way end at its next piece, and all later jobs do nothing."""
        self._stopped = True

    def close(self) -> None:
        """End the thread when it is idle. A thread that hangs in a call of the store is left alone."""
        self._stopped = True
        # Calls of the store have no time limit: if the thread hangs in one, it is not closed
        with suppress(TimeoutError):
            self._worker.submit(lambda: None).result(timeout=CLOSE_SECONDS)
            self._worker.close()

    # -- in the thread

    def _check(self) -> None:
        try:
            self._opened_store().check()
        except Exception as error:  # noqa: BLE001 - the store's, of any kind
            self._note_failure(error)

    def _send(self, name: str, path: Path, crc: int | None) -> UploadedFile | None:
        """Send a file. Return None if it must be sent later. Raise StoreRefusal."""
        if self._stopped or not self.is_due:
            return None
        progressed_at = self.progressed_at
        try:
            sums, by = upload(
                self._opened_store(), path, name, crc, self._own_names, self._on_piece
            )
        except StoreRefusal:
            raise
        except UploadStopped:
            return None
        except Exception as error:  # noqa: BLE001 - as above
            self._note_failure(error)
            # Reading the local file is no progress: a crawl waited twice as long for a store that
            # was unreachable
            self.progressed_at = progressed_at
            return None
        self._note_success()
        return UploadedFile(sums, by)

    def _remove(self, name: str) -> bool:
        """Remove a file, and return whether the store has done so."""
        if self._stopped or not self.is_due:
            return False
        try:
            self._opened_store().remove(name)
        except Exception as error:  # noqa: BLE001 - as above
            self._note_failure(error)
            return False
        self._note_success()
        return True

    def _opened_store(self) -> StoreFolder:
        if self._store is None:
            self._store = self._open_store()
        return self._store

    def _note_failure(self, error: Exception) -> None:
        """Count a failure, put the next try off, and log it if it is the first of its kind."""
        now = self._clock()
        self.failures += 1
        self._retry_at = now + self._wait.next()
        why = text_without_credentials(words_of(error))
        if not self.is_away:
            self._away_since = now
            self._logged_errors.clear()
        if type(error) not in self._logged_errors:
            self._logged_errors.add(type(error))
            consequence = "finished files stay here for now"
            if lack(error):
                consequence = "this machine is out of resources"
            logger.warning(
                "%s: %s; %s, and the upload is retried at growing intervals",
                self._address,
                why,
                consequence,
            )

    def _note_success(self) -> None:
        """Log that the store is back, if it was unreachable, and end the wait between tries."""
        if self.is_away:
            logger.info(
                "%s accepts files again after %.0f s",
                self._address,
                self._clock() - self._away_since,
            )
        self._wait.reset()
        self._retry_at = 0.0
        self._away_since = 0.0

    def _on_piece(self) -> None:
        """Note the progress of each piece. Raise UploadStopped if the thread is to stop."""
        if self._stopped:
            raise UploadStopped
        self.progressed_at = self._clock()
