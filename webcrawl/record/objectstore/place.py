"""Stores for finished files: what the crawl needs of one, and how an address becomes one.

`Folder` is on this machine or a disk that is mounted on it (`file:///mnt/archive`) and needs no package; `Remote` is in
any store that fsspec reaches: `s3://bucket/crawl`, `gs://…`.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import re
from collections.abc import Generator, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from webcrawl.base.loading import install, missing
from webcrawl.store.disk import Disk, regular, remove_unnamed
from webcrawl.store.jobdir.crawls import number_of

PIECE = 16 << 20  # bytes in memory at a time, and of each part of an upload to S3
FILE = "file"
ALLOWED = "the address of a folder or bucket, such as s3://bucket/crawl or file:///mnt/archive"
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*)://([^\s\\]+)")


class BadAddress(ValueError):  # noqa: N818 - reads as what it is
    """The address cannot be used; `shown` is what of it may be written where others read it."""

    def __init__(self, why: str, shown: str) -> None:
        super().__init__(why)
        self.shown = shown


class Stopped(Exception):  # noqa: N818
    """The crawl ends, and does not wait for this file."""


class Refused(Exception):  # noqa: N818
    """A file cannot be stored, now or later, until somebody does something about it."""


class Place(Protocol):
    """A folder in a store. Every method may raise anything: what it raises is the store's, or the way to it."""

    def look(self) -> None:
        """Raises if the store is away, refuses us, or has no such folder or bucket."""

    def size(self, name: str) -> int | None:
        """The length of the file there; None: there is none."""

    def put(self, name: str, size: int, pieces: Iterator[bytes], *, new: bool) -> None:
        """Writes a file of so many bytes. If `pieces` raises, nothing is left under its name, as far as possible.

        FileExistsError, if the store can tell: it was to be `new`, and somebody else wrote it meanwhile.
        """

    def says(self, name: str) -> str:
        """The checksum that the store itself has of a file; empty: none, or none that can be compared."""

    def read(self, name: str) -> Generator[bytes]:
        """The file, in pieces."""

    def remove(self, name: str) -> None:
        """Removes a file, which may be gone already."""


def read_address(text: str) -> str:
    """The address in one form, without a slash at its end. BadAddress if it is none, or has credentials in it."""
    shown = _masked(text)
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise BadAddress("", shown)
    scheme, rest = match[1], match[2]
    if shown != text:
        raise BadAddress("credentials are taken from the environment, never from an address", shown)
    if scheme == FILE and not rest.startswith("/"):
        raise BadAddress("three slashes: file:///mnt/archive", shown)
    if scheme == "memory":
        raise BadAddress("what is in memory ends with this process", shown)
    if ".." in rest.split("/"):
        raise BadAddress("without ..", shown)
    return f"{scheme}://{rest.rstrip('/') or '/'}"


def check_packages(address: str) -> None:
    """BadAddress, with what to install, if the packages that this address needs are missing."""
    scheme = address.partition(":")[0]
    if scheme == FILE:
        return
    if find_spec("fsspec") is None:
        raise BadAddress(missing("fsspec"), address)
    from fsspec import get_filesystem_class  # noqa: PLC0415 - optional

    try:
        get_filesystem_class(scheme)
    except ImportError as error:
        raise BadAddress(
            f"{' '.join(str(error).split())}: {install('fsspec')} brings what s3:// needs", address
        ) from error
    except ValueError as error:
        raise BadAddress(f"{scheme}:// is not known to fsspec", address) from error


def below(address: str, folder: str) -> str:
    """The address of a folder in a store."""
    return f"{address.rstrip('/')}/{folder}"


def _masked(text: str) -> str:
    """Without a password, and without what follows a question mark or a number sign: keys are written there."""
    plain = re.sub(r"(://[^/?#@]*?):[^/?#]*@", r"\1:***@", text)
    return re.sub(r"[?#].*", "?***", plain, count=1, flags=re.DOTALL)


PART = ".part"  # after the name, while it is written


class Folder:
    """Files get their names when they are whole and synced. The folder itself must exist; of a drone's, the one above.

    If it were created, a disk that is not mounted would go unnoticed, and its files would fill the one below.
    """

    def __init__(self, root: str, disk: Disk | None = None) -> None:
        self._root, self._disk = Path(root), disk or Disk()
        self._mount = self._root if number_of(self._root) is None else self._root.parent

    def size(self, name: str) -> int | None:
        self.look()
        try:
            return (self._root / name).stat().st_size
        except FileNotFoundError:
            return None

    def put(self, name: str, size: int, pieces: Iterator[bytes], *, new: bool) -> None:
        del size
        path = self._root / name
        part = path.with_name(path.name + PART)
        self._make(path.parent)
        fd = self._locked(part)
        try:
            self._disk.truncate(fd, 0)
            for piece in pieces:
                self._disk.write(fd, piece)
            self._disk.sync(fd)
            if new:
                _look_for_others(path)
            self._disk.rename(part, path)
        except BaseException:
            remove_unnamed(self._disk, part)
            raise
        finally:
            os.close(fd)

    def _locked(self, part: Path) -> int:
        """The file to write to, which a killed process may have left. OSError if another crawl writes it now."""
        fd = self._disk.append(part)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            ours = os.path.samestat(os.fstat(fd), part.stat())
        except BaseException:
            os.close(fd)
            raise
        if not ours:
            os.close(fd)
            raise BlockingIOError(f"{part}: another process has just finished it")
        return fd

    def says(self, name: str) -> str:
        del name
        return ""

    def read(self, name: str) -> Generator[bytes]:
        with regular(self._root / name) as file:
            while piece := file.read(PIECE):
                yield piece

    def remove(self, name: str) -> None:
        self.look()
        self._disk.unlink(self._root / name)

    def look(self) -> None:
        if not self._mount.is_dir():
            raise FileNotFoundError(f"{self._mount}: no such folder; it is not created")

    def _make(self, folder: Path) -> None:
        """Makes the folders below, and syncs what has a new entry."""
        self.look()
        missing = [one for one in (folder, *folder.parents) if self._mount in one.parents and not one.exists()]
        for one in reversed(missing):
            one.mkdir(exist_ok=True)
            self._disk.sync_folder(one.parent)


def _look_for_others(path: Path) -> None:
    if path.exists():
        raise FileExistsError(f"{path} was written by somebody else meanwhile")


# Stores without folders; s3fs would create the bucket instead.
FLAT = frozenset(("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oci", "oss"))
EXCLUSIVE = frozenset(("s3", "s3a"))  # that refuse to replace a file if they are asked to: If-None-Match
MOST_PARTS = 9_999  # of an upload to S3; with larger files the parts are larger
# What these log at DEBUG has requests with their signatures in it, and much more than a crawl's log should have.
TALKATIVE = ("aiobotocore", "botocore", "s3fs", "fsspec", "gcsfs", "adlfs", "azure", "urllib3", "paramiko")


class Remote:
    """Credentials, and the address of a server that is not the provider's own, come from the environment."""

    def __init__(self, address: str) -> None:
        for name in TALKATIVE:
            logging.getLogger(name).setLevel(logging.WARNING)
        from fsspec.core import url_to_fs  # noqa: PLC0415 - optional

        self._fs, self._root = url_to_fs(address, skip_instance_cache=True, use_listings_cache=False)
        self._address = address
        self._is_exclusive = not EXCLUSIVE.isdisjoint(self._protocols)

    def look(self) -> None:
        """A bucket that is missing looks like a file that is, so the bucket itself is asked for."""
        self.size("warc")  # says what is wrong; `exists` takes everything for a no
        root = self._root if FLAT.isdisjoint(self._protocols) else self._root.strip("/").partition("/")[0]
        if not self._fs.exists(root) and root != self._root:
            raise FileNotFoundError(f"{root}: no such bucket; it is not created")

    def size(self, name: str) -> int | None:
        try:
            return int(self._info(name)["size"])
        except FileNotFoundError:
            return None

    def put(self, name: str, size: int, pieces: Iterator[bytes], *, new: bool) -> None:
        path, mode = self._path(name), "xb" if new and self._is_exclusive else "wb"
        if FLAT.isdisjoint(self._protocols):
            self._fs.makedirs(path.rpartition("/")[0], exist_ok=True)
        file = self._fs.open(path, mode, block_size=max(PIECE, -(-size // MOST_PARTS)))
        try:
            for piece in pieces:
                file.write(piece)
        except BaseException:
            _discard(file)
            raise
        try:
            file.close()
        except BaseException as error:
            if isinstance(error, OSError) and error.errno == errno.ENOSYS:  # an old server: the next try is without it
                self._is_exclusive = False
            _discard(file)
            raise

    def says(self, name: str) -> str:
        """S3's ETag: of the content, unless the store encrypts with keys of its own."""
        return str(self._info(name).get("ETag") or "").strip('"')

    def read(self, name: str) -> Generator[bytes]:
        """By requests for parts, so that a stalled connection costs one of them."""
        path, size = self._path(name), int(self._info(name)["size"])
        for at in range(0, size, PIECE):
            yield self._fs.cat_file(path, start=at, end=min(at + PIECE, size))

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._fs.rm_file(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def _info(self, name: str) -> dict[str, Any]:
        self._fs.invalidate_cache()
        found: dict[str, Any] = self._fs.info(self._path(name))
        return found

    @property
    def _protocols(self) -> tuple[str, ...]:
        protocol = self._fs.protocol
        return (protocol,) if isinstance(protocol, str) else tuple(protocol)


def _discard(file: Any) -> None:
    """Gives up a file that is being written. Closing it would complete it: a part of a file, under its whole name."""
    with suppress(Exception):
        file.discard()
    with suppress(Exception):
        file.closed = True


def open_place(address: str) -> Place:
    """The store at an address that was checked. Whether it answers is not asked."""
    if address.startswith(f"{FILE}://"):
        return Folder(address.removeprefix(f"{FILE}://"))
    return Remote(address)
