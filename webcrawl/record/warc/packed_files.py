"""Archive files in a WACZ package (a ZIP file), by a path that goes on inside of it: `crawl.wacz/archive/x.warc.gz`.

They are read in place, which the standard makes possible: they should be stored there as they are.
"""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from webcrawl.store.disk import regular

WACZ = ".wacz"
HEADER = 30  # bytes of a file's header in a ZIP file, before its name and extra field
BROKEN = (BadZipFile, NotImplementedError, ValueError)  # the latter two for odd versions, and names that are no text


def package_of(path: Path) -> Path | None:
    """The package that this path leads into."""
    return next((one for one in path.parents if one.suffix == WACZ and one.is_file()), None)


def packed(package: Path, endings: tuple[str, ...]) -> list[Path]:
    """The files in a package whose names end so, as they are to be read. OSError: it cannot be, or one not in place."""
    try:
        found = [one for one in _entries(package).values() if one.filename.endswith((*endings, WACZ))]
    except BROKEN as error:
        raise OSError(f"not a WACZ package: {error}") from error
    for one in found:
        inside = PurePosixPath(one.filename)
        if inside.is_absolute() or ".." in inside.parts:  # a path of ours would lead to another file
            raise OSError(f"{one.filename}: a name that leads out of it")
        if inside.suffix == WACZ:
            raise OSError(f"{one.filename} is a package within it: unpack it first")
        if one.compress_type != ZIP_STORED or one.flag_bits & 1:
            raise OSError(f"{one.filename} is compressed within it: unpack it first")
    if sum(one.file_size for one in found) > package.stat().st_size:  # thousands may be the same bytes
        raise OSError("its directory names more bytes than it has")
    return sorted(package / one.filename for one in found)


def _entries(package: Path) -> dict[str, ZipInfo]:
    """The directory of a package by the paths that lead into it, read once for all of its files: some have many."""
    status = package.stat()
    return _directory(package, status.st_size, status.st_mtime_ns)


@lru_cache(4)
def _directory(package: Path, _size: int, _time: int) -> dict[str, ZipInfo]:
    with ZipFile(package) as file:
        return {PurePosixPath(one.filename).as_posix(): one for one in file.infolist()}


def opened(path: Path) -> BinaryIO:
    """An archive file, wherever it lies, to be read."""
    package = package_of(path)
    return io.BufferedReader(_Stored(package, path)) if package is not None else regular(path)


def size_of(path: Path) -> int:
    """Its size in bytes."""
    if package_of(path) is None:
        return path.stat().st_size
    with opened(path) as file:
        return file.seek(0, 2)


class _Stored(io.RawIOBase):
    """The bytes of one file in a ZIP file."""

    def __init__(self, package: Path, path: Path) -> None:
        self._file = regular(package)
        try:
            entry = _entries(package)[path.relative_to(package).as_posix()]
            self._file.seek(entry.header_offset)
            header = self._file.read(HEADER)
        except (*BROKEN, KeyError) as error:
            self._file.close()
            raise OSError(f"not in the package: {error}") from error
        name, extra = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
        self._begin, self._size, self._at = entry.header_offset + HEADER + name + extra, entry.file_size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = max(0, offset + (0, self._at, self._size)[whence])
        return self._at

    def readinto(self, buffer: Any, /) -> int:
        self._file.seek(self._begin + self._at)
        data = self._file.read(max(0, min(len(buffer), self._size - self._at)))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()
