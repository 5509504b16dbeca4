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
from typing import BinaryIO, NamedTuple, Self
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from webcrawl import __version__
from webcrawl.base.dates import read_digits
from webcrawl.base.program import program
from webcrawl.base.readable import by_type, count
from webcrawl.base.url_text import page_of_view
from webcrawl.content.formats.sniffing import UNNAMED
from webcrawl.record.archives import lacking_bytes
from webcrawl.record.since.cdx_server import SERVER_PREFIX
from webcrawl.record.since.sources import FOLDER as SINCE
from webcrawl.record.since.sources import read_indexed_files
from webcrawl.record.warc.check_archive import WITHHELD
from webcrawl.record.warc.reader import NotWarc, ReadRecord
from webcrawl.record.warc.unpacked_stream import TornRecord
from webcrawl.store.disk import Disk, own_folder, regular
from webcrawl.store.jobdir.crawls import crawls_of
from webcrawl.store.jobdir.index_line import TRUNCATED, read
from webcrawl.store.output import Mark
from webcrawl.tools.wacz.archive_index import (
    INDEX_NAME,
    gzip_blocks,
    index_path,
    make_index,
    merged_lines,
)
from webcrawl.tools.wacz.packable_archives import CannotPack, archives_of_all, written_marks
from webcrawl.tools.wacz.warc_records import (
    CaptureReference,
    PageEntry,
    count_unanswered,
    first_time,
    outside_references,
    page_entries,
    page_list_header,
    record_at,
    records,
)
from webcrawl.urls.exclusion_rules import Forgotten

PART = ".part"  # after the name: the folder in which the package is put together
MIB = 1 << 20
NOTHING_FORGOTTEN = Forgotten()
STILL_IN_FILES = (
    "are in no index and no list of this package; their bytes are still in its archive files: "
    f"{program()} account --list-records"
)
ORIGIN_FIELDS = ("description", "operator", "isPartOf", "hostname")  # of warcinfo
NO_LINK_ERRORS = frozenset((errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK))


class IndexedArchive(NamedTuple):
    """An archive file, and the index by which it is packed."""

    path: Path
    index_file: Path


def pack(
    jobdir: Path,
    target: Path,
    now: float,
    figures: Counter[str],
    forgotten: Forgotten = NOTHING_FORGOTTEN,
) -> Iterator[str]:
    """Pack the archive of a crawl or hive into one WACZ file, and yield lines for the user.

    After the last line `target` is whole, and `figures` has the numbers of what was packed. What is
    `forgotten` is in no index and no list of the package. Raise CannotPack, StoreError or OSError
    if it cannot be packed: then nothing is there, and nothing was changed.
    """
    if not jobdir.is_dir():
        raise CannotPack(f"{jobdir}: no such folder")
    _refuse_existing(target)
    crawls = crawls_of(jobdir)
    with _scratch_folder(target) as scratch:
        packable = archives_of_all(crawls)
        _refuse_full_disk(target.parent, packable.paths)
        yield from packable.left_out
        archives = []
        for path in packable.paths:
            index = _index_without_forgotten(_index(path, scratch), scratch, forgotten, figures)
            archives.append(IndexedArchive(path, index))
        if figures["forgotten"]:
            forgotten_records = count(figures["forgotten"], "record")
            yield f"{forgotten_records} of sites that asked to be forgotten {STILL_IN_FILES}"
        if truncated := _truncated_answers(archives):
            yield f"{count(truncated.total(), 'answer')} truncated: {by_type(truncated)}"
        indexes = [archive.index_file for archive in archives]
        first = first_time(indexes)
        lacking = count_unanswered(_outside_references(archives, first), indexes, first)
        if lacking:
            yield (
                f"{count(lacking, 'record')} without a body, which is in earlier "
                f"archives{_where_earlier_archives_are(crawls)}"
            )
        marks = written_marks(crawls)
        with (scratch / "package").open("wb+") as file:
            with WaczPackage(file, now) as package:
                origin = _add_archives(package, archives, marks)
                figures["files"] = len(archives)
                _add_index(package, indexes, scratch, figures)
                main_page = _add_pages(package, archives, first, scratch, figures)
                # Not `relation.requires`, as browsertrix-crawler has it: viewers expect packages
                # there, and look for each.
                depends = {"refersTo": [{"records": lacking}]} if lacking else {}
                title = {"title": jobdir.resolve().name}
                package.close({**title, **origin, **main_page, **depends})
            file.flush()
            os.fsync(file.fileno())
            figures["bytes"] = file.tell()
        _move(scratch / "package", target)


def _add_archives(
    package: WaczPackage, archives: Sequence[IndexedArchive], marks: Mapping[Path, Mark]
) -> dict[str, str]:
    """Add the archive files, and return what they say of their origin.

    Where files differ, the last one counts. Raise CannotPack if a file is not as its crawl, which
    has noted the `marks`, or its index says.
    """
    origin: dict[str, str] = {}
    for archive in archives:
        with regular(archive.path) as file:
            # An empty index says nothing of its file. This first look at the records keeps any other
            # kind of file out, which a link or a name could bring in.
            with _refuse_mismatch(archive.path):
                origin |= _origin(next(records(archive.path, file), None))
            entry = package.add(f"archive/{archive.path.name}", file)
        _refuse_altered(archive.path, entry, marks.get(archive.path))
    return origin


def _refuse_altered(archive: Path, entry: ZipInfo, mark: Mark | None) -> None:
    """Raise CannotPack if a packed archive file has other bytes than its crawl has written.

    A file that was finished after the last checkpoint may be longer than is known of it.
    """
    if mark is None or entry.file_size > mark[0]:
        return
    # The index has only the places of records: a byte that was changed inside one would be packed.
    if (entry.file_size, entry.CRC) != mark:
        raise CannotPack(
            f"{archive}: is not as the crawl wrote it: `{program()} verify` shows where"
        )


def _origin(first: ReadRecord | None) -> dict[str, str]:
    """Return what the first record of an archive file says of the crawl's owner and purpose."""
    if first is None or first.kind != "warcinfo":
        return {}
    values = first.values()
    return {name: values[name.lower()] for name in ORIGIN_FIELDS if values.get(name.lower())}


def _index(archive: Path, scratch: Path) -> Path:
    """Return the index of an archive file: the one beside it, or one made now."""
    beside = index_path(archive)
    if beside.exists():
        lacking = lacking_bytes(beside)
        if lacking:
            raise CannotPack(
                f"{beside}: ends {lacking} bytes early: `{program()} verify` shows where"
            )
        return beside
    made = scratch / beside.name
    try:
        make_index(archive, made)
    except TornRecord as torn:
        raise CannotPack(
            f"{archive}: is damaged ({torn}): `{program()} verify` shows where"
        ) from torn
    return made


def _index_without_forgotten(
    index: Path, scratch: Path, forgotten: Forgotten, figures: Counter[str]
) -> Path:
    """Return the index, or a copy without the lines that are to be forgotten; count these."""
    if not forgotten:
        return index
    kept = scratch / f"{index.name}.kept"
    with regular(index) as lines, kept.open("wb") as out:
        for line in lines:
            if _is_forgotten(line, forgotten):
                figures["forgotten"] += 1
            else:
                out.write(line)
    return kept


def _is_forgotten(line: bytes, forgotten: Forgotten) -> bool:
    """Return whether a line of an index is to be left out.

    A line that cannot be read stays: later steps refuse it.
    """
    try:
        entry = read(line)
        return forgotten.has(page_of_view(entry.url), read_digits(f"{entry.stamp}000"))
    except (ValueError, IndexError):
        return False


def _truncated_answers(archives: Sequence[IndexedArchive]) -> Counter[str]:
    """Return how many answers have truncated bodies, by the media type that these show."""
    truncated = Counter[str]()
    for archive, index in archives:
        with regular(index) as lines, regular(archive) as file, _refuse_mismatch(archive):
            for line in lines:
                if TRUNCATED.encode() not in line:
                    continue
                record = record_at(archive, file, read(line).offset)
                if record.kind != "revisit" and record.fields.get("warc-truncated") != WITHHELD:
                    truncated[record.fields.get("warc-identified-payload-type", UNNAMED)] += 1
    return truncated


@contextmanager
def _refuse_mismatch(archive: Path) -> Iterator[None]:
    """Raise CannotPack if what is read of an archive file is not as its index says."""
    try:
        yield
    except (TornRecord, NotWarc, ValueError, KeyError, IndexError) as error:
        raise CannotPack(
            f"{archive}: does not match its index ({error}): `{program()} verify` shows where"
        ) from error


def _outside_references(
    archives: Sequence[IndexedArchive], first: str
) -> Iterator[CaptureReference]:
    for archive, index in archives:
        with _refuse_mismatch(archive):
            yield from outside_references(archive, index, first)


def _where_earlier_archives_are(crawls: Sequence[Path]) -> str:
    """Return, for the end of a line, what the crawls were compared with; empty if that is unknown."""
    places: dict[str, None] = {}
    for crawl in crawls:
        for source in read_indexed_files(crawl / "state" / SINCE) or ():
            is_server = source.path.startswith(SERVER_PREFIX)
            places[source.path if is_server else str(Path(source.path).parent)] = None
    return f": {', '.join(places)}" if places else ""


def _add_index(
    package: WaczPackage, indexes: list[Path], scratch: Path, figures: Counter[str]
) -> None:
    """Add one index of all archive files, and its second index; count the records."""

    def count_records(lines: int) -> None:
        figures["records"] += lines

    # Into files first: an entry's length must be known before it is written. The indexes are
    # sorted, so that memory stays constant.
    with TemporaryFile(dir=scratch) as packed, TemporaryFile(dir=scratch) as keys:
        for block in gzip_blocks(merged_lines(indexes, scratch), keys, count_records):
            packed.write(block)
        package.add(f"indexes/{INDEX_NAME}", packed)
        package.add("indexes/index.idx", keys, deflate=True)


def _add_pages(
    package: WaczPackage,
    archives: Sequence[IndexedArchive],
    first: str,
    scratch: Path,
    figures: Counter[str],
) -> dict[str, str]:
    """Add the list of seeds and that of all other pages, and count them.

    `first`: the package's first time. Return the main page for datapackage.json: the first seed.
    """
    main_page: PageEntry | None = None
    with ExitStack() as opened:
        seeds = opened.enter_context(TemporaryFile(dir=scratch))
        others = opened.enter_context(TemporaryFile(dir=scratch))
        seeds.write(page_list_header("pages", "Seeds"))
        others.write(page_list_header("extra-pages", "Other pages"))
        for archive in archives:
            for page in _pages(archive, first):
                if not page.is_seed:
                    others.write(page.to_json_line())
                    figures["others"] += 1
                    continue
                seeds.write(page.to_json_line())
                figures["seeds"] += 1
                if main_page is None or page.stamp < main_page.stamp:
                    main_page = page
        package.add("pages/pages.jsonl", seeds, deflate=True)
        if figures["others"]:
            package.add("pages/extraPages.jsonl", others, deflate=True)
    if main_page is None:
        return {}
    return {"mainPageUrl": main_page.url, "mainPageDate": main_page.date}


def _pages(archive: IndexedArchive, first: str) -> Iterator[PageEntry]:
    path, index = archive
    with regular(path) as file, regular(index) as lines, _refuse_mismatch(path):
        yield from page_entries(lines, path, file, first)


@contextmanager
def _scratch_folder(target: Path) -> Iterator[Path]:
    """Make an empty folder beside the file to be, for this process alone; remove it at the end.

    Raise CannotPack if another process has it.
    """
    folder = target.with_name(target.name + PART)
    own_folder(folder)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CannotPack(f"{target}: another process is writing it") from error
        for leftover in folder.iterdir():  # of a process that was killed
            leftover.unlink()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(fd)


def _refuse_existing(target: Path) -> None:
    if target.exists() or target.is_symlink():
        raise CannotPack(f"{target}: already exists: remove it, or choose another name with -o")


def _refuse_full_disk(folder: Path, archives: Sequence[Path]) -> None:
    """Raise CannotPack for a disk without room: the archive is copied, so its size is known."""
    needed = sum(path.stat().st_size for path in archives)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise CannotPack(
            f"{folder}: {free // MIB} MiB are free, but {needed // MIB + 1} MiB are needed"
        )


def _move(package: Path, target: Path) -> None:
    """Give the package its name. Raise CannotPack if another process has taken that meanwhile."""
    # A link fails if the name is taken, and `rename` would replace what has it.
    try:
        os.link(package, target)
    except FileExistsError:
        _refuse_existing(target)
    except OSError as error:
        if error.errno not in NO_LINK_ERRORS:
            raise
        _refuse_existing(target)
        package.rename(target)
    Disk().sync_folder(target.parent)


WACZ_VERSION = "1.1.1"
COPY_BYTES = 1 << 20  # read and written at once
PLAIN_ENTRY_BYTES = (1 << 31) - 1  # above which Python's zipfile refuses an entry without ZIP64
# The upper half of a ZIP entry's attributes is a Unix mode: a regular file that all may read.
READABLE_FILE = 0o100644 << 16


class WaczPackage:
    """Writes a WACZ file, one entry after the other, in bounded memory.

    An entry is stored as it is unless it is to be deflated.
    """

    def __init__(self, file: BinaryIO, now: float) -> None:
        self._zip = ZipFile(file, "w", allowZip64=True)
        self._when = time.gmtime(now)
        self._resources: list[dict[str, str | int]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # What failed was raised already. Half a package is removed with its folder.
        with suppress(OSError, ValueError):
            self._zip.close()

    def add(self, path: str, file: BinaryIO, *, deflate: bool = False) -> ZipInfo:
        """Write a file from its beginning as one entry, and return the entry.

        An entry of more than PLAIN_ENTRY_BYTES has a second field for its length, at its head and
        in the directory at the end. wabac.js takes it to have one only if the directory says so. So
        a smaller entry must have none.
        """
        digest = sha256()
        size = 0
        length = file.seek(0, SEEK_END)
        file.seek(0)
        entry = self._entry(path, deflate=deflate)
        with self._zip.open(entry, "w", force_zip64=length > PLAIN_ENTRY_BYTES) as out:
            while piece := file.read(COPY_BYTES):
                digest.update(piece)
                size += len(piece)
                out.write(piece)
        name = path.rpartition("/")[2].lower()
        self._resources.append(
            {"name": name, "path": path, "hash": f"sha256:{digest.hexdigest()}", "bytes": size}
        )
        return entry

    def close(self, about: Mapping[str, object]) -> None:
        """Write what the package says of itself, its entries and `about`, and end the file."""
        description = {
            "profile": "data-package",
            "resources": self._resources,
            "wacz_version": WACZ_VERSION,
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", self._when),
            "software": f"webcrawl {__version__}",
            **about,
        }
        # A folder's name may be no text: JSON has an escape for what UTF-8 cannot encode.
        text = json.dumps(description, indent=2, ensure_ascii=False)
        data = text.encode(errors="backslashreplace")
        seal = {"path": "datapackage.json", "hash": f"sha256:{sha256(data).hexdigest()}"}
        self._zip.writestr(self._entry("datapackage.json", deflate=True), data)
        self._zip.writestr(
            self._entry("datapackage-digest.json", deflate=True), json.dumps(seal, indent=2)
        )
        self._zip.close()

    def _entry(self, path: str, *, deflate: bool) -> ZipInfo:
        entry = ZipInfo(path, self._when[:6])
        entry.compress_type = ZIP_DEFLATED if deflate else ZIP_STORED
        entry.external_attr = READABLE_FILE
        return entry
