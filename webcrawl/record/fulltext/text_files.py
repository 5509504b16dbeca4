"""JOBDIR/text/text-*.jsonl.gz (docs/outputs.md): a page as one line of JSON, in gzip members of
some hundred KB.

One file is open at a time. Readers get the lines of whole members, from any member on.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from isal import igzip

from webcrawl.base.dates import iso
from webcrawl.base.model import RecordLocation
from webcrawl.base.page_values import Change
from webcrawl.content.formats.pdf import CUT
from webcrawl.content.html.encodings import is_undecodable
from webcrawl.content.html.text_language import knows_languages
from webcrawl.content.page import Page
from webcrawl.record.warc.unpacking import GZIPPED, Torn, UnpackedStream
from webcrawl.record.warc.unpacking import Place as MemberPlace
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.jobdir.outputs import open_noted
from webcrawl.store.output import OPEN, Output
from webcrawl.store.outputs import Outputs

LONGEST = 1 << 20  # characters of text: the rest is left out, and the line says so
LANGUAGE = 100  # characters of what a page may declare
# What no reader wants in a text, and some (DuckDB, terminals) do not bear: control characters but
# tab and line feed. no page's text
PROGRAMS = frozenset(("text/css", "text/ecmascript", "text/javascript", "text/x-javascript"))
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(slots=True)
class ArchivedLine:
    """A line that says where the archive has its page.

    Ask for its bytes late: the archive may not have it yet.
    """

    begin: bytes  # of a line without that, up to its last brace
    place: RecordLocation

    def __len__(self) -> int:
        return len(self.begin)

    def __bytes__(self) -> bytes:
        file, offset, length = self.place
        return (
            self.begin
            + b', "warc": '
            + _encode({"file": file, "offset": offset, "length": length})[:-1]
            + b"}\n"
        )


def line(page: Page, ordinal: int) -> bytes | ArchivedLine:
    """Return the line of a page, which has the number `ordinal`; empty for a new page that shows no
    text.

    One that was fetched again and shows none any more has a line without text: what was said of it
    before is over.
    """
    if page.change is Change.GONE:
        return blank(page, ordinal)
    again = page.change is not Change.NEW
    if page.content_type in PROGRAMS:
        return blank(page, ordinal) if again else b""
    page.look_through()
    text = page.visible_text
    if not text or text.isspace():
        return blank(page, ordinal) if again else b""
    return _line(page, ordinal, text)


def blank(page: Page, ordinal: int) -> bytes:
    """Return the line of a page that is no longer what lines before it say, and of which no other
    text is kept.
    """
    return _encode(_about(page, ordinal) | {"headings": [], "text": ""})


def _line(page: Page, ordinal: int, text: str) -> bytes | ArchivedLine:
    exchange = page.exchange
    value = _about(page, ordinal)
    value["title"], value["language"] = page.title, page.language[:LANGUAGE]
    value["headings"] = [heading for _, heading in page.headings]
    value["text"] = _clean(text[:LONGEST])
    if forbidden := page.preferences.forbidden:
        value["forbidden"] = forbidden
    if is_undecodable(value["text"]):
        value["undecodable"] = True
    if knows_languages() and page.contradicts_language:
        value["written_in"] = page.guessed_language
    has_partial_page = exchange is not None and CUT in exchange.state.notes
    if page.truncated or has_partial_page or len(text) > LONGEST:
        value["truncated"] = page.truncated or "length"
    if exchange is not None and exchange.state.archived is not None:
        return ArchivedLine(_encode(value)[:-2], exchange.state.archived)
    return _encode(value)


def _about(page: Page, ordinal: int) -> dict[str, Any]:
    exchange = page.exchange
    value: dict[str, Any] = {
        "ordinal": ordinal,
        "url": page.url,
        "title": "",  # here for its place in the line
        "language": "",
        "fetched_at": iso(page.fetched_at),
        "type": page.content_type,
        "digest": exchange.digest if exchange is not None else "",
    }
    if page.change is not Change.NEW:
        value["change"] = page.change.value
    return value


def _clean(text: str) -> str:
    if "\r" in text:  # of a plain text: a document's lines are ours
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub("\ufffd", text)


def _encode(value: Mapping[str, Any]) -> bytes:
    # a lone surrogate is no text: it has no bytes in UTF-8
    return json.dumps(value, ensure_ascii=False).encode(errors="replace") + b"\n"


FOLDER = "text"
STATE = "text"  # in the database: the next file's number, the next page's, and the open file
# bytes of lines compressed at once: 8 % fewer bytes than one member for each page
MEMBER = 256 << 10
# isal's: 32 us for a page of 10 KB of text; zlib's best makes 8 % fewer bytes in 15 times the time
LEVEL = 2
Line = Callable[[int], bytes | ArchivedLine]  # of a page, by its number


def name_of(number: int) -> str:
    """Return the path of a file below JOBDIR, once it is finished."""
    return f"{FOLDER}/text-{number:05d}.jsonl.gz"


class TextFiles(Part):
    """Appends lines. As a Part it ends the open member: a checkpoint notes whole members alone."""

    def __init__(self, db: CrawlDB, outputs: Outputs, max_size: int) -> None:
        self._db = db
        self._outputs = outputs
        self._max_size = max_size
        self._output: Output | None = None
        self._waiting: list[bytes | ArchivedLine] = []  # lines that are not compressed yet
        self._size = 0  # their bytes
        self._number = self.ordinal = 0  # of the next file, and of the next page
        self._resume()
        db.join(self, first=True)  # before the outputs, which note their lengths

    def add(self, make: Line) -> bool:
        """Adds the line that `make` makes of the page's number, unless it is empty; says whether it
        was.
        """
        data = make(self.ordinal)
        if not data:
            return False
        if self._output is None:
            self._output = self._outputs.open(f"{name_of(self._number)}{OPEN}")
            self._number += 1
        self._waiting.append(data)
        self._size += len(data)
        self.ordinal += 1
        if self._size >= MEMBER:
            self._compress(self._output)
        return True

    def place(self) -> tuple[int, int]:
        """Return the place of the next member: the number of its file, and its first byte."""
        return (
            (self._number, 0) if self._output is None else (self._number - 1, self._output.tell())
        )

    def close(self) -> None:
        """Finishes the open file. It loses its `.open` after the next checkpoint has noted it."""
        if self._output is not None:
            self._compress(self._output)
        if self._output is not None:  # it may have been large enough
            self._finish(self._output)

    # -- files

    def _resume(self) -> None:
        """Go on with a file that a crash left open."""
        state = self._db.get(STATE)
        if state is not None:
            number, ordinal, path = state.decode().split(" ")
            self._number = int(number)
            self.ordinal = int(ordinal)
            if path:
                self._output = self._outputs.open(path)
        self._outputs.sweep(f"{FOLDER}/*{OPEN}")

    def _compress(self, output: Output) -> None:
        if self._waiting:
            output.write(
                igzip.compress(b"".join(map(bytes, self._waiting)), compresslevel=LEVEL, mtime=0)
            )
            self._waiting.clear()
            self._size = 0
        if output.tell() >= self._max_size:
            self._finish(output)

    def _finish(self, output: Output) -> None:
        output.finish()
        self._output = None

    # -- the checkpoint

    def save(self) -> None:
        if self._output is not None:
            self._compress(self._output)
        path = f"{FOLDER}/{self._output.path.name}" if self._output is not None else ""
        self._db.set(STATE, f"{self._number} {self.ordinal} {path}".encode())


LARGEST = MEMBER + 16 * LONGEST  # bytes of a member's lines at most, which our own never reach


class Missing(StoreError):  # noqa: N818 - reads as what it is
    """A text file was taken away."""


class Place(NamedTuple):
    """A member: the number of its file, and its first byte there."""

    file: int
    offset: int


def lines(jobdir: Path, place: Place, end: int) -> Iterator[tuple[Place, dict[str, Any]]]:
    """The lines from a member on, over all files, up to and without that of page `end`; each with
    its member's place.

    StoreError if they are not all there.
    """
    number, offset = place
    while True:
        path, file = _open(jobdir, number)
        with file:
            for first, _, data in members(path, file, offset):
                here = Place(number, first)
                for value in pages(path, first, data):
                    if value["ordinal"] < end:
                        yield here, value
                    if value["ordinal"] >= end - 1:
                        return
        number, offset = number + 1, 0


def pages(path: Path, offset: int, data: bytes) -> Iterator[dict[str, Any]]:
    """The lines of a member."""
    try:
        for line in data.split(b"\n")[:-1]:
            yield json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DamagedFile(path, offset, f"not the lines of pages: {error}") from error


def member(jobdir: Path, place: Place) -> Iterator[dict[str, Any]]:
    """The lines of one member; none if its file is no longer here."""
    try:
        path, file = _open(jobdir, place.file)
    except Missing:
        return
    with file:
        for first, _, data in members(path, file, place.offset):
            yield from pages(path, first, data)
            return


def members(
    path: Path, file: BinaryIO, offset: int, end: int | None = None
) -> Iterator[tuple[int, int, bytes]]:
    """The whole members from this byte on, up to byte `end`: the first byte of each, the byte after
    it, its lines.
    """
    unpacked = UnpackedStream(
        file, GZIPPED, os.fstat(file.fileno()).st_size if end is None else end
    )
    try:
        unpacked.seek(MemberPlace(offset, 0))
        while unpacked.cross():
            data = bytearray()
            while piece := unpacked.read(LARGEST):
                data += piece
                if len(data) > LARGEST:
                    raise DamagedFile(path, offset, f"a member of more than {LARGEST} bytes")
            after = unpacked.place.offset
            yield offset, after, bytes(data)
            offset = after
    except Torn as torn:
        if not torn.ends:  # else the last member is still being written
            raise DamagedFile(path, offset, str(torn)) from torn


def _open(jobdir: Path, number: int) -> tuple[Path, BinaryIO]:
    """A file that may still have its `.open`."""
    path = jobdir / name_of(number)
    file = open_noted(jobdir, name_of(number))
    if file is None:
        raise Missing(f"{path}: moved or removed, and the index does not have its pages")
    return path, file
