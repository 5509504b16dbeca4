"""Finds and opens the archive files that a command's arguments name, also in WACZ packages.

A package is a ZIP file. The path of a file in it leads through the package, as in
`crawl.wacz/archive/x.warc.gz`. The file is read in place, because the standard wants it to be
stored without compression.
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
WARC_ENDINGS = (".warc", ".warc.gz", ".warc.zst")
LOCAL_HEADER_BYTES = 30  # of a file's header in a ZIP file, without its name and extra field
# zipfile raises NotImplementedError for unknown versions, and ValueError for malformed names
ZIP_ERRORS = (BadZipFile, NotImplementedError, ValueError)


def package_of(path: Path) -> Path | None:
    """Return the package that this path leads into, or None."""
    for parent in path.parents:
        if parent.suffix == WACZ and parent.is_file():
            return parent
    return None


def archives_in_package(package: Path, endings: tuple[str, ...]) -> list[Path]:
    """Return the paths of the files in a package whose names have one of these endings, sorted.

    Raise OSError if the package cannot be read, or one of the files cannot be read in place.
    """
    try:
        entries = list(_entries(package).values())
    except ZIP_ERRORS as error:
        raise OSError(f"not a WACZ package: {error}") from error
    wanted = [entry for entry in entries if entry.filename.endswith((*endings, WACZ))]
    for entry in wanted:
        _check_entry(entry)
    # A hostile directory may list the same bytes thousands of times
    if sum(entry.file_size for entry in wanted) > package.stat().st_size:
        raise OSError("its directory lists more bytes than the package has")
    return sorted(package / entry.filename for entry in wanted)


def _check_entry(entry: ZipInfo) -> None:
    """Raise OSError if a file in a package cannot be read in place."""
    inside = PurePosixPath(entry.filename)
    # Appended to the package's path, this name would lead to another file
    if inside.is_absolute() or ".." in inside.parts:
        raise OSError(f"{entry.filename}: this name leads out of the package")
    if inside.suffix == WACZ:
        raise OSError(f"{entry.filename} is a package inside the package: unpack it first")
    is_encrypted = entry.flag_bits & 1
    if entry.compress_type != ZIP_STORED or is_encrypted:
        raise OSError(f"{entry.filename} is compressed inside the package: unpack it first")


def _entries(package: Path) -> dict[str, ZipInfo]:
    """Return the directory of a package, by path. It is kept until the package changes."""
    status = package.stat()
    return _directory(package, status.st_size, status.st_mtime_ns)


@lru_cache(4)
def _directory(package: Path, _size: int, _time: int) -> dict[str, ZipInfo]:
    with ZipFile(package) as file:
        return {PurePosixPath(entry.filename).as_posix(): entry for entry in file.infolist()}


def open_archive(path: Path) -> BinaryIO:
    """Open an archive file for reading, in a package or not. Raise OSError."""
    package = package_of(path)
    if package is None:
        return regular(path)
    return io.BufferedReader(_StoredFile(package, path))


def archive_size(path: Path) -> int:
    """Return the size of an archive file in bytes."""
    if package_of(path) is None:
        return path.stat().st_size
    with open_archive(path) as file:
        return file.seek(0, 2)


class _StoredFile(io.RawIOBase):
    """A file that is stored in a ZIP file without compression."""

    def __init__(self, package: Path, path: Path) -> None:
        """Open a package at the file with this path, which leads through the package."""
        self._file = regular(package)
        try:
            entry = _entries(package)[path.relative_to(package).as_posix()]
            self._file.seek(entry.header_offset)
            header = self._file.read(LOCAL_HEADER_BYTES)
        except (*ZIP_ERRORS, KeyError) as error:
            self._file.close()
            raise OSError(f"the file is not in the package: {error}") from error
        # This header may have an extra field of another length than the directory's entry
        name_size = int.from_bytes(header[26:28], "little")
        extra_size = int.from_bytes(header[28:30], "little")
        self._begin = entry.header_offset + LOCAL_HEADER_BYTES + name_size + extra_size
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


def archive_name(path: Path) -> str:
    """Return the absolute path of a file without `.open`: the same before and after its end."""
    return str(path.resolve()).removesuffix(OPEN)


class NoArchive(Exception):  # noqa: N818 - reads as what it is
    """An argument names no archive file; the message is one line."""


def archive_files(arguments: Sequence[str]) -> tuple[list[Path], list[Path]]:
    """Return the files that the arguments name, each once, and those that are named repeatedly.

    Raise NoArchive if an argument names no file that can be read.
    """
    path_by_name: dict[str, Path] = {}
    repeated: list[Path] = []
    for argument in arguments:
        for path in _archives_named(argument):
            name = archive_name(path)
            shown = readable(name)
            if shown != name:
                raise NoArchive(
                    f"{shown}: the path has control or invalid characters, so progress cannot be "
                    "recorded under it: rename it"
                )
            if name in path_by_name:
                repeated.append(path)
            else:
                path_by_name[name] = path
    return list(path_by_name.values()), repeated


def _archives_named(argument: str) -> Iterator[Path]:
    """Yield the archive files that an argument names. Raise NoArchive if there are none."""
    path = Path(argument)
    if argument == "-":
        raise NoArchive(
            "-: archives cannot be read from standard input, as reading could not be "
            "resumed: give a file"
        )
    if path.is_dir():
        yield from _archives_of_folder(path)
    elif path.exists():
        yield from _archives_at(path)
    else:
        yield from chain.from_iterable(map(_archives_at, _matches(argument)))


def _archives_of_folder(folder: Path) -> Iterator[Path]:
    """Yield the archive files of a folder, or those in its packages if it has no others.

    The folder may have the files itself, or be a JOBDIR, a hive or an unpacked package. Raise
    NoArchive if there are none.
    """
    packages = sorted(folder.glob(f"*{WACZ}"))
    # In the folder itself, in a JOBDIR, or in an unpacked package
    for place in (folder, folder / "warc", folder / "archive"):
        files = _archives_in(place)
        if files:
            break
    else:
        files = _archives_of_hive(folder)
    if not files and not packages:
        raise NoArchive(f"{folder}: no WARC files in this folder")
    if not files:
        yield from chain.from_iterable(map(_archives_at, packages))
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


def _archives_in(folder: Path) -> list[Path]:
    """Return the archive files in a folder by name, the order in which a crawl wrote its own.

    Raise NoArchive if one of them cannot be read.
    """
    if not folder.is_dir():
        return []
    return [
        _check_readable(path)
        for path in sorted(folder.iterdir())
        if path.name.removesuffix(OPEN).endswith(WARC_ENDINGS)
    ]


def _archives_of_hive(jobdir: Path) -> list[Path]:
    """Return the archive files of a hive, drone by drone; none if the folder is no hive."""
    try:
        crawls = crawls_of(jobdir) if hive_of(jobdir) is not None else []
    except StoreError as error:
        raise NoArchive(str(error)) from error
    for crawl in crawls:
        if not crawl.is_dir():
            logger.warning("%s: left out, because this drone's folder is missing", crawl)
    return list(chain.from_iterable(_archives_in(crawl / "warc") for crawl in crawls))


def _archives_at(path: Path) -> list[Path]:
    """Return the archive file at this path, or the files in it if it is a package.

    Raise NoArchive if it cannot be read, or if the package has no archive files.
    """
    _check_readable(path)
    if path.suffix != WACZ:
        return [path]
    try:
        files = archives_in_package(path, WARC_ENDINGS)
    except OSError as error:
        raise NoArchive(f"{path}: {error}") from error
    if not files:
        raise NoArchive(f"{path}: no WARC files in this package")
    return files


def _check_readable(path: Path) -> Path:
    """Return the path. Raise NoArchive if the file cannot be read from any byte on."""
    try:
        with path.open("rb") as file:
            if not file.seekable():
                raise NoArchive(f"{path}: is not a file, so reading it could not be resumed")
    except OSError as error:
        raise NoArchive(f"{path}: {(error.strerror or str(error)).lower()}") from error
    return path
