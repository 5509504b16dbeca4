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

# In memory at a time, and in each part of an upload to S3. s3fs's own `put` keeps ten parts of
# 50 MB in memory.
PIECE_BYTES = 16 << 20
LOCAL = "file"  # the protocol of folders on this machine
ADDRESS_FORM = "the address of a folder or bucket, such as s3://bucket/crawl or file:///mnt/archive"
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*)://([^\s\\]+)")


class BadAddress(ValueError):  # noqa: N818 - reads as what it is
    """The address cannot be used. `shown` is the address without its credentials, for messages."""

    def __init__(self, why: str, shown: str) -> None:
        super().__init__(why)
        self.shown = shown


class UploadStopped(Exception):  # noqa: N818
    """The crawl ends, and does not wait for this file."""


class StoreRefusal(Exception):  # noqa: N818
    """A file cannot be stored until the operator has solved the problem: no retry would help."""


def read_address(text: str) -> str:
    """Return the address of a store in its normal form, without a slash at its end.

    Raise BadAddress if the text is no address of a store, or contains credentials.
    """
    shown = _masked(text)
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise BadAddress("", shown)
    scheme = match[1]
    rest = match[2]
    if shown != text:
        raise BadAddress("it contains credentials; put them into the environment instead", shown)
    if scheme == LOCAL and not rest.startswith("/"):
        raise BadAddress("a folder needs three slashes, as in file:///mnt/archive", shown)
    if scheme == "memory":
        raise BadAddress("a store in memory would be lost with this process", shown)
    if ".." in rest.split("/"):
        raise BadAddress("the path must not contain ..", shown)
    return f"{scheme}://{rest.rstrip('/') or '/'}"


def check_packages(address: str) -> None:
    """Raise BadAddress if the address needs a package that is missing, or has an unknown protocol.

    The message says what to install.
    """
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


def address_below(address: str, folder: str) -> str:
    return f"{address.rstrip('/')}/{folder}"


def _masked(text: str) -> str:
    """Return an address without its password, query and fragment: a query may contain a key."""
    plain = re.sub(r"(://[^/?#@]*?):[^/?#]*@", r"\1:***@", text)
    return re.sub(r"[?#].*", "?***", plain, count=1, flags=re.DOTALL)


# Stores without folders. If asked for a folder, s3fs would create the bucket instead.
FLAT_PROTOCOLS = frozenset(("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oci", "oss"))
# Stores that refuse to replace a file if the request says so (If-None-Match)
EXCLUSIVE_PROTOCOLS = frozenset(("s3", "s3a", LOCAL))
# Of one upload: S3 accepts 10,000. The parts of larger files are larger.
MAX_PARTS = 9_999
# Packages that at DEBUG log requests with their signatures, and much more than a crawl's log
# should have
TALKATIVE_LOGGERS = (
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
    """A folder in a store. Its methods raise any kind of exception: the store's, or the network's.

    Credentials, and the address of a server that is not the provider's own, come from the
    environment.

    A folder on this machine must exist; of a drone's folder, its parent must. If the crawl created
    it, a disk that is not mounted would go unnoticed, and the files would fill the disk below.
    """

    def __init__(self, address: str) -> None:
        """Open the folder at an address that `read_address` returned, without asking the store."""
        for name in TALKATIVE_LOGGERS:
            logging.getLogger(name).setLevel(logging.WARNING)
        from fsspec.core import url_to_fs  # noqa: PLC0415 - optional

        self._fs, self._root = url_to_fs(
            address, skip_instance_cache=True, use_listings_cache=False
        )
        self._is_exclusive = not EXCLUSIVE_PROTOCOLS.isdisjoint(self._protocols)
        self._is_local = LOCAL in self._protocols

    def check(self) -> None:
        """Raise if the store is unreachable, refuses access, or has no such folder or bucket."""
        self._check_mount()
        # This raises what is wrong with the store. `exists` would return False for any error.
        self.size("warc")
        # A file in a bucket that is missing looks like a missing file: ask for the bucket itself
        root = self._root
        if not FLAT_PROTOCOLS.isdisjoint(self._protocols):
            root = root.strip("/").partition("/")[0]
        if not self._fs.exists(root) and root != self._root:
            raise FileNotFoundError(f"{root}: no such bucket; create it first")

    def size(self, name: str) -> int | None:
        """Return the size of a file in the store in bytes, or None if the store lacks the file."""
        self._check_mount()
        try:
            return int(self._info(name)["size"])
        except FileNotFoundError:
            return None

    def put(self, name: str, size: int, pieces: Iterator[bytes], *, new: bool) -> None:
        """Write a file of `size` bytes. If `pieces` raises, remove what was written, if possible.

        With `new`, raise FileExistsError if the store has the file already. Some stores cannot
        tell, and replace it.
        """
        path = self._path(name)
        mode = "xb" if new and self._is_exclusive else "wb"
        self._check_mount()
        if FLAT_PROTOCOLS.isdisjoint(self._protocols):
            self._fs.makedirs(path.rpartition("/")[0], exist_ok=True)
        file = self._fs.open(path, mode, block_size=max(PIECE_BYTES, -(-size // MAX_PARTS)))
        try:
            for piece in pieces:
                file.write(piece)
            # fsspec never syncs
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
            # An old server that does not know If-None-Match: the next try goes without
            if isinstance(error, OSError) and error.errno == errno.ENOSYS:
                self._is_exclusive = False
            _discard(file)
            raise

    def etag(self, name: str) -> str:
        """Return the ETag of a file, without its quotes; empty if the store has none.

        S3's ETag is a checksum of the content, unless the store encrypts with keys of its own.
        """
        return str(self._info(name).get("ETag") or "").strip('"')

    def read(self, name: str) -> Generator[bytes]:
        """Yield the bytes of a file in pieces.

        Each piece is a request of its own, so that a stalled connection costs one piece only.
        """
        path = self._path(name)
        size = int(self._info(name)["size"])
        for at in range(0, size, PIECE_BYTES):
            yield self._fs.cat_file(path, start=at, end=min(at + PIECE_BYTES, size))

    def remove(self, name: str) -> None:
        """Remove a file. Do nothing if the store lacks it."""
        # On a disk that is not mounted no file is found: the crawl would count it as removed
        self._check_mount()
        with suppress(FileNotFoundError):
            self._fs.rm_file(self._path(name))

    def _check_mount(self) -> None:
        """Raise FileNotFoundError if the folder on this machine is missing."""
        if not self._is_local:
            return
        root = Path(self._root)
        # A drone's folder is created with its first file
        mount = root if number_of(root) is None else root.parent
        if not mount.is_dir():
            raise FileNotFoundError(f"{mount}: no such folder; create it first")

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def _info(self, name: str) -> dict[str, Any]:
        self._fs.invalidate_cache()
        info: dict[str, Any] = self._fs.info(self._path(name))
        return info

    @property
    def _protocols(self) -> tuple[str, ...]:
        protocol = self._fs.protocol
        return (protocol,) if isinstance(protocol, str) else tuple(protocol)


def _sync(file: Any, path: Path) -> None:
    """Sync a local file and its folders: the crawl may remove its own file once this is verified."""
    disk = Disk()
    file.flush()
    disk.sync(file.fileno())
    disk.sync_folder(path.parent)
    disk.sync_folder(path.parent.parent)


def _discard(file: Any) -> None:
    """Give up a file that is being written, without closing it.

    `close` would complete the upload: the store would have part of a file under its full name.
    """
    with suppress(Exception):
        file.discard()
    with suppress(Exception):
        file.closed = True
