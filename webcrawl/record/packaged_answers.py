"""The pages of a WACZ package, and its answers by URL, as a browser that replays them wants them."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin
from zipfile import BadZipFile, ZipFile

from webcrawl.base.digest import normal
from webcrawl.base.model import Exchange
from webcrawl.base.surt import surt
from webcrawl.base.url_text import is_view, visible
from webcrawl.record.archived_answers import (
    Answers,
    Unusable,
    captures,
    has_head,
    is_unmodified,
    most,
    refers,
    unmodified,
)
from webcrawl.record.warc.archive_files import ENDINGS, packed
from webcrawl.record.warc.reader import NotWarc, RecordReader, ignore
from webcrawl.record.warc.unpacking import RecordStart
from webcrawl.store.jobdir.index_line import IndexLine, read

INDEXES = (".cdx", ".cdxj", ".cdx.gz", ".cdxj.gz")
LISTS = ("pages/pages.jsonl", "pages/extraPages.jsonl")
REDIRECTS = 10  # in a row
LARGEST = 64 << 20  # bytes of a body: by default no crawl keeps more of one


class NotReplayable(Exception):  # noqa: N818 - reads as what it is
    """A file that is no package, or lacks what a replay needs; the message is one line."""


class ListedPage(NamedTuple):
    """A page of the package's lists."""

    url: str
    stamp: str  # 14 digits


class PackagedAnswers:
    """A package's pages and records; its index is held in memory, 900 bytes for each record."""

    def __init__(self, package: Path) -> None:
        """Raise NotReplayable."""
        self.pages: list[ListedPage] = []
        self._answers = Answers(LARGEST)
        # By key: lines of answers, and of what a browser made of pages
        self._lines: defaultdict[str, list[IndexLine]] = defaultdict(list)
        self._made: defaultdict[str, list[IndexLine]] = defaultdict(list)
        self._originals: dict[str, IndexLine] = {}
        try:
            self._files = {path.name: path for path in packed(package, ENDINGS)}
            with ZipFile(package) as file:
                for line in _index_lines(file):
                    self._take(line)
                self.pages += _pages(file)
        except OSError as error:
            raise NotReplayable(f"{package}: {error.strerror or error}") from error
        except (BadZipFile, EOFError, zlib.error, ValueError, TypeError) as error:
            raise NotReplayable(f"{package}: {error}") from error
        if not self._lines:
            raise NotReplayable(f"{package}: has no index of its records")
        if not self.pages:
            raise NotReplayable(f"{package}: has no list of pages")

    def answer(self, url: str, stamp: str) -> Exchange | None:
        """Return the answer that was archived nearest to this time, behind its redirects.

        Return None if the package lacks it, or a record cannot be read.
        """
        for _ in range(REDIRECTS):
            line = _nearest(self._lines.get(surt(visible(url)), ()), stamp)
            if line is None:
                return None
            try:
                answer = self._exchange(line)
            except (Unusable, NotWarc, OSError, KeyError):
                return None
            if not answer.location:
                return answer
            url = urljoin(url, answer.location).partition("#")[0]
        return None

    def document(self, page: ListedPage) -> bytes:
        """Return the document that the crawl's browser made of a page; empty if there is none."""
        return self._block(self._made.get(surt(visible(page.url)), ()), page.stamp)

    def view(self, page: ListedPage) -> bytes:
        """Return the screenshot of a page by the crawl's browser; empty if there is none."""
        return self._block(self._made.get(f"urn:view:{visible(page.url)}", ()), page.stamp)

    def _take(self, line: IndexLine) -> None:
        key = surt(visible(line.url))
        # The line of a conversion record has no status
        is_answer = bool(line.status) or line.is_revisit
        if is_view(line.url) or not is_answer:
            self._made[key].append(line)
            return
        self._lines[key].append(line)
        digest = normal(line.digest)
        if digest and not line.is_revisit:
            self._originals[digest] = line

    def _exchange(self, line: IndexLine) -> Exchange:
        """Return the answer as it was sent. Raise Unusable if its payload is not in the package."""
        path = self._files[line.file]
        with RecordReader(path, most(LARGEST), ignore, RecordStart(line.offset, 0)) as records:
            capture = next(captures(records, ignore), None)
        if capture is None or capture.place.offset != line.offset:
            # The reader has gone on to another record
            raise Unusable("the record is damaged")
        # The scripts run again, on the page as it was sent
        capture.document = None
        if not refers(capture):
            return self._answers.read(capture)[1]
        known = self._originals.get(normal(line.digest))
        if known is None:
            raise Unusable("its payload is not in the package")
        original = self._exchange(known)
        if not is_unmodified(capture.first):
            return self._answers.read(capture, original)[1]
        # Its own head is read alone, and then joined with the page
        own = None if has_head(capture.first) else original
        answer = self._answers.read(capture, own)[1]
        return unmodified(original, answer)

    def _block(self, lines: list[IndexLine] | tuple[()], stamp: str) -> bytes:
        line = _nearest(lines, stamp)
        if line is None or line.file not in self._files:
            return b""
        try:
            place = RecordStart(line.offset, 0)
            with RecordReader(self._files[line.file], LARGEST, ignore, place) as records:
                record = records.next()
        except (NotWarc, OSError):
            # The page is compared without it
            return b""
        if record is None or record.place.offset != line.offset:
            return b""
        return record.block


def _nearest(lines: list[IndexLine] | tuple[()], stamp: str) -> IndexLine | None:
    return min(lines, key=lambda line: abs(int(line.stamp) - int(stamp)), default=None)


def _index_lines(file: ZipFile) -> Iterator[IndexLine]:
    """Yield the lines of the package's index. Raise BadLine."""
    for name in file.namelist():
        is_index = name.startswith("indexes/") and name.endswith(INDEXES)
        if not is_index:
            continue
        with file.open(name) as entry:
            lines = gzip.GzipFile(fileobj=entry) if name.endswith(".gz") else entry
            for data in lines:
                is_header = data.startswith(b"!") or not data.strip()
                # A line names the method only of an answer to a form, or the like
                has_method = b'"method": ' in data
                if not is_header and not has_method:
                    yield read(data)


def _pages(file: ZipFile) -> Iterator[ListedPage]:
    for name in LISTS:
        if name not in file.namelist():
            continue
        with file.open(name) as entry:
            for data in entry:
                if not data.strip():
                    continue
                row = json.loads(data)
                # The first line is a header
                if "url" in row:
                    stamp = "".join(filter(str.isdecimal, str(row.get("ts", ""))))[:14]
                    yield ListedPage(row["url"], stamp.ljust(14, "0"))
