"""Finds the records of a URL in the indexes of an archive: by binary search in finished ones, which are sorted."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from json.encoder import encode_basestring_ascii as quoted
from pathlib import Path

from webcrawl.store.output import OPEN
from webcrawl.store.regular import regular
from webcrawl.text.surt import surt
from webcrawl.warc.index import INDEX

LONGEST = 1 << 16  # bytes of a line: a URL, its key, and some more
BLOCK = 1 << 12  # bytes read at once where a search has come close
PIECE = 4 << 20
WORTH = 5000  # bytes of a file that are read in the time of one search: with more URLs, all of it is read
OPEN_MOST = 64 << 20  # bytes of an index that is not sorted yet: it has one file's records


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of an index."""

    url: str
    stamp: str  # 14 digits: when the download began
    status: int  # 0 if the record has none
    mime: str
    digest: str
    file: str  # of the archive, with the ending that it has now
    offset: int
    length: int


class Indexes:
    """All indexes of a JOBDIR, as far as the last checkpoint has noted them."""

    def __init__(self, jobdir: Path, lengths: Mapping[str, int], *, alive: bool = False) -> None:
        """`alive`: the crawl runs, and what it wrote since counts too."""
        self._jobdir = jobdir
        self._lengths = {path: size for path, size in lengths.items() if INDEX in path}
        if alive:
            for path in jobdir.glob(f"warc/*{INDEX}{OPEN}"):
                with suppress(FileNotFoundError):  # finished at this moment
                    self._lengths[path.relative_to(jobdir).as_posix()] = path.stat().st_size
        self.gone = 0  # finished ones that were taken away
        self.cut = False  # not all of the open one was looked at

    def __repr__(self) -> str:
        return f"<Indexes {self._jobdir} files={len(self._lengths)}>"

    @property
    def any(self) -> bool:
        return bool(self._lengths)

    def find(self, urls: Iterable[str]) -> dict[str, list[Entry]]:
        """The entries of each of these URLs, the latest last."""
        found: dict[str, list[Entry]] = {url: [] for url in urls}
        keys: dict[str, set[str]] = {}
        for url in found:
            keys.setdefault(surt(url), set()).add(url)
        self.gone = 0
        for name, length in self._lengths.items():
            try:
                self._look(name, length, keys, found)
            except FileNotFoundError:
                self.gone += 1
        for entries in found.values():
            entries.sort(key=lambda entry: entry.stamp)
        return found

    def _look(self, name: str, length: int, keys: Mapping[str, set[str]], found: dict[str, list[Entry]]) -> None:
        final = name.removesuffix(OPEN)
        path = self._jobdir / final
        if path.exists():
            with regular(path) as file:
                descriptor = file.fileno()
                size = os.fstat(descriptor).st_size
                if len(keys) * WORTH > size:
                    for line in _lines_with(descriptor, size, set(found)):
                        self._note(line, keys.get(line.partition(b" ")[0].decode("ascii", "replace"), set()), found)
                    return
                for key, wanted in keys.items():
                    for line in lines_of(descriptor, size, f"{key} ".encode()):
                        self._note(line, wanted, found)
            return
        wanted = set(found)
        with regular(self._jobdir / f"{final}{OPEN}") as file:
            self.cut = self.cut or length > OPEN_MOST
            for line in _lines_with(file.fileno(), min(length, OPEN_MOST), wanted):
                self._note(line, wanted, found)

    def _note(self, line: bytes, wanted: set[str], found: dict[str, list[Entry]]) -> None:
        entry = _entry(line)
        if entry is not None and entry.url in wanted:
            path = self._jobdir / "warc" / entry.file
            file = entry.file if path.exists() or not Path(f"{path}{OPEN}").exists() else f"{entry.file}{OPEN}"
            found[entry.url].append(replace(entry, file=file))


def lines_of(descriptor: int, size: int, start: bytes) -> Iterator[bytes]:
    """The lines of a sorted file that begin with these bytes."""
    low, high = 0, size  # the first of them begins behind `low`, or at 0, and not behind `high`
    while high - low > BLOCK:
        middle = (low + high) // 2
        at, line = _line_behind(descriptor, middle, size, len(start))
        if at >= high:
            high = middle
        elif line < start:
            low = at
        else:
            high = middle
    at = low
    rest = b""
    while at < size:
        data = os.pread(descriptor, BLOCK, at)
        if not data:
            return
        at += len(data)
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            if line.startswith(start):
                yield line
            elif line > start:
                return
        if len(rest) > LONGEST:
            return


def _line_behind(descriptor: int, place: int, size: int, need: int) -> tuple[int, bytes]:
    """Where the first line behind this byte begins, and at least so many bytes of it, if it has them.

    The end of the file if no line begins there.
    """
    at, data = place, b""
    while at < size and len(data) < LONGEST:
        more = os.pread(descriptor, BLOCK, at)
        if not more:
            break
        data += more
        at += len(more)
        end = data.find(b"\n") + 1
        if end and end < len(data) and (len(data) - end >= need or b"\n" in data[end:] or at >= size):
            return place + end, data[end:].partition(b"\n")[0]
    return size, b""


def _lines_with(descriptor: int, size: int, urls: set[str]) -> Iterator[bytes]:
    """The lines of a file in any order that have one of these URLs."""
    few = [f'"url": {quoted(url)}'.encode() for url in urls] if len(urls) <= 8 else None
    at, rest = 0, b""
    while at < size:
        data = os.pread(descriptor, min(PIECE, size - at), at)
        if not data:
            return
        at += len(data)
        whole, _, rest = (rest + data).rpartition(b"\n")
        if few is None:
            yield from whole.split(b"\n")
        else:
            yield from (line for one in few if one in whole for line in whole.split(b"\n") if one in line)


def _entry(line: bytes) -> Entry | None:
    try:
        _, stamp, text = line.decode("ascii").split(" ", 2)
        values = json.loads(text)
        status = values.get("status", "0")
        return Entry(
            values["url"],
            stamp,
            int(status) if status.isdecimal() else 0,
            values.get("mime", ""),
            values.get("digest", ""),
            Path(values["filename"]).name,
            int(values["offset"]),
            int(values["length"]),
        )
    except (ValueError, KeyError, AttributeError, TypeError):
        return None
