"""Records of an archive file: pages, references to other archives, and copies of cut ones."""

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
from webcrawl.record.warc.unpacking import TornRecord
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

HEAD = 1 << 16  # bytes of a block that are kept: more than any HTTP head, or any metadata
_TYPE = re.compile(rb"\ncontent-type:[ \t]*([^\r\n;]*)", re.IGNORECASE)
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)? (\d{3})")
_END = re.compile(rb"\n\r?\n")


def records(archive: Path, file: BinaryIO, at: int = 0) -> Iterator[ReadRecord]:
    """Return the records from byte `at` on, with the beginnings of their blocks. Raise TornRecord."""
    return sound_records(archive, file, HEAD, at, os.fstat(file.fileno()).st_size)


def record_at(archive: Path, file: BinaryIO, at: int) -> ReadRecord:
    """Return the record at this byte of an open archive file, with HEAD bytes of its block.

    Raise TornRecord if none is.
    """
    record = next(sound_records(archive, file, HEAD, at, os.fstat(file.fileno()).st_size), None)
    if record is None:
        raise TornRecord("the file ends early")
    return record


def media_type(record: ReadRecord) -> str:
    """Return the media type of the answer, or that of a record without one."""
    if _STATUS.match(record.block) is None:
        return record.fields.get("content-type", "").partition(";")[0].strip()
    end = _END.search(record.block)
    found = _TYPE.search(record.block, 0, end.end() if end is not None else len(record.block))
    return found[1].strip().decode("latin-1") if found is not None else ""


def status(record: ReadRecord) -> str:
    """Return the status of the answer; empty if the record has none."""
    found = _STATUS.match(record.block)
    return found[1].decode() if found is not None else ""


DOCUMENTS = frozenset(("text/html", "application/xhtml+xml"))
FOLLOWING = 4  # records of one exchange


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A page as the lists have it."""

    url: str
    stamp: str  # 14 digits
    title: str
    is_seed: bool

    @property
    def date(self) -> str:
        """Return the time by ISO 8601."""
        return date_of(self.stamp)

    def line(self) -> bytes:
        """Return its line of a list, as JSON."""
        name = b32encode(sha1(f"{self.stamp} {self.url}".encode())).decode().lower()
        about = {"id": name, "url": self.url, "ts": self.date}
        if self.title:
            about["title"] = self.title
        return json.dumps(about, ensure_ascii=False).encode() + b"\n"


def header(name: str, title: str) -> bytes:
    """Return the first line of a list."""
    return json.dumps({"format": "json-pages-1.0", "id": name, "title": title}).encode() + b"\n"


def pages(index: Iterable[bytes], archive: Path, file: BinaryIO, first: str) -> Iterator[PageEntry]:
    """Yield the pages of an open archive file, by its index; `first`: the package's first time."""
    for line in index:
        if b'"status": "200"' not in line and b'"status": "304"' not in line:
            continue
        if b'"method": ' in line:  # what came of a form is not what its URL shows
            continue
        says = read(line)
        is_document = says.status != NOT_MODIFIED and says.mime.lower() in DOCUMENTS
        # The index has no type of a revisit record: its head has.
        if not says.is_revisit and not is_document:
            continue
        page = _page(says, archive, file, first)
        if page is not None:
            yield page


def _page(says: IndexLine, archive: Path, file: BinaryIO, first: str) -> PageEntry | None:
    """Return the page of an answer, by its metadata; None for no document, or one shown elsewhere.

    A 304 is the page that an earlier archive has. Most have no type: then only documents have a
    title.
    """
    needs_title = False
    after = says.offset + says.length
    if after > os.fstat(file.fileno()).st_size:
        raise TornRecord("the file ends early")
    if says.is_revisit:
        record = record_at(archive, file, says.offset)
        is_earlier = says.status == NOT_MODIFIED
        if is_earlier and not CaptureReference.of(record).is_before(first):
            return None
        kind = media_type(record)
        needs_title = is_earlier and not kind
        if not needs_title and kind.lower() not in DOCUMENTS:
            return None
    about = _metadata_after(archive, file, after)
    path = about.get("hopsfromseed", "")
    is_for_other_pages = requisite_hops(path) or path.endswith("P")
    lacks_title = needs_title and "title" not in about
    if is_for_other_pages or lacks_title:
        return None
    return PageEntry(says.url, says.stamp, about.get("title", ""), not path.strip("R"))


def _metadata_after(archive: Path, file: BinaryIO, at: int) -> dict[str, str]:
    """Return the values of the metadata record that follows an answer, if one does."""
    for record in islice(records(archive, file, at), FOLLOWING):
        if record.kind == "metadata":
            return record.values()
        if record.kind in INDEXED:
            break
    return {}


MARK = REVISIT.encode()
STAMP = 14  # digits


class CaptureReference(NamedTuple):
    """A capture's URL, time and payload digest; a reference by WARC 1.0 has only the digest."""

    url: str
    stamp: str  # 14 digits; empty: not known
    digest: str

    @classmethod
    def of(cls, revisit: ReadRecord) -> CaptureReference:
        fields = revisit.fields
        when = "".join(filter(str.isdecimal, fields.get("warc-refers-to-date", "")))[:STAMP]
        address = visible(fields.get("warc-refers-to-target-uri", "").strip("<>")) if when else ""
        return cls(address, when, normal(fields.get("warc-payload-digest", "")))

    def is_before(self, first: str) -> bool:
        """Return whether a package with this first time cannot have the capture.

        That may be of this very second, or known by its digest alone.
        """
        return self.stamp <= first if self.stamp else bool(self.digest)


def elsewhere(archive: Path, index: Path, first: str) -> Iterator[CaptureReference]:
    """Yield the references of an archive file to times before the package's, or to none.

    Those to its first second, and those to none, may be to its own records.
    """
    with regular(index) as lines, regular(archive) as file:
        for line in lines:
            if MARK not in line:
                continue
            reference = CaptureReference.of(record_at(archive, file, read(line).offset))
            if reference.is_before(first):
                yield reference


def unanswered(references: Iterable[CaptureReference], indexes: Iterable[Path], first: str) -> int:
    """Return how many of these references are to captures that these indexes do not have.

    Only what was captured in its first second, or is named by its digest alone, may be in it.
    """
    older = 0
    open_keys = Counter[int]()  # the number of references by the hash of what they name
    mark = f" {first} ".encode("latin-1")
    for reference in references:
        if not reference.stamp:
            mark = b" "  # every line may be the one
        if reference.stamp and reference.stamp < first:
            older += 1
        else:
            open_keys[_key(reference)] += 1
    for index in indexes if open_keys else ():
        with regular(index) as lines:
            for data in lines:
                if mark in data:
                    for name in _names(data):
                        open_keys.pop(_key(name), None)
    return older + open_keys.total()


def _names(data: bytes) -> Iterator[CaptureReference]:
    """Yield the references that a line of an index answers, by WARC 1.1 and by WARC 1.0."""
    try:
        line = read_line(data)
    except BadLine:
        return
    # whatever its status: an error's page may come again
    if line is not None and line.digest and not line.is_revisit:
        yield CaptureReference(line.url, line.stamp, line.digest)
        yield CaptureReference("", "", line.digest)


def _key(reference: CaptureReference) -> int:
    return url_key(" ".join(reference))


def first_of(indexes: Iterable[Path]) -> str:
    """Return the first time in these indexes, as a stamp."""
    return min((stamp for index in indexes for stamp in _stamps(index)), default=b"").decode(
        "latin-1"
    )


def _stamps(index: Path) -> Iterator[bytes]:
    with regular(index) as lines:
        for line in lines:
            yield line.partition(b" ")[2][:STAMP]
