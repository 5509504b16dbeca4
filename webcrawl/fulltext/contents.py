"""Which pages an index has, for whoever checks it."""

from __future__ import annotations

from pathlib import Path

import tantivy

from webcrawl.fulltext.index import opened, pages, told
from webcrawl.fulltext.schema import ORDINAL

MOST = 1000  # lines of one URL that are looked at


class Contents:
    """As of the last commit: `count` lines of pages, the last of which has the number before `until`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._index = opened(folder)
        with told(folder):
            self._searcher = self._index.searcher()
            self.count, self.until = pages(self._searcher)

    def __repr__(self) -> str:
        return f"<Contents {self._folder} {self.count} pages>"

    def urls(self, first: int, end: int) -> dict[int, list[str]]:
        """The URLs of the pages from `first` to `end` - 1, by number; more than one means that something is wrong."""
        found: dict[int, list[str]] = {}
        with told(self._folder):
            between = tantivy.Query.range_query(
                self._index.schema, ORDINAL, tantivy.FieldType.Unsigned, first, end, include_upper=False
            )
            hits = self._searcher.search(between, max(1, 2 * (end - first)), count=False).hits
            for _, address in hits:
                stored = self._searcher.doc(address).to_dict()
                found.setdefault(stored[ORDINAL][0], []).append(stored["url"][0])
        return found

    def numbers(self, url: str) -> list[int]:
        """The numbers that a page has."""
        with told(self._folder):
            named = tantivy.Query.term_query(self._index.schema, "url", url)
            hits = self._searcher.search(named, MOST, count=False).hits
            return sorted(self._searcher.doc(address).to_dict()[ORDINAL][0] for _, address in hits)
