"""The index of a whole package: the sorted lines of all archive files, in blocks that a reader finds by their keys."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from hashlib import sha256
from heapq import merge
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from isal import isal_zlib

from webcrawl.store.disk import Disk
from webcrawl.store.jobdir.index_line import INDEXED, REVISIT, begin, end, mime, place
from webcrawl.store.regular import regular
from webcrawl.store.sorting import sort_lines
from webcrawl.tools.wacz.records import Record, records

NAME = "index.cdx.gz"
BLOCK = 1024  # lines, 60 KB packed: what a reader loads for one page
GZIP = 31  # zlib's number for a gzip member
LEVEL = 2
WAYS = 200  # files merged at once


def make_index(archive: Path, target: Path) -> None:
    """Writes the sorted index of an archive file that has none."""
    lines = target.with_name(f"{target.name}.lines")
    with regular(archive) as file, lines.open("wb") as out:
        for record in records(file, 0, archive.stat().st_size):
            if record.kind in INDEXED:
                out.write(_line(record, archive.name))
    sort_lines(Disk(), lines, target)
    lines.unlink()


def merged(indexes: list[Path], scratch: Path) -> Iterator[bytes]:
    """All lines of these sorted files, in order; few files are open at a time."""
    while len(indexes) > WAYS:
        starts = range(0, len(indexes), WAYS)
        indexes = [_joined(indexes[at : at + WAYS], scratch / f"{len(indexes)}-{at}") for at in starts]
    with ExitStack() as opened:
        yield from merge(*[opened.enter_context(regular(path)) for path in indexes])


def _joined(group: list[Path], target: Path) -> Path:
    with ExitStack() as opened, target.open("wb") as out:
        out.writelines(merge(*[opened.enter_context(regular(path)) for path in group]))
    return target


def blocks(lines: Iterable[bytes], keys: BinaryIO, counted: Callable[[int], None]) -> Iterator[bytes]:
    """The lines as gzip members; `keys` gets the first key and the place of each (cdxj-gzip-1.0)."""
    keys.write(b'!meta 0 {"format": "cdxj-gzip-1.0", "filename": "%s"}\n' % NAME.encode())
    at, rest = 0, iter(lines)
    while block := list(islice(rest, BLOCK)):
        packed = isal_zlib.compress(b"".join(block), LEVEL, GZIP)
        place = {"offset": at, "length": len(packed), "digest": f"sha256:{sha256(packed).hexdigest()}"}
        keys.write(b" ".join((*block[0].split(b" ", 2)[:2], json.dumps(place).encode())) + b"\n")
        at += len(packed)
        counted(len(block))
        yield packed


def _line(record: Record, archive: str) -> bytes:
    """As the crawl writes it."""
    fields = record.fields
    kind = REVISIT if record.kind == "revisit" else record.media_type
    status = f'"status": "{record.status}", ' if record.status else ""
    digest = fields.get("WARC-Payload-Digest") or fields.get("WARC-Block-Digest", "")
    start = begin(fields.get("WARC-Target-URI", "").strip("<>"), fields.get("WARC-Date", ""))
    return f"{start}{mime(kind)}{status}{place(digest, record.length, record.at)}{end(archive)}".encode()
