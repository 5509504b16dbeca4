"""A WACZ file as a stream: entries with their digests, then datapackage.json and its own digest (spec 1.1.1)."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from os import SEEK_END
from typing import BinaryIO, Self
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

VERSION = "1.1.1"
PIECE = 1 << 20
LIMIT = (1 << 31) - 1  # bytes: Python's for a plain entry
READABLE = 0o100644 << 16  # a regular file that all may read


class Package:
    """Entries are written one after the other, in bounded memory; what is packed already is stored as it is."""

    def __init__(self, file: BinaryIO, now: float) -> None:
        self._zip = ZipFile(file, "w", allowZip64=True)
        self._when = time.gmtime(now)
        self._resources: list[dict[str, str | int]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError, ValueError):  # what failed was raised already; half a package goes with its folder
            self._zip.close()

    def add(self, path: str, file: BinaryIO, *, deflate: bool = False) -> None:
        """Writes a file from its beginning as one entry.

        What is larger than LIMIT has a second field for its length, in the entry as in the directory at the end.
        wabac.js takes an entry to have one only if the directory says so: what is smaller must have none.
        """
        digest, size, length = sha256(), 0, file.seek(0, SEEK_END)
        file.seek(0)
        with self._zip.open(self._entry(path, deflate=deflate), "w", force_zip64=length > LIMIT) as out:
            while piece := file.read(PIECE):
                digest.update(piece)
                size += len(piece)
                out.write(piece)
        name = path.rpartition("/")[2].lower()
        self._resources.append({"name": name, "path": path, "hash": f"sha256:{digest.hexdigest()}", "bytes": size})

    def close(self, about: Mapping[str, str]) -> None:
        """Writes what the package says of itself: the entries, and `about`."""
        says = {
            "profile": "data-package",
            "resources": self._resources,
            "wacz_version": VERSION,
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", self._when),
            "software": "webcrawl",
            **about,
        }
        data = json.dumps(says, indent=2, ensure_ascii=False).encode()
        seal = {"path": "datapackage.json", "hash": f"sha256:{sha256(data).hexdigest()}"}
        self._zip.writestr(self._entry("datapackage.json", deflate=True), data)
        self._zip.writestr(self._entry("datapackage-digest.json", deflate=True), json.dumps(seal, indent=2))
        self._zip.close()

    def _entry(self, path: str, *, deflate: bool) -> ZipInfo:
        entry = ZipInfo(path, self._when[:6])
        entry.compress_type = ZIP_DEFLATED if deflate else ZIP_STORED
        entry.external_attr = READABLE
        return entry
