"""Searches the indexes of several crawls as one: those of a hive's drones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import islice
from pathlib import Path

from webcrawl.fulltext.search import Answer, Search
from webcrawl.store.errors import StoreError


class SearchAll:
    """The indexes of these folders that can be read; `unread` says why the others cannot."""

    def __init__(self, jobdirs: Sequence[Path]) -> None:
        """StoreError if none can."""
        self.unread: list[StoreError] = []
        self._open: list[Search] = []
        for jobdir in jobdirs:
            try:
                self._open.append(Search(jobdir))
            except StoreError as error:
                self.unread.append(error)
        if not self._open and self.unread:
            raise self.unread[0]

    def __repr__(self) -> str:
        return f"<SearchAll {self._open}>"

    def find(self, query: str, most: int) -> tuple[int, Iterator[Answer]]:
        """As Search.find does. Scores are compared although each index weighs words by its own pages.

        How rare a word is, and how long a page is on average, hardly differs between drones: hosts are spread by hash.
        """
        found = [search.find(query, most) for search in self._open]
        best = merge(*(answers for _, answers in found), key=lambda answer: -answer.score)
        return sum(total for total, _ in found), islice(best, most)
