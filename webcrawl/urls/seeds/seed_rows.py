"""One line of a seed list: no seed, the URL of a seed, or an error."""

from __future__ import annotations

import csv
import re
from typing import NamedTuple, Protocol

from webcrawl.base.readable import url_without_credentials
from webcrawl.urls.canonical import canonical


class BadLineError(ValueError):
    """A line that should give a seed and does not; the message says why. It is counted and skipped."""


class SeedError(Exception):
    """A list that cannot be read; the message is one line that begins with the list's path."""


class AwayError(SeedError):
    """A list that the system does not let us read now: another run may."""


_UNWRITTEN = re.compile(r"[\x00-\x20\x7f]")
_WITH_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
# A domain, and what people write after it. Of ASCII, a name has only letters, digits, "-", "." and "_".
_DOMAIN = re.compile(r"([-.0-9A-Z_a-z\x80-\U0010ffff]+)(:\d+)?([/?#].*)?")
_NUMBERS = re.compile(r"[\d.]+")


UNSENT = "user and password are not sent: the seed is crawled without them"


def has_credentials(text: str) -> bool:
    """Return whether this URL names a user or a password."""
    return "@" in text and url_without_credentials(text) != text


def seed_url(text: str, max_length: int) -> str:
    """Returns the canonical form of a URL, or `http://domain/` for a domain. Raises BadLineError."""
    if _UNWRITTEN.search(text):
        raise BadLineError("contains a space or a control character")
    if _WITH_SCHEME.match(text):
        return _fetchable(text, max_length)
    domain = _DOMAIN.fullmatch(text)
    if domain is None:
        raise BadLineError("is neither a URL nor a domain")
    url = _fetchable(f"http://{text}", max_length)
    host = url[7:].partition("/")[0].partition(":")[0]
    # The URL standard turns any number into an address (1 -> 0.0.0.1); in a list, a number is the wrong column.
    if _NUMBERS.fullmatch(host) and host != domain[1]:
        raise BadLineError("is a number, not a domain")
    return url


def _fetchable(url: str, max_length: int) -> str:
    try:
        return canonical(url, max_length=max_length)
    except ValueError as error:
        raise BadLineError(f"is not a URL that can be fetched ({error})") from error


_COMMENT = re.compile(r"(?:^|\s)#")  # a "#" inside a word starts a URL's fragment
_COLUMNS = ("domain", "root domain", "url")  # Majestic and DomCop; Moz; lists of pages
_FOUND = re.compile(  # the fields of a Found, each after a blank
    r" [LERler]+ [a-z][a-z0-9+.-]*://[^/\s]+/[^\s\x00-\x1f\x7f]* [^\s\x00-\x1f\x7f]* ([0-9a-f.]*~[\w=-]*)?"
)


class Found(NamedTuple):
    """The discovery of a segment's URL, in the fields of model.Link; the columns of these names have it."""

    path: str
    via: str
    seed: str
    chain: str


class Rows(Protocol):
    """A kind of list."""

    def seed(self, line: str) -> str | None:
        """Returns the URL or domain in this line, or None for a line without one. Raises BadLineError."""

    def found(self, line: str) -> Found | None:
        """Return how the URL in this line was found, or None for a seed. Raises BadLineError."""


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
        # if the first column is not a rank, the second is not a domain either
        if self.header is None and not (fields[0].isascii() and fields[0].strip().isdigit()):
            raise BadLineError("does not start with a rank, and no header names a column Domain, Root Domain or URL")
        if len(fields) <= self.column:
            raise BadLineError(f"has no column {self.column + 1}")
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
