"""One file of seeds, whatever its compression and encoding, and what is in its lines."""

from __future__ import annotations

import codecs
import csv
import errno
import gzip
import lzma
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from math import inf
from pathlib import Path, PurePath
from typing import IO, NamedTuple, Protocol, cast

from webcrawl.base.readable import url_without_credentials
from webcrawl.urls.canonical import canonical


class BadLineError(ValueError):
    """A line that should give a seed and does not; the message says why.

    It is counted and skipped.
    """


class SeedError(Exception):
    """A list that cannot be read; the message is one line that begins with the list's path."""


class AwayError(SeedError):
    """A list that the system does not let us read now: another run may."""


_UNWRITTEN = re.compile(r"[\x00-\x20\x7f]")
_WITH_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
# A domain, and what people write after it. Of ASCII, a name has only letters, digits, "-", "." and
# "_".
_DOMAIN = re.compile(r"([-.0-9A-Z_a-z\x80-\U0010ffff]+)(:\d+)?([/?#].*)?")
_NUMBERS = re.compile(r"[\d.]+")


CREDENTIALS = (
    "has a user name or password: write it without, and put a login for http or https into "
    "AUTH_FILE (docs/logins.md)"
)


def has_credentials(text: str) -> bool:
    """Return whether this URL names a user or a password."""
    return "@" in text and url_without_credentials(text) != text


def seed_url(text: str, max_length: int) -> str:
    """Return the canonical form of a URL, or `http://domain/` for a domain.

    Raises BadLineError.
    """
    if has_credentials(text):
        raise BadLineError(CREDENTIALS)
    if _UNWRITTEN.search(text):
        raise BadLineError("contains a space or a control character")
    if _WITH_SCHEME.match(text):
        return _fetchable(text, max_length)
    domain = _DOMAIN.fullmatch(text)
    if domain is None:
        raise BadLineError("is neither a URL nor a domain")
    url = _fetchable(f"http://{text}", max_length)
    host = url[7:].partition("/")[0].partition(":")[0]
    # The URL standard turns any number into an address (1 -> 0.0.0.1); in a list, a number is the
    # wrong column.
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
_FOUND = re.compile(  # the fields of a UrlDiscovery, each after a blank
    r" [LERler]+ [a-z][a-z0-9+.-]*://[^/\s]+/[^\s\x00-\x1f\x7f]* [^\s\x00-\x1f\x7f]* ([0-9a-f.]*~[\w=-]*)?"
)


class UrlDiscovery(NamedTuple):
    """The discovery of a segment's URL: fields of model.Link, by the columns of the same names."""

    path: str
    via: str
    seed: str
    chain: str


class RowFormat(Protocol):
    """A kind of list."""

    def seed(self, line: str) -> str | None:
        """Return the URL or domain in this line, or None for a line without one.

        Raises BadLineError.
        """

    def found(self, line: str) -> UrlDiscovery | None:
        """Return how the URL in this line was found, or None for a seed. Raises BadLineError."""


class TextRows:
    """One URL or domain per line; `#` starts a comment."""

    def found(self, line: str) -> UrlDiscovery | None:
        del line
        return None

    def seed(self, line: str) -> str | None:
        if "#" in line and (comment := _COMMENT.search(line)):
            line = line[: comment.start()]
        return line.strip() or None


class CsvRows:
    """`rank,domain`, or the column that a header calls `Domain`."""

    def __init__(self, first: str = "") -> None:
        """`first`: the first line that is not blank, which may be a header."""
        names = [name.strip().lower() for name in _header_fields(first)]
        named = _places(_COLUMNS, names)
        self.header = first if named else None
        self.column = named[0] if named else 1
        self._found = _places(UrlDiscovery._fields, names)

    def seed(self, line: str) -> str | None:
        """Return the URL or domain in the column that has it; None for a blank line and the header.

        Raise BadLineError if the line lacks that column, or, without a header, does not begin with
        a rank.
        """
        if not line or line == self.header:  # concatenated lists repeat it
            return None
        fields = _fields(line)
        # If the first column is not a rank, the second is not a domain either
        has_rank = fields[0].isascii() and fields[0].strip().isdigit()
        if self.header is None and not has_rank:
            raise BadLineError(
                "does not start with a rank, and no header names a column Domain, Root Domain or URL"
            )
        if len(fields) <= self.column:
            raise BadLineError(f"has no column {self.column + 1}")
        return fields[self.column].strip()

    def found(self, line: str) -> UrlDiscovery | None:
        """Return how the URL of this line was found; None if it is a seed, or the list is no
        segment.

        Raise BadLineError if the columns about that are missing or have impossible values.
        """
        if len(self._found) < len(UrlDiscovery._fields):
            return None
        fields = _fields(line)
        if len(fields) <= max(self._found):
            raise BadLineError(f"has no column {max(self._found) + 1}")
        discovery = UrlDiscovery(*(fields[column].strip() for column in self._found))
        # A URL without a page that links to it is a seed of the segment
        if not any(discovery[:2]):
            return None
        if not _FOUND.fullmatch("".join(f" {field}" for field in discovery)):
            raise BadLineError(
                "has columns about how its URL was found, but no valid values in them"
            )
        return discovery


def _places(wanted: Iterable[str], names: list[str]) -> list[int]:
    """Return the columns of those wanted names that a header has, in the order of `wanted`."""
    return [names.index(name) for name in wanted if name in names]


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


def rows(kind: str, first: bytes) -> RowFormat:
    """Return the reader for this kind of list; its `first` block may start with a header."""
    if kind == ".txt":
        return TextRows()
    written = next((line for line in first.splitlines() if line.strip()), b"")
    return CsvRows(written.decode("utf-8", "replace").strip())


# before the path of a list that was put into the crawl's own folder by command
BELOW_JOBDIR = "jobdir:"
BLOCK = 65_536  # bytes read at a time: all that a list holds in memory, whatever its length

_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
_HOST = re.compile(
    r"([\w-]+(\.[\w-]+)*\.(?!txt$|csv$|gz$|zip$)[a-z]{2,}|localhost|\d+(\.\d+){3})(:\d+)?",
    re.IGNORECASE,
)
# Of our machine's making, whatever the list
_LACKS_OF_MACHINE = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOMEM))
# What the unpackers raise for damaged files. ValueError: a NUL in the path; IndexError: a file
# without a name in a zip; struct.error: a zip field that is truncated.
_DAMAGE_ERRORS = (
    EOFError, IndexError, NotImplementedError, ValueError, lzma.LZMAError, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def list_paths(src: str) -> list[str]:
    """Return the comma-separated paths and URLs in SRC."""
    return [path.strip() for path in src.split(",") if path.strip()]


def is_url(path: str) -> bool:
    """Return whether this part of SRC is a seed itself rather than the name of a list."""
    return "://" in path


class _Bytes(Protocol):
    def read(self, size: int, /) -> bytes: ...
    def close(self) -> None: ...


class Lone:
    """A seed given directly as SRC, read like a one-line list."""

    __slots__ = ("first", "kind", "path")

    def __init__(self, url: str, max_length: int) -> None:
        # the path is for messages
        self.path = url_without_credentials(url)
        self.kind = ".txt"
        try:
            seed_url(url, max_length)
        except BadLineError as why:
            raise SeedError(f"{self.path}: {why}") from why
        self.first = f"{url}\n".encode()

    def blocks(self, offset: int) -> Generator[bytes]:
        yield self.first[offset:]


class SeedFile:
    """A list, by its path: `.csv` or `.txt`, plain or packed as `.gz` or `.zip`."""

    __slots__ = ("first", "kind", "packing", "path")

    def __init__(self, path: str) -> None:
        """Read the first block of the list, which may be packed.

        Raise SeedError if it is no list: its name, its kind of file, empty, damaged or binary.
        """
        self.path = path
        self.packing = PurePath(path).suffix.lower()
        if self.packing not in (".gz", ".zip"):
            self.packing = ""
        with _as_seed_error(path):
            self._refuse_other_than_file()
            self.kind = self._kind()
            with closing(self._open()) as file:
                self.first = b"".join(_blocks(file, BLOCK))
        if not self.first:
            raise SeedError(f"{path}: is empty")
        if _binary(self.first):
            raise SeedError(f"{path}: is binary; a list of seeds must be text")

    def blocks(self, offset: int) -> Generator[bytes]:
        """Yield the bytes from `offset` on.

        A plain file seeks there; a packed one is unpacked up to there.
        """
        with _as_seed_error(self.path), closing(self._open(offset)) as file:
            yield from _blocks(file)

    def _refuse_other_than_file(self) -> None:
        mode = Path(self.path).stat().st_mode
        if stat.S_ISDIR(mode):
            raise SeedError(f"{self.path}: is a directory")
        if not stat.S_ISREG(mode):  # reading a pipe could not be resumed
            raise SeedError(f"{self.path}: is not a regular file")

    def _kind(self) -> str:
        """Return `.csv` or `.txt`, by the name without its packing; of a zip also by its only
        file's name.
        """
        name = PurePath(self.path)
        names = [name.with_suffix("") if self.packing else name]
        if self.packing == ".zip":
            # A zip may be called `list.zip`: then the name of its file decides
            with zipfile.ZipFile(self.path) as archive:
                names.append(PurePath(self._member(archive).filename))
        for name in names:
            kind = name.suffix.lower()
            if kind in (".csv", ".txt"):
                return kind
        raise SeedError(
            f"{self.path}: must end in .csv or .txt, optionally followed by .gz or .zip"
        )

    def _member(self, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
        """Return the only file in a zip. Raise SeedError if there are several, or if it is
        encrypted.
        """
        members = []
        for member in archive.infolist():
            # macOS adds a shadow of every file
            is_shadow = member.filename.startswith("__MACOSX/")
            if not member.is_dir() and not is_shadow:
                members.append(member)
        if len(members) != 1:
            raise SeedError(f"{self.path}: holds {len(members)} files instead of one")
        (member,) = members
        # The lowest bit of a zip's flags
        is_encrypted = member.flag_bits & 1
        if is_encrypted:
            raise SeedError(f"{self.path}: is encrypted")
        return member

    def _open(self, offset: int = 0) -> _Bytes:
        """Open the list, unpacked and as UTF-8 without its byte order mark, at this offset of the
        text.
        """
        file = self._unpacked()
        try:
            mark = file.read(3)
            if mark[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
                file.seek(0)
                wide = _Utf16(file)
                _skip(wide, offset)
                return wide
            start = 3 if mark == codecs.BOM_UTF8 else 0
            if self.packing:
                # Back to the start, which costs nothing, and forward by reading: what was read
                # before is unpacked again, 170 MB of text per second of CPU
                file.seek(start)
                _skip(file, offset)
            else:
                file.seek(start + offset)
        except BaseException:
            file.close()
            raise
        return file

    def _unpacked(self) -> IO[bytes]:
        if self.packing == ".gz":
            return cast("IO[bytes]", gzip.open(self.path, "rb"))
        if self.packing == ".zip":
            # the member keeps the file open until the member is closed
            with zipfile.ZipFile(self.path) as archive:
                return archive.open(self._member(archive))
        return Path(self.path).open("rb")


class _Utf16:
    """A UTF-16 file, read as UTF-8.

    A lone surrogate becomes bytes that are not UTF-8, which makes its line bad.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        # The mark at the beginning says which of the two byte orders it is
        self._decoder = codecs.getincrementaldecoder("utf-16")("surrogatepass")
        self._ready = b""  # two bytes may become three: holds what exceeds the size asked for

    def read(self, size: int, /) -> bytes:
        while not self._ready and (data := self._file.read(size)):
            self._ready = self._decoder.decode(data).encode("utf-8", "surrogatepass")
        block, self._ready = self._ready[:size], self._ready[size:]
        return block

    def close(self) -> None:
        self._file.close()


@contextmanager
def _as_seed_error(path: str) -> Iterator[None]:
    """Turn errors of the system and of the unpackers into SeedError, one line that names the file.

    A lack of descriptors or memory says nothing about the list, and stays an OSError.
    """
    try:
        yield
    except gzip.BadGzipFile as error:  # an OSError, too
        raise SeedError(f"{path}: {_damage(error)}") from error
    except OSError as error:
        if error.errno in _LACKS_OF_MACHINE:
            raise
        hint = f" (a host needs its scheme: http://{path})" if _HOST.fullmatch(path) else ""
        raise AwayError(f"{path}: {error.strerror or error}{hint}") from error
    except _DAMAGE_ERRORS as error:
        raise SeedError(f"{path}: {_damage(error)}") from error


def _damage(error: Exception) -> str:
    """Return an unpacker's message, unless it quotes the file."""
    said = str(error) or "ends in the middle"
    # `seeds add` may name a file that those who see the message must not read
    quotes_file = "'" in said or '"' in said
    return "is damaged, or is not compressed as its name says" if quotes_file else said


def _blocks(file: _Bytes, most: int | None = None) -> Iterator[bytes]:
    """Yield the bytes up to the end of the file, or the first `most` of them."""
    left = inf if most is None else most
    while left > 0:
        block = file.read(int(min(left, BLOCK)))
        if not block:
            return
        left -= len(block)
        yield block


def _skip(file: _Bytes, count: int) -> None:
    for _ in _blocks(file, count):
        pass


def _binary(first: bytes) -> bool:
    """Return whether most lines of the first block have control characters: text has few."""
    if not _CONTROL.search(first):
        return False
    lines = first.splitlines()
    return 2 * sum(1 for line in lines if _CONTROL.search(line)) > len(lines)
