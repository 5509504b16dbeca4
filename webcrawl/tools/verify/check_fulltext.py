"""Checks the files of the full-text index by the checksums that tantivy writes at their ends."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from webcrawl.store.disk import regular
from webcrawl.store.errors import DamagedFile
from webcrawl.tools.verify.check_outputs import crc_of
from webcrawl.tools.verify.check_texts import META

PARTS = ("fast", "fieldnorm", "idx", "pos", "store", "term")  # files that every segment has
MAGIC = 1337  # the last four bytes; before it the length of a JSON object, and before that the object


def check_fulltext(folder: Path) -> Iterator[DamagedFile]:
    """Looks at every byte; what a crawl that runs replaces meanwhile is passed over."""
    for name in sorted(_names(folder)):
        try:
            flaw = _flaw(folder / name)
        except FileNotFoundError:
            flaw = "missing"
        if flaw and name in _names(folder):
            yield DamagedFile(folder / name, 0, flaw)


def _names(folder: Path) -> set[str]:
    """The files of the segments that are searched; none if that cannot be read, which is reported elsewhere."""
    try:
        with regular(folder / META) as meta:
            return {name for one in json.load(meta)["segments"] for name in _files(one)}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return set()


def _files(segment: Mapping[str, Any]) -> Iterator[str]:
    """Of its lists of deleted pages one is in force: others are of earlier commits, or half written."""
    number = segment["segment_id"].replace("-", "")
    yield from (f"{number}.{part}" for part in PARTS)
    if (deleted := segment["deletes"]) is not None:
        yield f"{number}.{deleted['opstamp']}.del"


def _flaw(path: Path) -> str:
    """What is wrong with the file, if anything is."""
    with regular(path) as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        end = file.read()
        length, magic = struct.unpack("<II", end) if len(end) == 8 else (0, 0)
        whole = size - 8 - length
        if magic != MAGIC or whole < 0:
            return "its end is missing"
        file.seek(whole)
        try:
            wanted = json.loads(file.read(length))["crc"]
        except (ValueError, LookupError, TypeError):
            return "its checksum cannot be read"
        return "" if crc_of(file, whole) == wanted else "checksum"
