"""Brings one finished file to the store, and makes sure that it is there whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import md5, sha256
from pathlib import Path

from webcrawl.net.shortage import is_ours
from webcrawl.objectstore.place import PIECE, Place, Refused
from webcrawl.store.regular import regular
from webcrawl.store.rowcrc import crc32_of_many

READ, CHECKSUM = "read back", "checksum"  # how it was found that a copy is whole
Going = Callable[[], None]  # called for each piece; raises Stopped if it shall be the last


class Differs(Exception):  # noqa: N818 - reads as what it is
    """What the store has is not what was sent."""


class Sums:
    """Checksums of a file that is read once: what we note, and what S3 computes of it."""

    def __init__(self) -> None:
        self.length, self.crc = 0, 0
        self._sha, self._md5, self._parts = sha256(), md5(usedforsecurity=False), b""

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
        """S3's, of a file that was sent at once, and of one that was sent in these pieces."""
        count = len(self._parts) // 16
        return frozenset((self._md5.hexdigest(), f"{md5(self._parts, usedforsecurity=False).hexdigest()}-{count}"))


def upload(place: Place, path: Path, name: str, crc: int | None, begun: set[str], going: Going) -> tuple[Sums, str]:
    """Returns the checksums of what was verified, and how it was. `crc`: of the file, if a checkpoint noted it.

    A whole copy that is there already is verified and not sent again. Another file of this name is never replaced,
    unless this process has `begun` it, or it is the beginning of ours, which a killed one wrote.
    """
    size, there, is_new = _size(path), place.size(name), name not in begun
    if crc is not None and _crc(path, going) != crc:  # its copy would count as sound
        raise Refused(f"{path}: damaged, and so not stored: scrapy verify says where")
    sums = Sums()
    if there == size and is_new and _is_there(place, path, name, sums, going):
        return sums, READ
    if there is not None and is_new and not _is_beginning(place, path, name, there, going):
        raise Refused(
            f"{name} exists in the store with another content: another crawl's, or damaged? It is not replaced"
        )
    sums = Sums()
    place.put(name, size, _sent(path, sums, crc, going), new=there is None)
    begun.add(name)  # not before: what is there after a put that failed may be another crawl's by now
    return sums, verify(place, name, sums, going)


def verify(place: Place, name: str, sums: Sums, going: Going) -> str:
    """How it was found that the store has these bytes: by its own checksum, or by reading all of them. Or Differs."""
    size = place.size(name)
    if size != sums.length:
        raise Differs(f"{name}: {size} bytes are in the store, {sums.length} were sent")
    if place.says(name) in sums.etags:
        return CHECKSUM
    if digest(place, name, going) != sums.sha256:
        raise Differs(f"{name}: what is read back is not what was sent")
    return READ


def digest(place: Place, name: str, going: Going) -> str:
    """The SHA-256 of what the store has."""
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
    """Of a file here, whose errors are not the store's."""
    try:
        with regular(path) as file:
            while piece := file.read(PIECE):
                yield piece
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> Exception:
    return error if is_ours(error) else Refused(f"{path}: {error.strerror or error}: not stored")


def _crc(path: Path, going: Going) -> int:
    crc = 0
    for piece in _pieces(path):
        going()
        crc = crc32_of_many(piece, crc)
    return crc


def _sent(path: Path, sums: Sums, crc: int | None, going: Going) -> Iterator[bytes]:
    """The file, which is summed as it is sent. Differs, before its end is sent, if it has changed."""
    for piece in _pieces(path):
        going()
        sums.add(piece)
        yield piece
    if crc is not None and sums.crc != crc:
        raise Differs(f"{path}: changed while it was sent")


def _is_there(place: Place, path: Path, name: str, sums: Sums, going: Going) -> bool:
    """Whether the store has these very bytes, which are summed."""
    for piece in _pieces(path):
        going()
        sums.add(piece)
    return digest(place, name, going) == sums.sha256


def _is_beginning(place: Place, path: Path, name: str, length: int, going: Going) -> bool:
    if length >= _size(path):
        return False
    with closing(place.read(name)) as theirs, regular(path) as file:
        for piece in theirs:
            going()
            if file.read(len(piece)) != piece:
                return False
    return True
