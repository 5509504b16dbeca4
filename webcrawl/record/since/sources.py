"""Finds the index files that the argument `since` names, and the archive files beside them.

In the folder of the crawl's own index, a list has the files from which that index was made.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import NamedTuple

from webcrawl.base.digest import SHA1
from webcrawl.record.since.cdx_server import SERVER_PREFIX, parse_server_address
from webcrawl.record.warc.archive_files import WARC_ENDINGS
from webcrawl.store.disk import Disk, replacing
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawls import HIVE, crawls_of, number_of
from webcrawl.store.jobdir.index_line import INDEX, INDEX_ENDINGS
from webcrawl.store.output import OPEN

FOLDER = "since"  # in the folder of a crawl's state
FILES_LIST = "files.json"  # in that folder
VERSION = 1


class FileSignature(NamedTuple):
    """Path, size and time of a file, which show whether it is still the same.

    For a CDX server: its address, and when the crawl began to ask it.
    """

    path: str
    size: int
    time: int  # nanoseconds since 1970


def signature_of(path: Path) -> FileSignature:
    """Return the signature of a file. A missing file has the size -1."""
    try:
        status = path.stat()
    except OSError:
        return FileSignature(str(path), -1, 0)
    return FileSignature(str(path), status.st_size, status.st_mtime_ns)


def read_indexed_files(folder: Path) -> list[FileSignature] | None:
    """Return the files from which the index in this folder was made; None if it is incomplete."""
    try:
        noted = json.loads((folder / FILES_LIST).read_bytes())
        if noted["version"] != VERSION:
            return None
        return [
            FileSignature(str(path), int(size), int(time)) for path, size, time in noted["files"]
        ]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        # Deeply nested JSON raises RecursionError
        return None


def read_algorithms(folder: Path) -> set[str]:
    """Return the algorithms of the digests in this folder's index."""
    noted = json.loads((folder / FILES_LIST).read_bytes())
    # Earlier versions noted no algorithms, and used SHA-1 only
    return {*noted.get("digests", (SHA1,))}


def write_indexed_files(
    disk: Disk, folder: Path, signatures: list[FileSignature], algorithms: set[str]
) -> None:
    """Note the files and the digest algorithms of an index, which makes the index complete."""
    noted = {"version": VERSION, "files": signatures, "digests": sorted(algorithms)}
    with replacing(disk, folder / FILES_LIST) as fd:
        disk.write(fd, json.dumps(noted).encode())


# folders of archive files beside the index's, in WACZ and in a JOBDIR
ARCHIVE_FOLDERS = ("archive", "warc")


class NoEarlier(StoreError):  # noqa: N818 - reads as what it is
    """The argument names nothing that can be read; the message is one line."""


@dataclass(slots=True)
class EarlierSources:
    """The index files and the addresses of CDX servers that an argument names, each once."""

    files: list[Path] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # a line for each omission
    servers: list[str] = field(default_factory=list)

    def add_server(self, address: str) -> None:
        """Add a server, unless it is there. Raise NoEarlier if the address cannot be used."""
        try:
            parse_server_address(address)
        except ValueError as error:
            raise NoEarlier(f"{address}: {error}") from error
        if address not in self.servers:
            self.servers.append(address)


def sources(argument: str, jobdir: Path) -> EarlierSources:
    """Return the index files and servers that the argument names, separated by commas.

    Raise NoEarlier if a part of the argument names none, or the crawl's own JOBDIR.
    """
    try:
        return _sources(argument, jobdir)
    except NoEarlier as error:
        raise NoEarlier(f"-a since={error}") from error


def _sources(argument: str, jobdir: Path) -> EarlierSources:
    """Return what `sources` does. The messages of NoEarlier do not begin with the option."""
    earlier_sources = EarlierSources()
    own = _folder_of_whole_crawl(jobdir.resolve())
    for part in filter(None, map(str.strip, argument.split(","))):
        if part.startswith(SERVER_PREFIX):
            earlier_sources.add_server(part)
        else:
            _add_files(part, own, earlier_sources)
    if not earlier_sources.files and not earlier_sources.servers:
        raise NoEarlier(
            " is empty: give the JOBDIR of an earlier crawl, a .cdxj file or a folder of them, or cdx+http://…"
        )
    return earlier_sources


def _add_files(part: str, own: Path, earlier_sources: EarlierSources) -> None:
    """Add the index files that a path names to `earlier_sources`.

    `own` is the folder of this crawl. Raise NoEarlier if there are no index files, or if they are
    in `own`.
    """
    path = Path(part)
    servers_before = len(earlier_sources.servers)
    try:
        files = list(dict.fromkeys(_named(path, part, earlier_sources)))
    except OSError as error:
        raise NoEarlier(f"{part}: {error.strerror or error}") from error
    if _is_within(own, [path.resolve() / INDEX, *files]):
        raise NoEarlier(f"{part}: contains this crawl's own JOBDIR; name an earlier crawl")
    # An earlier crawl without an index of its own may have compared with a server
    has_new_servers = len(earlier_sources.servers) > servers_before
    if not files and not has_new_servers:
        why = "".join(f"; {line}" for line in earlier_sources.left_out)
        raise NoEarlier(f"{part}: contains no finished index of an archive (*{INDEX}){why}")
    earlier_sources.files += [file for file in files if file not in earlier_sources.files]


def _is_within(folder: Path, files: list[Path]) -> bool:
    """Return whether any of the files is in this folder."""
    return any(folder in file.parents for file in files)


def _folder_of_whole_crawl(jobdir: Path) -> Path:
    """Return the folder of the hive for the folder of a drone, or else the folder itself."""
    is_drone = number_of(jobdir) is not None and (jobdir.parent / HIVE).is_file()
    return jobdir.parent if is_drone else jobdir


def possible_archives(index: Path, name: str) -> Iterator[Path]:
    """Yield the paths at which an archive file that an index names may be, the likeliest first.

    Only the last part of the name is used, so that it cannot lead to other folders.
    """
    last = PurePath(name).name
    yield index.parent / last
    for folder in ARCHIVE_FOLDERS:
        yield index.parent.parent / folder / last


def _named(path: Path, part: str, earlier_sources: EarlierSources) -> Iterator[Path]:
    """Yield the index files that a path names, and add servers and omissions to `earlier_sources`.

    Raise NoEarlier if the path is no index file and no folder.
    """
    if path.is_file():
        if not path.name.endswith(INDEX_ENDINGS):
            unpacked = "; unpack the package, and give its folder" if path.suffix == ".wacz" else ""
            raise NoEarlier(
                f"{part}: is neither an index file ({', '.join(INDEX_ENDINGS)}) nor a folder{unpacked}"
            )
        yield path.resolve()
    elif path.is_dir():
        yield from _inside(path, earlier_sources)
        # An unpacked WACZ package has its indexes there
        yield from _inside(path / "indexes", earlier_sources)
        for crawl in crawls_of(path):
            if not crawl.is_dir():
                earlier_sources.left_out.append(
                    f"{crawl}: left out, because this drone's folder is missing"
                )
            yield from _indexes_compared_with(crawl, earlier_sources)
            yield from _inside(crawl / "warc", earlier_sources)
    else:
        raise NoEarlier(f"{part}: no such file or folder")


def _indexes_compared_with(crawl: Path, earlier_sources: EarlierSources) -> Iterator[Path]:
    """Yield the indexes with which an earlier crawl itself compared.

    The payloads of its unchanged pages are only in the archives of those indexes. CDX servers and
    missing files are added to `earlier_sources`.
    """
    for path, _, _ in read_indexed_files(crawl / "state" / FOLDER) or ():
        if path.startswith(SERVER_PREFIX):
            earlier_sources.add_server(path)
        elif Path(path).is_file():
            yield Path(path)
        else:
            earlier_sources.left_out.append(
                f"{path}: left out, because the file that {crawl} refers to is missing"
            )


def _inside(folder: Path, earlier_sources: EarlierSources) -> Iterator[Path]:
    """Yield the index files in a folder by name, which is the order in which a crawl wrote its own.

    Add a line to `earlier_sources` for what is left out.
    """
    if not folder.is_dir():
        return
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        earlier_sources.left_out.append(f"{folder}: left out: {error.strerror}")
        return
    earlier_sources.left_out += _unreadable(folder, names)
    for name in names:
        if not name.endswith(INDEX_ENDINGS):
            continue
        path = folder.resolve() / name
        if path.is_file():
            yield path
        else:
            earlier_sources.left_out.append(f"{path}: left out, because it is not a file")


def _unreadable(folder: Path, names: Sequence[str]) -> Iterator[str]:
    """Yield a line on archive files without a finished index, and one on unfinished indexes."""
    indexed: set[str] = set()
    archives: list[str] = []
    unfinished = 0
    for name in names:
        if name.endswith(INDEX_ENDINGS):
            indexed.add(name.rpartition(".cdx")[0])
        elif name.endswith(WARC_ENDINGS):
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
