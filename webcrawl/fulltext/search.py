"""Searches the index of a crawl, running or not, as of its last commit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tantivy

from webcrawl.fulltext import journal, snippets
from webcrawl.fulltext.index import FOLDER, opened, told
from webcrawl.fulltext.journal import Place
from webcrawl.fulltext.schema import ORDINAL, SEARCHED
from webcrawl.fulltext.snippets import Snippet
from webcrawl.fulltext.words import prepared

# The parser calls itself for each parenthesis: 50,000 of them end the process.
LONGEST, DEEPEST = 4096, 50
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")  # as in don't: the parser takes it for a quotation mark
SHOWN = 100  # characters of a query that is not understood, and of what tantivy says of it


class BadQuery(ValueError):  # noqa: N818 - reads as what it is
    """What was asked for cannot be understood."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A page that was found; without the text files its title and its text are not known."""

    url: str
    title: str
    snippet: Snippet
    score: float
    language: str
    fetched_at: str


class Search:
    """One index, open for reading."""

    def __init__(self, jobdir: Path) -> None:
        """StoreError if the folder has no index that can be read."""
        self._jobdir = jobdir
        self._index = opened(jobdir / FOLDER)
        with told(jobdir / FOLDER):
            self._searcher = self._index.searcher()

    def __repr__(self) -> str:
        return f"<Search {self._jobdir}>"

    def find(self, query: str, most: int) -> tuple[int, Iterator[Answer]]:
        """How many pages have all that is asked for, and the best of them. BadQuery if it is not understood."""
        parsed = self._parse(query)
        with told(self._jobdir / FOLDER):
            found = self._searcher.search(parsed, most)
            marks = snippets.Marks(self._searcher, parsed, self._index.schema)
        return _count(found), (self._answer(score, address, marks) for score, address in found.hits)

    def _parse(self, query: str) -> tantivy.Query:
        if len(query) > LONGEST or query.count("(") > DEEPEST:
            raise BadQuery(f"{query[:SHOWN]}: longer than {LONGEST} characters, or more than {DEEPEST} parentheses")
        try:
            return self._index.parse_query(
                prepared(_APOSTROPHE.sub("\u2019", query)),
                list(SEARCHED),
                field_boosts=SEARCHED,
                conjunction_by_default=True,
            )
        except ValueError as error:
            raise BadQuery(f"{query[:SHOWN]}: {str(error)[:SHOWN]}") from error

    def _answer(self, score: float, address: tantivy.DocAddress, marks: snippets.Marks) -> Answer:
        with told(self._jobdir / FOLDER):
            stored = self._searcher.doc(address).to_dict()
        line = self._line(stored)
        return Answer(
            url=stored["url"][0],
            title=line.get("title", ""),
            snippet=marks.snippet(line.get("text", "")),
            score=score,
            language=line.get("language", ""),
            fetched_at=line.get("fetched_at", ""),
        )

    def _line(self, stored: dict[str, list[Any]]) -> dict[str, Any]:
        """The page's line; empty if its text file was taken away."""
        place = Place(stored["file"][0], stored["offset"][0])
        for line in journal.member(self._jobdir, place):
            if line["ordinal"] == stored[ORDINAL][0]:
                return line
        return {}


def _count(found: Any) -> int:
    """Missing in tantivy's hints."""
    return int(found.count)
