"""Reads the answers of many archive files, each from the place at which an earlier run stopped.

Of a file that a crawl still writes only the bytes up to its last checkpoint are read. A crawl that
is killed fetches the pages behind its checkpoint again, perhaps into a file of another name: they
would be read twice.
"""

from __future__ import annotations

import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Self

from webcrawl.base.model import Exchange, Link
from webcrawl.base.readable import count
from webcrawl.record.archived_answers import (
    ROBOTS_PATH,
    Answers,
    NoOriginal,
    NoPage,
    RecordedCapture,
    Unusable,
    captures,
    is_repeat,
    is_unmodified,
    max_block_bytes,
    needs_original,
)
from webcrawl.record.shards import Shard
from webcrawl.record.warc.archive_files import archive_name, archive_size, package_of
from webcrawl.record.warc.reader import NotWarc, ReadRecord, RecordReader, SkippedRange, ignore_loss
from webcrawl.record.warc.unpacked_stream import RecordStart
from webcrawl.store.crawldb import Part
from webcrawl.store.disk import regular
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.jobdir import index_line
from webcrawl.store.jobdir.crawls import is_crawl, is_locked
from webcrawl.store.jobdir.index_line import IndexLine
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.outputs import length_of, lengths
from webcrawl.store.output import OPEN

logger = logging.getLogger(__name__)


def counted_bytes(path: Path) -> int | None:
    """Return how many bytes of a file may be read, or None if the whole file may be read.

    A finished file, and a file outside of a crawl's folder, may be read as a whole. Raise
    StoreError if the crawl's state cannot be read.
    """
    path = path.resolve()
    jobdir = path.parent.parent
    if not path.name.endswith(OPEN) or not is_crawl(jobdir):
        return None
    # If the crawl is killed, bytes behind its last checkpoint are removed, and fetched again
    noted = JobDir(jobdir).read(lengths)
    name = path.relative_to(jobdir).as_posix()
    return length_of(name, noted) or 0


def lacking_bytes(index: Path) -> int:
    """Return how many bytes a finished index lacks of those that its crawl has written.

    Return 0 for what is no file, for an index outside of a crawl's folder, and if the crawl's state
    cannot be read.
    """
    index = index.resolve()
    jobdir = index.parent.parent
    if not index.is_file() or not is_crawl(jobdir):
        return 0
    name = index.relative_to(jobdir).as_posix()
    with suppress(StoreError):
        noted = JobDir(jobdir).read(lengths)
        # The last checkpoint may be older than the end of the index, which gave it its final name
        written = noted.get(name, noted.get(f"{name}{OPEN}", 0))
        return max(0, written - index.stat().st_size)
    return 0


def log_uncounted_bytes(path: Path, size: int) -> None:
    """Log why the last `size` bytes of a file are not read, and what becomes of them."""
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


def log_unfinished_bytes(path: Path, size: int) -> None:
    """Log that the last `size` bytes of a file may be the beginning of an unfinished record."""
    if size > 0:
        logger.info(
            "%s: is still being written, so its last %d bytes are left for later", path, size
        )


LOSS_PREFIX = "archive/lost/"  # of the counters of what could not be read
MAX_LOGGED_LOSSES = 10  # of each kind, in each file


@dataclass(frozen=True, slots=True)
class ArchivedAnswer:
    """A step of reading an archive file: a download, or only a place that was reached."""

    name: str  # of its file, without `.open`
    resume_at: RecordStart | None  # where the next run begins; None: as before this step
    counters: tuple[str, ...]  # to be raised by one each: what was left out before `resume_at`
    download: tuple[Link, Exchange] | None = None
    start: RecordStart | None = None  # where the download's records begin
    # A robots.txt in a file of another shard. That shard makes a page of it, and this one does not.
    is_of_other_shard: bool = False
    record: str = ""  # the identifier of the download's first record

    @property
    def losses(self) -> int:
        """Return how many places before `resume_at` could not be read."""
        return sum(name.startswith(LOSS_PREFIX) for name in self.counters)


def from_the_beginning(_: str) -> None:
    """Return None: the `resume_place_of` of archives that no earlier run has read."""


TakeCapture = Callable[[Path, RecordedCapture], tuple[Link, Exchange] | None]


class Archives:
    """The answers of archive files, or of one shard of the files.

    The files of other shards are read for two things. Revisit records of this shard may refer to
    payloads in them, and a robots.txt in them holds for pages in any file.
    """

    def __init__(
        self,
        files: Sequence[Path],
        resume_place_of: Callable[[str], RecordStart | None],
        originals: PayloadPlaces | None,
        truncate: int,
        shard: Shard | None = None,
    ) -> None:
        """`resume_place_of` returns the place at which to begin in a file, or None, by its name.

        Without `originals` all revisit records are left out. Bodies are truncated after `truncate`
        bytes.
        """
        self._files = [(path, shard is None or shard.has(path)) for path in files]
        self._resume_place_of = resume_place_of
        self._originals = originals
        self._answers = Answers(truncate)
        self._max_block_bytes = max_block_bytes(truncate)
        self._loss_counts: Counter[str] = Counter()  # in the file that is being read, by kind
        self._counters: list[str] = []  # for the next ArchivedAnswer
        self._sizes = [
            _counted_size(path, counted_bytes(path)) for path, is_own in self._files if is_own
        ]
        self.bytes_total = sum(self._sizes)
        self.bytes_done = 0
        self.file_number = 0  # of the file that is being read, from 1

    def __len__(self) -> int:
        return len(self._sizes)

    @property
    def are_read(self) -> bool:
        """Return whether earlier runs have read all files to their ends."""
        own = [archive_name(path) for path, is_own in self._files if is_own]
        ends = [(self._resume_place_of(name) or (0, 0))[0] for name in own]
        return len(own) > 0 and ends == self._sizes

    def __iter__(self) -> Iterator[ArchivedAnswer]:
        """Yield the answers. Raise StoreError if the system does not let a file be read."""
        for path, is_own in self._files:
            try:
                if is_own:
                    yield from self._answers_of_own_file(path)
                else:
                    yield from self._robots_of_other_file(path)
            except OSError as error:
                raise StoreError(f"{path}: {error.strerror or error}") from error
        self.bytes_done = self.bytes_total

    def _answers_of_own_file(self, path: Path) -> Iterator[ArchivedAnswer]:
        """Yield the answers of a file, and count how many of its bytes are read."""
        size = self._sizes[self.file_number]
        before = sum(self._sizes[: self.file_number])
        self.file_number += 1
        self.bytes_done = before
        self._loss_counts.clear()
        counted = counted_bytes(path)
        if counted is not None:
            uncounted = archive_size(_current_path(path)) - counted
            if uncounted > 0:
                log_uncounted_bytes(path, uncounted)
        try:
            for answer in self._read_file(path, self._usable_answer, is_own=True):
                read = sum(answer.resume_at or ())
                # A place may have more unpacked bytes than the file has packed ones
                self.bytes_done = before + min(read, size)
                yield answer
        except NotWarc as error:
            # The file as a whole is lost: damage within it is not counted
            self._counters.clear()
            self._note_loss("files", str(error))
            # No summary, because the line about the file says it all
            self._loss_counts.clear()
            yield ArchivedAnswer(archive_name(path), RecordStart(size, 0), self._take_counters())
        if self._loss_counts:
            kinds = ", ".join(
                f"{kind} {number}" for kind, number in sorted(self._loss_counts.items())
            )
            logger.warning(
                "%s: %s could not be read: %s",
                path,
                count(self._loss_counts.total(), "place"),
                kinds,
            )

    def reread(self, name: str, place: RecordStart) -> ArchivedAnswer:
        """Return the download at a place that an earlier run has read already.

        A record that is no longer there is counted as lost.
        """
        path = _current_path(Path(name + OPEN))
        download = None
        is_found = False
        try:
            with RecordReader(
                path, self._max_block_bytes, partial(self._note_damage, path), place
            ) as records:
                capture = next(captures(records, ignore_loss), None)
                if capture is not None and capture.place == place:
                    is_found = True
                    download = self._usable_answer(path, capture)
        except (OSError, NotWarc) as error:
            logger.warning("%s: %s", path, error)
        if not is_found:
            self._note_loss(
                "again",
                f"{path}: byte {place}: the record that an earlier run did not finish is missing",
            )
        return ArchivedAnswer(name, None, self._take_counters(), download, place)

    def _robots_of_other_file(self, path: Path) -> Iterator[ArchivedAnswer]:
        """Note where another shard's file has payloads, and yield each robots.txt in it.

        Its index is read instead, if it has one. Steps without a download are yielded so that the
        caller can do other work. Records that cannot be read are counted by the shard that has the
        file, and not here.
        """
        lines = index_lines(path)
        if lines is None:
            # The shard that has the file reports that it is no WARC file
            with suppress(NotWarc):
                yield from self._read_file(path, self._robots_answer, is_own=False)
            return
        name = archive_name(path)
        size = archive_size(path)
        if self._resume_place_of(name) == RecordStart(size, 0):
            return
        for line in lines:
            place = RecordStart(line.offset, 0)
            if self._originals is not None and not line.is_revisit:
                self._originals.add_indexed(line, place, name)
            robots = self._robots_answer_at(path, place) if line.url.endswith(ROBOTS_PATH) else None
            yield ArchivedAnswer(name, None, (), robots, is_of_other_shard=True)
        yield ArchivedAnswer(name, RecordStart(size, 0), ())

    def _read_file(
        self, path: Path, take: TakeCapture, *, is_own: bool
    ) -> Iterator[ArchivedAnswer]:
        """Yield what `take` returns for each capture, from the place at which the last run stopped.

        With `is_own`, captures for which `take` returns None are left out, and losses are counted.
        Otherwise there is a step for each capture, and losses are ignored. Raise NotWarc if the
        file has no record. Raise StoreError if it has become shorter.
        """
        name = archive_name(path)
        counted = counted_bytes(path)
        place = self._resume_place_of(name)
        size = _counted_size(path, counted)
        processed = place.offset if place is not None else 0
        # The archive has lost records that were read before: it is not simply at its end
        if processed > size:
            raise StoreError(
                f"{path}: {processed} bytes were processed earlier, but the file is now shorter"
            )
        path = _current_path(path)
        is_processed = place is not None and processed == size
        if is_processed or counted == 0:
            return
        on_damage: Callable[[SkippedRange], None] = ignore_loss
        on_unusable: Callable[[ReadRecord, str], object] = ignore_loss
        if is_own:
            on_damage = partial(self._note_damage, path)
            on_unusable = partial(self._note_unusable, path, "unusable")
        with RecordReader(path, self._max_block_bytes, on_damage, place, counted) as records:
            end = None
            for capture in captures(records, on_unusable):
                # A crawl writes the metadata record behind the answer: it may be missing so far
                is_unfinished = records.is_open and records.ended and not capture.notes
                if is_unfinished:
                    end = capture.place
                    break
                self._note_payload(capture, name)
                download = take(path, capture)
                if download is not None or not is_own:
                    yield ArchivedAnswer(
                        name,
                        capture.after_all or capture.place,
                        self._take_counters(),
                        download,
                        capture.place,
                        is_of_other_shard=not is_own,
                        record=capture.first.id,
                    )
            end = end or records.place
            if is_own and records.is_open:
                log_unfinished_bytes(path, size - end.offset)
            yield ArchivedAnswer(name, end, self._take_counters())

    def _robots_answer_at(self, path: Path, place: RecordStart) -> tuple[Link, Exchange] | None:
        """Return the answer of the capture at a place, if it is what `_robots_answer` looks for."""
        try:
            with RecordReader(path, self._max_block_bytes, ignore_loss, place) as records:
                capture = next(captures(records, ignore_loss), None)
        except NotWarc:
            return None
        return self._robots_answer(path, capture) if capture is not None else None

    def _robots_answer(self, path: Path, capture: RecordedCapture) -> tuple[Link, Exchange] | None:
        """Return the answer of a capture if it is a robots.txt fetched for other URLs, or None."""
        if not capture.first.url.endswith(ROBOTS_PATH) or is_repeat(capture):
            return None
        try:
            link, answer = self._read_answer(path, capture)
        except Unusable:
            return None
        return (link, answer) if link.is_prerequisite else None

    def _usable_answer(self, path: Path, capture: RecordedCapture) -> tuple[Link, Exchange] | None:
        """Return the answer of a capture, or None if it is to be left out.

        The reason is counted, except for revisit records if there are no `originals`.
        """
        if is_repeat(capture):
            self._counters.append("archive/repeats")
            return None
        if self._originals is None and capture.first.kind == "revisit":
            return None
        try:
            return self._read_answer(path, capture)
        except NoPage:
            self._counters.append("archive/others")
        except NoOriginal as error:
            self._note_unusable(path, "revisits", capture.first, str(error))
        except Unusable as error:
            self._note_unusable(path, "unusable", capture.first, str(error))
        return None

    def _read_answer(self, path: Path, capture: RecordedCapture) -> tuple[Link, Exchange]:
        """Return the answer of a capture. Raise Unusable if it cannot be read.

        Raise NoOriginal, which is Unusable too, if its payload is in none of the files read so far.
        """
        file = path.name.removesuffix(OPEN)
        if not needs_original(capture):
            return self._answers.read(capture, None, file)
        original = self._find_original(capture.first)
        if original is None:
            raise NoOriginal("its payload is in none of the files read so far")
        return self._answers.read_with_original(capture, original, file)

    def _find_original(self, revisit: ReadRecord) -> Exchange | None:
        """Return the answer that a revisit record refers to, or None if no file has it.

        A record with the identifier that the revisit record names is preferred to any other with
        the same payload: a browser may have made different documents of the same payload. Records
        that were noted from an index have no identifiers.
        """
        first_found: Exchange | None = None
        places = self._originals.find(revisit) if self._originals is not None else ()
        for name, place in places:
            # A file that was read while it was written may have lost its `.open` since
            for path in (Path(name), Path(name + OPEN)):
                try:
                    with RecordReader(path, self._max_block_bytes, ignore_loss, place) as records:
                        capture = next(captures(records, ignore_loss), None)
                    if capture is None or capture.first.kind == "revisit":
                        continue
                    if revisit.names(capture.first.id, "warc-refers-to"):
                        return self._answers.read(capture)[1]
                    first_found = first_found or self._answers.read(capture)[1]
                except (FileNotFoundError, NotWarc, Unusable):
                    # The next place may have the payload, too
                    continue
        return first_found

    # -- what is lost

    def _take_counters(self) -> tuple[str, ...]:
        """Return the counters since the last call."""
        counters = tuple(self._counters)
        self._counters = []
        return counters

    def _note_payload(self, capture: RecordedCapture, name: str) -> None:
        """Note where a payload is that later captures may refer to."""
        if self._originals is not None and capture.first.kind != "revisit":
            self._originals.add(capture.first, name)

    def _note_damage(self, path: Path, lost: SkippedRange) -> None:
        self._note_loss("damaged", f"{path}: byte {lost.at}: {lost.why}; {lost.size} bytes skipped")

    def _note_unusable(self, path: Path, kind: str, record: ReadRecord, why: str) -> None:
        self._note_loss(kind, f"{path}: byte {record.place}: {record.kind} {record.url}: {why}")

    def _note_loss(self, kind: str, line: str) -> None:
        """Count a loss, and log a line about the first few of each kind."""
        self._counters.append(f"{LOSS_PREFIX}{kind}")
        self._loss_counts[kind] += 1
        if self._loss_counts[kind] <= MAX_LOGGED_LOSSES:
            more = ""
            if self._loss_counts[kind] == MAX_LOGGED_LOSSES:
                more = "; further ones in this file are counted, but not logged"
            logger.warning("%s%s", line, more)


def _current_path(path: Path) -> Path:
    """Return the path of a file, without `.open` if its crawl has finished it meanwhile."""
    return path if path.exists() else path.with_name(path.name.removesuffix(OPEN))


def index_lines(path: Path) -> list[IndexLine] | None:
    """Return the lines of the index beside an archive file, in the order of the records.

    Return None if there is no index, if a line cannot be read, or if a line is of another file.
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


def _counted_size(path: Path, counted: int | None) -> int:
    return archive_size(_current_path(path)) if counted is None else counted


ORIGINALS_FILE = "originals.db"
TABLES = """
CREATE TABLE IF NOT EXISTS file (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS original (
    key INTEGER PRIMARY KEY, file INTEGER NOT NULL, at INTEGER NOT NULL, skip INTEGER NOT NULL
);
"""
MAX_UNWRITTEN_PLACES = 4096


class PayloadPlaces(Part):
    """The places of an archive's payloads, where the originals of revisit records are found.

    A place has up to three kinds of keys, because revisit records use any of them: the record's
    identifier, URL and date, and payload digest. The page of a URL may have changed within a
    second, so the date with its fraction is a key. Some programs write the fraction only in one of
    the two records, so the whole second is another key, which is tried after surer ones.

    The places are in a database of their own, and in no checkpoint: they stay true however many
    pages are processed. It is committed before each checkpoint, so it always has the payloads that
    come before the place at which the next run resumes.
    """

    def __init__(self, path: Path) -> None:
        """Open the database, or create it. Raise StoreError if that fails."""
        self._path = path
        self._files: dict[str, int] = {}  # numbers by name
        self._names: dict[int, str] = {}  # names by number
        # By key: file number, offset and skip of places that are not written yet
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
        """Add the place of a record with a payload. `name` is that of its file, without `.open`."""
        keys = _PayloadKeys.of_record(record, "warc-record-id", "warc-target-uri", "warc-date")
        self._add(keys, record.place, name)

    def add_indexed(self, line: IndexLine, place: RecordStart, name: str) -> None:
        """Add the place of a record from its index line.

        The line has no identifier, and its date has whole seconds only.
        """
        self._add(_PayloadKeys.of_index_line(line), place, name)

    def find(self, revisit: ReadRecord) -> Iterator[tuple[str, RecordStart]]:
        """Yield files and places where the original of a revisit record may be, the surest first."""
        keys = _PayloadKeys.of_record(
            revisit, "warc-refers-to", "warc-refers-to-target-uri", "warc-refers-to-date"
        )
        if is_unmodified(revisit):
            # The original of a 304 must have the right head, too: another URL may have had the same
            # payload under another head
            ordered = chain(keys.exact, keys.by_second, keys.by_digest)
        else:
            ordered = chain(keys.exact, keys.by_digest, keys.by_second)
        for key in ordered:
            row = self._new.get(key)
            if row is None:
                rows = self._execute(
                    "SELECT file, at, skip FROM original WHERE key = ?", (key,)
                ).fetchall()
                row = rows[0] if rows else None
            if row is not None:
                number, offset, skip = row
                yield self._names[number], RecordStart(offset, skip)

    def _add(self, keys: _PayloadKeys, place: RecordStart, name: str) -> None:
        """Add a place under all of its keys. A key that is known keeps its earlier place."""
        number = self._files.get(name)
        if number is None:
            number = self._files[name] = len(self._files) + 1
            self._names[number] = name
            self._execute("INSERT INTO file VALUES (?, ?)", (number, name))
        row = (number, place.offset, place.skip)
        for key in (*keys.exact, *keys.by_digest, *keys.by_second):
            self._new.setdefault(key, row)
        if len(self._new) >= MAX_UNWRITTEN_PLACES:
            self.write()

    def write(self) -> None:
        """Write the new places, which are safe on disk afterwards. Raise StoreError."""
        try:
            self._db.execute("BEGIN")
            self._db.executemany(
                "INSERT OR IGNORE INTO original VALUES (?, ?, ?, ?)",
                [(key, *row) for key, row in self._new.items()],
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


def check_places(path: Path) -> Iterator[DamagedFile]:
    """Yield what SQLite finds wrong with the database of a PayloadPlaces. Nothing is written.

    Beside a log, which a run that works or was killed has, the file need not be whole: then nothing
    is checked.
    """
    if Path(f"{path}-wal").exists():
        return
    address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(address, uri=True)) as db:
            flaws = [str(flaw) for (flaw,) in db.execute("PRAGMA quick_check") if flaw != "ok"]
    except sqlite3.Error as error:
        flaws = [str(error)]
    for flaw in flaws:
        yield DamagedFile(path, 0, " ".join(flaw.split()))


@dataclass(frozen=True, slots=True)
class _PayloadKeys:
    """The keys of a record's payload."""

    exact: list[int]  # of the identifier, and of URL and date with its fraction of a second
    by_digest: list[int]
    by_second: list[int]  # of URL and whole second

    @classmethod
    def of_record(cls, record: ReadRecord, id_field: str, url_field: str, date_field: str) -> Self:
        """Return the keys that a record has in these fields, and its payload digest."""
        fields = record.fields
        keys = cls([], [], [])
        if fields.get(id_field):
            keys.exact.append(_key(fields[id_field]))
        digest = fields.get("warc-payload-digest", "")
        if digest:
            keys.by_digest.append(_key(digest))
        url = fields.get(url_field, "").strip("<>")
        date = fields.get(date_field, "")
        if url and date:
            keys.by_second.append(_key(f"{url} {date[:SECOND_CHARS]}"))
            if "." in date:
                keys.exact.append(_key(f"{url} {date}"))
        return keys

    @classmethod
    def of_index_line(cls, line: IndexLine) -> Self:
        digest = [_key(line.digest)] if line.digest not in ("", "-") else []
        return cls([], digest, [_key(f"{line.url} {line.date[:SECOND_CHARS]}")])


SECOND_CHARS = len("2026-11-30T12:00:00")  # of a date without the fraction of a second


def _key(text: str) -> int:
    """Return the first 64 bits of a hash, signed, as SQLite stores integers."""
    digest = blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
