"""Compares the full-text index with the lines that it was made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.store.errors import DamagedFile, StoreError

if TYPE_CHECKING:
    from webcrawl.fulltext.contents import Contents

AtOnce = dict[int, tuple[Path, int, str]]  # by its number: a page's text file, its member's first byte, its URL
UNREAD = "index unread"  # among the figures: the index is there, but tantivy is not


class Indexed:
    """The index of a crawl, if it has one."""

    def __init__(self, jobdir: Path, found: Counter[str]) -> None:
        self._folder, self._found = jobdir / "index", found
        self._contents: Contents | None = None
        self._said = not self._folder.exists()

    def compare(self, lines: AtOnce) -> Iterator[DamagedFile]:
        """Yields each page that is not in the index exactly once, unless the index has not got so far."""
        if not self._said:
            self._said = True
            yield from self._open()
        if self._contents is None or not lines:
            return
        try:
            has = self._contents.urls(min(lines), max(lines) + 1)
        except StoreError as error:
            yield self._damaged(str(error))
            return
        for ordinal, (path, at, url) in lines.items():
            urls = has.get(ordinal, [])
            if urls == [url]:
                self._found["indexed"] += 1
            elif urls or ordinal < self._contents.until:
                yield DamagedFile(path, at, f"page {ordinal}, {url}: the index has {' '.join(urls) or 'nothing'}")
            else:
                self._found["unindexed"] += 1

    def _open(self) -> Iterator[DamagedFile]:
        try:
            from webcrawl.fulltext.contents import Contents  # noqa: PLC0415 - tantivy is optional

            self._contents = has = Contents(self._folder)
        except ImportError:
            self._found[UNREAD] += 1
        except StoreError as error:
            yield self._damaged(str(error))
        else:
            if has.count != has.until:
                yield self._damaged(f"{has.count} pages, the last of which is number {has.until - 1}")

    def _damaged(self, why: str) -> DamagedFile:
        return DamagedFile(self._folder / "meta.json", 0, why)
