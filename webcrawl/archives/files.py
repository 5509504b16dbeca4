"""Which archive files the arguments of a command name: files, folders, and patterns that no shell has expanded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from glob import glob, has_magic
from itertools import chain
from pathlib import Path

from webcrawl.archives.archives import name_of
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdirs import crawls_of, hive_of
from webcrawl.warc.reader import OPEN

ENDINGS = (".warc", ".warc.gz", ".warc.zst")


class NoArchive(Exception):  # noqa: N818 - reads as what it is
    """An argument that names no archive file; the message is one line."""


def archive_files(arguments: Sequence[str]) -> tuple[list[Path], list[Path]]:
    """The files, each once, in the order in which they are named; and those named again."""
    found: dict[str, Path] = {}
    again: list[Path] = []
    for argument in arguments:
        for path in _named(argument):
            name = name_of(path)
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
        files = _inside(path) or _inside(path / "warc") or _of_drones(path)
        if not files:
            raise NoArchive(f"{path}: no WARC files in this folder")
        yield from files
    elif path.exists():
        yield _readable(path)
    elif has_magic(argument):
        matches = [Path(name) for name in sorted(glob(argument, recursive=True))]  # noqa: PTH207 - it may be absolute
        if not matches:
            raise NoArchive(f"{argument}: no such file")
        yield from map(_readable, matches)
    else:
        raise NoArchive(f"{argument}: no such file")


def _inside(folder: Path) -> list[Path]:
    """Sorted by name, which for a crawl's own files is the order in which they were written."""
    if not folder.is_dir():
        return []
    return [_readable(path) for path in sorted(folder.iterdir()) if path.name.removesuffix(OPEN).endswith(ENDINGS)]


def _of_drones(jobdir: Path) -> list[Path]:
    """All files of a hive, drone by drone."""
    try:
        crawls = crawls_of(jobdir) if hive_of(jobdir) is not None else []
    except StoreError as error:
        raise NoArchive(str(error)) from error
    return list(chain.from_iterable(_inside(crawl / "warc") for crawl in crawls))


def _readable(path: Path) -> Path:
    try:
        with path.open("rb") as file:
            if not file.seekable():
                raise NoArchive(f"{path}: not a file: it could not be resumed")
    except OSError as error:
        raise NoArchive(f"{path}: {(error.strerror or str(error)).lower()}") from error
    return path
