"""Finds the archive files that a command's arguments name, also inside of WACZ packages.

A package is a ZIP file. A path leads into it, `crawl.wacz/archive/x.warc.gz`, and the file is read
in place, because the standard wants it to be stored without compression.
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
# zipfile raises the latter two for odd versions, and for names that are no text
BROKEN = (BadZipFile, NotImplementedError, ValueError)


def package_of(path: Path) -> Path | None:
    """Return the package that this path leads into, or None."""
    return next((one for one in path.parents if one.suffix == WACZ and one.is_file()), None)


def packed(package: Path, endings: tuple[str, ...]) -> list[Path]:
    """Return the paths of the files in a package whose names have one of these endings.

    Raise OSError if the package, or one of the files in place, cannot be read.
    """
    try:
        entries = list(_entries(package).values())
    except BROKEN as error:
        raise OSError(f"not a WACZ package: {error}") from error
    wanted = [entry for entry in entries if entry.filename.endswith((*endings, WACZ))]
    for entry in wanted:
        _check_entry(entry)
    # Thousands of entries may be the same bytes
    if sum(entry.file_size for entry in wanted) > package.stat().st_size:
        raise OSError("its directory lists more bytes than the package has")
    return sorted(package / entry.filename for entry in wanted)


def _check_entry(entry: ZipInfo) -> None:
    """Raise OSError if the file cannot be read in place."""
    inside = PurePosixPath(entry.filename)
    # A path of ours would lead to another file
    if inside.is_absolute() or ".." in inside.parts:
        raise OSError(f"{entry.filename}: this name leads out of the package")
    if inside.suffix == WACZ:
        raise OSError(f"{entry.filename} is a package inside the package: unpack it first")
    is_encrypted = entry.flag_bits & 1
    if entry.compress_type != ZIP_STORED or is_encrypted:
        raise OSError(f"{entry.filename} is compressed inside the package: unpack it first")


def _entries(package: Path) -> dict[str, ZipInfo]:
    """Return the directory of a package by path. It is read once for all files of the package."""
    status = package.stat()
    return _directory(package, status.st_size, status.st_mtime_ns)


@lru_cache(4)
def _directory(package: Path, _size: int, _time: int) -> dict[str, ZipInfo]:
    with ZipFile(package) as file:
        return {PurePosixPath(one.filename).as_posix(): one for one in file.infolist()}


def opened(path: Path) -> BinaryIO:
    """Open an archive file, in a package or not, to read it."""
    package = package_of(path)
    if package is None:
        return regular(path)
    return io.BufferedReader(_Stored(package, path))


def size_of(path: Path) -> int:
    """Return the size of an archive file in bytes."""
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
            raise OSError(f"the file is not in the package: {error}") from error
        # The extra field of this header may have another length than the one in the directory
        name_size = int.from_bytes(header[26:28], "little")
        extra_size = int.from_bytes(header[28:30], "little")
        self._begin = entry.header_offset + HEADER + name_size + extra_size
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
    """Return the files, each once and in order, and the files that are named again."""
    found: dict[str, Path] = {}
    again: list[Path] = []
    for argument in arguments:
        for path in _named(argument):
            name = name_of(path)
            shown = readable(name)
            if shown != name:
                raise NoArchive(
                    f"{shown}: the path has control or invalid characters, so progress cannot be "
                    "recorded under it: rename it"
                )
            if name in found:
                again.append(path)
            else:
                found[name] = path
    return list(found.values()), again


def _named(argument: str) -> Iterator[Path]:
    """Yield the archive files that an argument names. Raise NoArchive if there are none."""
    path = Path(argument)
    if argument == "-":
        raise NoArchive(
            "-: archives cannot be read from standard input, as reading could not be "
            "resumed: give a file"
        )
    if path.is_dir():
        yield from _of_folder(path)
    elif path.exists():
        yield from _files_of(path)
    else:
        yield from chain.from_iterable(map(_files_of, _matches(argument)))


def _of_folder(folder: Path) -> Iterator[Path]:
    """Yield the WARC files of a folder, a crawl, a hive or an unpacked package, or else those in the
    folder's packages.
    """
    packages = sorted(folder.glob(f"*{WACZ}"))
    # A folder of archives, a JOBDIR, an unpacked package; else a hive
    within = (folder, folder / "warc", folder / "archive")
    files = next(filter(None, map(_inside, within)), []) or _of_drones(folder)
    if not files and not packages:
        raise NoArchive(f"{folder}: no WARC files in this folder")
    if not files:
        yield from chain.from_iterable(map(_files_of, packages))
        return
    if packages:
        logger.warning(
            "%s: WACZ packages are left out, because they may have the same archives; name the "
            "packages to read them",
            folder,
        )
    yield from files


def _matches(pattern: str) -> list[Path]:
    """Return the paths that match a pattern of the shell. Raise NoArchive if there are none."""
    matches = sorted(glob(pattern, recursive=True)) if has_magic(pattern) else []  # noqa: PTH207 - it may be absolute
    if not matches:
        raise NoArchive(f"{pattern}: no such file")
    return [Path(match) for match in matches]


def _inside(folder: Path) -> list[Path]:
    """Return the WARC files by name: the order in which a crawl wrote its own."""
    if not folder.is_dir():
        return []
    return [
        _readable(path)
        for path in sorted(folder.iterdir())
        if path.name.removesuffix(OPEN).endswith(ENDINGS)
    ]


def _of_drones(jobdir: Path) -> list[Path]:
    """Return all files of a hive, drone by drone; none for a folder that is no hive."""
    try:
        crawls = crawls_of(jobdir) if hive_of(jobdir) is not None else []
    except StoreError as error:
        raise NoArchive(str(error)) from error
    for crawl in crawls:
        if not crawl.is_dir():
            logger.warning("%s: left out, because this drone's folder is missing", crawl)
    return list(chain.from_iterable(_inside(crawl / "warc") for crawl in crawls))


def _files_of(path: Path) -> list[Path]:
    """Return the file itself, or the files in a package."""
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
                raise NoArchive(f"{path}: is not a file, so reading it could not be resumed")
    except OSError as error:
        raise NoArchive(f"{path}: {(error.strerror or str(error)).lower()}") from error
    return path
