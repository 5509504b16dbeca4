"""What a line of a list contains: nothing, a seed, or an error."""

from __future__ import annotations

import csv
import re
from typing import Protocol

from webcrawl.seeds.errors import BadLineError

_COMMENT = re.compile(r"(?:^|\s)#")  # a "#" inside a word starts a URL's fragment
_COLUMNS = ("domain", "root domain", "url")  # Majestic and DomCop; Moz; lists of pages


class Rows(Protocol):
    """A kind of list."""

    def seed(self, line: str) -> str | None:
        """Returns the URL or domain in this line, or None for a line without one. Raises BadLineError."""


class TextRows:
    """One URL or domain per line; `#` starts a comment."""

    def seed(self, line: str) -> str | None:
        if "#" in line and (comment := _COMMENT.search(line)):
            line = line[: comment.start()]
        return line.strip() or None


class CsvRows:
    """`rank,domain`, or the column that a header calls `Domain`."""

    def __init__(self, first: str = "") -> None:
        names = [name.strip().lower() for name in _header_fields(first)]
        named = [names.index(name) for name in _COLUMNS if name in names]
        self.header = first if named else None
        self.column = named[0] if named else 1

    def seed(self, line: str) -> str | None:
        if not line or line == self.header:  # concatenated lists repeat it
            return None
        fields = _fields(line)
        if len(fields) <= self.column:
            raise BadLineError(f"has no column {self.column + 1}")
        # if the first column is not a rank, the second is not a domain either
        if self.header is None and not (fields[0].isascii() and fields[0].strip().isdigit()):
            raise BadLineError("does not start with a rank")
        return fields[self.column].strip()


def _header_fields(line: str) -> list[str]:
    try:
        return _fields(line)
    except BadLineError:
        return []


def _fields(line: str) -> list[str]:
    if '"' not in line:
        return line.split(",")
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise BadLineError(str(error)) from error


def rows(kind: str, first: bytes) -> Rows:
    """Returns the reader for this kind of list; `first` is its first block, which may start with a header."""
    if kind == ".txt":
        return TextRows()
    written = next((line for line in first.splitlines() if line.strip()), b"")
    return CsvRows(written.decode("utf-8", "replace").strip())
