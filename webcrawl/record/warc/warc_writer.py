"""The archive of a crawl: JOBDIR/warc/*.warc.gz, one file open at a time (docs/archive.md)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from threading import get_ident

from webcrawl.base.dates import iso, seconds_of
from webcrawl.base.digest import label, sha1
from webcrawl.base.errors import words_of
from webcrawl.base.model import Exchange, Link, RecordLocation
from webcrawl.record.warc.capture import (
    BATCH,
    REPEATABLE,
    CaptureMaker,
    CaptureRecords,
    CompressionQueue,
    RecentPayloads,
    payload_key,
)
from webcrawl.record.warc.warc_record import VERSION, WARC_FIELDS, NewRecord, fields, member, named
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.index_line import (
    ARCHIVE,
    INDEX,
    REVISIT,
    begin,
    end,
    index_of,
    method,
    mime,
    place,
    recognised,
    truncated,
)
from webcrawl.store.lines import SCRATCH
from webcrawl.store.output import OPEN, Output
from webcrawl.store.outputs import Outputs


class IndexWriter:
    """Lines for the records of one archive file, appended to an output of the crawl."""

    def __init__(self, output: Output, archive: str) -> None:
        self._output = output
        self._end = end(archive)

    def add(self, capture: CaptureRecords, at: int) -> None:
        """Add the records of one exchange, the first of which is at byte `at` of the archive."""
        start, answer = capture.line
        lines = f"{start}{answer}{place(capture.digest, capture.size, at)}{self._end}"
        at += len(capture.data) - sum(capture.made_sizes)
        for made, size in zip(capture.made, capture.made_sizes, strict=True):
            start = begin(made.address, capture.date)
            lines += f"{start}{mime(made.content_type)}{place(made.digest, size, at)}{self._end}"
            at += size
        self._output.write(lines.encode())

    def finish(self) -> None:
        """Finish the index. With the next checkpoint it is sorted, and gets its final name."""
        self._output.finish()


def line_of(capture: CaptureRecords, exchange: Exchange) -> tuple[str, str]:
    """Return the line's beginning, and its fields of the answer."""
    return begin(capture.address, capture.date), _answer(capture, exchange)


def _answer(capture: CaptureRecords, exchange: Exchange) -> str:
    """Return the line's fields of the answer: media type, status, recognised kind and others."""
    state = exchange.state
    why = exchange.truncated if state.withheld is None else "unspecified"
    cut = truncated(why) if why else ""
    if not exchange.head:
        if not exchange.payload:
            return ""
        return f"{mime(_type_without_head(exchange))}{cut}"
    kind = exchange.content_type if capture.is_original else REVISIT
    # The status in the record's own head: a page of a 304 has the status of the earlier answer
    status = 304 if exchange.unmodified else exchange.status
    asked = ""
    if not exchange.request.startswith(b"GET "):
        asked = method(exchange.request)
    what = ""
    if state.recognised:
        what = recognised(state.recognised)
    return f'{mime(kind)}"status": "{status}", {asked}{what}{cut}'


def _type_without_head(exchange: Exchange) -> str:
    if exchange.rendered:
        return "text/html"
    return exchange.content_type or "application/octet-stream"


FOLDER = "warc"
STATE = "warc"  # in the database: the next serial number, and the open file
DRAWN = 64  # identifiers per call of the random generator
# RFC 9562: the groups of digits in a UUID, and the six of its bits that version 4 fixes.
_GROUPS = re.compile("(.{8})(.{4})(.{4})(.{4})(.{12})")
_DRAWN_BITS = int("ffffffffffff0fff3fffffffffffffff" * DRAWN, 16)
_FIXED_BITS = int("00000000000040008000000000000000" * DRAWN, 16)
STANDARD = f"http://iipc.github.io/warc-specifications/specifications/warc-format/warc-{VERSION}/"


@dataclass(frozen=True, slots=True)
class WarcFiles:
    """The form of the files: prefix, size at which one is finished, warcinfo, and whether indexed."""

    prefix: str
    max_size: int
    info: Mapping[str, str]
    indexed: bool = True

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9._-]+", self.prefix):
            raise ValueError(f"the name of a WARC file cannot begin with {self.prefix!r}")


class WarcWriter:
    """Writes exchanges to WARC files.

    `random` draws the records' identifiers, so it must never repeat itself, in this crawl or in
    another: outside of tests it is a SystemRandom.
    """

    def __init__(
        self,
        db: CrawlDB,
        outputs: Outputs,
        files: WarcFiles,
        *,
        random: Random,
        clock: Callable[[], float],
        press: CompressionQueue | None = None,
    ) -> None:
        """Write at once, or with `press` compress in a thread of its own."""
        self._db = db
        self._outputs = outputs
        self._files = files
        self._clock = clock
        self._new_id = identifiers(random).__next__
        self._originals = RecentPayloads()
        self._captures = CaptureMaker(self._originals, self._new_id)
        self._output: Output | None = None
        self._index: IndexWriter | None = None  # of the open file
        self._warcinfo = ""  # identifier of the open file's warcinfo record
        self._serial = 0
        self._press = press
        self._thread = get_ident()  # of the caller
        self._broken: BaseException | None = None  # of the press's captures one was not written
        self._resume()
        if press is not None:
            outputs.on_close(press.close)
            outputs.on_show(self._show)
            # Before the outputs, to which it writes
            db.join(self, first=True)

    def __repr__(self) -> str:
        return f"<WarcWriter serial={self._serial} {self._output!r}>"

    def write(
        self,
        link: Link,
        exchange: Exchange,
        *,
        duplicate: bool,
        metadata: Mapping[str, str],
        bare: bool = False,
    ) -> RecordLocation:
        """Write all records of the exchange, or raise and write none; return the first's place.

        With a press they are written later, in order, and before the next checkpoint notes
        anything. Then an error may be that of an earlier exchange; nothing more is written after
        one.

        A `duplicate`, a body seen before, becomes a revisit record if its payload was written
        recently. Otherwise it is written whole: an archive must not refer to a record that it does
        not hold. Where only the index takes no more, that is raised as well: the crawl ends, and
        the next start cuts the archive back.

        `bare`: of an answer whose body may not be kept; it has no line in the index.
        """
        # First the file: the records name its warcinfo record
        output = self._roomy() or self._begin()
        capture = self._captures.take(
            link,
            exchange,
            warcinfo=self._warcinfo,
            duplicate=duplicate,
            metadata=metadata,
            bare=bare,
        )
        if self._index is not None and not capture.bare:
            capture.line = line_of(capture, exchange)
        capture.place = RecordLocation(output.path.name.removesuffix(OPEN), written=self._asked)
        if self._press is None:
            self._put(capture.pack())
        elif self._press.add(capture):
            self._put_all(self._press.ready())
        exchange.state.is_original = capture.is_original
        if capture.copy_of is not None:
            exchange.state.copy_of, when = capture.copy_of
            # 0 of a date that is none, in an archive of somebody else's
            exchange.state.same_since = seconds_of(when)
        if capture.is_original and exchange.payload and exchange.truncated in REPEATABLE:
            self._originals.add(
                payload_key(exchange), capture.identifier, capture.address, capture.date
            )
        return capture.place

    def close(self) -> None:
        """Finish the open file. It loses its `.open` after the next checkpoint has noted it."""
        self._settle()
        if self._output is not None and self._output.tell():
            self._finish(self._output)

    # -- the checkpoint, if there is a press

    def prepare(self) -> Iterator[None]:
        """Let the thread compress what it has."""
        # The crawl continues meanwhile, so `save` has little left to wait for
        if self._press is not None:
            yield from self._press.until_done()
            self._put_all(self._press.ready())

    def save(self) -> None:
        """Write all that was taken: what follows this checkpoint is not to be archived again."""
        self._settle()

    def _show(self) -> None:
        """Wait for little only: of a busy crawl what is ready is written, of another one all."""
        if self._press is not None:
            self._press.push()
            self._put_all(self._press.rest() if self._press.size <= BATCH else self._press.ready())

    def _asked(self) -> None:
        """Write everything pending, because someone has asked where an unwritten record will be."""
        # Two threads that write would mix up records
        if get_ident() != self._thread:
            raise RuntimeError(
                "only the event loop's thread may ask where a record is before it is written"
            )
        self._settle()

    def _settle(self) -> None:
        if self._press is not None:
            self._put_all(self._press.rest())

    def _put_all(self, captures: Iterator[CaptureRecords]) -> None:
        # The rest of the failed capture's batch is lost: nothing is written after such a gap
        if self._broken is not None:
            raise StoreError(
                f"{FOLDER}: cannot be used after an earlier error: {words_of(self._broken)}"
            ) from self._broken
        try:
            for capture in captures:
                self._put(capture)
        except BaseException as error:
            self._broken = error
            raise

    def _put(self, capture: CaptureRecords) -> None:
        """Write what is compressed; finish a full file, unless more in the press belongs into it."""
        output = self._output or self._begin()
        head = b"" if output.tell() else self._head(output)
        at = output.tell() + len(head)
        output.write(head + capture.data)
        if self._index is not None and not capture.bare:
            self._index.add(capture, at)
        capture.place.put(at, capture.size)
        is_full = output.tell() >= self._files.max_size
        # Records in the press name this file's warcinfo record
        has_more_in_press = self._press is not None and self._press.size > 0
        if is_full and not has_more_in_press:
            self._finish(output)

    def _roomy(self) -> Output | None:
        """Return the open file if the next capture belongs into it: those in the press may fill it."""
        output = self._output
        press = self._press
        if output is None or press is None:
            return output
        # So a file ends with the same record as without a thread: the sizes in the press are bounds
        if output.tell() + press.size >= self._files.max_size:
            self._settle()
        return self._output

    # -- files

    def _resume(self) -> None:
        """Finish a file that a crash left open: this run's warcinfo may be another."""
        state = self._db.get(STATE)
        if state is not None:
            serial, _, path = state.decode().partition(" ")
            self._serial = int(serial)
            if path:
                self._open(path)
            if self._output is not None and self._output.tell():
                self._finish(self._output)
        # Files that no checkpoint names: their names have the time, and are never used again
        for ending in (ARCHIVE + OPEN, INDEX + OPEN, *(INDEX + scratch for scratch in SCRATCH)):
            self._outputs.sweep(f"{FOLDER}/*{ending}")

    def _begin(self) -> Output:
        stamp = re.sub(r"\D", "", iso(self._clock(), fraction=False))
        output = self._open(
            f"{FOLDER}/{self._files.prefix}-{stamp}-{self._serial:05d}.warc.gz{OPEN}"
        )
        self._serial += 1
        self._note(f"{FOLDER}/{output.path.name}")
        return output

    def _open(self, path: str) -> Output:
        """Open a file. One that has records goes on as it was begun: with an index, or without."""
        self._output = self._outputs.open(path)
        index = index_of(path)
        if self._outputs.holds(index) or (self._files.indexed and not self._output.tell()):
            self._index = IndexWriter(
                self._outputs.open(index), self._output.path.name.removesuffix(OPEN)
            )
        self._warcinfo = self._new_id()
        return self._output

    def _finish(self, output: Output) -> None:
        output.finish()
        if self._index is not None:
            self._index.finish()
        self._output = None
        self._index = None
        self._note("")

    def _note(self, path: str) -> None:
        self._db.set(STATE, f"{self._serial} {path}".encode())

    # -- records

    def _head(self, output: Output) -> bytes:
        """Return the warcinfo record.

        It is written together with the first capture, so that no file consists of it alone.
        """
        about = {
            **named(self._files.info),
            "format": f"WARC File Format {VERSION}",
            "conformsTo": STANDARD,
        }
        head = {
            "WARC-Record-ID": self._warcinfo,
            "WARC-Date": iso(self._clock()),
            "WARC-Filename": output.path.name.removesuffix(OPEN),
        }
        record = NewRecord("warcinfo", fields(head).decode(), WARC_FIELDS, fields(about))
        return member(record, label(sha1(record.block)))


def identifiers(random: Random) -> Iterator[str]:
    """Yield version 4 UUIDs without end, DRAWN per system call."""
    while True:
        digits = f"{random.getrandbits(128 * DRAWN) & _DRAWN_BITS | _FIXED_BITS:0{32 * DRAWN}x}"
        for one, two, three, four, five in _GROUPS.findall(digits):
            yield f"<urn:uuid:{one}-{two}-{three}-{four}-{five}>"
