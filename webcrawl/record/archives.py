"""Reads many archive files one after the other, from wherever a former run had come to, as answers.

A crawl that is killed fetches again what is behind that, perhaps into a file of another name:
whoever had read it here would have those pages twice.
"""

from __future__ import annotations

import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import chain
from pathlib import Path

from webcrawl.base.model import Exchange, Link
from webcrawl.base.readable import count
from webcrawl.record.archived_answers import (
    Answers,
    NoPage,
    RecordedCapture,
    Unusable,
    captures,
    has_head,
    is_repeat,
    is_unmodified,
    most,
    refers,
    unmodified,
)
from webcrawl.record.warc.archive_files import name_of, size_of
from webcrawl.record.warc.reader import NotWarc, ReadRecord, RecordReader, SkippedRange, ignore
from webcrawl.record.warc.unpacking import RecordStart
from webcrawl.store.crawldb import Part
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawls import is_crawl, is_locked
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.outputs import length_of, lengths
from webcrawl.store.output import OPEN

logger = logging.getLogger(__name__)


def counted_bytes(path: Path) -> int | None:
    """Return the bytes of a file that count; None if all do.

    All bytes count of a finished file, and of any file outside of a crawl's folder. Raise
    StoreError if the crawl's state cannot be read.
    """
    path = path.resolve()
    jobdir = path.parent.parent
    if not path.name.endswith(OPEN) or not is_crawl(jobdir):
        return None
    noted, name = JobDir(jobdir).read(lengths), path.relative_to(jobdir).as_posix()
    return length_of(name, noted) or 0


def tell_left(path: Path, size: int) -> None:
    """Log what becomes of so many bytes that do not count."""
    if is_locked(path.resolve().parent.parent):
        logger.info(
            "%s: its crawl is still running, so the last %d bytes, which no checkpoint includes "
            "yet, are left for later",
            path,
            size,
        )
    else:
        why = "its crawl was killed or failed, and will fetch those pages again when it is resumed"
        logger.warning("%s: its last %d bytes are ignored: %s", path, size, why)


LOST = "archive/lost/"  # how the counters of what could not be read begin
TOLD = 10  # lines about damage, and about each reason why a record is left out, in each file


@dataclass(frozen=True, slots=True)
class ArchivedAnswer:
    """A download of an archive and the place of the next one, or a file's end without a download."""

    name: str  # of its file, as it is once the file is finished
    next: RecordStart | None  # None: it is read again, and nothing follows it
    lost: tuple[str, ...]  # what could not be read before that place, one name for each
    found: tuple[Link, Exchange] | None = None
    at: RecordStart | None = None  # where it begins


class Archives:
    """All answers of these files. `place_of`: where to begin in a file, by its name."""

    def __init__(
        self,
        files: Sequence[Path],
        place_of: Callable[[str], RecordStart | None],
        originals: PayloadPlaces,
        truncate: int,
    ) -> None:
        self._files = files
        self._place_of = place_of
        self._originals = originals
        self._answers = Answers(truncate)
        self._most = most(truncate)
        self._told: Counter[str] = Counter()
        self._lost: list[str] = []
        self._sizes = [_size(path, counted_bytes(path)) for path in files]
        self.size = sum(self._sizes)
        self.done = 0  # bytes of all files
        self.number = 0  # of the file that is being read

    def __len__(self) -> int:
        return len(self._files)

    def __iter__(self) -> Iterator[ArchivedAnswer]:
        """StoreError: a file cannot be read, through no fault of its own."""
        for number, path in enumerate(self._files, 1):
            self.number, before = number, sum(self._sizes[: number - 1])
            self.done = before
            self._told.clear()
            try:
                for answer in self._file(path):
                    read = sum(answer.next or ())
                    # There may be more unpacked bytes
                    self.done = before + min(read, self._sizes[number - 1])
                    yield answer
            except OSError as error:
                raise StoreError(f"{path}: {error.strerror or error}") from error
            if self._told:
                kinds = ", ".join(f"{kind} {number}" for kind, number in sorted(self._told.items()))
                logger.warning(
                    "%s: %s could not be read: %s",
                    path,
                    count(self._told.total(), "place"),
                    kinds,
                )
        self.done = self.size

    def again(self, name: str, place: RecordStart) -> ArchivedAnswer:
        """Return the download at this place of a file that a former run has read, at least so far."""
        path, found = _present(Path(name + OPEN)), None
        try:
            with RecordReader(path, self._most, partial(self._damaged, path), place) as records:
                capture = next(captures(records, ignore), None)
                if capture is not None and capture.place == place:
                    found = self._found(path, capture)
        except (OSError, NotWarc) as error:
            logger.warning("%s: %s", path, error)
        if found is None:
            self._lose(
                "again",
                f"{path}: byte {place}: the record that an earlier run did not finish is missing",
            )
        return ArchivedAnswer(name, None, self._losses(), found, place)

    def _file(self, path: Path) -> Iterator[ArchivedAnswer]:
        name, counted = name_of(path), counted_bytes(path)
        place, size = self._place_of(name), _size(path, counted)
        if place is not None and place.offset > size:
            raise StoreError(
                f"{path}: {place.offset} bytes were processed earlier, but the file is now shorter"
            )
        path = _present(path)
        if counted is not None and (behind := size_of(path) - counted) > 0:
            tell_left(path, behind)
        if (place is not None and place.offset == size) or counted == 0:
            return
        try:
            with RecordReader(
                path, self._most, partial(self._damaged, path), place, counted
            ) as records:
                end = None
                for capture in captures(records, partial(self._refused, path, "unusable")):
                    # The rest of it may still be written
                    if records.is_open and records.ended and not capture.notes:
                        end = capture.place
                        break
                    if capture.first.kind != "revisit":
                        self._originals.add(capture.first, name)
                    found = self._found(path, capture)
                    if found is not None:
                        yield ArchivedAnswer(
                            name,
                            capture.next or capture.place,
                            self._losses(),
                            found,
                            capture.place,
                        )
                end = end or records.place
                if records.is_open and end.offset < size:
                    logger.info(
                        "%s: is still being written, so its last %d bytes are left for later",
                        path,
                        size - end.offset,
                    )
                yield ArchivedAnswer(name, end, self._losses())
        except NotWarc as error:
            self._lost.clear()  # it has no records that could be damaged
            self._lose("files", str(error))
            self._told.clear()  # that line says it all
            yield ArchivedAnswer(name, RecordStart(size, 0), self._losses())

    def _found(self, path: Path, capture: RecordedCapture) -> tuple[Link, Exchange] | None:
        if is_repeat(capture):
            self._lost.append("archive/repeats")
            return None
        original, same = None, is_unmodified(capture.first)
        if refers(capture):
            original = self._original(capture.first)
            if original is None:
                self._refused(
                    path,
                    "revisits",
                    capture.first,
                    "its payload is in none of the files read so far",
                )
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

    def _original(self, revisit: ReadRecord) -> Exchange | None:
        for name, place in self._originals.find(revisit):
            for path in (Path(name), Path(name + OPEN)):
                try:
                    with RecordReader(path, self._most, ignore, place) as records:
                        capture = next(captures(records, ignore), None)
                    if capture is not None and capture.first.kind != "revisit":
                        return self._answers.read(capture)[1]
                except (FileNotFoundError, NotWarc, Unusable):
                    continue
        return None

    # -- what is lost

    def _losses(self) -> tuple[str, ...]:
        lost, self._lost = tuple(self._lost), []
        return lost

    def _damaged(self, path: Path, lost: SkippedRange) -> None:
        self._lose("damaged", f"{path}: byte {lost.at}: {lost.why}; {lost.size} bytes skipped")

    def _refused(self, path: Path, kind: str, record: ReadRecord, why: str) -> None:
        self._lose(kind, f"{path}: byte {record.place}: {record.kind} {record.url}: {why}")

    def _lose(self, kind: str, line: str) -> None:
        self._lost.append(f"{LOST}{kind}")
        self._told[kind] += 1
        if self._told[kind] <= TOLD:
            more = (
                "; further ones in this file are counted, but not logged"
                if self._told[kind] == TOLD
                else ""
            )
            logger.warning("%s%s", line, more)


def _present(path: Path) -> Path:
    """Return the path of a file that its crawl may have finished since it was named."""
    return path if path.exists() else path.with_name(path.name.removesuffix(OPEN))


def _size(path: Path, counted: int | None) -> int:
    return size_of(_present(path)) if counted is None else counted


ORIGINALS = "originals.db"
TABLES = """
CREATE TABLE IF NOT EXISTS file (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS original (
    key INTEGER PRIMARY KEY, file INTEGER NOT NULL, at INTEGER NOT NULL, skip INTEGER NOT NULL
);
"""
AT_ONCE = 4096  # places in memory


class PayloadPlaces(Part):
    """The places of an archive's payloads, by which revisit records can be read.

    They are found by identifier, by URL and date, and by payload digest: revisit records name any
    of them. A URL may have had two states within one second, so a date counts in full; but some
    programs write the fraction of a second only in one of the two records, so the whole second
    counts, too, if nothing surer is known.

    A file of its own, in no checkpoint: what it says of the archive stays true, however far the
    pages are processed. It is committed before each checkpoint, so it always knows the payloads
    that come before the place to go on from.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._new: dict[int, tuple[int, int, int]] = {}
        try:
            self._db = sqlite3.connect(path, isolation_level=None)
            try:
                self._db.executescript(
                    f"PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; {TABLES}"
                )
                self._names = dict(self._db.execute("SELECT id, name FROM file"))
                self._files = {name: number for number, name in self._names.items()}
            except BaseException:
                self._db.close()
                raise
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def add(self, record: ReadRecord, name: str) -> None:
        """Add a record with a payload; `name` is that of its file, once the file is finished."""
        number = self._files.get(name)
        if number is None:
            number = self._files[name] = len(self._files) + 1
            self._names[number] = name
            self._execute("INSERT INTO file VALUES (?, ?)", (number, name))
        where = (number, record.place.offset, record.place.skip)
        names = _Names(record, "warc-record-id", "warc-target-uri", "warc-date")
        for key in (*names.sure, *names.digest, *names.second):
            self._new.setdefault(key, where)
        if len(self._new) >= AT_ONCE:
            self.write()

    def find(self, revisit: ReadRecord) -> Iterator[tuple[str, RecordStart]]:
        """Return files and places where the original may be, the surest first (docs/extending.md)."""
        names = _Names(
            revisit, "warc-refers-to", "warc-refers-to-target-uri", "warc-refers-to-date"
        )
        # The page that a 304 stands for has a head as well: the same payload may have come with
        # another, elsewhere
        rest = (
            (names.second, names.digest) if is_unmodified(revisit) else (names.digest, names.second)
        )
        for key in chain(names.sure, *rest):
            where = self._new.get(key)
            if where is None:
                rows = self._execute(
                    "SELECT file, at, skip FROM original WHERE key = ?", (key,)
                ).fetchall()
                where = rows[0] if rows else None
            if where is not None:
                yield self._names[where[0]], RecordStart(where[1], where[2])

    def write(self) -> None:
        """Write what is in memory; safe on disk when it returns."""
        try:
            self._db.execute("BEGIN")
            self._db.executemany(
                "INSERT OR IGNORE INTO original VALUES (?, ?, ?, ?)",
                [(key, *to) for key, to in self._new.items()],
            )
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._failed(error) from error
        self._new.clear()

    def close(self) -> None:
        self._db.close()

    # -- the checkpoint

    def save(self) -> None:
        if self._new:
            self.write()

    def _execute(self, sql: str, args: tuple[object, ...]) -> sqlite3.Cursor:
        try:
            return self._db.execute(sql, args)
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def _failed(self, error: sqlite3.Error) -> StoreError:
        return StoreError(f"{self._path}: {error}")


class _Names:
    """The keys of a record's payload, one of each kind at most, by the names of their fields."""

    def __init__(self, record: ReadRecord, identifier: str, address: str, date: str) -> None:
        fields = record.fields
        digest, url, when = (
            fields.get(name, "") for name in ("warc-payload-digest", address, date)
        )
        self.sure = [_key(fields[identifier])] if fields.get(identifier) else []
        self.digest = [_key(digest)] if digest else []
        self.second = [_key(f"{url.strip('<>')} {when[:19]}")] if url and when else []
        if self.second and "." in when:
            self.sure.append(_key(f"{url.strip('<>')} {when}"))


def _key(text: str) -> int:
    return int.from_bytes(
        blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little", signed=True
    )
