"""One file of seeds as a stream of UTF-8 bytes, whatever its compression and encoding."""

from __future__ import annotations

import codecs
import errno
import gzip
import lzma
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path, PurePath
from typing import IO, Protocol, cast

from webcrawl.base.readable import url_without_credentials
from webcrawl.urls.seeds.seed_rows import AwayError, BadLineError, SeedError, seed_url

BELOW_JOBDIR = "jobdir:"  # before the path of a list that was put into the crawl's own folder by command
BLOCK = 65_536  # bytes read at a time: all that a list holds in memory, whatever its length

_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
_HOST = re.compile(r"[\w-]+(\.[\w-]+)*\.(?!txt$|csv$|gz$|zip$)[a-z]{2,}(:\d+)?", re.IGNORECASE)
# Of our machine's making, whatever the list
_OURS = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOMEM))
# What the unpackers raise for damaged files. ValueError: a NUL in the path; IndexError: a file without a name in a zip;
# struct.error: a zip field that is cut short.
_DAMAGE = (
    EOFError, IndexError, NotImplementedError, ValueError, lzma.LZMAError, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def list_paths(src: str) -> list[str]:
    """The comma-separated paths and URLs in SRC."""
    return [path.strip() for path in src.split(",") if path.strip()]


def is_url(path: str) -> bool:
    """Return whether this part of SRC is a seed itself rather than the name of a list."""
    return "://" in path


class _Bytes(Protocol):
    def read(self, size: int, /) -> bytes: ...
    def close(self) -> None: ...


class Lone:
    """A seed in SRC itself, read like a list with one line."""

    __slots__ = ("first", "kind", "path")

    def __init__(self, url: str, max_length: int) -> None:
        self.path, self.kind = url_without_credentials(url), ".txt"  # the path is for messages
        try:
            seed_url(url, max_length)
        except BadLineError as why:
            raise SeedError(f"{self.path}: {why}") from why
        self.first = f"{url}\n".encode()

    def blocks(self, offset: int) -> Generator[bytes]:
        yield self.first[offset:]


class Source:
    """A list, by its path: `.csv` or `.txt`, plain or packed as `.gz` or `.zip`."""

    __slots__ = ("first", "kind", "packing", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.packing = PurePath(path).suffix.lower()
        if self.packing not in (".gz", ".zip"):
            self.packing = ""
        with _as_seed_error(path):
            self._must_be_a_file()
            self.kind = self._kind()
            with closing(self._open()) as file:
                self.first = b"".join(_blocks(file, BLOCK))
        if not self.first:
            raise SeedError(f"{path}: is empty")
        if _binary(self.first):
            raise SeedError(f"{path}: is binary; a list of seeds must be text")

    def blocks(self, offset: int) -> Generator[bytes]:
        """The bytes from `offset` on. A plain file seeks there; a packed one is unpacked up to there."""
        with _as_seed_error(self.path), closing(self._open(offset)) as file:
            yield from _blocks(file)

    def _must_be_a_file(self) -> None:
        mode = Path(self.path).stat().st_mode
        if stat.S_ISDIR(mode):
            raise SeedError(f"{self.path}: is a directory")
        if not stat.S_ISREG(mode):  # reading a pipe could not be resumed
            raise SeedError(f"{self.path}: is not a regular file")

    def _kind(self) -> str:
        """`.csv` or `.txt`, by the name without its packing, or by the name of the only file in a zip."""
        names = [PurePath(self.path).with_suffix("") if self.packing else PurePath(self.path)]
        if self.packing == ".zip":
            with zipfile.ZipFile(self.path) as archive:
                names.append(PurePath(self._member(archive).filename))
        kinds = [name.suffix.lower() for name in names]
        known = next((kind for kind in kinds if kind in (".csv", ".txt")), None)
        if known is None:
            raise SeedError(f"{self.path}: must end in .csv or .txt, optionally followed by .gz or .zip")
        return known

    def _member(self, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
        # macOS adds a shadow of every file
        members = [m for m in archive.infolist() if not m.is_dir() and not m.filename.startswith("__MACOSX/")]
        if len(members) != 1:
            raise SeedError(f"{self.path}: holds {len(members)} files instead of one")
        if members[0].flag_bits & 1:
            raise SeedError(f"{self.path}: is encrypted")
        return members[0]

    def _open(self, offset: int = 0) -> _Bytes:
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
                file.seek(start)  # seeking back to the start costs nothing; only seeking far forward is slow
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
            with zipfile.ZipFile(self.path) as archive:  # the member keeps the file open until the member is closed
                return archive.open(self._member(archive))
        return Path(self.path).open("rb")


class _Utf16:
    """A UTF-16 file, read as UTF-8. A lone surrogate becomes bytes that are not UTF-8, which makes its line bad."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
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
    """Turns errors of the system and of the unpackers into SeedError, one line that names the file.

    What this machine lacks for the moment says nothing about the list: that stays an OSError.
    """
    try:
        yield
    except gzip.BadGzipFile as error:  # an OSError, too
        raise SeedError(f"{path}: {_damage(error)}") from error
    except OSError as error:
        if error.errno in _OURS:
            raise
        hint = f" (a host needs its scheme: http://{path})" if _HOST.fullmatch(path) else ""
        raise AwayError(f"{path}: {error.strerror or error}{hint}") from error
    except _DAMAGE as error:
        raise SeedError(f"{path}: {_damage(error)}") from error


def _damage(error: Exception) -> str:
    """The message of an unpacker, unless it quotes the file: who gives `seeds add` may name any."""
    said = str(error) or "ends in the middle"
    return "is damaged, or not packed as its name says" if "'" in said or '"' in said else said


def _blocks(file: _Bytes, most: int | None = None) -> Iterator[bytes]:
    """The bytes up to the end of the file, or the first `most` of them."""
    while most is None or most > 0:
        block = file.read(BLOCK if most is None else min(most, BLOCK))
        if not block:
            return
        if most is not None:
            most -= len(block)
        yield block


def _skip(file: _Bytes, count: int) -> None:
    for _ in _blocks(file, count):
        pass


def _binary(first: bytes) -> bool:
    """Return whether most lines of the first block contain control characters; text with a bad line or two has few."""
    if not _CONTROL.search(first):
        return False
    lines = first.splitlines()
    return 2 * sum(1 for line in lines if _CONTROL.search(line)) > len(lines)
