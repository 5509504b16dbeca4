"""Sorted indexes of archive files: made where one is missing, and joined into one for readers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from hashlib import sha256
from heapq import merge
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from isal import isal_zlib

from webcrawl.base.url_text import visible
from webcrawl.record.warc.reader import ReadRecord
from webcrawl.record.warc.unpacked_stream import TornRecord
from webcrawl.store.disk import Disk, regular
from webcrawl.store.jobdir.index_line import (
    INDEXED,
    REVISIT,
    SHAPE,
    begin,
    end,
    index_of,
    method,
    mime,
    place,
    truncated,
)
from webcrawl.store.lines import sort_lines
from webcrawl.tools.wacz.warc_records import media_type, records, status

INDEX_NAME = "index.cdx.gz"
BLOCK_LINES = 1024  # 60 KB packed: what a reader loads for one page
GZIP_MEMBER = 31  # zlib's number for a gzip member
GZIP_LEVEL = 2  # of 0 to 3, as isal counts
MAX_OPEN_FILES = 200  # merged at once
_JSON_SPECIAL = re.compile(r'["\\]')  # characters that would end a text in JSON, or escape its end


def index_path(archive: Path) -> Path:
    """Return where the index of an archive file is, if there is one."""
    return archive.with_name(index_of(archive.name))


def make_index(archive: Path, target: Path) -> None:
    """Write the sorted index of an archive file that has none. Raise TornRecord if it is damaged."""
    lines = target.with_name(f"{target.name}.lines")
    with regular(archive) as file, lines.open("wb") as out:
        out.writelines(_index_lines(records(archive, file), archive.name))
    sort_lines(Disk(), lines, target)
    lines.unlink()


def merged_lines(indexes: list[Path], scratch: Path) -> Iterator[bytes]:
    """Yield all lines of these sorted files in order; few files are open at a time.

    Files in between are written to the folder `scratch`.
    """
    while len(indexes) > MAX_OPEN_FILES:
        joined = []
        for first in range(0, len(indexes), MAX_OPEN_FILES):
            target = scratch / f"{len(indexes)}-{first}"
            _join(indexes[first : first + MAX_OPEN_FILES], target)
            joined.append(target)
        indexes = joined
    with ExitStack() as opened:
        yield from merge(*[opened.enter_context(regular(path)) for path in indexes])


def _join(indexes: list[Path], target: Path) -> None:
    with ExitStack() as opened, target.open("wb") as out:
        out.writelines(merge(*[opened.enter_context(regular(path)) for path in indexes]))


def gzip_blocks(
    lines: Iterable[bytes], keys: BinaryIO, count_lines: Callable[[int], None]
) -> Iterator[bytes]:
    """Yield the lines of an index as gzip members of BLOCK_LINES each (cdxj-gzip-1.0).

    The second index is written to `keys`: the first key of each member, and its place.
    `count_lines` gets the number of lines of each.
    """
    keys.write(b'!meta 0 {"format": "cdxj-gzip-1.0", "filename": "%s"}\n' % INDEX_NAME.encode())
    offset = 0
    lines_left = iter(lines)
    while block := list(islice(lines_left, BLOCK_LINES)):
        packed = isal_zlib.compress(b"".join(block), GZIP_LEVEL, GZIP_MEMBER)
        member = {
            "offset": offset,
            "length": len(packed),
            "digest": f"sha256:{sha256(packed).hexdigest()}",
        }
        key_and_stamp = block[0].split(b" ", 2)[:2]
        keys.write(b" ".join((*key_and_stamp, json.dumps(member).encode())) + b"\n")
        offset += len(packed)
        count_lines(len(block))
        yield packed


def _index_lines(file_records: Iterable[ReadRecord], archive: str) -> Iterator[bytes]:
    """Yield the index lines of a file's records.

    A line is made once the records that belong to the answer have come: they follow it.
    """
    answer: ReadRecord | None = None
    method_field = ""
    metadata: dict[str, str] = {}
    for record in file_records:
        if record.kind in INDEXED:
            if answer is not None:
                yield _index_line(answer, archive, method_field, metadata)
            answer = record
            method_field = ""
            metadata = {}
            continue
        belongs_to_answer = answer is not None and record.names(answer.id, "warc-concurrent-to")
        if not belongs_to_answer:
            continue
        if record.kind == "metadata":
            metadata = record.values()
        elif record.kind == "request" and not record.block.startswith(b"GET "):
            method_field = method(record.block)
    if answer is not None:
        yield _index_line(answer, archive, method_field, metadata)


def _payload_digest(record: ReadRecord, metadata: Mapping[str, str]) -> str:
    """Return the digest of the payload, or - if none is noted.

    Of a response with a transfer coding, only the metadata record about it has the digest.
    """
    if record.kind == "conversion":
        return record.fields.get("warc-block-digest", "")
    noted = ""
    if record.kind == "response" and "withheld" not in metadata:
        noted = metadata.get("payloaddigest", "")
    return record.fields.get("warc-payload-digest") or noted or "-"


def _index_line(
    record: ReadRecord, archive: str, method_field: str, metadata: Mapping[str, str]
) -> bytes:
    """Return the line as the crawl writes it. Raise TornRecord if no line can have the fields.

    `method_field`: of an answer to another request than GET, else empty.
    """
    digest = _payload_digest(record, metadata)
    is_revisit = record.kind == "revisit"
    kind = REVISIT if is_revisit else media_type(record)
    code = status(record)
    status_field = f'"status": "{code}", ' if code else ""
    start = begin(visible(record.url), record.fields.get("warc-date", ""))
    reason = "" if is_revisit else record.fields.get("warc-truncated", "")
    truncated_field = truncated(reason) if reason.isalpha() and reason.isascii() else ""
    place_field = place(digest, record.length, record.place.offset)
    fields = f"{mime(kind)}{status_field}{method_field}{truncated_field}{place_field}"
    line = f"{start}{fields}{end(archive)}"
    data = line.encode()
    # A field must not begin another one, or another line.
    if SHAPE.fullmatch(data) is None or _JSON_SPECIAL.search(digest):
        raise TornRecord(
            f"byte {record.place.offset}: the fields of this record do not fit in an index"
        )
    return data
