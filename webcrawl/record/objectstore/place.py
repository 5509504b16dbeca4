"""Stores for finished files: what the crawl needs of one, and how an address becomes one.

fsspec reaches them all: `s3://bucket/crawl`, `gs://…`, and a disk that is mounted here,
`file:///mnt/archive`.
"""

from __future__ import annotations

import errno
import logging
import re
from collections.abc import Generator, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from webcrawl.base.loading import install, missing
from webcrawl.store.disk import Disk
from webcrawl.store.jobdir.crawls import number_of

# Bytes in memory at a time, and of each part of an upload to S3. s3fs's own `put` keeps ten parts
# of 50 MB.
PIECE = 16 << 20
FILE = "file"
ALLOWED = "the address of a folder or bucket, such as s3://bucket/crawl or file:///mnt/archive"
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*)://([^\s\\]+)")


class BadAddress(ValueError):  # noqa: N818 - reads as what it is
    """The address cannot be used; `shown` is what of it may be written where others read it."""

    def __init__(self, why: str, shown: str) -> None:
        super().__init__(why)
        self.shown = shown


class UploadStopped(Exception):  # noqa: N818
    """The crawl ends, and does not wait for this file."""


class StoreRefusal(Exception):  # noqa: N818
    """A file cannot be stored, now or later, until somebody does something about it."""


def read_address(text: str) -> str:
    """Return the address in one form, without a slash at its end.

    Raise BadAddress if it is none, or has credentials in it.
    """
    shown = _masked(text)
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise BadAddress("", shown)
    scheme = match[1]
    rest = match[2]
    if shown != text:
        raise BadAddress("it contains credentials; put them into the environment instead", shown)
    if scheme == FILE and not rest.startswith("/"):
        raise BadAddress("a folder needs three slashes, as in file:///mnt/archive", shown)
    if scheme == "memory":
        raise BadAddress("a store in memory would be lost with this process", shown)
    if ".." in rest.split("/"):
        raise BadAddress("the path must not contain ..", shown)
    return f"{scheme}://{rest.rstrip('/') or '/'}"


def check_packages(address: str) -> None:
    """Raise BadAddress, with what to install, if this address needs packages that are missing."""
    scheme = address.partition(":")[0]
    if find_spec("fsspec") is None:
        raise BadAddress(missing("fsspec"), address)
    from fsspec import get_filesystem_class  # noqa: PLC0415 - optional

    try:
        get_filesystem_class(scheme)
    except ImportError as error:
        raise BadAddress(
            f"{' '.join(str(error).split())}: {install('fsspec')} installs what s3:// needs",
            address,
        ) from error
    except ValueError as error:
        raise BadAddress(f"{scheme}:// is not known to fsspec", address) from error


def below(address: str, folder: str) -> str:
    return f"{address.rstrip('/')}/{folder}"


def _masked(text: str) -> str:
    """Return an address without its password, and without what follows `?` or `#`: it may be a key."""
    plain = re.sub(r"(://[^/?#@]*?):[^/?#]*@", r"\1:***@", text)
    return re.sub(r"[?#].*", "?***", plain, count=1, flags=re.DOTALL)


# Stores without folders; s3fs would create the bucket instead.
FLAT = frozenset(("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oci", "oss"))
# Stores that refuse to replace a file if asked to, by If-None-Match
EXCLUSIVE = frozenset(("s3", "s3a", FILE))
MOST_PARTS = 9_999  # of an upload to S3; with larger files the parts are larger
# At DEBUG they log requests with their signatures, and much more than a crawl's log should have
TALKATIVE = (
    "aiobotocore",
    "botocore",
    "s3fs",
    "fsspec",
    "gcsfs",
    "adlfs",
    "azure",
    "urllib3",
    "paramiko",
)


class StoreFolder:
    """A folder in a store. Its methods raise any kind of exception: the store's, or the way's.

    Credentials, and the address of a server that is not the provider's own, come from the
    environment.

    A folder on this machine must exist; of a drone's, the one above. If it were created, a disk
    that is not mounted would go unnoticed, and its files would fill the one below.
    """

    def __init__(self, address: str) -> None:
        for name in TALKATIVE:
            logging.getLogger(name).setLevel(logging.WARNING)
        from fsspec.core import url_to_fs  # noqa: PLC0415 - optional

        self._fs, self._root = url_to_fs(
            address, skip_instance_cache=True, use_listings_cache=False
        )
        self._address = address
        self._is_exclusive = not EXCLUSIVE.isdisjoint(self._protocols)
        self._is_local = FILE in self._protocols

    def look(self) -> None:
        """Raise if the store is away, refuses us, or has no such folder or bucket.

        A bucket that is missing looks like a file that is, so the bucket itself is asked for.
        """
        self._check_mount()
        # It says what is wrong; `exists` takes any error for a no
        self.size("warc")
        root = self._root
        if not FLAT.isdisjoint(self._protocols):
            root = root.strip("/").partition("/")[0]
        if not self._fs.exists(root) and root != self._root:
            raise FileNotFoundError(f"{root}: no such bucket; create it first")

    def size(self, name: str) -> int | None:
        """Return the length of the file there, or None if there is none."""
        self._check_mount()
        try:
            return int(self._info(name)["size"])
        except FileNotFoundError:
            return None

    def put(self, name: str, size: int, pieces: Iterator[bytes], *, new: bool) -> None:
        """Write a file of this size. If `pieces` raises, nothing is left of it, as far as possible.

        Raise FileExistsError, if the store can tell, for a file that was to be `new` and that
        another wrote meanwhile.
        """
        path = self._path(name)
        mode = "xb" if new and self._is_exclusive else "wb"
        self._check_mount()
        if FLAT.isdisjoint(self._protocols):
            self._fs.makedirs(path.rpartition("/")[0], exist_ok=True)
        file = self._fs.open(path, mode, block_size=max(PIECE, -(-size // MOST_PARTS)))
        try:
            for piece in pieces:
                file.write(piece)
            # fsspec syncs nothing
            if self._is_local:
                _sync(file, Path(path))
        except BaseException:
            _discard(file)
            # A local file has its name from the beginning
            if self._is_local:
                with suppress(OSError):
                    self.remove(name)
            raise
        try:
            file.close()
        except BaseException as error:
            # An old server: the next try is without it
            if isinstance(error, OSError) and error.errno == errno.ENOSYS:
                self._is_exclusive = False
            _discard(file)
            raise

    def says(self, name: str) -> str:
        """Return the checksum that the store has of a file; empty if it cannot be compared.

        S3's ETag is of the content, unless the store encrypts with keys of its own.
        """
        return str(self._info(name).get("ETag") or "").strip('"')

    def read(self, name: str) -> Generator[bytes]:
        """Yield a file's bytes by requests for parts: a stalled connection then costs one part."""
        path = self._path(name)
        size = int(self._info(name)["size"])
        for at in range(0, size, PIECE):
            yield self._fs.cat_file(path, start=at, end=min(at + PIECE, size))

    def remove(self, name: str) -> None:
        """Remove a file, which may be gone already."""
        # A disk that is not mounted keeps its files, and the crawl would forget to remove them
        self._check_mount()
        with suppress(FileNotFoundError):
            self._fs.rm_file(self._path(name))

    def _check_mount(self) -> None:
        """Raise FileNotFoundError if the folder on this machine is missing."""
        if not self._is_local:
            return
        root = Path(self._root)
        # A drone's folder is made when its first file comes
        mount = root if number_of(root) is None else root.parent
        if not mount.is_dir():
            raise FileNotFoundError(f"{mount}: no such folder; create it first")

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


def _sync(file: Any, path: Path) -> None:
    """Bring a local file to the disk: the one in JOBDIR may be removed once this one was verified."""
    disk = Disk()
    file.flush()
    disk.sync(file.fileno())
    disk.sync_folder(path.parent)
    disk.sync_folder(path.parent.parent)


def _discard(file: Any) -> None:
    """Give up a file that is being written.

    Closing it would complete it: a part of a file, under its whole name.
    """
    with suppress(Exception):
        file.discard()
    with suppress(Exception):
        file.closed = True
