"""Checks the text files' lines, that crawl.log and index have the same pages, and the index."""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from webcrawl.base.url_text import visible
from webcrawl.record.fulltext.text_files import FOLDER, members, pages
from webcrawl.store.disk import regular
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.jobdir.crawl_line import LOG, URL, each
from webcrawl.store.jobdir.outputs import crc_of

if TYPE_CHECKING:
    from webcrawl.record.fulltext.text_index import IndexContents


ENDING = ".jsonl.gz"
KEYS = {
    "ordinal": int,
    "url": str,
    "title": str,
    "language": str,
    "fetched_at": str,
    "type": str,
    "digest": str,
    "headings": list,
    "text": str,
}
# Lines of crawl.log among which a page is looked for: both have pages in the order of their ends
AROUND = 10_000


class TextFileCheck:
    """All text files of a crawl, in the order of their names."""

    def __init__(self, jobdir: Path, log_length: int, found: Counter[str]) -> None:
        self._found = found
        self._jobdir = jobdir
        self._next: int | None = 0  # the number of the next page, if the file before is here
        self._log = _urls(jobdir / LOG, log_length)
        self._around: dict[str, None] = {}
        self._indexed: CrawlIndex | None = None
        self._lines: AtOnce = {}

    def holds(self, name: str) -> bool:
        """Return whether this output is one of them."""
        return name.startswith(f"{FOLDER}/") and name.endswith(ENDING)

    def absent(self) -> None:
        """Note that the next file is missing."""
        self._next = None

    def check(self, path: Path, file: BinaryIO, length: int) -> Iterator[DamagedFile]:
        """Yield each member that is damaged, and each line that is not as it should be."""
        end = 0
        try:
            for at, packed_end, data in members(path, file, 0, length):
                end = packed_end
                for line in pages(path, at, data):
                    yield from self._page(path, at, line)
        except DamagedFile as damage:
            yield damage
            self._next = None
            return
        if end < length:
            yield DamagedFile(path, end, "the last member is cut off")
            self._next = None

    def rest(self) -> Iterator[DamagedFile]:
        """Yield the errors that the index has about the last pages."""
        yield from self._compare()

    def _page(self, path: Path, at: int, line: dict[str, Any]) -> Iterator[DamagedFile]:
        self._found["texts"] += 1
        flaw = _flaw(line)
        if flaw:
            yield DamagedFile(path, at, f"not a valid line of a page: {flaw}")
            self._next = None
            return
        ordinal = line["ordinal"]
        url = line["url"]
        if self._next is not None and ordinal != self._next:
            yield DamagedFile(path, at, f"expected page {self._next}, found page {ordinal}")
        self._next = ordinal + 1
        if not self._is_each(visible(url)):
            yield DamagedFile(path, at, f"page {ordinal}, {url}: is not in {LOG}")
        self._lines[ordinal] = TextLine(path, at, url, "change" in line)
        if len(self._lines) >= AROUND:
            yield from self._compare()

    def _is_each(self, url: str) -> bool:
        around = self._around
        while url not in around:
            line = next(self._log, None)
            if line is None:
                return False
            around[line] = None
            if len(around) > AROUND:
                del around[next(iter(around))]
        del around[url]
        return True

    def _compare(self) -> Iterator[DamagedFile]:
        if self._indexed is None:
            self._indexed = CrawlIndex(self._jobdir, self._found)
        yield from self._indexed.compare(self._lines)
        self._lines = {}


def _flaw(line: Any) -> str:
    if not isinstance(line, dict):
        return "not a JSON object"
    wrong = [name for name, kind in KEYS.items() if not isinstance(line.get(name), kind)]
    if wrong:
        return ", ".join(wrong)
    if line["ordinal"] < 0:
        return "the page number is negative"
    return ""


def _urls(path: Path, length: int) -> Iterator[str]:
    """Yield the URLs of crawl.log, up to this length."""
    try:
        for _, fields in each(path, 0, length):
            if len(fields) > URL:
                yield fields[URL].decode(errors="replace")
    except OSError:
        return  # reported elsewhere


class TextLine(NamedTuple):
    """The line of a page: text file, member's first byte, URL, and whether it was fetched before."""

    path: Path
    at: int
    url: str
    again: bool


AtOnce = dict[int, TextLine]  # by the page's number
META = "meta.json"  # names the segments, whose files tantivy writes first
UNREAD = "index unread"  # among the figures: the index is there, but tantivy is not


class CrawlIndex:
    """The index of a crawl, if it has one."""

    def __init__(self, jobdir: Path, found: Counter[str]) -> None:
        self._folder = jobdir / "index"
        self._found = found
        self._contents: IndexContents | None = None
        # A crawl that has just begun, or was killed then, has the folder and nothing of an index.
        self._said = not ((self._folder / META).exists() or any(self._folder.glob("*.store")))

    def compare(self, lines: AtOnce) -> Iterator[DamagedFile]:
        """Yield each line that the index, as far as it has got, does not have exactly once.

        A page that was fetched again has only its last line in the index.
        """
        if not self._said:
            self._said = True
            yield from self._open()
        if self._contents is None or not lines:
            return
        try:
            has = self._contents.urls(min(lines), max(lines) + 1)
            for ordinal, line in lines.items():
                why = self._flaw(self._contents, ordinal, line, has.get(ordinal, []))
                if why:
                    yield DamagedFile(
                        line.path, line.at, f"page {ordinal}, {line.url}: the index has {why}"
                    )
        except StoreError as error:
            yield self._damaged(str(error))

    def _flaw(self, contents: IndexContents, ordinal: int, line: TextLine, urls: list[str]) -> str:
        """Return what the index has wrongly in place of this line; count a line that is right."""
        if urls == [line.url]:
            first = ordinal
            if line.again:
                first = next(iter(contents.numbers(line.url)), ordinal)
            is_only = first == ordinal
            self._found["indexed"] += is_only
            return "" if is_only else f"page {first} too, an earlier copy of this page"
        if urls:
            return " ".join(urls)
        # The index lags by a checkpoint
        if ordinal >= contents.until:
            self._found["unindexed"] += 1
            return ""
        is_replaced = any(later > ordinal for later in contents.numbers(line.url))
        if not is_replaced:
            return "nothing"
        self._found["replaced"] += 1
        return ""

    def _open(self) -> Iterator[DamagedFile]:
        try:
            from webcrawl.record.fulltext.text_index import IndexContents  # noqa: PLC0415 - tantivy is optional

            self._contents = has = IndexContents(self._folder)
        except ImportError:
            self._found[UNREAD] += 1
        except StoreError as error:
            yield self._damaged(str(error))
        else:
            if has.count > has.until:
                yield self._damaged(
                    f"it has {has.count} pages, more than its last page number, {has.until - 1}, allows"
                )

    def _damaged(self, why: str) -> DamagedFile:
        return DamagedFile(self._folder / META, 0, why)


PARTS = ("fast", "fieldnorm", "idx", "pos", "store", "term")  # files that every segment has
# The last four bytes. Before them are the length of a JSON object, and the object
MAGIC = 1337


def check_fulltext(folder: Path) -> Iterator[DamagedFile]:
    """Compare each file of the index with the checksum that tantivy writes at its end.

    Files that a running crawl replaces meanwhile are passed over.
    """
    for name in sorted(_names(folder)):
        try:
            flaw = _file_flaw(folder / name)
        except FileNotFoundError:
            flaw = "missing"
        if flaw and name in _names(folder):
            yield DamagedFile(folder / name, 0, flaw)


def _names(folder: Path) -> set[str]:
    """Return the files of the segments in use; none if their list cannot be read.

    That is reported elsewhere.
    """
    try:
        with regular(folder / META) as meta:
            return {name for one in json.load(meta)["segments"] for name in _files(one)}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return set()


def _files(segment: Mapping[str, Any]) -> Iterator[str]:
    """Return the files of a segment that are in force.

    One list of deleted pages is in force: the others are of earlier commits, or half written.
    """
    number = segment["segment_id"].replace("-", "")
    yield from (f"{number}.{part}" for part in PARTS)
    if (deleted := segment["deletes"]) is not None:
        yield f"{number}.{deleted['opstamp']}.del"


def _file_flaw(path: Path) -> str:
    """Return what is wrong with the file, or an empty string."""
    with regular(path) as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        end = file.read()
        length, magic = struct.unpack("<II", end) if len(end) == 8 else (0, 0)
        whole = size - 8 - length
        if magic != MAGIC or whole < 0:
            return "the end of the file is missing"
        file.seek(whole)
        try:
            wanted = json.loads(file.read(length))["crc"]
        except (ValueError, LookupError, TypeError):
            return "its checksum cannot be read"
        return "" if crc_of(file, whole) == wanted else "wrong checksum"
