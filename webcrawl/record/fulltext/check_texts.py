"""Checks the text files, compares them with crawl.log and the index, and checks the index."""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from webcrawl.base.url_text import visible
from webcrawl.record.fulltext.text_files import FOLDER, parse_lines, read_members
from webcrawl.store.disk import regular
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.store.jobdir.crawl_line import LOG, URL, each
from webcrawl.store.jobdir.outputs import crc_of

if TYPE_CHECKING:
    from webcrawl.record.fulltext.text_index import IndexContents


TEXT_ENDING = ".jsonl.gz"
KEY_TYPES = {
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
# How far apart the lines of a page may be in crawl.log and in the text files. Both have pages in
# the order of their ends, about.
MAX_LINES_APART = 10_000


class TextFileCheck:
    """Checks the text files of a crawl, which must come in the order of their names."""

    def __init__(self, jobdir: Path, log_length: int, counts: Counter[str]) -> None:
        """Pages are counted in `counts`. Only the first `log_length` bytes of crawl.log count."""
        self._counts = counts
        self._jobdir = jobdir
        self._expected_ordinal: int | None = 0  # of the next page; None: not known
        self._log_urls = _urls(jobdir / LOG, log_length)
        self._nearby_urls: dict[str, None] = {}  # of the log, and in no text file so far
        self._indexed: CrawlIndex | None = None
        self._lines: LinesByNumber = {}

    def holds(self, name: str) -> bool:
        """Return whether the output of this name is a text file."""
        return name.startswith(f"{FOLDER}/") and name.endswith(TEXT_ENDING)

    def absent(self) -> None:
        """Note that the next file is missing."""
        self._expected_ordinal = None

    def check(self, path: Path, file: BinaryIO, length: int) -> Iterator[DamagedFile]:
        """Yield what is wrong with a text file, of which the first `length` bytes count.

        After a damaged member the rest of the file is not checked.
        """
        end = 0
        try:
            for at, packed_end, data in read_members(path, file, 0, length):
                end = packed_end
                for line in parse_lines(path, at, data):
                    yield from self._check_line(path, at, line)
        except DamagedFile as damage:
            yield damage
            self._expected_ordinal = None
            return
        if end < length:
            yield DamagedFile(path, end, "the last member is truncated")
            self._expected_ordinal = None

    def remaining_damage(self) -> Iterator[DamagedFile]:
        """Yield what is wrong with the last pages in the index. Call this after the last file."""
        yield from self._compare()

    def _check_line(self, path: Path, at: int, line: dict[str, Any]) -> Iterator[DamagedFile]:
        """Yield what is wrong with a line in the member at byte `at`."""
        self._counts["texts"] += 1
        flaw = _line_flaw(line)
        if flaw:
            yield DamagedFile(path, at, f"not a valid line of a page: {flaw}")
            self._expected_ordinal = None
            return
        ordinal = line["ordinal"]
        url = line["url"]
        if self._expected_ordinal is not None and ordinal != self._expected_ordinal:
            yield DamagedFile(
                path, at, f"expected page {self._expected_ordinal}, found page {ordinal}"
            )
        self._expected_ordinal = ordinal + 1
        if not self._is_in_log(visible(url)):
            yield DamagedFile(path, at, f"page {ordinal}, {url}: is not in {LOG}")
        self._lines[ordinal] = TextLine(path, at, url, "change" in line)
        if len(self._lines) >= MAX_LINES_APART:
            yield from self._compare()

    def _is_in_log(self, url: str) -> bool:
        """Read the log up to the line of this URL, and return whether there is one."""
        nearby = self._nearby_urls
        while url not in nearby:
            log_url = next(self._log_urls, None)
            if log_url is None:
                return False
            nearby[log_url] = None
            if len(nearby) > MAX_LINES_APART:
                del nearby[next(iter(nearby))]
        del nearby[url]
        return True

    def _compare(self) -> Iterator[DamagedFile]:
        if self._indexed is None:
            self._indexed = CrawlIndex(self._jobdir, self._counts)
        yield from self._indexed.compare(self._lines)
        self._lines = {}


def _line_flaw(line: Any) -> str:
    """Return what is wrong with a line, or an empty string."""
    if not isinstance(line, dict):
        return "not a JSON object"
    wrong = [name for name, kind in KEY_TYPES.items() if not isinstance(line.get(name), kind)]
    if wrong:
        return ", ".join(wrong)
    if line["ordinal"] < 0:
        return "the page number is negative"
    return ""


def _urls(path: Path, length: int) -> Iterator[str]:
    """Yield the URLs in the first `length` bytes of crawl.log."""
    try:
        for _, fields in each(path, 0, length):
            if len(fields) > URL:
                yield fields[URL].decode(errors="replace")
    except OSError:
        return  # reported elsewhere


class TextLine(NamedTuple):
    """What is known of a line of a text file."""

    path: Path
    at: int  # the first byte of its member
    url: str
    is_refetch: bool  # the page was fetched before


LinesByNumber = dict[int, TextLine]  # by the page's number
META_FILE = "meta.json"  # names the segments; tantivy writes it after their files
UNREAD_INDEX = "index unread"  # among the figures: there is an index, but tantivy is not installed


class CrawlIndex:
    """Compares the index of a crawl, if there is one, with its text files."""

    def __init__(self, jobdir: Path, counts: Counter[str]) -> None:
        self._folder = jobdir / "index"
        self._counts = counts
        self._contents: IndexContents | None = None
        # A crawl that has just begun, or was killed then, has the folder and nothing in it
        has_meta_file = (self._folder / META_FILE).exists()
        self._is_to_be_opened = has_meta_file or any(self._folder.glob("*.store"))

    def compare(self, lines: LinesByNumber) -> Iterator[DamagedFile]:
        """Yield each line that the index does not have exactly once.

        The index may lack the last lines, which are not indexed yet. It has only the last line of a
        page that was fetched again.
        """
        if self._is_to_be_opened:
            self._is_to_be_opened = False
            yield from self._open_contents()
        if self._contents is None or not lines:
            return
        try:
            indexed_urls = self._contents.urls(min(lines), max(lines) + 1)
            for ordinal, line in lines.items():
                urls = indexed_urls.get(ordinal, [])
                flaw = self._index_flaw(self._contents, ordinal, line, urls)
                if flaw:
                    yield DamagedFile(
                        line.path, line.at, f"page {ordinal}, {line.url}: the index has {flaw}"
                    )
        except StoreError as error:
            yield self._damaged(str(error))

    def _index_flaw(
        self, contents: IndexContents, ordinal: int, line: TextLine, urls: list[str]
    ) -> str:
        """Return what the index has instead of this line. Count a line that is right, and return "".

        `urls` are those that the index has under the number of the line.
        """
        if urls == [line.url]:
            first = ordinal
            if line.is_refetch:
                first = next(iter(contents.numbers(line.url)), ordinal)
            is_only = first == ordinal
            self._counts["indexed"] += is_only
            return "" if is_only else f"page {first} too, an earlier copy of this page"
        if urls:
            return " ".join(urls)
        # The index is up to a checkpoint behind
        if ordinal >= contents.until:
            self._counts["unindexed"] += 1
            return ""
        is_replaced = any(later > ordinal for later in contents.numbers(line.url))
        if not is_replaced:
            return "nothing"
        self._counts["replaced"] += 1
        return ""

    def _open_contents(self) -> Iterator[DamagedFile]:
        """Open the index. Yield an error if it cannot be read or has too many pages."""
        try:
            from webcrawl.record.fulltext.text_index import IndexContents  # noqa: PLC0415 - tantivy is optional

            contents = IndexContents(self._folder)
        except ImportError:
            self._counts[UNREAD_INDEX] += 1
        except StoreError as error:
            yield self._damaged(str(error))
        else:
            self._contents = contents
            if contents.count > contents.until:
                yield self._damaged(
                    f"it has {contents.count} pages, more than its last page number, "
                    f"{contents.until - 1}, allows"
                )

    def _damaged(self, why: str) -> DamagedFile:
        return DamagedFile(self._folder / META_FILE, 0, why)


SEGMENT_ENDINGS = ("fast", "fieldnorm", "idx", "pos", "store", "term")  # of a segment's files
# The last four bytes of a file. Before them are a JSON object and its length.
FOOTER_MAGIC = 1337


def check_fulltext(folder: Path) -> Iterator[DamagedFile]:
    """Yield each file of the index that has not the checksum at its end, where tantivy writes it.

    Files that a running crawl replaces meanwhile are left out.
    """
    for name in sorted(_segment_files(folder)):
        try:
            flaw = _file_flaw(folder / name)
        except FileNotFoundError:
            flaw = "missing"
        if flaw and name in _segment_files(folder):
            yield DamagedFile(folder / name, 0, flaw)


def _segment_files(folder: Path) -> set[str]:
    """Return the names of the files of all segments in use.

    Return none if meta.json cannot be read: that is reported elsewhere.
    """
    try:
        with regular(folder / META_FILE) as meta:
            segments = json.load(meta)["segments"]
            return {name for segment in segments for name in _files_of_segment(segment)}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return set()


def _files_of_segment(segment: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the files of a segment that are in use.

    Only one list of deleted pages is in use. Others are of earlier commits, or are not finished.
    """
    number = segment["segment_id"].replace("-", "")
    yield from (f"{number}.{part}" for part in SEGMENT_ENDINGS)
    deleted = segment["deletes"]
    if deleted is not None:
        yield f"{number}.{deleted['opstamp']}.del"


def _file_flaw(path: Path) -> str:
    """Return what is wrong with the file, or an empty string."""
    with regular(path) as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        end = file.read()
        if len(end) < 8:
            return "the end of the file is missing"
        footer_bytes, magic = struct.unpack("<II", end)
        data_bytes = size - 8 - footer_bytes
        if magic != FOOTER_MAGIC or data_bytes < 0:
            return "the end of the file is missing"
        file.seek(data_bytes)
        try:
            noted = json.loads(file.read(footer_bytes))["crc"]
        except (ValueError, LookupError, TypeError):
            return "its checksum cannot be read"
        return "" if crc_of(file, data_bytes) == noted else "wrong checksum"
