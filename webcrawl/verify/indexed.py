"""Compares the full-text index with the lines that it was made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.store.errors import DamagedFile, StoreError

if TYPE_CHECKING:
    from webcrawl.fulltext.contents import Contents


class Line(NamedTuple):
    """Of a page: its text file, its member's first byte, its URL, and whether it was fetched before."""

    path: Path
    at: int
    url: str
    again: bool


AtOnce = dict[int, Line]  # by the page's number
META = "meta.json"  # names the segments, whose files tantivy writes first
UNREAD = "index unread"  # among the figures: the index is there, but tantivy is not


class Indexed:
    """The index of a crawl, if it has one."""

    def __init__(self, jobdir: Path, found: Counter[str]) -> None:
        self._folder, self._found = jobdir / "index", found
        self._contents: Contents | None = None
        # A crawl that has just begun, or was killed then, has the folder and nothing of an index.
        self._said = not ((self._folder / META).exists() or any(self._folder.glob("*.store")))

    def compare(self, lines: AtOnce) -> Iterator[DamagedFile]:
        """Yields each line that is not in the index exactly once, unless the index has not got so far.

        In place of all lines of a page that was fetched again it has the last one.
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
                    yield DamagedFile(line.path, line.at, f"page {ordinal}, {line.url}: the index has {why}")
        except StoreError as error:
            yield self._damaged(str(error))

    def _flaw(self, contents: Contents, ordinal: int, line: Line, urls: list[str]) -> str:
        """What the index has in place of this line, if that is wrong; counts it otherwise."""
        if urls == [line.url]:
            before = next(iter(contents.numbers(line.url)), ordinal) if line.again else ordinal
            self._found["indexed"] += before == ordinal
            return "" if before == ordinal else f"page {before} too, which was the same page before"
        if urls:
            return " ".join(urls)
        if ordinal >= contents.until:
            self._found["unindexed"] += 1
        elif not any(later > ordinal for later in contents.numbers(line.url)):
            return "nothing"
        else:
            self._found["replaced"] += 1
        return ""

    def _open(self) -> Iterator[DamagedFile]:
        try:
            from webcrawl.fulltext.contents import Contents  # noqa: PLC0415 - tantivy is optional

            self._contents = has = Contents(self._folder)
        except ImportError:
            self._found[UNREAD] += 1
        except StoreError as error:
            yield self._damaged(str(error))
        else:
            if has.count > has.until:
                yield self._damaged(f"{has.count} pages, the last of which is number {has.until - 1}")

    def _damaged(self, why: str) -> DamagedFile:
        return DamagedFile(self._folder / META, 0, why)
