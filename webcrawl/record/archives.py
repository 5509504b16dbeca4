"""Reads many archive files one after the other, from wherever a former run had come to, as answers.

A crawl that is killed fetches again what is behind that, perhaps into a file of another name:
whoever had read it here would have those pages twice.
"""

from __future__ import annotations

import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Self

from webcrawl.base.model import Exchange, Link
from webcrawl.base.readable import count
from webcrawl.record.archived_answers import (
    ROBOTS,
    Answers,
    NoOriginal,
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
from webcrawl.record.shards import Shard
from webcrawl.record.warc.archive_files import name_of, package_of, size_of
from webcrawl.record.warc.reader import NotWarc, ReadRecord, RecordReader, SkippedRange, ignore
from webcrawl.record.warc.unpacking import RecordStart
from webcrawl.store.crawldb import Part
from webcrawl.store.disk import regular
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir import index_line
from webcrawl.store.jobdir.crawls import is_crawl, is_locked
from webcrawl.store.jobdir.index_line import IndexLine
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
    # Bytes behind the last checkpoint are cut off if the crawl is killed, and fetched again
    noted = JobDir(jobdir).read(lengths)
    name = path.relative_to(jobdir).as_posix()
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


def tell_unfinished(path: Path, size: int) -> None:
    """Log that so many bytes may be the beginning of a record that is still to come."""
    if size > 0:
        logger.info(
            "%s: is still being written, so its last %d bytes are left for later", path, size
        )


LOST = "archive/lost/"  # how the counters of what could not be read begin
TOLD = 10  # lines about damage, and about each reason why a record is left out, in each file


@dataclass(frozen=True, slots=True)
class ArchivedAnswer:
    """A download of an archive and the place of the next one, or a place without a download."""

    name: str  # of its file, as it is once the file is finished
    next: RecordStart | None  # None: the place from which to go on stays as it is
    lost: tuple[str, ...]  # what could not be read before that place, one name for each
    found: tuple[Link, Exchange] | None = None
    at: RecordStart | None = None  # where it begins
    is_elsewhere: bool = False  # a robots.txt in a file of another shard, which makes the page
    record: str = ""  # the identifier of its record


def from_the_beginning(_: str) -> None:
    """Return None: the `place_of` of archives that no earlier run has read."""


TakeCapture = Callable[[Path, RecordedCapture], tuple[Link, Exchange] | None]


class Archives:
    """All answers of these files, or of a shard of them.

    Of the files of other shards it notes where payloads are, because revisit records may refer to
    them, and gives the robots.txt, because what that says holds for pages of any file.
    """

    def __init__(
        self,
        files: Sequence[Path],
        place_of: Callable[[str], RecordStart | None],
        originals: PayloadPlaces | None,
        truncate: int,
        shard: Shard | None = None,
    ) -> None:
        """`place_of`: where to begin in a file, by its name.

        Without `originals` revisit records, which refer to other records' payloads, are left out.
        """
        self._files = [(path, shard is None or shard.has(path)) for path in files]
        self._place_of = place_of
        self._originals = originals
        self._answers = Answers(truncate)
        self._most = most(truncate)
        self._told: Counter[str] = Counter()
        self._lost: list[str] = []
        self._sizes = [_size(path, counted_bytes(path)) for path, is_own in self._files if is_own]
        self.size = sum(self._sizes)
        self.done = 0  # bytes of all files
        self.number = 0  # of the file that is being read

    def __len__(self) -> int:
        return len(self._sizes)

    def __iter__(self) -> Iterator[ArchivedAnswer]:
        """Yield the answers. Raise StoreError if the system does not let a file be read."""
        for path, is_own in self._files:
            try:
                yield from self._own(path) if is_own else self._of_another_shard(path)
            except OSError as error:
                raise StoreError(f"{path}: {error.strerror or error}") from error
        self.done = self.size

    def _own(self, path: Path) -> Iterator[ArchivedAnswer]:
        """Yield the answers of a file, and count how much of it is read."""
        size = self._sizes[self.number]
        before = sum(self._sizes[: self.number])
        self.number += 1
        self.done = before
        self._told.clear()
        counted = counted_bytes(path)
        if counted is not None and (behind := size_of(_present(path)) - counted) > 0:
            tell_left(path, behind)
        try:
            for answer in self._file(path, self._found, is_own=True):
                read = sum(answer.next or ())
                # There may be more unpacked bytes
                self.done = before + min(read, size)
                yield answer
        except NotWarc as error:
            # It has no records that could be damaged
            self._lost.clear()
            self._lose("files", str(error))
            # That line says it all
            self._told.clear()
            yield ArchivedAnswer(name_of(path), RecordStart(size, 0), self._losses())
        if self._told:
            kinds = ", ".join(f"{kind} {number}" for kind, number in sorted(self._told.items()))
            logger.warning(
                "%s: %s could not be read: %s", path, count(self._told.total(), "place"), kinds
            )

    def again(self, name: str, place: RecordStart) -> ArchivedAnswer:
        """Return the download at this place of a file that a former run has read, at least so far."""
        path = _present(Path(name + OPEN))
        found = None
        is_there = False
        try:
            with RecordReader(path, self._most, partial(self._damaged, path), place) as records:
                capture = next(captures(records, ignore), None)
                if capture is not None and capture.place == place:
                    is_there = True
                    found = self._found(path, capture)
        except (OSError, NotWarc) as error:
            logger.warning("%s: %s", path, error)
        if not is_there:
            self._lose(
                "again",
                f"{path}: byte {place}: the record that an earlier run did not finish is missing",
            )
        return ArchivedAnswer(name, None, self._losses(), found, place)

    def _of_another_shard(self, path: Path) -> Iterator[ArchivedAnswer]:
        """Note the payloads of a file, by its index if it has one, and yield its robots.txt.

        Answers without anything found are occasions for the caller to do other work. What cannot be
        read is the loss of the shard that has the file.
        """
        lines = index_lines(path)
        if lines is None:
            # The shard that has the file says that it is none
            with suppress(NotWarc):
                yield from self._file(path, self._robots, is_own=False)
            return
        name = name_of(path)
        size = size_of(path)
        if self._place_of(name) == RecordStart(size, 0):
            return
        for line in lines:
            place = RecordStart(line.offset, 0)
            if self._originals is not None and not line.is_revisit:
                self._originals.add_indexed(line, place, name)
            found = self._robots_at(path, place) if line.url.endswith(ROBOTS) else None
            yield ArchivedAnswer(name, None, (), found, is_elsewhere=True)
        yield ArchivedAnswer(name, RecordStart(size, 0), ())

    def _file(self, path: Path, take: TakeCapture, *, is_own: bool) -> Iterator[ArchivedAnswer]:
        """Yield what `take` finds in captures, from where the last run ended.

        Raise NotWarc if the file has no record.
        """
        name = name_of(path)
        counted = counted_bytes(path)
        place = self._place_of(name)
        size = _size(path, counted)
        processed = place.offset if place is not None else 0
        # An archive that has shrunk is lost, and not at its end
        if processed > size:
            raise StoreError(
                f"{path}: {processed} bytes were processed earlier, but the file is now shorter"
            )
        path = _present(path)
        is_processed = place is not None and processed == size
        if is_processed or counted == 0:
            return
        damaged, refused = self._hearers(path) if is_own else (ignore, ignore)
        with RecordReader(path, self._most, damaged, place, counted) as records:
            end = None
            for capture in captures(records, refused):
                # A crawl writes the metadata record behind the answer: it may still come
                may_be_written_on = records.is_open and records.ended and not capture.notes
                if may_be_written_on:
                    end = capture.place
                    break
                self._note_payload(capture, name)
                found = take(path, capture)
                if found is not None or not is_own:
                    yield ArchivedAnswer(
                        name,
                        capture.next or capture.place,
                        self._losses(),
                        found,
                        capture.place,
                        is_elsewhere=not is_own,
                        record=capture.first.id,
                    )
            end = end or records.place
            if is_own and records.is_open:
                tell_unfinished(path, size - end.offset)
            yield ArchivedAnswer(name, end, self._losses())

    def _robots_at(self, path: Path, place: RecordStart) -> tuple[Link, Exchange] | None:
        """Return what `_robots` does of the capture at this place; None if it is damaged."""
        try:
            with RecordReader(path, self._most, ignore, place) as records:
                capture = next(captures(records, ignore), None)
        except NotWarc:
            return None
        return self._robots(path, capture) if capture is not None else None

    def _robots(self, path: Path, capture: RecordedCapture) -> tuple[Link, Exchange] | None:
        """Return the answer of a capture if it is a robots.txt that the crawl fetched for itself."""
        if not capture.first.url.endswith(ROBOTS) or is_repeat(capture):
            return None
        try:
            link, answer = self._answer(path, capture)
        except Unusable:
            return None
        return (link, answer) if link.is_prerequisite else None

    def _found(self, path: Path, capture: RecordedCapture) -> tuple[Link, Exchange] | None:
        """Return the answer of a capture, or None if there is none, which is counted."""
        if is_repeat(capture):
            self._lost.append("archive/repeats")
            return None
        if self._originals is None and capture.first.kind == "revisit":
            return None
        try:
            return self._answer(path, capture)
        except NoPage:
            self._lost.append("archive/others")
        except NoOriginal as error:
            self._refused(path, "revisits", capture.first, str(error))
        except Unusable as error:
            self._refused(path, "unusable", capture.first, str(error))
        return None

    def _answer(self, path: Path, capture: RecordedCapture) -> tuple[Link, Exchange]:
        """Return the answer of a capture. Raise Unusable if it cannot be read."""
        file = path.name.removesuffix(OPEN)
        if not refers(capture):
            return self._answers.read(capture, None, file)
        original = self._original(capture.first)
        if original is None:
            raise NoOriginal("its payload is in none of the files read so far")
        if not is_unmodified(capture.first):
            return self._answers.read(capture, original, file)
        # Its own head is read alone, and then joined with the page
        own = None if has_head(capture.first) else original
        link, answer = self._answers.read(capture, own, file)
        return link, unmodified(original, answer)

    def _original(self, revisit: ReadRecord) -> Exchange | None:
        """Return the answer that a revisit record refers to, or None if no file has it.

        The record with the identifier that it names goes before any other with the same payload: an
        index has no identifiers, and a browser may have made other documents of the same payload.
        """
        found: Exchange | None = None
        places = self._originals.find(revisit) if self._originals is not None else ()
        for name, place in places:
            # A file that was read while it was written may have lost its `.open` since
            for path in (Path(name), Path(name + OPEN)):
                try:
                    with RecordReader(path, self._most, ignore, place) as records:
                        capture = next(captures(records, ignore), None)
                    if capture is None or capture.first.kind == "revisit":
                        continue
                    if revisit.names(capture.first.id, "warc-refers-to"):
                        return self._answers.read(capture)[1]
                    found = found or self._answers.read(capture)[1]
                except (FileNotFoundError, NotWarc, Unusable):
                    # The next place may hold the payload, too
                    continue
        return found

    # -- what is lost

    def _losses(self) -> tuple[str, ...]:
        lost = tuple(self._lost)
        self._lost = []
        return lost

    def _note_payload(self, capture: RecordedCapture, name: str) -> None:
        """Note where a payload is that later captures may refer to."""
        if self._originals is not None and capture.first.kind != "revisit":
            self._originals.add(capture.first, name)

    def _hearers(
        self, path: Path
    ) -> tuple[Callable[[SkippedRange], None], Callable[[ReadRecord, str], None]]:
        """Return what hears of damage in a file, and of records that cannot be used."""
        return partial(self._damaged, path), partial(self._refused, path, "unusable")

    def _damaged(self, path: Path, lost: SkippedRange) -> None:
        self._lose("damaged", f"{path}: byte {lost.at}: {lost.why}; {lost.size} bytes skipped")

    def _refused(self, path: Path, kind: str, record: ReadRecord, why: str) -> None:
        self._lose(kind, f"{path}: byte {record.place}: {record.kind} {record.url}: {why}")

    def _lose(self, kind: str, line: str) -> None:
        self._lost.append(f"{LOST}{kind}")
        self._told[kind] += 1
        if self._told[kind] <= TOLD:
            more = ""
            if self._told[kind] == TOLD:
                more = "; further ones in this file are counted, but not logged"
            logger.warning("%s%s", line, more)


def _present(path: Path) -> Path:
    """Return the path of a file that its crawl may have finished since it was named."""
    return path if path.exists() else path.with_name(path.name.removesuffix(OPEN))


def index_lines(path: Path) -> list[IndexLine] | None:
    """Return the index beside an archive file, in the order of the records.

    Return None if there is none, or it is not wholly an index of this file: the file itself is read
    then.
    """
    if not path.name.endswith(index_line.ARCHIVE) or package_of(path) is not None:
        return None
    try:
        with regular(path.with_name(index_line.index_of(path.name))) as file:
            lines = [index_line.read(data) for data in file if not data.startswith(b"!")]
    except (OSError, index_line.BadLine):
        return None
    if any(line.file != path.name for line in lines):
        return None
    return sorted(lines, key=lambda line: line.offset)


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
        names = _Names.of(record, "warc-record-id", "warc-target-uri", "warc-date")
        self._add(names, record.place, name)

    def add_indexed(self, line: IndexLine, place: RecordStart, name: str) -> None:
        """Add the record of a line of an index, which has no identifier, and whole seconds only."""
        self._add(_Names.indexed(line), place, name)

    def find(self, revisit: ReadRecord) -> Iterator[tuple[str, RecordStart]]:
        """Return files and places where the original may be, the surest first."""
        names = _Names.of(
            revisit, "warc-refers-to", "warc-refers-to-target-uri", "warc-refers-to-date"
        )
        if is_unmodified(revisit):
            # The page that a 304 stands for has a head as well: the same payload may have come with
            # another, elsewhere
            keys = chain(names.sure, names.second, names.digest)
        else:
            keys = chain(names.sure, names.digest, names.second)
        for key in keys:
            where = self._new.get(key)
            if where is None:
                rows = self._execute(
                    "SELECT file, at, skip FROM original WHERE key = ?", (key,)
                ).fetchall()
                where = rows[0] if rows else None
            if where is not None:
                yield self._names[where[0]], RecordStart(where[1], where[2])

    def _add(self, names: _Names, place: RecordStart, name: str) -> None:
        number = self._files.get(name)
        if number is None:
            number = self._files[name] = len(self._files) + 1
            self._names[number] = name
            self._execute("INSERT INTO file VALUES (?, ?)", (number, name))
        where = (number, place.offset, place.skip)
        for key in (*names.sure, *names.digest, *names.second):
            self._new.setdefault(key, where)
        if len(self._new) >= AT_ONCE:
            self.write()

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


@dataclass(frozen=True, slots=True)
class _Names:
    """The keys of a record's payload, one of each kind at most."""

    sure: list[int]
    digest: list[int]
    second: list[int]  # of URL and whole second

    @classmethod
    def of(cls, record: ReadRecord, identifier: str, address: str, date: str) -> Self:
        """Return the keys that these fields of a record give, beside its payload digest."""
        fields = record.fields
        names = cls([], [], [])
        if fields.get(identifier):
            names.sure.append(_key(fields[identifier]))
        digest = fields.get("warc-payload-digest", "")
        if digest:
            names.digest.append(_key(digest))
        url = fields.get(address, "").strip("<>")
        when = fields.get(date, "")
        if url and when:
            names.second.append(_key(f"{url} {when[:19]}"))
            if "." in when:
                names.sure.append(_key(f"{url} {when}"))
        return names

    @classmethod
    def indexed(cls, line: IndexLine) -> Self:
        """Return the keys that a line of an index gives."""
        digest = [_key(line.digest)] if line.digest not in ("", "-") else []
        return cls([], digest, [_key(f"{line.url} {line.date[:19]}")])


def _key(text: str) -> int:
    return int.from_bytes(
        blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little", signed=True
    )
