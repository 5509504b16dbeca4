"""Records of an archive file: pages, and references to what other archives have."""

from __future__ import annotations

import json
import os
import re
from base64 import b32encode
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from webcrawl.base.digest import normal, sha1
from webcrawl.base.model import requisite_hops
from webcrawl.base.url_text import visible
from webcrawl.record.warc.reader import ReadRecord, sound_records
from webcrawl.record.warc.unpacked_stream import TornRecord
from webcrawl.store.disk import regular
from webcrawl.store.jobdir.index_line import (
    INDEXED,
    NOT_MODIFIED,
    REVISIT,
    BadLine,
    IndexLine,
    date_of,
    read,
    read_line,
    url_key,
)

HEAD_BYTES = 1 << 16  # of a block that are kept: more than any HTTP head, or any metadata
_TYPE = re.compile(rb"\ncontent-type:[ \t]*([^\r\n;]*)", re.IGNORECASE)
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)? (\d{3})")
_HEAD_END = re.compile(rb"\n\r?\n")


def records(archive: Path, file: BinaryIO, at: int = 0) -> Iterator[ReadRecord]:
    """Return the records of an open archive file from byte `at` on.

    Each has the first HEAD_BYTES of its block. Raise TornRecord if one is damaged.
    """
    return sound_records(archive, file, HEAD_BYTES, at, os.fstat(file.fileno()).st_size)


def record_at(archive: Path, file: BinaryIO, at: int) -> ReadRecord:
    """Return the record at this byte of an open archive file, with HEAD_BYTES of its block.

    Raise TornRecord if there is none.
    """
    record = next(records(archive, file, at), None)
    if record is None:
        raise TornRecord("the file ends early")
    return record


def media_type(record: ReadRecord) -> str:
    """Return the media type of the answer, or that of a record without one."""
    if _STATUS.match(record.block) is None:
        return record.fields.get("content-type", "").partition(";")[0].strip()
    head = _HEAD_END.search(record.block)
    head_end = head.end() if head is not None else len(record.block)
    field = _TYPE.search(record.block, 0, head_end)
    return field[1].strip().decode("latin-1") if field is not None else ""


def status(record: ReadRecord) -> str:
    """Return the status of the answer; empty if the record has none."""
    match = _STATUS.match(record.block)
    return match[1].decode() if match is not None else ""


DOCUMENT_TYPES = frozenset(("text/html", "application/xhtml+xml"))
EXCHANGE_RECORDS = 4  # of one exchange, at most: a look for its metadata goes no further


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A page in a package's lists of pages."""

    url: str
    stamp: str  # 14 digits
    title: str
    is_seed: bool

    @property
    def date(self) -> str:
        """Return the time by ISO 8601."""
        return date_of(self.stamp)

    def to_json_line(self) -> bytes:
        name = b32encode(sha1(f"{self.stamp} {self.url}".encode())).decode().lower()
        about = {"id": name, "url": self.url, "ts": self.date}
        if self.title:
            about["title"] = self.title
        return json.dumps(about, ensure_ascii=False).encode() + b"\n"


def page_list_header(name: str, title: str) -> bytes:
    """Return the first line of a list of pages."""
    return json.dumps({"format": "json-pages-1.0", "id": name, "title": title}).encode() + b"\n"


def page_entries(
    index: Iterable[bytes], archive: Path, file: BinaryIO, first: str
) -> Iterator[PageEntry]:
    """Yield the pages of an open archive file, by its index; `first`: the package's first time.

    Raise TornRecord if the file does not have what the index says.
    """
    for line in index:
        if b'"status": "200"' not in line and b'"status": "304"' not in line:
            continue
        if b'"method": ' in line:  # the answer to a form is not what its URL shows
            continue
        entry = read(line)
        is_document = entry.status != NOT_MODIFIED and entry.mime.lower() in DOCUMENT_TYPES
        # The index has no type of a revisit record: its head has.
        if not entry.is_revisit and not is_document:
            continue
        page = _page_entry(entry, archive, file, first)
        if page is not None:
            yield page


def _page_entry(entry: IndexLine, archive: Path, file: BinaryIO, first: str) -> PageEntry | None:
    """Return the page of an answer, or None if it is no document, or only part of other pages.

    A 304 is a page only if an earlier archive than the package has the document: else the document
    is listed. Most 304s have no type: then only documents have a title.
    """
    needs_title = False
    after = entry.offset + entry.length
    if after > os.fstat(file.fileno()).st_size:
        raise TornRecord("the file ends early")
    if entry.is_revisit:
        record = record_at(archive, file, entry.offset)
        is_unchanged = entry.status == NOT_MODIFIED
        if is_unchanged and not CaptureReference.of(record).may_precede(first):
            return None
        kind = media_type(record)
        needs_title = is_unchanged and not kind
        if not needs_title and kind.lower() not in DOCUMENT_TYPES:
            return None
    metadata = _metadata_after(archive, file, after)
    path = metadata.get("hopsfromseed", "")
    is_for_other_pages = requisite_hops(path) or path.endswith("P")
    lacks_title = needs_title and "title" not in metadata
    if is_for_other_pages or lacks_title:
        return None
    is_seed = not path.strip("R")  # redirects of a seed lead to its page
    return PageEntry(entry.url, entry.stamp, metadata.get("title", ""), is_seed)


def _metadata_after(archive: Path, file: BinaryIO, at: int) -> dict[str, str]:
    """Return the values of the metadata record that follows an answer; empty if none does."""
    for record in islice(records(archive, file, at), EXCHANGE_RECORDS):
        if record.kind == "metadata":
            return record.values()
        if record.kind in INDEXED:
            break
    return {}


REVISIT_MARK = REVISIT.encode()  # in the index line of a revisit record
STAMP_DIGITS = 14


class CaptureReference(NamedTuple):
    """A capture's URL, time and payload digest; a reference by WARC 1.0 has only the digest."""

    url: str
    stamp: str  # 14 digits; empty: not known
    digest: str

    @classmethod
    def of(cls, revisit: ReadRecord) -> CaptureReference:
        """Return the reference of a revisit record to what it was compared with."""
        fields = revisit.fields
        date = fields.get("warc-refers-to-date", "")
        stamp = "".join(filter(str.isdecimal, date))[:STAMP_DIGITS]
        url = visible(fields.get("warc-refers-to-target-uri", "").strip("<>")) if stamp else ""
        return cls(url, stamp, normal(fields.get("warc-payload-digest", "")))

    def may_precede(self, first: str) -> bool:
        """Return whether the capture may be from before a package with this first time.

        It may also be of that very second, or of any time if only its digest is known.
        """
        return self.stamp <= first if self.stamp else bool(self.digest)


def outside_references(archive: Path, index: Path, first: str) -> Iterator[CaptureReference]:
    """Yield the references of an archive file that may be to captures from before the package.

    `first`: the package's first time. References to that second, and those without a time, may yet
    be to its own records.
    """
    with regular(index) as lines, regular(archive) as file:
        for line in lines:
            if REVISIT_MARK not in line:
                continue
            reference = CaptureReference.of(record_at(archive, file, read(line).offset))
            if reference.may_precede(first):
                yield reference


def count_unanswered(
    references: Iterable[CaptureReference], indexes: Iterable[Path], first: str
) -> int:
    """Return how many of these references are to captures that these indexes do not have.

    Only a capture of the package's first second, or one that is known by its digest alone, may be
    in the indexes.
    """
    older = 0
    open_keys = Counter[int]()  # the number of references by the hash of what they name
    # what the line of a possible answer has in it
    mark = f" {first} ".encode("latin-1")
    for reference in references:
        if reference.stamp and reference.stamp < first:
            older += 1
            continue
        open_keys[_key(reference)] += 1
        if not reference.stamp:
            mark = b" "  # any line may be the answer
    if not open_keys:
        return older
    for index in indexes:
        with regular(index) as lines:
            for line in lines:
                if mark in line:
                    for answer in _answers_of(line):
                        open_keys.pop(_key(answer), None)
    return older + open_keys.total()


def _answers_of(line: bytes) -> Iterator[CaptureReference]:
    """Yield the references that an index line answers: by WARC 1.1, a 304's too, and by WARC 1.0."""
    try:
        capture = read_line(line)
    except BadLine:
        return
    # whatever its status: an error's page may come again
    if capture is not None and capture.digest and not capture.is_revisit:
        yield CaptureReference(capture.url, capture.stamp, capture.digest)
        yield CaptureReference(capture.url, capture.stamp, "")
        yield CaptureReference("", "", capture.digest)


def _key(reference: CaptureReference) -> int:
    return url_key(" ".join(reference))


def first_time(indexes: Iterable[Path]) -> str:
    """Return the first time in these indexes, as a stamp; empty if they have no line."""
    stamps = (stamp for index in indexes for stamp in _stamps(index))
    return min(stamps, default=b"").decode("latin-1")


def _stamps(index: Path) -> Iterator[bytes]:
    with regular(index) as lines:
        for line in lines:
            yield line.partition(b" ")[2][:STAMP_DIGITS]
