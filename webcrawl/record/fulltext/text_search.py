"""Searches the index of a crawl, running or not, as of its last commit.

`SearchAll` searches several indexes at once, as of a hive. `SnippetMarks` finds the part of a page's text
that answers a query best.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from heapq import merge
from itertools import islice
from pathlib import Path
from typing import Any

import tantivy

from webcrawl.record.fulltext.index_fields import (
    BLANK,
    ORDINAL,
    SEARCHED,
    STEMMERS,
    BadQuery,
    ParsedQuery,
    as_code,
    asked,
    has_text,
    language_of,
    normal,
    place,
    prepared,
    schema,
    stems_of,
)
from webcrawl.record.fulltext.text_files import TextPlace, member
from webcrawl.record.fulltext.text_index import FOLDER, BrokenIndex, how_made, opened, told
from webcrawl.store.errors import StoreError
from webcrawl.urls.exclusion_rules import Forgotten

WIDTH = 200  # bytes of the prepared text at most
Range = tuple[int, int]
Snippet = tuple[str, list[Range]]  # a text, and where the words in it begin and end


class SnippetMarks:
    """Finds a query's words, and those that have their stems."""

    def __init__(
        self, searcher: tantivy.Searcher, query: tantivy.Query, schema: tantivy.Schema
    ) -> None:
        self._searcher = searcher
        self._query = query
        self._schema = schema
        self._generators: dict[str, tantivy.SnippetGenerator] = {}

    def snippet(self, text: str, language: str = "") -> Snippet:
        """Return the best part of a text on one line; its beginning if it has no word of the query."""
        body, text = prepared(text), normal(text)
        found = self._best(body, "body")
        if language in STEMMERS:
            found = max(
                self._best(body, stems_of(language)), found, key=lambda one: len(one.highlighted())
            )
        fragment = found.fragment()
        if not fragment:
            return " ".join(text[:WIDTH].split()), []
        # tantivy counts bytes of the prepared text
        data = body.encode()
        first = len(data[: found.fragment_range().start].decode())
        inner = fragment.encode()
        start = place(body, first)
        ranges = [
            (
                place(body, first + len(inner[: one.start].decode())) - start,
                place(body, first + len(inner[: one.end].decode())) - start,
            )
            for one in found.highlighted()
        ]
        end = place(body, first + len(fragment))
        return text[start:end].replace("\n", " "), joined(ranges)

    def _best(self, body: str, field: str) -> tantivy.Snippet:
        if field not in self._generators:
            self._generators[field] = tantivy.SnippetGenerator.create(
                self._searcher, self._query, self._schema, field
            )
            self._generators[field].set_max_num_chars(WIDTH)
        return self._generators[field].snippet_from_doc(
            tantivy.Document.from_dict({field: body}, self._schema)
        )


def joined(ranges: list[Range]) -> list[Range]:
    """Merge ranges that overlap or touch."""
    found: list[Range] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


# The parser calls itself for each parenthesis: 50,000 of them end the process.
LONGEST, DEEPEST = 4096, 50
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")  # as in don't: the parser takes it for a quotation mark
# Lines of one URL that are looked at: a user's spider may request a URL many times
OF_ONE = 100
# tantivy's messages about a query that it raises only during the search
LATE = ("The field does not exist", "Schema error: 'Field")
SYNTAX = "Syntax Error"  # so does tantivy begin, and goes on with the query that it was given
SHOWN = 100  # characters of a query that is not understood, and of what tantivy says of it


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page that was found; without the text files its title and its text are not known."""

    url: str
    title: str
    snippet: Snippet
    score: float
    language: str
    fetched_at: str

    def as_row(self) -> dict[str, Any]:
        """Return it as `search --json` prints it."""
        text, ranges = self.snippet
        return {
            "url": self.url,
            "title": self.title,
            "snippet": text,
            "highlights": ranges,
            "score": round(self.score, 4),
            "language": self.language,
            "fetched_at": self.fetched_at,
        }


@dataclass(frozen=True, slots=True)
class IndexHit:
    """A page that was found, of which only what the index has is known by now."""

    score: float
    url: str
    fetched_at: datetime
    stored: dict[str, list[Any]]


class IndexSearch:
    """One index, open for reading."""

    def __init__(self, jobdir: Path) -> None:
        """Raise StoreError if the folder has no readable index."""
        self._jobdir = jobdir
        self._index = opened(jobdir / FOLDER)
        if self._index.schema != schema():
            raise BrokenIndex(
                f"{jobdir / FOLDER}: this index was built by another version: {how_made(jobdir / FOLDER)}"
            )
        with told(jobdir / FOLDER):
            self._searcher = searcher = self._index.searcher()
            self._languages = [one for one in STEMMERS if searcher.doc_freq("stemmed", one)]

    def find(self, query: str, most: int) -> tuple[int, Iterator[FoundPage]]:
        """Return the number of matching pages, and the best of them.

        Raise BadQuery if the query is unclear.
        """
        parsed = self.parse(query)
        marks = self.marks(parsed)
        hits = islice(self.hits(parsed, most), most)
        return self.total(parsed), (self.answer(hit, marks) for hit in hits)

    def total(self, parsed: tantivy.Query) -> int:
        """Return the number of matching pages.

        Raise BadQuery if `field:*` names a field that has no list.
        """
        try:
            with told(self._jobdir / FOLDER):
                return _count(self._searcher.search(_shown(parsed, self._index.schema), 1))
        except BrokenIndex as error:
            if (said := str(error.__cause__)).startswith(LATE):
                raise BadQuery(said[:SHOWN]) from error
            raise

    def hits(self, parsed: tantivy.Query, at_once: int) -> Iterator[IndexHit]:
        """Yield all matching pages, the best first; this many are read at once."""
        wanted, offset = _shown(parsed, self._index.schema), 0
        while True:
            with told(self._jobdir / FOLDER):
                found = self._searcher.search(wanted, at_once, count=False, offset=offset).hits
            for score, address in found:
                yield self._hit(score, address)
            if len(found) < at_once:
                return
            offset += at_once

    def marks(self, parsed: tantivy.Query) -> SnippetMarks:
        with told(self._jobdir / FOLDER):
            return SnippetMarks(self._searcher, parsed, self._index.schema)

    def fetched(self, url: str) -> datetime | None:
        """Return the time of this page's last fetch, or None if the index has no such page."""
        with told(self._jobdir / FOLDER):
            named = tantivy.Query.term_query(self._index.schema, "url", url)
            found = self._searcher.search(named, OF_ONE, count=False).hits
            return max(
                (self._hit(score, address).fetched_at for score, address in found), default=None
            )

    def _hit(self, score: float, address: tantivy.DocAddress) -> IndexHit:
        with told(self._jobdir / FOLDER):
            stored = self._searcher.doc(address).to_dict()
        return IndexHit(score, stored["url"][0], stored["fetched_at"][0], stored)

    def parse(self, query: str) -> tantivy.Query:
        """BadQuery if it is not understood."""
        if len(query) > LONGEST or query.count("(") > DEEPEST:
            raise BadQuery(
                f"{query[:SHOWN]}: a query may have at most {LONGEST} characters and {DEEPEST} parentheses"
            )
        if not has_text(query):
            raise BadQuery(
                f"{query[:SHOWN]!r}: a query needs a word, a filter such as site:example.com, or * for all pages"
            )
        written = _APOSTROPHE.sub("\u2019", query)
        try:
            return self._read(written)
        except ValueError as error:
            if (code := as_code(written)) is None:
                raise _refusal(query, error) from error
        try:
            return self._read(code)
        except ValueError as error:
            raise _refusal(query, error) from error

    def _read(self, query: str) -> tantivy.Query:
        """Return the parsed query. Raise ValueError if it is not understood.

        The error has tantivy's words, which may show the query that `asked` has made.
        """
        return self._parsed(asked(query, self._languages))

    def _parsed(self, query: ParsedQuery) -> tantivy.Query:
        if not query.words:
            return self._plain(query.others[0])
        words = [(tantivy.Occur.Should, self._plain(word)) for word in query.words]
        most = tantivy.Query.boolean_query(words, minimum_number_should_match=len(words) // 2 + 1)
        parts = [(tantivy.Occur.Must, most)]
        for other in query.others:
            without = len(other) > 1 and other[0] == "-"
            parts.append(
                (
                    tantivy.Occur.MustNot if without else tantivy.Occur.Must,
                    self._plain(other[without:]),
                )
            )
        return tantivy.Query.boolean_query(parts)

    def _plain(self, query: str) -> tantivy.Query:
        fields = list(SEARCHED)
        return self._index.parse_query(
            prepared(query), fields, field_boosts=SEARCHED, conjunction_by_default=True
        )

    def answer(self, hit: IndexHit, marks: SnippetMarks) -> FoundPage:
        """Return a hit with what the text files have of its page."""
        line = self._line(hit.stored)
        return FoundPage(
            url=hit.url,
            title=line.get("title", ""),
            snippet=marks.snippet(line["text"], language_of(line)) if line else ("", []),
            score=hit.score,
            language=line.get("language", ""),
            fetched_at=line.get("fetched_at", ""),
        )

    def _line(self, stored: dict[str, list[Any]]) -> dict[str, Any]:
        place = TextPlace(stored["file"][0], stored["offset"][0])
        for line in member(self._jobdir, place):
            if line["ordinal"] == stored[ORDINAL][0]:
                return line
        return {}


def _refusal(query: str, error: ValueError) -> BadQuery:
    """Return what to say of a query as it was typed, and not as it was expanded."""
    said = str(error)
    if isinstance(error, BadQuery):
        return BadQuery(said[: 2 * SHOWN])
    if said.startswith(SYNTAX):
        said = (
            "syntax error: check quotes, parentheses, AND, OR and NOT; put signs and code in quotes"
        )
    return BadQuery(f"{query[:SHOWN]}: {said[:SHOWN]}")


def _shown(parsed: tantivy.Query, schema: tantivy.Schema) -> tantivy.Query:
    """Restrict a query to pages that have any text by now."""
    blank = tantivy.Query.term_query(schema, "host", BLANK)
    return tantivy.Query.boolean_query(
        [(tantivy.Occur.Must, parsed), (tantivy.Occur.MustNot, blank)]
    )


def _count(found: Any) -> int:
    """Missing in tantivy's hints."""
    return int(found.count)


class SearchAll:
    """The indexes of these folders that can be read; `unread` says why the others cannot."""

    def __init__(self, jobdirs: Sequence[Path], forgotten: Forgotten | None = None) -> None:
        """StoreError if none can. What is `forgotten` is not found."""
        self._forgotten = forgotten or Forgotten()
        self.unread: list[StoreError] = []
        self._open: list[IndexSearch] = []
        for jobdir in jobdirs:
            try:
                self._open.append(IndexSearch(jobdir))
            except StoreError as error:
                self.unread.append(error)
        if not self._open and self.unread:
            raise self.unread[0]

    def find(self, query: str, most: int) -> tuple[int, Iterator[FoundPage]]:
        """Return the number of matching pages in all indexes, and the best of them.

        Scores are compared although each index weighs words by its own pages: how rare a word is,
        and how long a page is on average, hardly differs between drones, because hosts are spread
        by hash. A page whose host has passed to another drone may be in several indexes: only its
        last fetch counts. The number includes such pages, and forgotten ones, that are not among
        the best.
        """
        parsed = [search.parse(query) for search in self._open]
        total = sum(map(IndexSearch.total, self._open, parsed))
        best: list[tuple[int, IndexHit]] = []
        hits = [
            _named(number, search.hits(parsed[number], most))
            for number, search in enumerate(self._open)
        ]
        for number, hit in merge(*hits, key=lambda one: -one[1].score):
            if self._forgotten.has(hit.url, _seconds(hit)) or self._is_over(number, hit):
                total -= 1
                continue
            best.append((number, hit))
            if len(best) == most:
                break
        marks = list(map(IndexSearch.marks, self._open, parsed))
        return total, (self._open[number].answer(hit, marks[number]) for number, hit in best)

    def _is_over(self, number: int, hit: IndexHit) -> bool:
        """Return whether another index has a later state of this page."""
        others = (other for at, other in enumerate(self._open) if at != number)
        return any(
            (at := other.fetched(hit.url)) is not None and at > hit.fetched_at for other in others
        )


def _seconds(hit: IndexHit) -> float:
    """Return seconds since 1970 of a time in the index, which has no zone, and is in UTC."""
    at = hit.fetched_at
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()


def _named(number: int, hits: Iterator[IndexHit]) -> Iterator[tuple[int, IndexHit]]:
    return ((number, hit) for hit in hits)
