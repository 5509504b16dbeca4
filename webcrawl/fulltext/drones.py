"""Searches the indexes of several crawls as one: those of a hive's drones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC
from heapq import merge
from pathlib import Path

from webcrawl.fulltext.search import Answer, Hit, Search
from webcrawl.store.errors import StoreError
from webcrawl.urls.forgotten import Forgotten


class SearchAll:
    """The indexes of these folders that can be read; `unread` says why the others cannot."""

    def __init__(self, jobdirs: Sequence[Path], forgotten: Forgotten | None = None) -> None:
        """StoreError if none can. What is `forgotten` is not found."""
        self._forgotten = forgotten or Forgotten()
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
        A page whose host has changed hands may be in several indexes: where it was fetched last counts. Of such pages,
        and of forgotten ones, that are not among the best, the number knows nothing.
        """
        parsed = [search.parse(query) for search in self._open]
        total = sum(map(Search.total, self._open, parsed))
        best: list[tuple[int, Hit]] = []
        hits = [_named(number, search.hits(parsed[number], most)) for number, search in enumerate(self._open)]
        for number, hit in merge(*hits, key=lambda one: -one[1].score):
            if self._forgotten.has(hit.url, _seconds(hit)) or self._is_over(number, hit):
                total -= 1
                continue
            best.append((number, hit))
            if len(best) == most:
                break
        marks = list(map(Search.marks, self._open, parsed))
        return total, (self._open[number].answer(hit, marks[number]) for number, hit in best)

    def _is_over(self, number: int, hit: Hit) -> bool:
        """Whether another index has a later state of this page."""
        others = (other for at, other in enumerate(self._open) if at != number)
        return any((at := other.fetched(hit.url)) is not None and at > hit.fetched_at for other in others)


def _seconds(hit: Hit) -> float:
    """The index has times without a zone, in UTC."""
    at = hit.fetched_at
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()


def _named(number: int, hits: Iterator[Hit]) -> Iterator[tuple[int, Hit]]:
    return ((number, hit) for hit in hits)
