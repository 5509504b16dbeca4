"""Reads the pages of a WACZ package, and its answers by URL, for a browser that replays them."""

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
    max_block_bytes,
    needs_original,
)
from webcrawl.record.warc.archive_files import WARC_ENDINGS, archives_in_package
from webcrawl.record.warc.reader import NotWarc, RecordReader, ignore_loss
from webcrawl.record.warc.unpacked_stream import RecordStart
from webcrawl.store.jobdir.index_line import INDEX_ENDINGS, IndexLine, read

PAGE_LISTS = ("pages/pages.jsonl", "pages/extraPages.jsonl")
MAX_REDIRECTS = 10  # in a row
MAX_BODY_BYTES = 64 << 20  # by default no crawl keeps more of a body


class NotReplayable(Exception):  # noqa: N818 - reads as what it is
    """A file is no package, or lacks what a replay needs; the message is one line."""


class ListedPage(NamedTuple):
    """A page in one of the package's lists of pages."""

    url: str
    stamp: str  # 14 digits


class PackagedAnswers:
    """The pages and answers of a package.

    The package's index is held in memory, which takes 900 bytes for each record.
    """

    def __init__(self, package: Path) -> None:
        """Read the index and the lists of pages. Raise NotReplayable if that fails."""
        self.pages: list[ListedPage] = []
        self._answers = Answers(MAX_BODY_BYTES)
        # By the SURT of the URL: lines of answers, and of documents and views made by a browser
        self._answer_lines: defaultdict[str, list[IndexLine]] = defaultdict(list)
        self._browser_lines: defaultdict[str, list[IndexLine]] = defaultdict(list)
        self._lines_by_digest: dict[str, IndexLine] = {}  # of records with a payload
        try:
            self._files = {path.name: path for path in archives_in_package(package, WARC_ENDINGS)}
            with ZipFile(package) as file:
                for line in _index_lines(file):
                    self._add_line(line)
                self.pages += _listed_pages(file)
        except OSError as error:
            raise NotReplayable(f"{package}: {error.strerror or error}") from error
        except (BadZipFile, EOFError, zlib.error, ValueError, TypeError) as error:
            raise NotReplayable(f"{package}: {error}") from error
        if not self._answer_lines:
            raise NotReplayable(f"{package}: has no index of its records")
        if not self.pages:
            raise NotReplayable(f"{package}: has no list of pages")

    def answer(self, url: str, stamp: str) -> Exchange | None:
        """Return the answer that was archived nearest to this time, after following redirects.

        Return None if the package lacks the answer, if its record cannot be read, or if there are
        too many redirects. `stamp` is a time in 14 digits.
        """
        for _ in range(MAX_REDIRECTS):
            line = _nearest(self._answer_lines.get(surt(visible(url)), ()), stamp)
            if line is None:
                return None
            try:
                answer = self._read_answer(line)
            except (Unusable, NotWarc, OSError, KeyError):
                return None
            if not answer.location:
                return answer
            url = urljoin(url, answer.location).partition("#")[0]
        return None

    def document(self, page: ListedPage) -> bytes:
        """Return the document that the crawl's browser made of a page, or empty bytes."""
        return self._block_of_nearest(
            self._browser_lines.get(surt(visible(page.url)), ()), page.stamp
        )

    def view(self, page: ListedPage) -> bytes:
        """Return the screenshot of a page by the crawl's browser, or empty bytes."""
        return self._block_of_nearest(
            self._browser_lines.get(f"urn:view:{visible(page.url)}", ()), page.stamp
        )

    def _add_line(self, line: IndexLine) -> None:
        """Add a line of the package's index to the lines of answers, or to those of a browser."""
        key = surt(visible(line.url))
        # The line of a conversion record has no status
        is_answer = bool(line.status) or line.is_revisit
        if is_view(line.url) or not is_answer:
            self._browser_lines[key].append(line)
            return
        self._answer_lines[key].append(line)
        digest = normal(line.digest)
        if digest and not line.is_revisit:
            self._lines_by_digest[digest] = line

    def _read_answer(self, line: IndexLine) -> Exchange:
        """Return the answer of an index line, as the server sent it.

        Raise Unusable if the record is damaged, or if its payload is not in the package.
        """
        path = self._files[line.file]
        with RecordReader(
            path, max_block_bytes(MAX_BODY_BYTES), ignore_loss, RecordStart(line.offset, 0)
        ) as records:
            capture = next(captures(records, ignore_loss), None)
        if capture is None or capture.place.offset != line.offset:
            # The reader has skipped the record and read another one
            raise Unusable("the record is damaged")
        # The replay runs the scripts again, so the page is needed as it was before they ran
        capture.document = None
        if not needs_original(capture):
            return self._answers.read(capture)[1]
        original_line = self._lines_by_digest.get(normal(line.digest))
        if original_line is None:
            raise Unusable("its payload is not in the package")
        original = self._read_answer(original_line)
        return self._answers.read_with_original(capture, original)[1]

    def _block_of_nearest(self, lines: list[IndexLine] | tuple[()], stamp: str) -> bytes:
        """Return the block of the record nearest to this time; empty if it cannot be read."""
        line = _nearest(lines, stamp)
        if line is None or line.file not in self._files:
            return b""
        try:
            place = RecordStart(line.offset, 0)
            with RecordReader(
                self._files[line.file], MAX_BODY_BYTES, ignore_loss, place
            ) as records:
                record = records.next()
        except (NotWarc, OSError):
            # The replay is then compared without this document or view
            return b""
        if record is None or record.place.offset != line.offset:
            return b""
        return record.block


def _nearest(lines: list[IndexLine] | tuple[()], stamp: str) -> IndexLine | None:
    return min(lines, key=lambda line: abs(int(line.stamp) - int(stamp)), default=None)


def _index_lines(file: ZipFile) -> Iterator[IndexLine]:
    """Yield the lines of the package's indexes. Raise BadLine if a line cannot be read."""
    for name in file.namelist():
        is_index = name.startswith("indexes/") and name.endswith(INDEX_ENDINGS)
        if not is_index:
            continue
        with file.open(name) as entry:
            lines = gzip.GzipFile(fileobj=entry) if name.endswith(".gz") else entry
            for data in lines:
                if _is_of_get(data):
                    yield read(data)


def _is_of_get(line: bytes) -> bool:
    """Return whether a line of an index is of the answer to GET, and not a header or blank."""
    is_header = line.startswith(b"!")
    # Only the line of an answer to another method names the method
    has_method = b'"method": ' in line
    return not is_header and not has_method and bool(line.strip())


def _listed_pages(file: ZipFile) -> Iterator[ListedPage]:
    """Yield the pages in the package's lists. Raise ValueError if a line is not JSON."""
    for name in PAGE_LISTS:
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
