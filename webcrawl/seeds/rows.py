"""What a line of a list says: nothing, a seed, or something that is wrong."""

from __future__ import annotations

import csv
import re
from typing import Protocol

from webcrawl.seeds.errors import BadLineError

_COMMENT = re.compile(r"(?:^|\s)#")  # a "#" inside a word begins a URL's fragment
_COLUMNS = ("domain", "root domain", "url")  # Majestic and DomCop, Moz, and whoever lists pages


class Rows(Protocol):
    """A kind of list."""

    def seed(self, line: str) -> str | None:
        """The URL or domain of this line, None where it has none to give; raises BadLineError."""


class TextRows:
    """A URL or a domain a line; `#` begins a comment."""

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
        if not line or line == self.header:  # lists put one after the other have it again
            return None
        fields = _fields(line)
        if len(fields) <= self.column:
            raise BadLineError(f"has no column {self.column + 1}")
        # a column that says it is a rank and is none is not followed by a domain either
        if self.header is None and not (fields[0].isascii() and fields[0].strip().isdigit()):
            raise BadLineError("does not begin with a rank")
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
    """The reader of a list of this kind, whose first block may begin with a header."""
    if kind == ".txt":
        return TextRows()
    written = next((line for line in first.splitlines() if line.strip()), b"")
    return CsvRows(written.decode("utf-8", "replace").strip())
