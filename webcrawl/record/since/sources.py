"""Finds the index files that the argument `since` names, and their archive files.

A note in the folder of the crawl's own index lists the files from which the index was made.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import NamedTuple

from webcrawl.base.digest import SHA1
from webcrawl.record.since.cdx_server import SERVER, parsed
from webcrawl.record.warc.reader import OPEN
from webcrawl.store.disk import Disk, replacing
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawls import HIVE, crawls_of, number_of
from webcrawl.store.jobdir.index_line import INDEX

FOLDER, FILES = "since", "files.json"  # below the folder of a crawl's state
VERSION = 1


class FileSignature(NamedTuple):
    """Shows whether a file is still the same; of a CDX server, when the comparing began."""

    path: str
    size: int
    time: int  # nanoseconds since 1970


def sign(path: Path) -> FileSignature:
    """Return the sign of a file. A missing file has one that no file has."""
    try:
        status = path.stat()
    except OSError:
        return FileSignature(str(path), -1, 0)
    return FileSignature(str(path), status.st_size, status.st_mtime_ns)


def read_kept(folder: Path) -> list[FileSignature] | None:
    """Return the files from which the index in this folder was made; None if it is not complete."""
    try:
        kept = json.loads((folder / FILES).read_bytes())
        if kept["version"] != VERSION:
            return None
        return [
            FileSignature(str(path), int(size), int(time)) for path, size, time in kept["files"]
        ]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        # JSON that is nested without end raises RecursionError
        return None


def read_algorithms(folder: Path) -> set[str]:
    """Return the algorithms of the digests in this folder's index. Earlier versions used SHA-1."""
    return {*json.loads((folder / FILES).read_bytes()).get("digests", (SHA1,))}


def write_kept(disk: Disk, folder: Path, signs: list[FileSignature], algorithms: set[str]) -> None:
    """Note the files of an index, which is complete now."""
    kept = {"version": VERSION, "files": signs, "digests": sorted(algorithms)}
    with replacing(disk, folder / FILES) as fd:
        disk.write(fd, json.dumps(kept).encode())


INDEXES = (INDEX, ".cdx", f"{INDEX}.gz", ".cdx.gz")
WARCS = (".warc", ".warc.gz", ".warc.zst")
BESIDE = ("archive", "warc")  # folders of archive files beside the index's, in WACZ and in a JOBDIR


class NoEarlier(StoreError):  # noqa: N818 - reads as what it is
    """The argument names no file that can be read; the message is one line."""


@dataclass(slots=True)
class EarlierSources:
    """Index files and addresses of CDX servers, each once, and a line for each omission."""

    files: list[Path] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    servers: list[str] = field(default_factory=list)

    def add_server(self, address: str) -> None:
        try:
            parsed(address)
        except ValueError as error:
            raise NoEarlier(f"{address}: {error}") from error
        if address not in self.servers:
            self.servers.append(address)


def sources(argument: str, jobdir: Path) -> EarlierSources:
    """Return the indexes and servers that the argument names.

    Raise NoEarlier if a part of it names none, or the crawl's own JOBDIR.
    """
    try:
        return _sources(argument, jobdir)
    except NoEarlier as error:
        raise NoEarlier(f"-a since={error}") from error


def _sources(argument: str, jobdir: Path) -> EarlierSources:
    found = EarlierSources()
    own = _whole(jobdir.resolve())
    for part in filter(None, map(str.strip, argument.split(","))):
        if part.startswith(SERVER):
            found.add_server(part)
        else:
            _add_files(part, own, found)
    if not found.files and not found.servers:
        raise NoEarlier(
            " is empty: give the JOBDIR of an earlier crawl, a .cdxj file or a folder of them, or cdx+http://…"
        )
    return found


def _add_files(part: str, own: Path, found: EarlierSources) -> None:
    """Add the indexes that a path names.

    Raise NoEarlier if there are none, or if they are the crawl's own.
    """
    path = Path(part)
    servers_before = len(found.servers)
    try:
        files = list(dict.fromkeys(_named(path, part, found)))
    except OSError as error:
        raise NoEarlier(f"{part}: {error.strerror or error}") from error
    if _is_within(own, [path.resolve() / INDEX, *files]):
        raise NoEarlier(f"{part}: contains this crawl's own JOBDIR; name an earlier crawl")
    # The earlier crawl may itself have compared with a server only
    has_new_servers = len(found.servers) > servers_before
    if not files and not has_new_servers:
        why = "".join(f"; {line}" for line in found.left_out)
        raise NoEarlier(f"{part}: contains no finished index of an archive (*{INDEX}){why}")
    found.files += [file for file in files if file not in found.files]


def _is_within(folder: Path, files: list[Path]) -> bool:
    """Return whether any of the files is in this folder."""
    return any(folder in file.parents for file in files)


def _whole(jobdir: Path) -> Path:
    """Return the folder of the whole crawl: for a drone, that of its hive."""
    is_drone = number_of(jobdir) is not None and (jobdir.parent / HIVE).is_file()
    return jobdir.parent if is_drone else jobdir


def archive_of(index: Path, name: str) -> Iterator[Path]:
    """Yield the places where this archive file may be, the likeliest first.

    Only the last part of the name counts, so that it cannot lead to other folders.
    """
    last = PurePath(name).name
    yield index.parent / last
    for folder in BESIDE:
        yield index.parent.parent / folder / last


def _named(path: Path, part: str, found: EarlierSources) -> Iterator[Path]:
    """Yield the index files that a path names, and note what is left out."""
    if path.is_file():
        if not path.name.endswith(INDEXES):
            unpacked = "; unpack the package, and give its folder" if path.suffix == ".wacz" else ""
            raise NoEarlier(
                f"{part}: is neither an index file ({', '.join(INDEXES)}) nor a folder{unpacked}"
            )
        yield path.resolve()
    elif path.is_dir():
        yield from _inside(path, found)
        # An unpacked WACZ package has its indexes there
        yield from _inside(path / "indexes", found)
        for crawl in crawls_of(path):
            if not crawl.is_dir():
                found.left_out.append(f"{crawl}: left out, because this drone's folder is missing")
            yield from _before(crawl, found)
            yield from _inside(crawl / "warc", found)
    else:
        raise NoEarlier(f"{part}: no such file or folder")


def _before(crawl: Path, found: EarlierSources) -> Iterator[Path]:
    """Yield the indexes with which this crawl compared: unchanged pages are only in their archives."""
    for path, _, _ in read_kept(crawl / "state" / FOLDER) or ():
        # The earlier crawl compared with a CDX server, too
        if path.startswith(SERVER):
            found.add_server(path)
        elif Path(path).is_file():
            yield Path(path)
        else:
            found.left_out.append(
                f"{path}: left out, because the file that {crawl} refers to is missing"
            )


def _inside(folder: Path, found: EarlierSources) -> Iterator[Path]:
    """Yield the folder's index files by name: the order in which a crawl wrote its own."""
    if not folder.is_dir():
        return
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        found.left_out.append(f"{folder}: left out: {error.strerror}")
        return
    found.left_out += _unreadable(folder, names)
    for name in names:
        if not name.endswith(INDEXES):
            continue
        path = folder.resolve() / name
        if path.is_file():
            yield path
        else:
            found.left_out.append(f"{path}: left out, because it is not a file")


def _unreadable(folder: Path, names: Sequence[str]) -> Iterator[str]:
    """Yield a line for archive files that no finished index has, and one for unfinished indexes."""
    indexed: set[str] = set()
    archives: list[str] = []
    unfinished = 0
    for name in names:
        if name.endswith(INDEXES):
            indexed.add(name.rpartition(".cdx")[0])
        elif name.endswith(WARCS):
            archives.append(name.rsplit(".warc", 1)[0])
        elif name.endswith(INDEX + OPEN):
            unfinished += 1
    without_index = sum(archive not in indexed for archive in archives)
    if without_index:
        yield f"{folder}: left out archive files without an index: {without_index}"
    if unfinished:
        yield (
            f"{folder}: left out unfinished files: {unfinished}; "
            "if that crawl was killed, resume it first"
        )
