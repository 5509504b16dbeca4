"""The finished archive files of a crawl or hive that can be packed, and why others cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from webcrawl.base.readable import readable
from webcrawl.frontier.seen.sorted_keys import opened
from webcrawl.record.objectstore.storing import addresses_of_absent_files
from webcrawl.store.jobdir.crawls import is_crawl
from webcrawl.store.jobdir.index_line import ARCHIVE, INDEX, archive_of
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.outputs import finished_names
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.lock import is_held
from webcrawl.store.output import OPEN, Mark
from webcrawl.store.outputs import NOTED

FOLDER = "warc"
IN_STORE = ": all are in the store; copy them back first"
NOT_HERE = ": its files are no longer here"
NONE_YET = ": the crawl has not finished its first"


class CannotPack(Exception):  # noqa: N818 - reads as what it is
    """The archive cannot be packed; the message is one line for the user."""


class NothingToPack(CannotPack):
    """A crawl has no finished archive file; others of its hive may have."""


@dataclass(frozen=True, slots=True)
class PackableArchives:
    """The archive files that can be packed, by name, and a line about each that is left out."""

    paths: list[Path]
    left_out: list[str]


def archives_of(jobdir: Path, *, running: bool) -> PackableArchives:
    """Return all finished archive files of a crawl. A finished file stays what it is.

    Raise NothingToPack if there is none, or CannotPack if a crawl that is not `running` has left
    one unfinished.
    """
    folder = jobdir / FOLDER
    if not folder.is_dir():
        raise NothingToPack(f"{jobdir}: not a crawl with an archive: {FOLDER}/ is missing")
    names = sorted(path.name for path in folder.iterdir())
    finished = [name for name in names if name.endswith(ARCHIVE)]
    unfinished = [name for name in names if name.endswith(ARCHIVE + OPEN)]
    # A running crawl finishes its file; one that was killed does so when it is started again.
    if unfinished and not running:
        raise CannotPack(
            f"{folder / unfinished[0]}: is not finished: start the crawl again to finish it"
        )
    _refuse_unpackable(folder, names)
    missing = _missing_archives(jobdir, names)
    stored = addresses_of_absent_files(jobdir)
    if not finished:
        why = _why_none_is_here(missing, unfinished, stored)
        raise NothingToPack(f"{folder}: no finished archive file{why}")
    left_out = []
    for name in missing:
        path = f"{FOLDER}/{name}"
        left_out.append(f"{path}: left out, because it {_where_missing(path, stored)}")
    left_out += [
        f"{FOLDER}/{name}: left out, because it is not finished yet" for name in unfinished
    ]
    return PackableArchives([folder / name for name in finished], left_out)


def _missing_archives(jobdir: Path, names: Sequence[str]) -> list[str]:
    """Return the archive files that the crawl had, and that are not among these names.

    The crawl's state names them, or an index without its file.
    """
    indexed = [archive_of(name) for name in names if name.endswith(INDEX)]
    here = [name.removesuffix(OPEN) for name in names]
    return sorted(_finished_by_state(jobdir).union(indexed).difference(here))


def _refuse_unpackable(folder: Path, names: Sequence[str]) -> None:
    """Raise CannotPack for an archive file of another form, or whose name no index can have."""
    for name in names:
        if ".warc" in name and not name.endswith((ARCHIVE, ARCHIVE + OPEN)):
            raise CannotPack(
                f"{folder / name}: replay programs read only .warc.gz from a WACZ file"
            )
    for name in names:
        shown = readable(name)
        if name.endswith(ARCHIVE) and shown != name:
            raise CannotPack(
                f"{folder}/{shown}: the name has control or invalid characters, which an index "
                "cannot have: rename it"
            )


def _why_none_is_here(
    missing: Sequence[str], unfinished: Sequence[str], stored: Mapping[str, str]
) -> str:
    """Return, for the end of a line, why no finished file is here; empty if there never was one."""
    if any(f"{FOLDER}/{name}" in stored for name in missing):
        return IN_STORE
    if missing:
        return NOT_HERE
    return NONE_YET if unfinished else ""


def _where_missing(path: str, stored: Mapping[str, str]) -> str:
    if path in stored:
        return f"is in the store: {stored[path]}/{path}"
    return "is no longer here"


def archives_of_all(jobdirs: Sequence[Path]) -> PackableArchives:
    """Return the finished archive files of one crawl, or of all drones of a hive.

    Raise CannotPack if no crawl has a file, or if two files have the same name.
    """
    if len(jobdirs) == 1:
        return archives_of(jobdirs[0], running=is_held(jobdirs[0] / "state"))
    paths: dict[str, Path] = {}
    left_out: list[str] = []
    for jobdir in jobdirs:
        try:
            archives = archives_of(jobdir, running=is_held(jobdir / "state"))
        except NothingToPack as nothing:
            left_out.append(f"left out: {nothing}")
            continue
        left_out += [f"{jobdir.name}/{line}" for line in archives.left_out]
        for path in archives.paths:
            if path.name in paths:
                raise CannotPack(
                    f"{path}: has the same name as {paths[path.name]}: pack the drones one by one"
                )
            paths[path.name] = path
    if not paths:
        stored = IN_STORE if any(IN_STORE in line for line in left_out) else ""
        raise NothingToPack(f"{jobdirs[0].parent}: no drone has a finished archive file{stored}")
    return PackableArchives([*paths.values()], left_out)


def _finished_by_state(jobdir: Path) -> set[str]:
    """Return the archive files that the crawl has finished, as far as its state says so."""
    if not is_crawl(jobdir):
        return set()
    snapshot, files = opened(jobdir / "state")
    try:
        names = finished_names(snapshot, f"{FOLDER}/*{ARCHIVE}")
        return {name.removeprefix(f"{FOLDER}/") for name in names}
    finally:
        files.close()
        snapshot.close()


def written_marks(jobdirs: Sequence[Path]) -> dict[Path, Mark]:
    """Return the length and checksum of each archive file, as far as its crawl has noted them."""
    marks: dict[Path, Mark] = {}
    for jobdir in filter(is_crawl, jobdirs):
        for name, mark in JobDir(jobdir).read(_marks).items():
            marks[jobdir / name.removesuffix(OPEN)] = mark
    return marks


def _marks(snapshot: Snapshot) -> dict[str, Mark]:
    return {str(name): (length, crc) for name, length, crc, _ in snapshot.rows(NOTED)}
