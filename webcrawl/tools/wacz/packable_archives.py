"""The finished archive files of a crawl, and one sorted index of all, which readers search."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from heapq import merge
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from isal import isal_zlib

from webcrawl.base.readable import readable
from webcrawl.base.url_text import visible
from webcrawl.frontier.seen.sorted_keys import opened
from webcrawl.record.objectstore.storing import elsewhere
from webcrawl.record.warc.reader import ReadRecord
from webcrawl.record.warc.unpacking import TornRecord
from webcrawl.store.disk import Disk, regular
from webcrawl.store.jobdir.crawls import is_crawl
from webcrawl.store.jobdir.index_line import (
    ARCHIVE,
    INDEX,
    INDEXED,
    REVISIT,
    SHAPE,
    archive_of,
    begin,
    end,
    index_of,
    method,
    mime,
    place,
    truncated,
)
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.lines import sort_lines
from webcrawl.store.lock import is_held
from webcrawl.store.output import OPEN, Mark
from webcrawl.store.outputs import FINISHED, NOTED
from webcrawl.tools.wacz.warc_records import media_type, records, status

FOLDER = "warc"
IN_STORE = ": all are in the store; copy them back first"
NOT_HERE = ": its files are no longer here"
NONE_YET = ": the crawl has not finished its first"


@dataclass(frozen=True, slots=True)
class PackableArchives:
    """Files of a crawl that can be packed, by name; the rest in words."""

    paths: list[Path]
    left_out: list[str]


def archives_of(jobdir: Path, *, running: bool) -> PackableArchives:
    """Return all finished files. Raise CannotPack if there is none, or one was left unfinished.

    A finished file stays what it is, even if the crawl is started or goes on meanwhile.
    """
    folder = jobdir / FOLDER
    if not folder.is_dir():
        raise NothingToPack(f"{jobdir}: not a crawl with an archive: {FOLDER}/ is missing")
    names = sorted(path.name for path in folder.iterdir())
    here = [name for name in names if name.endswith(ARCHIVE)]
    begun = [name for name in names if name.endswith(ARCHIVE + OPEN)]
    if begun and not running:
        raise CannotPack(
            f"{folder / begun[0]}: is not finished: start the crawl again to finish it"
        )
    _refuse_unpackable(folder, names)
    gone = _gone(jobdir, names)
    stored = elsewhere(jobdir)
    if not here:
        raise NothingToPack(f"{folder}: no finished archive file{_why_none(gone, begun, stored)}")
    left_out = []
    for name in gone:
        path = f"{FOLDER}/{name}"
        left_out.append(f"{path}: left out, because it {_why_gone(stored, path)}")
    left_out += [f"{FOLDER}/{name}: left out, because it is not finished yet" for name in begun]
    return PackableArchives([folder / name for name in here], left_out)


def _gone(jobdir: Path, names: Sequence[str]) -> list[str]:
    """Return the archive files that the crawl had: its state or an index names them."""
    indexed = [archive_of(name) for name in names if name.endswith(INDEX)]
    here = [name.removesuffix(OPEN) for name in names]
    return sorted(_noted(jobdir).union(indexed).difference(here))


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


def _why_none(gone: Sequence[str], begun: Sequence[str], stored: Mapping[str, str]) -> str:
    """Return, for the end of a line, why no finished file is here; empty if there never was one."""
    if any(f"{FOLDER}/{name}" in stored for name in gone):
        return IN_STORE
    if gone:
        return NOT_HERE
    return NONE_YET if begun else ""


def _why_gone(stored: Mapping[str, str], name: str) -> str:
    if name in stored:
        return f"is in the store: {stored[name]}/{name}"
    return "is no longer here"


def archives_of_all(jobdirs: Sequence[Path]) -> PackableArchives:
    """Return the finished files of one crawl, or of all drones of a hive.

    Raise CannotPack if no crawl has a file, or two files have the same name.
    """
    if len(jobdirs) == 1:
        return archives_of(jobdirs[0], running=is_held(jobdirs[0] / "state"))
    paths: dict[str, Path] = {}
    left_out: list[str] = []
    for jobdir in jobdirs:
        try:
            found = archives_of(jobdir, running=is_held(jobdir / "state"))
        except NothingToPack as nothing:
            left_out.append(f"left out: {nothing}")
            continue
        left_out += [f"{jobdir.name}/{line}" for line in found.left_out]
        for path in found.paths:
            if path.name in paths:
                raise CannotPack(
                    f"{path}: has the same name as {paths[path.name]}: pack the drones one by one"
                )
            paths[path.name] = path
    if not paths:
        stored = IN_STORE if any(IN_STORE in line for line in left_out) else ""
        raise NothingToPack(f"{jobdirs[0].parent}: no drone has a finished archive file{stored}")
    return PackableArchives([*paths.values()], left_out)


def index_path(archive: Path) -> Path:
    """Return the place of the index of an archive file, if it is there."""
    return archive.with_name(index_of(archive.name))


def _noted(jobdir: Path) -> set[str]:
    """Return the archive files that the crawl has finished, as far as its state says so."""
    if not is_crawl(jobdir):
        return set()
    snapshot, files = opened(jobdir / "state")
    try:
        start = f"{FINISHED}{FOLDER}/"
        rows = snapshot.rows("SELECT name FROM meta WHERE name GLOB ?", (f"{start}*{ARCHIVE}",))
        return {str(name).removeprefix(start) for (name,) in rows}
    finally:
        files.close()
        snapshot.close()


def written(jobdirs: Sequence[Path]) -> dict[Path, Mark]:
    """Return the bytes and checksums of the finished archive files, as far as these crawls know."""
    found: dict[Path, Mark] = {}
    for jobdir in filter(is_crawl, jobdirs):
        for name, mark in JobDir(jobdir).read(_marks).items():
            found[jobdir / name.removesuffix(OPEN)] = mark
    return found


def _marks(snapshot: Snapshot) -> dict[str, Mark]:
    return {str(name): (length, crc) for name, length, crc, _ in snapshot.rows(NOTED)}


class CannotPack(Exception):  # noqa: N818 - reads as what it is
    """The archive cannot be packed; the message is one line for the user."""


class NothingToPack(CannotPack):
    """A crawl has no finished archive file; others of its hive may have."""


NAME = "index.cdx.gz"
BLOCK = 1024  # lines, 60 KB packed: what a reader loads for one page
GZIP = 31  # zlib's number for a gzip member
LEVEL = 2
WAYS = 200  # files merged at once
_ENDS = re.compile(r'["\\]')  # a text in JSON


def make_index(archive: Path, target: Path) -> None:
    """Write the sorted index of an archive file that has none."""
    lines = target.with_name(f"{target.name}.lines")
    with regular(archive) as file, lines.open("wb") as out:
        out.writelines(_lines(records(archive, file), archive.name))
    sort_lines(Disk(), lines, target)
    lines.unlink()


def merged(indexes: list[Path], scratch: Path) -> Iterator[bytes]:
    """Yield all lines of these sorted files, in order; few files are open at a time."""
    while len(indexes) > WAYS:
        joined = []
        for at in range(0, len(indexes), WAYS):
            target = scratch / f"{len(indexes)}-{at}"
            joined.append(_joined(indexes[at : at + WAYS], target))
        indexes = joined
    with ExitStack() as opened:
        yield from merge(*[opened.enter_context(regular(path)) for path in indexes])


def _joined(group: list[Path], target: Path) -> Path:
    with ExitStack() as opened, target.open("wb") as out:
        out.writelines(merge(*[opened.enter_context(regular(path)) for path in group]))
    return target


def blocks(
    lines: Iterable[bytes], keys: BinaryIO, counted: Callable[[int], None]
) -> Iterator[bytes]:
    """Yield the lines as gzip members; `keys` gets each first key and place (cdxj-gzip-1.0)."""
    keys.write(b'!meta 0 {"format": "cdxj-gzip-1.0", "filename": "%s"}\n' % NAME.encode())
    at, rest = 0, iter(lines)
    while block := list(islice(rest, BLOCK)):
        packed = isal_zlib.compress(b"".join(block), LEVEL, GZIP)
        place = {
            "offset": at,
            "length": len(packed),
            "digest": f"sha256:{sha256(packed).hexdigest()}",
        }
        keys.write(b" ".join((*block[0].split(b" ", 2)[:2], json.dumps(place).encode())) + b"\n")
        at += len(packed)
        counted(len(block))
        yield packed


def _lines(found: Iterable[ReadRecord], archive: str) -> Iterator[bytes]:
    """Yield the lines of a file's records, each once the records that belong to it have come."""
    answer: ReadRecord | None = None
    asked = ""
    about: dict[str, str] = {}
    for record in found:
        if record.kind in INDEXED:
            if answer is not None:
                yield _line(answer, archive, asked, about)
            answer = record
            asked = ""
            about = {}
            continue
        belongs_to_answer = answer is not None and record.names(answer.id, "warc-concurrent-to")
        if not belongs_to_answer:
            continue
        if record.kind == "metadata":
            about = record.values()
        elif record.kind == "request" and not record.block.startswith(b"GET "):
            asked = method(record.block)
    if answer is not None:
        yield _line(answer, archive, asked, about)


def _digest(record: ReadRecord, about: Mapping[str, str]) -> str:
    """Return the digest of the payload.

    Of a response with a transfer coding, only the metadata record `about` it has the digest.
    """
    if record.kind == "conversion":
        return record.fields.get("warc-block-digest", "")
    noted = ""
    if record.kind == "response" and "withheld" not in about:
        noted = about.get("payloaddigest", "")
    return record.fields.get("warc-payload-digest") or noted or "-"


def _line(record: ReadRecord, archive: str, asked: str, about: Mapping[str, str]) -> bytes:
    """Return the line as the crawl writes it. `asked`: of an answer to another request than GET."""
    digest = _digest(record, about)
    is_revisit = record.kind == "revisit"
    kind = REVISIT if is_revisit else media_type(record)
    code = status(record)
    came = f'"status": "{code}", ' if code else ""
    start = begin(visible(record.url), record.fields.get("warc-date", ""))
    cut = "" if is_revisit else record.fields.get("warc-truncated", "")
    why = truncated(cut) if cut.isalpha() and cut.isascii() else ""
    where = place(digest, record.length, record.place.offset)
    line = f"{start}{mime(kind)}{came}{asked}{why}{where}{end(archive)}".encode()
    # a field that would begin others, or another line
    if SHAPE.fullmatch(line) is None or _ENDS.search(digest):
        raise TornRecord(
            f"byte {record.place.offset}: the fields of this record do not fit in an index"
        )
    return line
