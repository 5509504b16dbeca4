"""Where finished files go: what the crawl needs of a store, and how an address becomes one."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from typing import Protocol

PIECE = 16 << 20  # bytes in memory at a time, and of each part of an upload to S3
FILE = "file"
ALLOWED = "the address of a folder or bucket, such as s3://bucket/crawl or file:///mnt/archive, or none"
EXTRA = "pip install 'webcrawl[store]'"
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
        """How many bytes the file has there; None: there is none."""

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
    if ".." in rest.split("/"):
        raise BadAddress("without ..", shown)
    return f"{scheme}://{rest.rstrip('/') or '/'}"


def check_packages(address: str) -> None:
    """BadAddress, with what to install, if the packages that this address needs are missing."""
    scheme = address.partition(":")[0]
    if scheme == FILE:
        return
    if find_spec("fsspec") is None:
        raise BadAddress(f"fsspec is not installed: {EXTRA}", address)
    from fsspec import get_filesystem_class  # noqa: PLC0415 - optional

    try:
        get_filesystem_class(scheme)
    except ImportError as error:
        raise BadAddress(f"{' '.join(str(error).split())}: {EXTRA} brings what s3:// needs", address) from error
    except ValueError as error:
        raise BadAddress(f"{scheme}:// is not known to fsspec", address) from error


def below(address: str, folder: str) -> str:
    """The address of a folder in a store."""
    return f"{address.rstrip('/')}/{folder}"


def open_place(address: str) -> Place:
    """The store at an address that was checked. Whether it answers is not asked."""
    if address.startswith(f"{FILE}://"):
        from webcrawl.objectstore.folder import Folder  # noqa: PLC0415 - each needs this module

        return Folder(address.removeprefix(f"{FILE}://"))
    from webcrawl.objectstore.remote import Remote  # noqa: PLC0415 - fsspec is optional

    return Remote(address)


def _masked(text: str) -> str:
    """Without a password, and without what follows a question mark or a number sign: keys are written there."""
    plain = re.sub(r"(://[^/?#@]*?):[^/?#]*@", r"\1:***@", text)
    return re.sub(r"[?#].*", "?***", plain, count=1, flags=re.DOTALL)
