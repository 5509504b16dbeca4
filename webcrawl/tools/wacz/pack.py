"""Packs the archive of a crawl or hive into a WACZ file (docs/archive.md)."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from os import SEEK_END
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Self
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from webcrawl import __version__
from webcrawl.base.dates import read_digits
from webcrawl.base.program import program
from webcrawl.base.readable import by_type, count
from webcrawl.base.url_text import page_of_view
from webcrawl.content.formats.sniffing import UNNAMED
from webcrawl.record.since.cdx_server import SERVER
from webcrawl.record.since.sources import FOLDER as SINCE
from webcrawl.record.since.sources import read_kept
from webcrawl.record.warc.check_archive import WITHHELD
from webcrawl.record.warc.reader import NotWarc, ReadRecord
from webcrawl.record.warc.unpacking import TornRecord
from webcrawl.store.disk import Disk, own_folder, regular
from webcrawl.store.jobdir.crawls import crawls_of
from webcrawl.store.jobdir.index_line import TRUNCATED, read
from webcrawl.store.output import Mark
from webcrawl.tools.wacz.packable_archives import (
    NAME,
    CannotPack,
    archives_of_all,
    blocks,
    index_path,
    make_index,
    merged,
    written,
)
from webcrawl.tools.wacz.warc_records import (
    CaptureReference,
    PageEntry,
    elsewhere,
    first_of,
    header,
    pages,
    record_at,
    records,
    unanswered,
)
from webcrawl.urls.exclusion_rules import Forgotten

PART = ".part"  # after the name: the folder in which the package is put together
MIB = 1 << 20
NOBODY = Forgotten()
STAY = (
    "are in no index and no list of this package; their bytes are still in its archive files: "
    f"{program()} account --list-records"
)
ORIGIN = ("description", "operator", "isPartOf", "hostname")  # of warcinfo, in datapackage.json too
NO_LINKS = frozenset((errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK))


def pack(
    jobdir: Path, target: Path, now: float, found: Counter[str], forgotten: Forgotten = NOBODY
) -> Iterator[str]:
    """Yield what has to be said; afterwards `target` is whole, and `found` has the figures.

    What is `forgotten` is in no index and no list of the package.

    CannotPack, StoreError or OSError: nothing is there, and nothing was changed.
    """
    if not jobdir.is_dir():
        raise CannotPack(f"{jobdir}: no such folder")
    _refuse_existing(target)
    with ExitStack() as opened:
        crawls, folder = crawls_of(jobdir), opened.enter_context(_folder(target))
        archives = archives_of_all(crawls)
        _refuse_full(target.parent, archives.paths)
        yield from archives.left_out
        indexes = []
        for path in archives.paths:
            index = _index(path, folder)
            indexes.append(_remembered(index, folder, forgotten, found))
        if found["forgotten"]:
            yield f"{count(found['forgotten'], 'record')} of sites that asked to be forgotten {STAY}"
        both = list(zip(archives.paths, indexes, strict=True))
        first = first_of(indexes)
        if cut := _cut_answers(both):
            yield f"{count(cut.total(), 'answer')} cut: {by_type(cut)}"
        lacking = unanswered(_elsewhere(both, first), indexes, first)
        if lacking:
            yield (
                f"{count(lacking, 'record')} without a body, which is in earlier "
                f"archives{_compared_with(crawls)}"
            )
        marks = written(crawls)
        with (folder / "package").open("wb+") as file:
            with WaczPackage(file, now) as package:
                origin: dict[str, str] = {}  # as the last file that says it has it
                for path in archives.paths:
                    with regular(path) as archive:
                        # its index may be empty: no other file gets in by a link or its name
                        with _as_indexed(path):
                            origin |= _origin(next(records(path, archive), None))
                        entry = package.add(f"archive/{path.name}", archive)
                    _refuse_altered(path, entry, marks.get(path))
                found["files"] = len(archives.paths)
                _add_index(package, indexes, folder, found)
                main = _add_pages(package, both, first, folder, found)
                # Not `relation.requires`, as browsertrix-crawler has it: viewers expect packages
                # there, and look for each.
                depends = {"refersTo": [{"records": lacking}]} if lacking else {}
                title = {"title": jobdir.resolve().name}
                package.close({**title, **origin, **main, **depends})
            file.flush()
            os.fsync(file.fileno())
            found["bytes"] = file.tell()
        _name(folder / "package", target)


def _refuse_altered(archive: Path, entry: ZipInfo, mark: Mark | None) -> None:
    """Raise CannotPack if a packed archive file has other bytes than its crawl has written.

    A file that was finished after the last checkpoint may be longer than is known of it.
    """
    if mark is None or entry.file_size > mark[0]:
        return
    if (entry.file_size, entry.CRC) != mark:
        raise CannotPack(
            f"{archive}: is not as the crawl wrote it: `{program()} verify` shows where"
        )


def _origin(first: ReadRecord | None) -> dict[str, str]:
    """Return what the first record of an archive file says of the crawl's owner and purpose."""
    if first is None or first.kind != "warcinfo":
        return {}
    said = first.values()
    return {name: said[name.lower()] for name in ORIGIN if said.get(name.lower())}


def _index(archive: Path, folder: Path) -> Path:
    """Return the index of an archive file: the one beside it, or one made now."""
    beside = index_path(archive)
    if beside.exists():
        return beside
    made = folder / beside.name
    try:
        make_index(archive, made)
    except TornRecord as torn:
        raise CannotPack(
            f"{archive}: is damaged ({torn}): `{program()} verify` shows where"
        ) from torn
    return made


def _remembered(index: Path, folder: Path, forgotten: Forgotten, found: Counter[str]) -> Path:
    """Return the index of an archive, or one without what is to be forgotten."""
    if not forgotten:
        return index
    kept = folder / f"{index.name}.kept"
    with regular(index) as lines, kept.open("wb") as out:
        for line in lines:
            if _is_forgotten(line, forgotten):
                found["forgotten"] += 1
            else:
                out.write(line)
    return kept


def _is_forgotten(line: bytes, forgotten: Forgotten) -> bool:
    """Return whether a line is to be left out; of an unreadable line others complain."""
    try:
        found = read(line)
        return forgotten.has(page_of_view(found.url), read_digits(f"{found.stamp}000"))
    except (ValueError, IndexError):
        return False


def _cut_answers(both: list[tuple[Path, Path]]) -> Counter[str]:
    """Return how many answers have cut bodies, by the media type that these show."""
    cut = Counter[str]()
    for archive, index in both:
        with regular(index) as lines, regular(archive) as file, _as_indexed(archive):
            for line in lines:
                if TRUNCATED.encode() not in line:
                    continue
                record = record_at(archive, file, read(line).offset)
                if record.kind != "revisit" and record.fields.get("warc-truncated") != WITHHELD:
                    cut[record.fields.get("warc-identified-payload-type", UNNAMED)] += 1
    return cut


@contextmanager
def _as_indexed(archive: Path) -> Iterator[None]:
    """Raise CannotPack if what is read of an archive file is not as its index says."""
    try:
        yield
    except (TornRecord, NotWarc, ValueError, KeyError, IndexError) as error:
        raise CannotPack(
            f"{archive}: does not match its index ({error}): `{program()} verify` shows where"
        ) from error


def _elsewhere(both: list[tuple[Path, Path]], first: str) -> Iterator[CaptureReference]:
    for archive, index in both:
        with _as_indexed(archive):
            yield from elsewhere(archive, index, first)


def _compared_with(crawls: Sequence[Path]) -> str:
    """Return, for the end of a line, where the archives compared with lie; empty if unknown."""
    places: dict[str, None] = {}
    for crawl in crawls:
        for one in read_kept(crawl / "state" / SINCE) or ():
            is_server = one.path.startswith(SERVER)
            places[one.path if is_server else str(Path(one.path).parent)] = None
    return f": {', '.join(places)}" if places else ""


def _add_index(
    package: WaczPackage, indexes: list[Path], folder: Path, found: Counter[str]
) -> None:
    def counted(lines: int) -> None:
        found["records"] += lines

    # Into files first: an entry's length must be known before it is written. The indexes are
    # sorted, so that memory stays constant.
    with TemporaryFile(dir=folder) as packed, TemporaryFile(dir=folder) as keys:
        for block in blocks(merged(indexes, folder), keys, counted):
            packed.write(block)
        package.add(f"indexes/{NAME}", packed)
        package.add("indexes/index.idx", keys, deflate=True)


def _add_pages(
    package: WaczPackage,
    archives: list[tuple[Path, Path]],
    start: str,
    folder: Path,
    found: Counter[str],
) -> dict[str, str]:
    """Add the list of seeds and of all other pages; return what is said of the first seed."""
    first: PageEntry | None = None
    with ExitStack() as opened:
        seeds = opened.enter_context(TemporaryFile(dir=folder))
        others = opened.enter_context(TemporaryFile(dir=folder))
        seeds.write(header("pages", "Seeds"))
        others.write(header("extra-pages", "Other pages"))
        for archive, index in archives:
            for page in _pages(archive, index, start):
                if not page.is_seed:
                    others.write(page.line())
                    found["others"] += 1
                    continue
                seeds.write(page.line())
                found["seeds"] += 1
                if first is None or page.stamp < first.stamp:
                    first = page
        package.add("pages/pages.jsonl", seeds, deflate=True)
        if found["others"]:
            package.add("pages/extraPages.jsonl", others, deflate=True)
    return {} if first is None else {"mainPageUrl": first.url, "mainPageDate": first.date}


def _pages(archive: Path, index: Path, start: str) -> Iterator[PageEntry]:
    with regular(archive) as file, regular(index) as lines, _as_indexed(archive):
        yield from pages(lines, archive, file, start)


@contextmanager
def _folder(target: Path) -> Iterator[Path]:
    """Make an empty folder beside the file to be, for this process alone; removed at the end."""
    folder = target.with_name(target.name + PART)
    own_folder(folder)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CannotPack(f"{target}: another process is writing it") from error
        for left in folder.iterdir():
            left.unlink()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(fd)


def _refuse_existing(target: Path) -> None:
    if target.exists() or target.is_symlink():
        raise CannotPack(f"{target}: already exists: remove it, or choose another name with -o")


def _refuse_full(folder: Path, archives: list[Path]) -> None:
    """Refuse a disk without room: the archive is copied, so its size is known."""
    needed, free = sum(path.stat().st_size for path in archives), shutil.disk_usage(folder).free
    if free < needed:
        raise CannotPack(
            f"{folder}: {free // MIB} MiB are free, but {needed // MIB + 1} MiB are needed"
        )


def _name(whole: Path, target: Path) -> None:
    """Give the package its name, which nobody else may have taken meanwhile."""
    # A link fails if the name is taken, and `rename` would replace what has it.
    try:
        os.link(whole, target)
    except FileExistsError:
        _refuse_existing(target)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        _refuse_existing(target)
        whole.rename(target)
    Disk().sync_folder(target.parent)


VERSION = "1.1.1"
PIECE = 1 << 20
LIMIT = (1 << 31) - 1  # bytes: Python's for a plain entry
READABLE = 0o100644 << 16  # a regular file that all may read


class WaczPackage:
    """Writes entries one by one, in bounded memory; what is packed already is stored as it is."""

    def __init__(self, file: BinaryIO, now: float) -> None:
        self._zip = ZipFile(file, "w", allowZip64=True)
        self._when = time.gmtime(now)
        self._resources: list[dict[str, str | int]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # what failed was raised already; half a package goes with its folder
        with suppress(OSError, ValueError):
            self._zip.close()

    def add(self, path: str, file: BinaryIO, *, deflate: bool = False) -> ZipInfo:
        """Write a file from its beginning as one entry, and return it.

        What is larger than LIMIT has a second field for its length, in the entry as in the
        directory at the end. wabac.js takes an entry to have one only if the directory says so:
        what is smaller must have none.
        """
        digest, size, length = sha256(), 0, file.seek(0, SEEK_END)
        file.seek(0)
        entry = self._entry(path, deflate=deflate)
        with self._zip.open(entry, "w", force_zip64=length > LIMIT) as out:
            while piece := file.read(PIECE):
                digest.update(piece)
                size += len(piece)
                out.write(piece)
        name = path.rpartition("/")[2].lower()
        self._resources.append(
            {"name": name, "path": path, "hash": f"sha256:{digest.hexdigest()}", "bytes": size}
        )
        return entry

    def close(self, about: Mapping[str, object]) -> None:
        """Write what the package says of itself: the entries, and `about`."""
        says = {
            "profile": "data-package",
            "resources": self._resources,
            "wacz_version": VERSION,
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", self._when),
            "software": f"webcrawl {__version__}",
            **about,
        }
        # A folder's name may be no text: JSON has an escape for what UTF-8 cannot encode
        data = json.dumps(says, indent=2, ensure_ascii=False).encode(errors="backslashreplace")
        seal = {"path": "datapackage.json", "hash": f"sha256:{sha256(data).hexdigest()}"}
        self._zip.writestr(self._entry("datapackage.json", deflate=True), data)
        self._zip.writestr(
            self._entry("datapackage-digest.json", deflate=True), json.dumps(seal, indent=2)
        )
        self._zip.close()

    def _entry(self, path: str, *, deflate: bool) -> ZipInfo:
        entry = ZipInfo(path, self._when[:6])
        entry.compress_type = ZIP_DEFLATED if deflate else ZIP_STORED
        entry.external_attr = READABLE
        return entry
