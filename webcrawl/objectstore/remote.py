"""A folder in any store that fsspec reaches: `s3://bucket/crawl`, `gs://…`, `memory://…`."""

from __future__ import annotations

import errno
import logging
from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import Any

from webcrawl.objectstore.place import PIECE

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

    def __repr__(self) -> str:
        return f"<Remote {self._address}>"

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
