"""Writes the archive of a crawl, JOBDIR/warc/*.warc.gz, one file at a time (docs/archive.md)."""

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
    BATCH_BYTES,
    REPEATABLE,
    CaptureMaker,
    CaptureRecords,
    CompressionQueue,
    RecentPayloads,
    payload_key,
)
from webcrawl.record.warc.warc_record import (
    VERSION,
    WARC_FIELDS,
    NewRecord,
    compressed_record,
    fields,
    token_names,
)
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
    """Appends lines for the records of one archive file to its index."""

    def __init__(self, output: Output, archive: str) -> None:
        self._output = output
        self._end = end(archive)

    def add(self, capture: CaptureRecords, at: int) -> None:
        """Add the records of one exchange, the first of which is at byte `at` of the archive."""
        start, answer = capture.index_fields
        lines = f"{start}{answer}{place(capture.digest, capture.size, at)}{self._end}"
        at += len(capture.data) - sum(capture.browser_sizes)
        for indexed, size in zip(capture.browser_records, capture.browser_sizes, strict=True):
            start = begin(indexed.address, capture.date)
            lines += (
                f"{start}{mime(indexed.content_type)}{place(indexed.digest, size, at)}{self._end}"
            )
            at += size
        self._output.write(lines.encode())

    def finish(self) -> None:
        """Finish the index. The next checkpoint sorts it and gives it its final name."""
        self._output.finish()


def index_fields_of(capture: CaptureRecords, exchange: Exchange) -> tuple[str, str]:
    """Return the beginning of the index line of a capture, and its fields of the answer."""
    return begin(capture.address, capture.date), _answer_fields(capture, exchange)


def _answer_fields(capture: CaptureRecords, exchange: Exchange) -> str:
    """Return the fields of the answer: media type, status, method, recognised kind, truncated body."""
    state = exchange.state
    reason = exchange.truncated if state.withheld is None else "unspecified"
    truncated_field = truncated(reason) if reason else ""
    if not exchange.head:
        if not exchange.payload:
            return ""
        return f"{mime(_type_without_head(exchange))}{truncated_field}"
    media_type = exchange.content_type if capture.is_original else REVISIT
    # After a 304 the exchange has the status of the earlier answer, but the record's head has 304
    status = 304 if exchange.unmodified else exchange.status
    method_field = ""
    if not exchange.request.startswith(b"GET "):
        method_field = method(exchange.request)
    kind_field = ""
    if state.recognised:
        kind_field = recognised(state.recognised)
    return f'{mime(media_type)}"status": "{status}", {method_field}{kind_field}{truncated_field}'


def _type_without_head(exchange: Exchange) -> str:
    if exchange.rendered:
        return "text/html"
    return exchange.content_type or "application/octet-stream"


FOLDER = "warc"
STATE_KEY = "warc"  # in the database: the next serial number, and the open file
IDS_PER_DRAW = 64  # record identifiers per call of the random generator
# RFC 9562: the groups of digits in a UUID, and the six of its bits that version 4 fixes.
_GROUPS = re.compile("(.{8})(.{4})(.{4})(.{4})(.{12})")
_DRAWN_BITS = int("ffffffffffff0fff3fffffffffffffff" * IDS_PER_DRAW, 16)
_FIXED_BITS = int("00000000000040008000000000000000" * IDS_PER_DRAW, 16)
STANDARD_URL = (
    f"http://iipc.github.io/warc-specifications/specifications/warc-format/warc-{VERSION}/"
)


@dataclass(frozen=True, slots=True)
class WarcFiles:
    """How archive files are made."""

    prefix: str  # of their names
    max_size: int  # bytes from which on a file is finished
    info: Mapping[str, str]  # of the warcinfo record
    indexed: bool = True  # whether each file has an index

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9._-]+", self.prefix):
            raise ValueError(f"the name of a WARC file cannot begin with {self.prefix!r}")


class WarcWriter:
    """Writes exchanges to WARC files."""

    def __init__(
        self,
        db: CrawlDB,
        outputs: Outputs,
        files: WarcFiles,
        *,
        random: Random,
        clock: Callable[[], float],
        queue: CompressionQueue | None = None,
    ) -> None:
        """Finish the file that an earlier run left open.

        With `queue` a thread compresses the records, else the caller. `random` draws the records'
        identifiers, so it must never repeat itself, in this crawl or in another: outside of tests
        it is a SystemRandom.
        """
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
        self._queue = queue
        self._thread = get_ident()  # the only one that writes
        self._error: BaseException | None = None  # because of which a queued capture is missing
        self._resume()
        if queue is not None:
            outputs.on_close(queue.close)
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
        without_body: bool = False,
    ) -> RecordLocation:
        """Write all records of the exchange, or raise and write none; return the first's place.

        With a queue the records are written later, in order, and before the next checkpoint notes
        anything. An error may then be that of an earlier exchange. After an error nothing more is
        written.

        A `duplicate`, which is a body seen before, becomes a revisit record if its payload was
        written recently. Otherwise it is written as a whole, because an archive must not refer to a
        record that it does not have. `without_body`: the body may not be kept, and the answer has
        no line in the index.

        If only the index cannot be written, that is raised as well. The crawl ends then, and the
        next start truncates the archive.
        """
        # The file first, because the records name its warcinfo record
        output = self._file_with_room() or self._begin_file()
        capture = self._captures.make(
            link,
            exchange,
            warcinfo=self._warcinfo,
            duplicate=duplicate,
            metadata=metadata,
            without_body=without_body,
        )
        if self._index is not None and not capture.without_body:
            capture.index_fields = index_fields_of(capture, exchange)
        capture.place = RecordLocation(
            output.path.name.removesuffix(OPEN), written=self._write_on_demand
        )
        if self._queue is None:
            self._write_capture(capture.pack())
        elif self._queue.add(capture):
            self._write_all(self._queue.take_ready())
        exchange.state.is_original = capture.is_original
        if capture.copy_of is not None:
            exchange.state.copy_of, date = capture.copy_of
            # 0 if the date, in an archive of another program, is malformed
            exchange.state.same_since = seconds_of(date)
        if capture.is_original and exchange.payload and exchange.truncated in REPEATABLE:
            self._originals.add(
                payload_key(exchange), capture.identifier, capture.address, capture.date
            )
        return capture.place

    def close(self) -> None:
        """Finish the open file. It loses its `.open` after the next checkpoint has noted it."""
        self._write_queued()
        if self._output is not None and self._output.tell():
            self._finish(self._output)

    # -- the checkpoint, if there is a queue

    def prepare(self) -> Iterator[None]:
        """Wait until the thread has compressed all captures, while the crawl goes on.

        So `save` has little to wait for.
        """
        if self._queue is not None:
            yield from self._queue.until_done()
            self._write_all(self._queue.take_ready())

    def save(self) -> None:
        """Write all captures: after this checkpoint their exchanges will not be archived again."""
        self._write_queued()

    def _show(self) -> None:
        """Write what others can then read, without a long wait.

        In a busy crawl that is what is compressed already. If little is queued, it is all.
        """
        if self._queue is not None:
            self._queue.submit()
            self._write_all(
                self._queue.take_all()
                if self._queue.size <= BATCH_BYTES
                else self._queue.take_ready()
            )

    def _write_on_demand(self) -> None:
        """Write all captures, because the caller needs the place of one that is still queued."""
        # Two threads that write would mix up records
        if get_ident() != self._thread:
            raise RuntimeError(
                "only the event loop's thread may ask where a record is before it is written"
            )
        self._write_queued()

    def _write_queued(self) -> None:
        if self._queue is not None:
            self._write_all(self._queue.take_all())

    def _write_all(self, captures: Iterator[CaptureRecords]) -> None:
        """Write these captures. Raise StoreError if an earlier one could not be written."""
        # The rest of its batch is lost, too: nothing may be written after such a gap
        if self._error is not None:
            raise StoreError(
                f"{FOLDER}: cannot be used after an earlier error: {words_of(self._error)}"
            ) from self._error
        try:
            for capture in captures:
                self._write_capture(capture)
        except BaseException as error:
            self._error = error
            raise

    def _write_capture(self, capture: CaptureRecords) -> None:
        """Write a compressed capture. Finish a full file, unless queued captures belong into it."""
        output = self._output or self._begin_file()
        head = b"" if output.tell() else self._warcinfo_record(output)
        at = output.tell() + len(head)
        output.write(head + capture.data)
        if self._index is not None and not capture.without_body:
            self._index.add(capture, at)
        capture.place.put(at, capture.size)
        is_full = output.tell() >= self._files.max_size
        # Records in the queue name this file's warcinfo record
        has_queued = self._queue is not None and self._queue.size > 0
        if is_full and not has_queued:
            self._finish(output)

    def _file_with_room(self) -> Output | None:
        """Return the open file if the next capture belongs into it, or None.

        If the queued captures might fill the file, they are written first.
        """
        output = self._output
        queue = self._queue
        if output is None or queue is None:
            return output
        # The queue's size is an upper bound. So a file ends with the same record as without a
        # thread.
        if output.tell() + queue.size >= self._files.max_size:
            self._write_queued()
        return self._output

    # -- files

    def _resume(self) -> None:
        """Finish the file that a crash left open: this run may have another warcinfo record."""
        state = self._db.get(STATE_KEY)
        if state is not None:
            serial, _, path = state.decode().partition(" ")
            self._serial = int(serial)
            if path:
                self._open(path)
            if self._output is not None and self._output.tell():
                self._finish(self._output)
        # Remove files that no checkpoint names. Their names have a time, and are never used again.
        for ending in (ARCHIVE + OPEN, INDEX + OPEN, *(INDEX + scratch for scratch in SCRATCH)):
            self._outputs.sweep(f"{FOLDER}/*{ending}")

    def _begin_file(self) -> Output:
        """Open a new file, whose name has the time and a serial number."""
        stamp = re.sub(r"\D", "", iso(self._clock(), fraction=False))
        output = self._open(
            f"{FOLDER}/{self._files.prefix}-{stamp}-{self._serial:05d}.warc.gz{OPEN}"
        )
        self._serial += 1
        self._note(f"{FOLDER}/{output.path.name}")
        return output

    def _open(self, path: str) -> Output:
        """Open a file. If it has records already, it keeps its index, or stays without one."""
        self._output = self._outputs.open(path)
        index = index_of(path)
        is_new = not self._output.tell()
        has_index = self._outputs.holds(index)
        if has_index or (self._files.indexed and is_new):
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
        self._db.set(STATE_KEY, f"{self._serial} {path}".encode())

    # -- records

    def _warcinfo_record(self, output: Output) -> bytes:
        """Return the warcinfo record, compressed.

        It is written together with the first capture, so that no file has only a warcinfo record.
        """
        about = {
            **token_names(self._files.info),
            "format": f"WARC File Format {VERSION}",
            "conformsTo": STANDARD_URL,
        }
        head = {
            "WARC-Record-ID": self._warcinfo,
            "WARC-Date": iso(self._clock()),
            "WARC-Filename": output.path.name.removesuffix(OPEN),
        }
        record = NewRecord("warcinfo", fields(head).decode(), WARC_FIELDS, fields(about))
        return compressed_record(record, label(sha1(record.block)))


def identifiers(random: Random) -> Iterator[str]:
    """Yield version 4 UUIDs without end, IDS_PER_DRAW per system call."""
    while True:
        digits = f"{random.getrandbits(128 * IDS_PER_DRAW) & _DRAWN_BITS | _FIXED_BITS:0{32 * IDS_PER_DRAW}x}"
        for groups in _GROUPS.findall(digits):
            yield f"<urn:uuid:{'-'.join(groups)}>"
