"""Checks logs line by line, up to the length that the last checkpoint noted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from webcrawl.store.errors import DamagedFile

LONGEST = 1 << 20  # bytes; no line comes near it, but a damaged file may have no line ends at all
DATE = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
CRAWL_LOG = "logs/crawl.log"
SHAPES = {  # docs/logs.md
    CRAWL_LOG: re.compile(
        DATE + rb" +-?\d+ +(\d+|-) [!-~]+ ([A-Z]+|-) [!-~]+ [!-~]+ #\d{3} (\d{17}\+\d+|-) (sha1:[A-Z2-7]{32}|-) [!-~]+"
        rb" [!-~]+\n"
    ),
    "logs/links.log": re.compile(rb"([^\t\n]*\t){4}[^\t\n]*\n"),
    "logs/store.log": re.compile(rb"([^\t\n]*\t){4}-?\d+\t[^\t\n]*\t\d+\t[^\t\n]*\t\d+\t\d+\n"),
    "logs/history.jsonl": re.compile(rb'\{"at":\d+\.\d,[!-~]+\}\n'),
    "logs/neardup.log": re.compile(rb"([0-9a-f]{16}|-)\t[!-~]+\n"),
    "logs/skipped.log": re.compile(DATE + rb"\t[^\t\n]+\t[^\t\n]*\t[^\t\n]*\n"),
    "logs/requests.log": re.compile(
        DATE + rb"\t[!-~]+\t[!-~]+\t([A-Z]+|-)\t\d+(\t(\d+\.\d{3}|-)\t\d+\.\d{3}\t[a-z-]+)?\n"
    ),
    "logs/images.log": re.compile(rb"[!-~]+\t([a-z]+\t\d+\t\d+\t\d+|-\t\t\t)\t\d+\n"),
}


def check_lines(path: Path, file: BinaryIO, name: str, length: int, found: Counter[str]) -> Iterator[DamagedFile]:
    """Yields each line that does not have its fields."""
    fits, at = SHAPES[name].fullmatch, 0
    while at < length:
        line = file.readline(min(LONGEST, length - at))
        found["lines"] += 1
        if not fits(line) or not _is_text(line):
            why = "no line of this log" if line.endswith(b"\n") else "the last line is cut"
            yield DamagedFile(path, at, f"{why}: {line[:60]!r}")
        at += len(line)
        if not line:
            return
        found[name] += 1


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
