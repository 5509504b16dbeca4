"""JOBDIR/text/text-*.jsonl.gz (docs/outputs.md): one line of JSON per page, in gzip members.

A member has some hundred KB. One file is open at a time. Readers get the lines of whole members,
from any member on.
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
from webcrawl.content.formats.pdf import CUT
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
LONGEST = 1 << 20  # characters of text: the rest is left out, and the line says so
LANGUAGE = 100  # characters of a declared language
MOST_LINKS = 100  # to other domains: a page with more is a list of them
# Media types of text that no page shows
PROGRAMS = frozenset(("text/css", "text/ecmascript", "text/javascript", "text/x-javascript"))
# Control characters but tab and line feed: no reader wants them in a text, and some (DuckDB,
# terminals) cannot read them
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(slots=True)
class ArchivedLine:
    """A line that says where the archive has its page.

    Ask for its bytes late: the archive may not have it yet.
    """

    begin: bytes  # the line without the place, up to its last brace
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
    """Return the line of a page, which has the number `ordinal`; empty for a new page without text.

    A page that was fetched again and has no text any more gets a line without text, which replaces
    its earlier line.
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
    """Return the line of a page that replaces its earlier lines and has no text."""
    return _encode(_about(page, ordinal) | {"headings": [], "text": ""})


def _line(page: Page, ordinal: int, text: str) -> bytes | ArchivedLine:
    """Return the line of a page with its text."""
    exchange = page.exchange
    value = _about(page, ordinal)
    value["title"] = page.title
    value["language"] = page.language[:LANGUAGE]
    value["headings"] = [heading for _, heading in page.headings]
    value["text"] = _clean(text[:LONGEST])
    if "main_text" in (page.looked_up or {}):
        value["main_text"] = _clean(page.main_text[:LONGEST])
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
    why = _why_partial(page, text)
    if why:
        value["truncated"] = why
    if exchange is not None and exchange.state.archived is not None:
        return ArchivedLine(_encode(value)[:-2], exchange.state.archived)
    return _encode(value)


def links_to_other_domains(page: Page) -> list[str]:
    """Return the pages of other registered domains to which a page links, without `nofollow`."""
    found = page.found if page.found is not None else page.all_found
    addresses: list[str] = []
    for kind, address, _, rel in found.links:
        # An address without slashes in it is of the page's own host
        if kind in ("a", "area") and "//" in address and not is_nofollow(rel):
            addresses.append(address)
    if not addresses:
        return []
    own = domain_of(host_of(page.url))
    urls = filter(None, canonical_links(found.base, addresses, Counter()).values())
    others = (url for url in dict.fromkeys(urls) if domain_of(host_of(url)) != own)
    return list(islice(others, MOST_LINKS))


def _why_partial(page: Page, text: str) -> str:
    """Return why the line has not the whole text, or an empty string."""
    if page.truncated:
        return page.truncated
    # A PDF is read for a limited time, and up to a limited length
    is_cut_pdf = page.exchange is not None and CUT in page.exchange.state.notes
    return "length" if is_cut_pdf or len(text) > LONGEST else ""


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
    # This is a plain text: the lines of a document are made here
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub("\ufffd", text)


def _encode(value: Mapping[str, Any]) -> bytes:
    # A lone surrogate has no bytes in UTF-8
    return json.dumps(value, ensure_ascii=False).encode(errors="replace") + b"\n"


FOLDER = "text"
STATE = "text"  # in the database: the next file's number, the next page's, and the open file
# Bytes of lines compressed at once: 8 % fewer bytes than with one member per page. A search unpacks
# one for each answer, in a millisecond.
MEMBER = 256 << 10
# isal's level: 32 µs for a page of 10 KB of text. zlib's best makes 8 % fewer bytes in 15 times the
# time
LEVEL = 2
Line = Callable[[int], bytes | ArchivedLine]  # makes the line of a page from its number


def name_of(number: int) -> str:
    """Return the path of a file below JOBDIR, once it is finished."""
    return f"{FOLDER}/text-{number:05d}.jsonl.gz"


class TextFiles(Part):
    """Appends lines. As a Part it ends the open member, as a checkpoint notes only whole members."""

    def __init__(self, db: CrawlDB, outputs: Outputs, max_size: int) -> None:
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

    def add(self, make: Line) -> bool:
        """Add the line that `make` makes from the page's number; return False if it is empty."""
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
        if self._output is None:
            return self._number, 0
        return self._number - 1, self._output.tell()

    def close(self) -> None:
        """Finish the open file. It loses its `.open` after the next checkpoint has noted it."""
        if self._output is not None:
            self._compress(self._output)
        # It may have become large enough, and be finished
        if self._output is not None:
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
        self._db.set(STATE, f"{self._number} {self.ordinal} {path}".encode())


LARGEST = MEMBER + 16 * LONGEST  # bytes of a member's lines; members of a crawl never have more


class Missing(StoreError):  # noqa: N818 - reads as what it is
    """A text file is missing."""


class TextPlace(NamedTuple):
    """A member: the number of its file, and its first byte there."""

    file: int
    offset: int


def lines(jobdir: Path, place: TextPlace, end: int) -> Iterator[tuple[TextPlace, dict[str, Any]]]:
    """Yield the lines from a member on, up to page `end` exclusive, each with its member's place.

    Raise StoreError if they are not all there.
    """
    number, offset = place
    while True:
        path, file = _open(jobdir, number)
        with file:
            for first, _, data in members(path, file, offset):
                here = TextPlace(number, first)
                for value in pages(path, first, data):
                    if value["ordinal"] < end:
                        yield here, value
                    if value["ordinal"] >= end - 1:
                        return
        number += 1
        offset = 0


def pages(path: Path, offset: int, data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the lines of a member."""
    try:
        for line in data.split(b"\n")[:-1]:
            yield json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DamagedFile(path, offset, f"the lines of pages cannot be read: {error}") from error


def member(jobdir: Path, place: TextPlace) -> Iterator[dict[str, Any]]:
    """Yield the lines of one member; none if its file is missing."""
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
    """Yield the whole members from this byte on, up to byte `end`.

    Of each: its first byte, the byte after it, and its lines.
    """
    length = os.fstat(file.fileno()).st_size if end is None else end
    unpacked = UnpackedStream(file, GZIPPED, length)
    try:
        unpacked.seek(MemberPlace(offset, 0))
        while unpacked.next_member():
            data = bytearray()
            while piece := unpacked.read(LARGEST):
                data += piece
                if len(data) > LARGEST:
                    raise DamagedFile(path, offset, f"a member has more than {LARGEST} bytes")
            after = unpacked.place.offset
            yield offset, after, bytes(data)
            offset = after
    except TornRecord as torn:
        # Otherwise the last member is still being written
        if not torn.ends:
            raise DamagedFile(path, offset, str(torn)) from torn


def _open(jobdir: Path, number: int) -> tuple[Path, BinaryIO]:
    """Open a text file, which may still have its `.open`."""
    path = jobdir / name_of(number)
    file = open_noted(jobdir, name_of(number))
    if file is None:
        raise Missing(f"{path}: moved or removed before its pages were indexed")
    return path, file
