"""Reads many archive files one after the other, from wherever a former run had come to, as answers.

`archive_files` finds those that the arguments of a command name: files, packages, folders, patterns.

A crawl that is killed fetches again what is behind that, perhaps into a file of another name: whoever had read it here
would have those pages twice.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from glob import glob, has_magic
from itertools import chain
from pathlib import Path

from webcrawl.base.model import Exchange, Link
from webcrawl.base.readable import count, readable
from webcrawl.record.archives.archived_answers import (
    Answers,
    Capture,
    NoPage,
    Unusable,
    captures,
    has_head,
    is_repeat,
    is_unmodified,
    most,
    refers,
    unmodified,
)
from webcrawl.record.archives.originals import Originals
from webcrawl.record.warc.packed_files import WACZ, packed, size_of
from webcrawl.record.warc.reader import Lost, NotWarc, Record, Records
from webcrawl.record.warc.unpacking import Place
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawls import crawls_of, hive_of, is_crawl, is_locked
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.outputs import length_of, lengths
from webcrawl.store.output import OPEN

logger = logging.getLogger(__name__)


def counted_bytes(path: Path) -> int | None:
    """The bytes that count; None: all, of a finished file, and of any that lies in no crawl's folder.

    StoreError: the crawl's state cannot be read.
    """
    path = path.resolve()
    jobdir = path.parent.parent
    if not path.name.endswith(OPEN) or not is_crawl(jobdir):
        return None
    noted, name = JobDir(jobdir).read(lengths), path.relative_to(jobdir).as_posix()
    return length_of(name, noted) or 0


def tell_left(path: Path, size: int) -> None:
    """Logs what becomes of so many bytes that do not count."""
    if is_locked(path.resolve().parent.parent):
        logger.info("%s: its crawl runs: %d bytes are left for later, as no checkpoint has them yet", path, size)
    else:
        why = "its crawl was killed, or failed, and does those pages again when it is resumed"
        logger.warning("%s: its last %d bytes are left out: %s", path, size, why)


LOST = "archive/lost/"  # how the counters of what could not be read begin
TOLD = 10  # lines about damage, and about each reason why a record is left out, in each file


@dataclass(frozen=True, slots=True)
class Answer:
    """One download of an archive, and where the next one begins; or the end of a file, without a download."""

    name: str  # of its file, as it is once the file is finished
    next: Place | None  # None: it is read again, and nothing follows it
    lost: tuple[str, ...]  # what could not be read before that place, one name for each
    found: tuple[Link, Exchange] | None = None
    at: Place | None = None  # where it begins


class Archives:
    """All answers of these files. `place_of`: where to begin in a file, by its name."""

    def __init__(
        self, files: Sequence[Path], place_of: Callable[[str], Place | None], originals: Originals, truncate: int
    ) -> None:
        self._files, self._place_of, self._originals = files, place_of, originals
        self._answers, self._most = Answers(truncate), most(truncate)
        self._told: Counter[str] = Counter()
        self._lost: list[str] = []
        self._sizes = [_size(path, counted_bytes(path)) for path in files]
        self.size = sum(self._sizes)
        self.done = 0  # bytes of all files
        self.number = 0  # of the file that is being read

    def __len__(self) -> int:
        return len(self._files)

    def __iter__(self) -> Iterator[Answer]:
        """StoreError: a file cannot be read, through no fault of its own."""
        for number, path in enumerate(self._files, 1):
            self.number, before = number, sum(self._sizes[: number - 1])
            self.done = before
            self._told.clear()
            try:
                for answer in self._file(path):
                    read = sum(answer.next or ())
                    self.done = before + min(read, self._sizes[number - 1])  # unpacked bytes may be more
                    yield answer
            except OSError as error:
                raise StoreError(f"{path}: {error.strerror or error}") from error
            if self._told:
                kinds = ", ".join(f"{kind} {number}" for kind, number in sorted(self._told.items()))
                logger.warning("%s: %s that cannot be read: %s", path, count(self._told.total(), "place"), kinds)
        self.done = self.size

    def again(self, name: str, place: Place) -> Answer:
        """The download that begins at this place of a file that a former run has read so far, or further."""
        path, found = _present(Path(name + OPEN)), None
        try:
            with Records(path, self._most, partial(self._damaged, path), place) as records:
                capture = next(captures(records, _ignore), None)
                if capture is not None and capture.place == place:
                    found = self._found(path, capture)
        except (OSError, NotWarc) as error:
            logger.warning("%s: %s", path, error)
        if found is None:
            self._lose("again", f"{path}: byte {place}: what an earlier run did not finish is not there")
        return Answer(name, None, self._losses(), found, place)

    def _file(self, path: Path) -> Iterator[Answer]:
        name, counted = name_of(path), counted_bytes(path)
        place, size = self._place_of(name), _size(path, counted)
        if place is not None and place.offset > size:
            raise StoreError(f"{path}: shorter than it was when {place.offset} bytes of it were processed")
        path = _present(path)
        if counted is not None and (behind := size_of(path) - counted) > 0:
            tell_left(path, behind)
        if (place is not None and place.offset == size) or counted == 0:
            return
        try:
            with Records(path, self._most, partial(self._damaged, path), place, counted) as records:
                end = None
                for capture in captures(records, partial(self._refused, path, "unusable")):
                    if records.is_open and records.ended and not capture.notes:  # more of it may be still to come
                        end = capture.place
                        break
                    if capture.first.kind != "revisit":
                        self._originals.add(capture.first, name)
                    found = self._found(path, capture)
                    if found is not None:
                        yield Answer(name, capture.next or capture.place, self._losses(), found, capture.place)
                end = end or records.place
                if records.is_open and end.offset < size:
                    logger.info("%s: not finished: its last %d bytes are left for later", path, size - end.offset)
                yield Answer(name, end, self._losses())
        except NotWarc as error:
            self._lost.clear()  # it has no records that could be damaged
            self._lose("files", str(error))
            self._told.clear()  # that line says it all
            yield Answer(name, Place(size, 0), self._losses())

    def _found(self, path: Path, capture: Capture) -> tuple[Link, Exchange] | None:
        if is_repeat(capture):
            self._lost.append("archive/repeats")
            return None
        original, same = None, is_unmodified(capture.first)
        if refers(capture):
            original = self._original(capture.first)
            if original is None:
                self._refused(path, "revisits", capture.first, "none of the files read so far can give its payload")
                return None
        try:
            own = None if same and has_head(capture.first) else original
            link, answer = self._answers.read(capture, own, path.name.removesuffix(OPEN))
        except NoPage:
            self._lost.append("archive/others")
        except Unusable as error:
            self._refused(path, "unusable", capture.first, str(error))
        else:
            return link, unmodified(original, answer) if same and original is not None else answer
        return None

    def _original(self, revisit: Record) -> Exchange | None:
        for name, place in self._originals.find(revisit):
            for path in (Path(name), Path(name + OPEN)):
                try:
                    with Records(path, self._most, _ignore, place) as records:
                        capture = next(captures(records, _ignore), None)
                    if capture is not None and capture.first.kind != "revisit":
                        return self._answers.read(capture)[1]
                except (FileNotFoundError, NotWarc, Unusable):
                    continue
        return None

    # -- what is lost

    def _losses(self) -> tuple[str, ...]:
        lost, self._lost = tuple(self._lost), []
        return lost

    def _damaged(self, path: Path, lost: Lost) -> None:
        self._lose("damaged", f"{path}: byte {lost.at}: {lost.why}; {lost.size} bytes skipped")

    def _refused(self, path: Path, kind: str, record: Record, why: str) -> None:
        self._lose(kind, f"{path}: byte {record.place}: {record.kind} {record.url}: {why}")

    def _lose(self, kind: str, line: str) -> None:
        self._lost.append(f"{LOST}{kind}")
        self._told[kind] += 1
        if self._told[kind] <= TOLD:
            more = "; others like it in this file are only counted" if self._told[kind] == TOLD else ""
            logger.warning("%s%s", line, more)


def name_of(path: Path) -> str:
    """The name of a file, the same while it is written and once it is finished."""
    return str(path.resolve()).removesuffix(OPEN)


def _present(path: Path) -> Path:
    """The path of a file that its crawl may have finished since it was named."""
    return path if path.exists() else path.with_name(path.name.removesuffix(OPEN))


def _size(path: Path, counted: int | None) -> int:
    return size_of(_present(path)) if counted is None else counted


def _ignore(*_: object) -> None:
    """Damage is told where the file itself is read."""


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
            if (shown := readable(name)) != name:
                raise NoArchive(f"{shown}: strange characters, by which nothing can note how far it was read")
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
            logger.warning("%s: WACZ packages are left out, which may have the same archives: name those to read", path)
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
    return [_readable(path) for path in sorted(folder.iterdir()) if path.name.removesuffix(OPEN).endswith(ENDINGS)]


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
