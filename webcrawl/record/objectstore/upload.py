"""Sends one file after the other to the store, in a thread, and makes sure that it is complete.

While the store is away, tries are further apart.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, suppress
from dataclasses import dataclass
from hashlib import md5, sha256
from pathlib import Path
from typing import TypeVar

from webcrawl.base.doubling import DoublingWait
from webcrawl.base.errors import lack, words_of
from webcrawl.base.program import program
from webcrawl.base.readable import text_without_credentials
from webcrawl.net.shortage import is_ours
from webcrawl.record.objectstore.place import PIECE, StoreFolder, StoreRefusal, UploadStopped
from webcrawl.store.disk import regular
from webcrawl.store.rowcrc import crc32_of_many
from webcrawl.store.worker import SYSTEMS, Worker

logger = logging.getLogger(__name__)

READ, CHECKSUM = "read back", "checksum"  # how it was found that a copy is whole
Going = Callable[[], None]  # called for each piece; raises Stopped if it shall be the last


class Differs(Exception):  # noqa: N818 - reads as what it is
    """The store has other bytes than those that were sent."""


class FileChecksums:
    """Checksums of a file that is read once: what we note, and what S3 computes of it."""

    def __init__(self) -> None:
        self.length = 0
        self.crc = 0
        self._sha = sha256()
        self._md5 = md5(usedforsecurity=False)
        self._parts = b""

    def add(self, piece: bytes) -> None:
        self.length += len(piece)
        self.crc = crc32_of_many(piece, self.crc)
        self._sha.update(piece)
        self._md5.update(piece)
        self._parts += md5(piece, usedforsecurity=False).digest()

    @property
    def sha256(self) -> str:
        return self._sha.hexdigest()

    @property
    def etags(self) -> frozenset[str]:
        """Return S3's checksums of the file: sent at once, and sent in these pieces."""
        count = len(self._parts) // 16
        return frozenset(
            (
                self._md5.hexdigest(),
                f"{md5(self._parts, usedforsecurity=False).hexdigest()}-{count}",
            )
        )


def upload(
    place: StoreFolder, path: Path, name: str, crc: int | None, begun: set[str], going: Going
) -> tuple[FileChecksums, str]:
    """Send a file; return its checksums and how they were verified.

    `crc` is the file's checksum, if a checkpoint noted it.

    A whole copy that is there already is verified and not sent again. Another file of this name is
    never replaced, unless this process has `begun` it, or it is the beginning of ours, which a
    killed one wrote.
    """
    size = _size(path)
    # No intent is noted before an upload: what a killed run left is judged by its bytes
    there = place.size(name)
    is_new = name not in begun
    # Its copy would count as sound
    if crc is not None and _crc(path, going) != crc:
        raise StoreRefusal(
            f"{path}: is damaged, so it was not stored: `{program()} verify` shows where"
        )
    sums = FileChecksums()
    if there == size and is_new and _is_there(place, path, name, sums, going):
        return sums, READ
    if there is not None and is_new and not _is_beginning(place, path, name, there, going):
        raise StoreRefusal(
            f"{name} is in the store already with different content (from another crawl, or "
            "damaged) and was not replaced"
        )
    sums = FileChecksums()
    # The store is asked not to replace a file (If-None-Match): by the look above alone, two crawls
    # with one address have overwritten two archive files of four.
    place.put(name, size, _sent(path, sums, crc, going), new=there is None)
    # Not before: after a put that failed, the file there may be another crawl's
    begun.add(name)
    return sums, verify(place, name, sums, going)


def verify(place: StoreFolder, name: str, sums: FileChecksums, going: Going) -> str:
    """Check the store's bytes by its checksum, or else by reading; return how. Raise Differs."""
    size = place.size(name)
    if size != sums.length:
        raise Differs(f"{name}: {sums.length} bytes were sent, but the store has {size}")
    # S3 sums the parts that it has got. Where its sum is of something else, as with KMS, the copy
    # is read back.
    if place.says(name) in sums.etags:
        return CHECKSUM
    if digest(place, name, going) != sums.sha256:
        raise Differs(f"{name}: the content that was read back differs from what was sent")
    return READ


def digest(place: StoreFolder, name: str, going: Going) -> str:
    """Return the SHA-256 of what the store has."""
    found = sha256()
    with closing(place.read(name)) as pieces:
        for piece in pieces:
            going()
            found.update(piece)
    return found.hexdigest()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise _unreadable(path, error) from error


def _pieces(path: Path) -> Iterator[bytes]:
    """Yield the pieces of a file here, whose errors are not the store's."""
    try:
        with regular(path) as file:
            while piece := file.read(PIECE):
                yield piece
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> Exception:
    # A lack of descriptors or memory passes: the file is tried again
    if is_ours(error):
        return error
    return StoreRefusal(f"{path}: {error.strerror or error}; the file was not stored")


def _crc(path: Path, going: Going) -> int:
    crc = 0
    for piece in _pieces(path):
        going()
        crc = crc32_of_many(piece, crc)
    return crc


def _sent(path: Path, sums: FileChecksums, crc: int | None, going: Going) -> Iterator[bytes]:
    """Yield the file, which is summed as it is sent.

    Differs, before its end is sent, if it has changed.
    """
    for piece in _pieces(path):
        going()
        sums.add(piece)
        yield piece
    if crc is not None and sums.crc != crc:
        raise Differs(f"{path}: the file changed while it was being sent")


def _is_there(place: StoreFolder, path: Path, name: str, sums: FileChecksums, going: Going) -> bool:
    """Return whether the store has these very bytes, which are summed."""
    for piece in _pieces(path):
        going()
        sums.add(piece)
    return digest(place, name, going) == sums.sha256


def _is_beginning(place: StoreFolder, path: Path, name: str, length: int, going: Going) -> bool:
    if length >= _size(path):
        return False
    with closing(place.read(name)) as theirs, regular(path) as file:
        for piece in theirs:
            going()
            if file.read(len(piece)) != piece:
                return False
    return True


T = TypeVar("T")
SHORTEST, LONGEST = 1.0, 300.0  # seconds between two tries


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file that is in the store, whole."""

    sums: FileChecksums
    by: str


class UploadThread:
    """Its methods are the crawl's thread's; what it finds out it says once, and counts."""

    def __init__(
        self, address: str, place_of: Callable[[], StoreFolder], clock: Callable[[], float]
    ) -> None:
        self._address = address
        self._place_of = place_of
        self._clock = clock
        self._place: StoreFolder | None = None
        # Packages for stores were not written for small stacks
        self._worker = Worker(stack=SYSTEMS)
        self._stopped = False
        self._begun: set[str] = set()  # names that this process wrote, perhaps in part
        self._wait = DoublingWait(SHORTEST, LONGEST)
        self._retry_at = 0.0
        self._away_since = 0.0
        self._told: set[type] = set()
        self.moved = clock()  # when something last was
        self.failures = 0

    @property
    def is_due(self) -> bool:
        """Return whether a try makes sense now."""
        return self._clock() >= self._retry_at

    @property
    def is_away(self) -> bool:
        """Return whether the last try failed."""
        return self._away_since > 0.0

    def look(self) -> Future[None]:
        """Have the thread find out whether the store answers."""
        return self._worker.submit(self._look)

    def send(self, name: str, path: Path, crc: int | None) -> Future[UploadedFile | None]:
        """Return a job that gives None if the file is to be tried later; Refused if it is not."""
        return self._worker.submit(self._send, name, path, crc)

    def remove(self, name: str) -> Future[bool]:
        """Return a job that says whether the file is gone from the store."""
        return self._worker.submit(self._remove, name)

    def done(self, job: Future[T]) -> bool:
        return self._worker.done(job)

    def stop(self) -> None:
        """Give up what is under way, at its next piece."""
        self._stopped = True

    def close(self) -> None:
        """End the thread when it is idle. A thread that hangs in a call of the store is left alone."""
        self._stopped = True
        # It may hang in a call of the store, which has no time limit of ours
        with suppress(TimeoutError):
            self._worker.submit(lambda: None).result(timeout=SHORTEST)
            self._worker.close()

    # -- in the thread

    def _look(self) -> None:
        try:
            self._opened().look()
        except Exception as error:  # noqa: BLE001 - the store's, of any kind
            self._fails(error)

    def _send(self, name: str, path: Path, crc: int | None) -> UploadedFile | None:
        if self._stopped or not self.is_due:
            return None
        moved = self.moved
        try:
            sums, by = upload(self._opened(), path, name, crc, self._begun, self._going)
        except StoreRefusal:
            raise
        except UploadStopped:
            return None
        except Exception as error:  # noqa: BLE001 - as above
            self._fails(error)
            # To read the file here is no progress: a crawl waited twice as long for a store that
            # was away
            self.moved = moved
            return None
        self._answers()
        return UploadedFile(sums, by)

    def _remove(self, name: str) -> bool:
        if self._stopped or not self.is_due:
            return False
        try:
            self._opened().remove(name)
        except Exception as error:  # noqa: BLE001 - as above
            self._fails(error)
            return False
        self._answers()
        return True

    def _opened(self) -> StoreFolder:
        if self._place is None:
            self._place = self._place_of()
        return self._place

    def _fails(self, error: Exception) -> None:
        now = self._clock()
        self.failures += 1
        self._retry_at = now + self._wait.next()
        why = text_without_credentials(words_of(error))
        if not self.is_away:
            self._away_since = now
            self._told.clear()
        # Another kind of failure is news
        if type(error) not in self._told:
            self._told.add(type(error))
            whose = "finished files stay here for now"
            if lack(error):
                whose = "this machine is out of resources"
            logger.warning(
                "%s: %s; %s, and the upload is retried at growing intervals",
                self._address,
                why,
                whose,
            )

    def _answers(self) -> None:
        if self.is_away:
            logger.info(
                "%s accepts files again after %.0f s",
                self._address,
                self._clock() - self._away_since,
            )
        self._wait.reset()
        self._retry_at = 0.0
        self._away_since = 0.0

    def _going(self) -> None:
        """Note progress with each piece. Raise UploadStopped if it is the last."""
        if self._stopped:
            raise UploadStopped
        self.moved = self._clock()
