"""What a line of a list contains: nothing, a seed, or an error."""

from __future__ import annotations

import csv
import re
from typing import NamedTuple, Protocol

from webcrawl.seeds.errors import BadLineError

_COMMENT = re.compile(r"(?:^|\s)#")  # a "#" inside a word starts a URL's fragment
_COLUMNS = ("domain", "root domain", "url")  # Majestic and DomCop; Moz; lists of pages
_FOUND = re.compile(  # the fields of a Found, each after a blank
    r" [LERler]+ [a-z][a-z0-9+.-]*://[^/\s]+/[^\s\x00-\x1f\x7f]* [^\s\x00-\x1f\x7f]* ([0-9a-f.]*~[\w=-]*)?"
)


class Found(NamedTuple):
    """How a URL of a segment was found, in the fields of model.Link; the columns of these names have it."""

    path: str
    via: str
    seed: str
    chain: str


class Rows(Protocol):
    """A kind of list."""

    def seed(self, line: str) -> str | None:
        """Returns the URL or domain in this line, or None for a line without one. Raises BadLineError."""

    def found(self, line: str) -> Found | None:
        """How the URL in this line was found, or None for a seed. Raises BadLineError."""


class TextRows:
    """One URL or domain per line; `#` starts a comment."""

    def found(self, line: str) -> Found | None:
        del line
        return None

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
        self._found = [names.index(name) for name in Found._fields if name in names]

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

    def found(self, line: str) -> Found | None:
        if len(self._found) < len(Found._fields):
            return None
        fields = _fields(line)
        if len(fields) <= max(self._found):
            raise BadLineError(f"has no column {max(self._found) + 1}")
        found = Found(*(fields[at].strip() for at in self._found))
        if not any(found[:2]):
            return None
        if not _FOUND.fullmatch("".join(f" {field}" for field in found)):
            raise BadLineError("does not say how its URL was found")
        return found


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
