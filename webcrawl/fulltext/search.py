"""Searches the index of a crawl, running or not, as of its last commit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

import tantivy

from webcrawl.fulltext import journal, snippets
from webcrawl.fulltext.index import FOLDER, opened, told
from webcrawl.fulltext.journal import Place
from webcrawl.fulltext.schema import BLANK, ORDINAL, SEARCHED
from webcrawl.fulltext.snippets import Snippet
from webcrawl.fulltext.words import prepared

# The parser calls itself for each parenthesis: 50,000 of them end the process.
LONGEST, DEEPEST = 4096, 50
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")  # as in don't: the parser takes it for a quotation mark
OF_ONE = 100  # lines of one URL that are looked at: a spider of one's own may ask for a URL many times
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


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that was found, of which only what the index has is known by now."""

    score: float
    url: str
    fetched_at: datetime
    stored: dict[str, list[Any]]


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
        parsed = self.parse(query)
        marks = self.marks(parsed)
        hits = islice(self.hits(parsed, most), most)
        return self.total(parsed), (self.answer(hit, marks) for hit in hits)

    def total(self, parsed: tantivy.Query) -> int:
        """How many pages have all that is asked for."""
        with told(self._jobdir / FOLDER):
            return _count(self._searcher.search(_shown(parsed, self._index.schema), 1))

    def hits(self, parsed: tantivy.Query, at_once: int) -> Iterator[Hit]:
        """All of them, the best first; read so many at once."""
        wanted, offset = _shown(parsed, self._index.schema), 0
        while True:
            with told(self._jobdir / FOLDER):
                found = self._searcher.search(wanted, at_once, count=False, offset=offset).hits
            for score, address in found:
                yield self._hit(score, address)
            if len(found) < at_once:
                return
            offset += at_once

    def marks(self, parsed: tantivy.Query) -> snippets.Marks:
        with told(self._jobdir / FOLDER):
            return snippets.Marks(self._searcher, parsed, self._index.schema)

    def fetched(self, url: str) -> datetime | None:
        """When this page was fetched last, so far as the index knows; None if it has no such page."""
        with told(self._jobdir / FOLDER):
            named = tantivy.Query.term_query(self._index.schema, "url", url)
            found = self._searcher.search(named, OF_ONE, count=False).hits
            return max((self._hit(score, address).fetched_at for score, address in found), default=None)

    def _hit(self, score: float, address: tantivy.DocAddress) -> Hit:
        with told(self._jobdir / FOLDER):
            stored = self._searcher.doc(address).to_dict()
        return Hit(score, stored["url"][0], stored["fetched_at"][0], stored)

    def parse(self, query: str) -> tantivy.Query:
        """BadQuery if it is not understood."""
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

    def answer(self, hit: Hit, marks: snippets.Marks) -> Answer:
        """With what the text files have of the page."""
        line = self._line(hit.stored)
        return Answer(
            url=hit.url,
            title=line.get("title", ""),
            snippet=marks.snippet(line.get("text", "")),
            score=hit.score,
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


def _shown(parsed: tantivy.Query, schema: tantivy.Schema) -> tantivy.Query:
    """Of the pages that a query finds those that have any text by now."""
    blank = tantivy.Query.term_query(schema, "host", BLANK)
    return tantivy.Query.boolean_query([(tantivy.Occur.Must, parsed), (tantivy.Occur.MustNot, blank)])


def _count(found: Any) -> int:
    """Missing in tantivy's hints."""
    return int(found.count)
