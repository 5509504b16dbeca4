"""Archive files: those that the arguments of a command name, also inside of WACZ packages.

A package is a ZIP file. A path leads into it, `crawl.wacz/archive/x.warc.gz`, and the file is read
in place, which the standard makes possible: it should be stored there as it is.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Sequence
from functools import lru_cache
from glob import glob, has_magic
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from webcrawl.base.readable import readable
from webcrawl.store.disk import regular
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawls import crawls_of, hive_of
from webcrawl.store.output import OPEN

logger = logging.getLogger(__name__)

WACZ = ".wacz"
ENDINGS = (".warc", ".warc.gz", ".warc.zst")
HEADER = 30  # bytes of a file's header in a ZIP file, before its name and extra field
# the latter two for odd versions, and names that are no text
BROKEN = (BadZipFile, NotImplementedError, ValueError)


def package_of(path: Path) -> Path | None:
    """The package that this path leads into."""
    return next((one for one in path.parents if one.suffix == WACZ and one.is_file()), None)


def packed(package: Path, endings: tuple[str, ...]) -> list[Path]:
    """The files in a package whose names end so, as they are to be read.

    OSError: it cannot be, or one not in place.
    """
    try:
        found = [
            one for one in _entries(package).values() if one.filename.endswith((*endings, WACZ))
        ]
    except BROKEN as error:
        raise OSError(f"not a WACZ package: {error}") from error
    for one in found:
        inside = PurePosixPath(one.filename)
        # a path of ours would lead to another file
        if inside.is_absolute() or ".." in inside.parts:
            raise OSError(f"{one.filename}: a name that leads out of it")
        if inside.suffix == WACZ:
            raise OSError(f"{one.filename} is a package within it: unpack it first")
        if one.compress_type != ZIP_STORED or one.flag_bits & 1:
            raise OSError(f"{one.filename} is compressed within it: unpack it first")
    # thousands may be the same bytes
    if sum(one.file_size for one in found) > package.stat().st_size:
        raise OSError("its directory names more bytes than it has")
    return sorted(package / one.filename for one in found)


def _entries(package: Path) -> dict[str, ZipInfo]:
    """The directory of a package by the paths that lead into it, read once for all of its files:
    some have many.
    """
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
        self._begin = entry.header_offset + HEADER + name + extra
        self._size = entry.file_size
        self._at = 0

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


def name_of(path: Path) -> str:
    """Return the name of a file, the same while it is written and once it is finished."""
    return str(path.resolve()).removesuffix(OPEN)


class NoArchive(Exception):  # noqa: N818 - reads as what it is
    """An argument that names no archive file; the message is one line."""


def archive_files(arguments: Sequence[str]) -> tuple[list[Path], list[Path]]:
    """The files, each once, in the order in which they are named; and those named again."""
    found: dict[str, Path] = {}
    again: list[Path] = []
    for argument in arguments:
        for path in _named(argument):
            name = name_of(path)
            if (shown := readable(name)) != name:
                raise NoArchive(
                    f"{shown}: strange characters, by which nothing can note how far it was read"
                )
            if name in found:
                again.append(path)
            else:
                found[name] = path
    return list(found.values()), again


def _named(argument: str) -> Iterator[Path]:
    path = Path(argument)
    if argument == "-":
        raise NoArchive("-: an archive on standard input could not be resumed: name a file")
    if path.is_dir():
        packages = sorted(path.glob(f"*{WACZ}"))
        files = _inside(path) or _inside(path / "warc") or _of_drones(path)
        if files and packages:
            logger.warning(
                "%s: WACZ packages are left out, which may have the same archives: name those to read",
                path,
            )
        if not files and not packages:
            raise NoArchive(f"{path}: no WARC files in this folder")
        yield from files or chain.from_iterable(map(_files_of, packages))
    elif path.exists():
        yield from _files_of(path)
    elif has_magic(argument):
        matches = [Path(name) for name in sorted(glob(argument, recursive=True))]  # noqa: PTH207 - it may be absolute
        if not matches:
            raise NoArchive(f"{argument}: no such file")
        yield from chain.from_iterable(map(_files_of, matches))
    else:
        raise NoArchive(f"{argument}: no such file")


def _inside(folder: Path) -> list[Path]:
    """Sorted by name, which for a crawl's own files is the order in which they were written."""
    if not folder.is_dir():
        return []
    return [
        _readable(path)
        for path in sorted(folder.iterdir())
        if path.name.removesuffix(OPEN).endswith(ENDINGS)
    ]


def _of_drones(jobdir: Path) -> list[Path]:
    """All files of a hive, drone by drone."""
    try:
        crawls = crawls_of(jobdir) if hive_of(jobdir) is not None else []
    except StoreError as error:
        raise NoArchive(str(error)) from error
    for crawl in crawls:
        if not crawl.is_dir():
            logger.warning("%s: this drone's folder is missing: left out", crawl)
    return list(chain.from_iterable(_inside(crawl / "warc") for crawl in crawls))


def _files_of(path: Path) -> list[Path]:
    """The file itself, or those in a package."""
    _readable(path)
    if path.suffix != WACZ:
        return [path]
    try:
        files = packed(path, ENDINGS)
    except OSError as error:
        raise NoArchive(f"{path}: {error}") from error
    if not files:
        raise NoArchive(f"{path}: no WARC files in this package")
    return files


def _readable(path: Path) -> Path:
    try:
        with path.open("rb") as file:
            if not file.seekable():
                raise NoArchive(f"{path}: not a file: it could not be resumed")
    except OSError as error:
        raise NoArchive(f"{path}: {(error.strerror or str(error)).lower()}") from error
    return path
