"""Writes and reads JOBDIR/text/text-*.jsonl.gz: a line of JSON for each page (docs/outputs.md).

The lines are in gzip members of some hundred KB. One file is written at a time. Readers get the
lines of whole members, from any member on.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from isal import igzip

from webcrawl.base.dates import iso
from webcrawl.base.model import RecordLocation
from webcrawl.base.page_values import Change
from webcrawl.base.url_text import host_of
from webcrawl.content.formats.pdf import TRUNCATED_PDF
from webcrawl.content.html.encodings import is_undecodable
from webcrawl.content.html.link_kinds import is_nofollow
from webcrawl.content.html.text_language import knows_languages
from webcrawl.content.page import Page
from webcrawl.record.warc.unpacked_stream import GZIPPED, TornRecord, UnpackedStream
from webcrawl.record.warc.unpacked_stream import RecordStart as MemberPlace
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.jobdir.outputs import open_noted
from webcrawl.store.output import OPEN, Output
from webcrawl.store.outputs import Outputs
from webcrawl.urls.canonical import canonical_links
from webcrawl.urls.host_names import RegisteredDomains

domain_of = RegisteredDomains()
MAX_TEXT_CHARS = 1 << 20  # of a page: the rest is left out, and the line says so
MAX_LANGUAGE_CHARS = 100  # of a declared language
MAX_LINKS = 100  # to other domains: a page with more is a list of links
# Media types of texts that are no pages
PROGRAM_TYPES = frozenset(("text/css", "text/ecmascript", "text/javascript", "text/x-javascript"))
# Control characters, except tab and line feed: some readers (DuckDB, terminals) cannot read them
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(slots=True)
class ArchivedLine:
    """A line that ends with the place of the page in the archive.

    Its bytes should be asked for late, because they need that place: the archive may then have to
    write the record first.
    """

    begin: bytes  # the line without the place and its last brace
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


def page_line(page: Page, ordinal: int) -> bytes | ArchivedLine:
    """Return the line of the page with the number `ordinal`.

    A new page without text has no line: return empty bytes. A page that was fetched again and has
    no text any more gets a blank line, which replaces its earlier line.
    """
    if page.change is Change.GONE:
        return blank_line(page, ordinal)
    is_refetch = page.change is not Change.NEW
    if page.content_type in PROGRAM_TYPES:
        return blank_line(page, ordinal) if is_refetch else b""
    page.look_through()
    text = page.visible_text
    if not text or text.isspace():
        return blank_line(page, ordinal) if is_refetch else b""
    return _line_with_text(page, ordinal, text)


def blank_line(page: Page, ordinal: int) -> bytes:
    """Return a line without text, which replaces the earlier lines of a page."""
    return _encode(_page_values(page, ordinal) | {"headings": [], "text": ""})


def _line_with_text(page: Page, ordinal: int, text: str) -> bytes | ArchivedLine:
    exchange = page.exchange
    value = _page_values(page, ordinal)
    value["title"] = page.title
    value["language"] = page.language[:MAX_LANGUAGE_CHARS]
    value["headings"] = [heading for _, heading in page.headings]
    value["text"] = _without_controls(text[:MAX_TEXT_CHARS])
    if "main_text" in (page.looked_up or {}):
        value["main_text"] = _without_controls(page.main_text[:MAX_TEXT_CHARS])
    links = links_to_other_domains(page)
    if links:
        value["links"] = links
    forbidden = page.preferences.forbidden
    if forbidden:
        value["forbidden"] = forbidden
    if page.structured_json:
        value["structured"] = page.structured
    if is_undecodable(value["text"]):
        value["undecodable"] = True
    if knows_languages() and page.contradicts_language:
        value["written_in"] = page.guessed_language
    truncated = _why_truncated(page, text)
    if truncated:
        value["truncated"] = truncated
    if exchange is not None and exchange.state.archived is not None:
        return ArchivedLine(_encode(value)[:-2], exchange.state.archived)
    return _encode(value)


def links_to_other_domains(page: Page) -> list[str]:
    """Return the pages of other registered domains to which a page links, without `nofollow`."""
    found = page.found if page.found is not None else page.all_found
    addresses: list[str] = []
    for kind, address, _, rel in found.links:
        # An address without `//` leads to the page's own host
        if kind in ("a", "area") and "//" in address and not is_nofollow(rel):
            addresses.append(address)
    if not addresses:
        return []
    own = domain_of(host_of(page.url))
    urls = filter(None, canonical_links(found.base, addresses, Counter()).values())
    others = (url for url in dict.fromkeys(urls) if domain_of(host_of(url)) != own)
    return list(islice(others, MAX_LINKS))


def _why_truncated(page: Page, text: str) -> str:
    """Return why the line lacks part of the text, or an empty string."""
    if page.truncated:
        return page.truncated
    # The text of a PDF is limited in time and length
    is_truncated_pdf = page.exchange is not None and TRUNCATED_PDF in page.exchange.state.notes
    return "length" if is_truncated_pdf or len(text) > MAX_TEXT_CHARS else ""


def _page_values(page: Page, ordinal: int) -> dict[str, Any]:
    """Return the values that all lines begin with, blank ones included."""
    exchange = page.exchange
    value: dict[str, Any] = {
        "ordinal": ordinal,
        "url": page.url,
        "title": "",  # so that it comes third
        "language": "",
        "fetched_at": iso(page.fetched_at),
        "type": page.content_type,
        "digest": exchange.digest if exchange is not None else "",
    }
    if page.change is not Change.NEW:
        value["change"] = page.change.value
    return value


def _without_controls(text: str) -> str:
    # Only a plain text may have CR: the text of a document has the line ends of this crawl
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub("\ufffd", text)


def _encode(value: Mapping[str, Any]) -> bytes:
    # UTF-8 has no bytes for a lone surrogate: it becomes a question mark
    return json.dumps(value, ensure_ascii=False).encode(errors="replace") + b"\n"


FOLDER = "text"
# In the database: the number of the next file, the number of the next page, and the open file
STATE_KEY = "text"
# Of lines that are compressed at once: 8 % fewer bytes than with one member per page. A search
# unpacks a member for each page that it shows, in a millisecond.
MEMBER_BYTES = 256 << 10
# Of isal: 32 µs for a page of 10 KB of text. zlib's best level makes 8 % fewer bytes in 15 times
# the time.
LEVEL = 2
MakeLine = Callable[[int], bytes | ArchivedLine]  # makes the line of a page from its number


def text_file_name(number: int) -> str:
    """Return the path of a file below JOBDIR, once it is finished."""
    return f"{FOLDER}/text-{number:05d}.jsonl.gz"


class TextFiles(Part):
    """Appends lines to text files. At a checkpoint it ends the open member."""

    def __init__(self, db: CrawlDB, outputs: Outputs, max_size: int) -> None:
        """Continue the file that an earlier run left. A file of `max_size` bytes is finished."""
        self._db = db
        self._outputs = outputs
        self._max_size = max_size
        self._output: Output | None = None
        self._waiting: list[bytes | ArchivedLine] = []  # lines that are not compressed yet
        self._size = 0  # their bytes
        self._number = 0  # of the next file
        self.ordinal = 0  # of the next page
        self._resume()
        # Before the outputs, which note their lengths
        db.join(self, first=True)

    def add(self, make: MakeLine) -> bool:
        """Add the line that `make` returns for the number of the page. Return False if it is empty."""
        data = make(self.ordinal)
        if not data:
            return False
        if self._output is None:
            self._output = self._outputs.open(f"{text_file_name(self._number)}{OPEN}")
            self._number += 1
        self._waiting.append(data)
        self._size += len(data)
        self.ordinal += 1
        if self._size >= MEMBER_BYTES:
            self._compress(self._output)
        return True

    def place(self) -> tuple[int, int]:
        """Return the place of the next member: the number of its file, and its first byte."""
        if self._output is None:
            return self._number, 0
        return self._number - 1, self._output.tell()

    def close(self) -> None:
        """Finish the open file. It loses its `.open` after the next checkpoint has noted it."""
        if self._output is not None:
            self._compress(self._output)
        # `_compress` may have finished it, if it has become large enough
        if self._output is not None:
            self._finish(self._output)

    # -- files

    def _resume(self) -> None:
        """Continue the file that the last run left open, and remove files of no checkpoint."""
        state = self._db.get(STATE_KEY)
        if state is not None:
            number, ordinal, path = state.decode().split(" ")
            self._number = int(number)
            self.ordinal = int(ordinal)
            if path:
                self._output = self._outputs.open(path)
        self._outputs.sweep(f"{FOLDER}/*{OPEN}")

    def _compress(self, output: Output) -> None:
        """Write the waiting lines as a member. Finish the file if it is large enough."""
        if self._waiting:
            lines = b"".join(map(bytes, self._waiting))
            output.write(igzip.compress(lines, compresslevel=LEVEL, mtime=0))
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
        self._db.set(STATE_KEY, f"{self._number} {self.ordinal} {path}".encode())


# Of the lines of a member, unpacked. The members of a crawl never have more.
MAX_MEMBER_BYTES = MEMBER_BYTES + 16 * MAX_TEXT_CHARS


class MissingTextFile(StoreError):  # noqa: N818 - reads as what it is
    """A text file is missing."""


class TextPlace(NamedTuple):
    """A member: the number of its file, and its first byte there."""

    file: int
    offset: int


def lines_from(
    jobdir: Path, place: TextPlace, end: int
) -> Iterator[tuple[TextPlace, dict[str, Any]]]:
    """Yield the lines from a member on, up to that of page `end` - 1, each with its member's place.

    Raise StoreError if a file is missing or damaged.
    """
    number, offset = place
    while True:
        path, file = _open_text_file(jobdir, number)
        with file:
            for first, _, data in read_members(path, file, offset):
                member_place = TextPlace(number, first)
                for value in parse_lines(path, first, data):
                    if value["ordinal"] < end:
                        yield member_place, value
                    if value["ordinal"] >= end - 1:
                        return
        number += 1
        offset = 0


def parse_lines(path: Path, offset: int, data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the lines in the unpacked bytes of a member. Raise DamagedFile."""
    try:
        for line in data.split(b"\n")[:-1]:
            yield json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DamagedFile(path, offset, f"the lines of pages cannot be read: {error}") from error


def lines_of_member(jobdir: Path, place: TextPlace) -> Iterator[dict[str, Any]]:
    """Yield the lines of one member; none if its file is missing. Raise DamagedFile."""
    try:
        path, file = _open_text_file(jobdir, place.file)
    except MissingTextFile:
        return
    with file:
        for first, _, data in read_members(path, file, place.offset):
            yield from parse_lines(path, first, data)
            return


def read_members(
    path: Path, file: BinaryIO, offset: int, end: int | None = None
) -> Iterator[tuple[int, int, bytes]]:
    """Yield the whole members of an open file, from byte `offset` up to byte `end`.

    Of each member yield its first byte, the byte after it, and its unpacked bytes. Raise
    DamagedFile. A last member that is not whole is left out, because it may not be finished yet.
    """
    length = os.fstat(file.fileno()).st_size if end is None else end
    unpacked = UnpackedStream(file, GZIPPED, length)
    try:
        unpacked.seek(MemberPlace(offset, 0))
        while unpacked.next_member():
            data = bytearray()
            while piece := unpacked.read(MAX_MEMBER_BYTES):
                data += piece
                if len(data) > MAX_MEMBER_BYTES:
                    raise DamagedFile(
                        path, offset, f"a member has more than {MAX_MEMBER_BYTES} bytes"
                    )
            after = unpacked.place.offset
            yield offset, after, bytes(data)
            offset = after
    except TornRecord as torn:
        # If the file ends too early, the last member is not finished yet
        if not torn.ends:
            raise DamagedFile(path, offset, str(torn)) from torn


def _open_text_file(jobdir: Path, number: int) -> tuple[Path, BinaryIO]:
    """Open a text file, finished or with `.open`, and return its path, too.

    Raise MissingTextFile.
    """
    path = jobdir / text_file_name(number)
    file = open_noted(jobdir, text_file_name(number))
    if file is None:
        raise MissingTextFile(f"{path}: moved or removed before its pages were indexed")
    return path, file
