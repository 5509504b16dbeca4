"""Searches the index of a crawl, running or not, as of its last commit.

`SearchAll` searches several indexes at once, as of a hive. `SnippetMarks` finds the part of a page's text
that answers a query best.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from heapq import merge
from itertools import islice, repeat
from pathlib import Path
from typing import Any

import tantivy

from webcrawl.content.near_duplicates import DISTANCE, Clusters, fingerprint
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
    stemmer,
    stems_of,
    words_alone,
)
from webcrawl.record.fulltext.text_files import TextPlace, member
from webcrawl.record.fulltext.text_index import FOLDER, BrokenIndex, how_made, opened, told
from webcrawl.store.errors import StoreError
from webcrawl.urls.canonical import InvalidUrl, canonical
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

    def of_line(self, line: Mapping[str, Any]) -> Snippet:
        """Return the best part of a page's main text, or of all its text if the words are there."""
        language = language_of(dict(line))
        main = line.get("main_text", "")
        if not main:
            return self.snippet(line["text"], "body", language)
        found = self.snippet(main, "body", language)
        beside = found if found[1] else self.snippet(line["text"], "rest", language)
        return beside if beside[1] else found

    def snippet(self, text: str, field: str, language: str = "") -> Snippet:
        """Return the best part of a text on one line; its beginning if it has no word of the query.

        `field`: in which the index has the text.
        """
        body = prepared(text)
        text = normal(text)
        found = self._best(body, field)
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
SHOWN = 100  # characters of a query in a message
MOST_SIMILAR = 20  # pages that are looked at for each one that is wanted
COMPARED = 1 << 16  # characters of a text by which it is nearly the same as another
RANKED = 100  # of the best pages by words, links and language say which are the first
# Weights of all words of a query side by side
PHRASE = {"title": 1.5, "headings": 1.5, "body": 0.5}
NAMED = 100.0  # the score of the page whose URL is the query: more than words give
MOST_DOMAINS = 64  # that count: a page that more link to is known well enough
OF_LINKS = 0.05  # of the score, for each doubling of the domains that link to a page
OTHER_LANGUAGE = 0.8  # of the score, for a page in a language that the query is hardly in
HARDLY = 3.0  # times as likely is the query in another language
PRIOR = 10.0  # pages of a language that are taken for granted, with each word as often as elsewhere


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page that was found; without the text files its title and its text are not known."""

    url: str
    title: str
    snippet: Snippet
    score: float
    language: str
    fetched_at: str
    similar: list[str]  # URLs of pages further down that have nearly the same text

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
            "similar": self.similar,
        }


@dataclass(frozen=True, slots=True)
class IndexHit:
    """A page that was found, of which only what the index has is known by now."""

    score: float
    url: str
    fetched_at: datetime
    stored: dict[str, list[Any]]


@dataclass(frozen=True, slots=True)
class ReadQuery:
    """A query as an index reads it, and how many pages match.

    `remark` says how it differs from what was typed. In `unlikely` languages it hardly is.
    """

    query: tantivy.Query
    total: int
    remark: str
    unlikely: frozenset[str]


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
        """Return the number of matching pages, and the best of them."""
        read = self.read(query)
        hits = ((self, hit) for hit in self.hits(read, most, self.linking_domains))
        return read.total, answers(hits, most, {self: read})

    def hits(
        self, read: ReadQuery, at_once: int, linking_domains: Callable[[str], int]
    ) -> Iterator[IndexHit]:
        """Yield all matching pages, the best first; this many are read at once, or RANKED."""
        wanted = _shown(read.query, self._index.schema)
        offset = 0
        at_once = max(at_once, RANKED)
        lowest = math.inf
        while True:
            with told(self._jobdir / FOLDER):
                found = self._searcher.search(wanted, at_once, count=False, offset=offset).hits
            ranked = (self._ranked(self._hit(*one), read, linking_domains) for one in found)
            for hit in sorted(ranked, key=lambda hit: -hit.score):
                # Pages that are read later do not come before
                lowest = min(lowest, hit.score)
                yield replace(hit, score=lowest)
            if len(found) < at_once:
                return
            offset += at_once

    def _ranked(
        self, hit: IndexHit, read: ReadQuery, linking_domains: Callable[[str], int]
    ) -> IndexHit:
        domains = min(linking_domains(hit.url), MOST_DOMAINS)
        score = hit.score * (1 + OF_LINKS * math.log2(1 + domains))
        if read.unlikely.intersection(hit.stored.get("language", ())[-1:]):
            score *= OTHER_LANGUAGE
        return replace(hit, score=score)

    def linking_domains(self, url: str) -> int:
        """Return how many domains have pages in this index that link to the URL."""
        with told(self._jobdir / FOLDER):
            linking = tantivy.Query.term_query(self._index.schema, "links", url)
            return round(self._searcher.cardinality(linking, "domain"))

    def marks(self, read: ReadQuery) -> SnippetMarks:
        with told(self._jobdir / FOLDER):
            return SnippetMarks(self._searcher, read.query, self._index.schema)

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

    def read(self, query: str) -> ReadQuery:
        """Return the meaning of any text as a query.

        What tantivy does not understand is code or, if it has none, words without operators.
        """
        typed = query[:LONGEST].encode(errors="replace").decode()
        written = _APOSTROPHE.sub("\u2019", typed)
        reason = ""
        words = words_alone(typed)
        unlikely = self._unlikely(words.split())
        for reading in (written, as_code(written)):
            if reading is None or not has_text(reading) or reading.count("(") > DEEPEST:
                continue
            try:
                return self._counted(self._asked(reading, unlikely), typed, _cut(query), unlikely)
            except BadQuery as error:
                # Any text is a query: its words are searched for, and the line says why
                reason = f": {error}"
            except ValueError:
                # tantivy's message may show the query that `asked` has made
                continue
        if not words:
            remark = f"{query[:SHOWN]}: no word, so no page is searched for"
            return self._counted(None, typed, remark, unlikely)
        remark = _cut(query) or f"{query[:SHOWN]}: searched as plain words{reason[: 2 * SHOWN]}"
        if any(_urls_of(typed)):
            # A URL is not taken for operators
            remark = ""
        return self._counted(self._asked(words, unlikely), typed, remark, unlikely)

    def _counted(
        self, asked: ParsedQuery | None, typed: str, remark: str, unlikely: frozenset[str]
    ) -> ReadQuery:
        """Return a query for tantivy, and the number of pages.

        Raise ValueError if tantivy does not understand it, as `field:*` of a field without a list.
        """
        parsed = tantivy.Query.empty_query() if asked is None else self._parsed(asked)
        urls = list(_urls_of(typed))
        if urls:
            named = tantivy.Query.term_set_query(self._index.schema, "url", urls)
            either = [
                (tantivy.Occur.Should, parsed),
                (tantivy.Occur.Should, tantivy.Query.const_score_query(named, NAMED)),
            ]
            parsed = tantivy.Query.boolean_query(either)
        try:
            with told(self._jobdir / FOLDER):
                total = _count(self._searcher.search(_shown(parsed, self._index.schema), 1))
        except BrokenIndex as error:
            if str(error.__cause__).startswith(LATE):
                raise ValueError(remark) from error
            raise
        return ReadQuery(parsed, total, remark, unlikely)

    def _asked(self, query: str, unlikely: frozenset[str]) -> ParsedQuery:
        """Return the query with stems, but of no language in which a rare word weighs too much."""
        return asked(query, [one for one in self._languages if one not in unlikely])

    def _parsed(self, query: ParsedQuery) -> tantivy.Query:
        parts = []
        if query.words:
            words = [(tantivy.Occur.Should, self._plain(word)) for word in query.words]
            most = tantivy.Query.boolean_query(
                words, minimum_number_should_match=len(words) // 2 + 1
            )
            parts.append((tantivy.Occur.Must, most))
            for other in query.others:
                without = len(other) > 1 and other[0] == "-"
                occur = tantivy.Occur.MustNot if without else tantivy.Occur.Must
                parts.append((occur, self._plain(other[without:])))
        else:
            parts.append((tantivy.Occur.Must, self._plain(query.others[0])))
        if query.typed:
            phrase = f'"{" ".join(query.typed)}"'
            together = self._index.parse_query(phrase, list(PHRASE), field_boosts=PHRASE)
            parts.append((tantivy.Occur.Should, together))
        return tantivy.Query.boolean_query(parts)

    def _plain(self, query: str) -> tantivy.Query:
        fields = list(SEARCHED)
        return self._index.parse_query(
            prepared(query), fields, field_boosts=SEARCHED, conjunction_by_default=True
        )

    def _unlikely(self, words: Sequence[str]) -> frozenset[str]:
        """Return the languages in which these words are far less likely than in another.

        How many pages of each language have each word says that.
        """
        with told(self._jobdir / FOLDER):
            of_language = {one: self._searcher.doc_freq("stemmed", one) for one in self._languages}
            likely = dict.fromkeys(self._languages, 0.0)
            for word in words:
                having = {one: self._having(word, one) for one in self._languages}
                everywhere = sum(having.values()) / max(1, sum(of_language.values()))
                # A word that no page has tells nothing
                if not everywhere:
                    continue
                for one, pages in having.items():
                    share = (pages + PRIOR * everywhere) / (of_language[one] + PRIOR)
                    likely[one] += math.log(share)
        best = max(likely.values(), default=0.0)
        return frozenset(one for one in likely if likely[one] < best - math.log(HARDLY))

    def _having(self, word: str, language: str) -> int:
        """Return how many pages in a language have a form of a word."""
        stems = stemmer(language).analyze(word)
        return self._searcher.doc_freq(stems_of(language), stems[0]) if len(stems) == 1 else 0

    def line(self, hit: IndexHit) -> dict[str, Any]:
        """Return the line that the text files have of a page; empty if its file is missing."""
        place = TextPlace(hit.stored["file"][0], hit.stored["offset"][0])
        for line in member(self._jobdir, place):
            if line["ordinal"] == hit.stored[ORDINAL][0]:
                return line
        return {}


def _cut(query: str) -> str:
    return f"only the first {LONGEST} characters are searched for" if len(query) > LONGEST else ""


def _urls_of(query: str) -> Iterator[str]:
    """Yield the pages that a query names if it is a URL, with or without its scheme."""
    address = query.strip()
    if "." not in address or any(map(str.isspace, address)):
        return
    bare = address.partition("://")[2] or address
    for scheme in ("https", "http"):
        with suppress(InvalidUrl):
            yield canonical(f"{scheme}://{bare}")


def answers(
    hits: Iterable[tuple[IndexSearch, IndexHit]],
    most: int,
    queries: Mapping[IndexSearch, ReadQuery],
) -> Iterator[FoundPage]:
    """Return the best pages, each with those further down that have nearly the same text.

    No more than MOST_SIMILAR pages are looked at for each one that is wanted.
    """
    marks = {search: search.marks(read) for search, read in queries.items()}
    clusters = Clusters(DISTANCE)
    found: dict[int | str, FoundPage] = {}
    # A site may have thousands of copies of one page
    for search, hit in islice(hits, MOST_SIMILAR * most):
        line = search.line(hit)
        name = _cluster_of(line, clusters) or hit.url
        if name in found:
            found[name].similar.append(hit.url)
        else:
            found[name] = _answer(hit, line, marks[search])
        if len(found) == most:
            break
    return iter(found.values())


def _cluster_of(line: Mapping[str, Any], clusters: Clusters) -> int | str:
    """Return what pages of nearly the same text share; a short text has only its digest."""
    mark = fingerprint((line.get("main_text") or line.get("text", ""))[:COMPARED])
    return line.get("digest", "") if mark is None else clusters.of(mark)


def _answer(hit: IndexHit, line: Mapping[str, Any], marks: SnippetMarks) -> FoundPage:
    if not line:  # its text file is missing
        return FoundPage(hit.url, "", ("", []), hit.score, "", "", similar=[])
    return FoundPage(
        url=hit.url,
        title=line.get("title", ""),
        snippet=marks.of_line(line),
        score=hit.score,
        language=line.get("language") or language_of(dict(line)),
        fetched_at=line.get("fetched_at", ""),
        similar=[],
    )


def _shown(parsed: tantivy.Query, schema: tantivy.Schema) -> tantivy.Query:
    """Restrict a query to pages that have any text by now."""
    blank = tantivy.Query.term_query(schema, "host", BLANK)
    return tantivy.Query.boolean_query(
        [(tantivy.Occur.Must, parsed), (tantivy.Occur.MustNot, blank)]
    )


def _count(found: Any) -> int:
    """Return a figure that is missing in tantivy's type hints."""
    return int(found.count)


class SearchAll:
    """The indexes of these folders that can be read; `unread` says why the others cannot.

    Any text is a query.
    """

    def __init__(self, jobdirs: Sequence[Path], forgotten: Forgotten | None = None) -> None:
        """Raise StoreError if no index can be read. No search finds what is `forgotten`."""
        self._forgotten = forgotten or Forgotten()
        self.unread: list[StoreError] = []
        self.remark = ""  # on the last query
        self._over = 0  # pages among its hits that are not found
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

        `remark` then says how the query was read, unless as it was typed.

        Scores are compared although each index weighs words by its own pages: how rare a word is,
        and how long a page is on average, hardly differs between drones, because hosts are spread
        by hash. A page whose host has passed to another drone may be in several indexes: only its
        last fetch counts. The number includes such pages, and forgotten ones, that are not among
        the best.
        """
        read = {search: search.read(query) for search in self._open}
        self.remark = next((one.remark for one in read.values()), "")
        self._over = 0
        hits = (
            zip(repeat(search), search.hits(read[search], most, self._linking_domains))
            for search in self._open
        )
        best = merge(*hits, key=lambda one: -one[1].score)
        found = answers(filter(self._counts, best), most, read)
        return sum(one.total for one in read.values()) - self._over, found

    def _linking_domains(self, url: str) -> int:
        """Return how many domains link to the URL; one whose hosts two drones have counts twice."""
        return sum(search.linking_domains(url) for search in self._open)

    def _counts(self, found: tuple[IndexSearch, IndexHit]) -> bool:
        """Return whether a page may be found; count those that may not."""
        search, hit = found
        is_over = self._forgotten.has(hit.url, _seconds(hit)) or self._is_over(search, hit)
        self._over += is_over
        return not is_over

    def _is_over(self, search: IndexSearch, hit: IndexHit) -> bool:
        """Return whether another index has a later state of this page."""
        for other in self._open:
            if other is search:
                continue
            at = other.fetched(hit.url)
            if at is not None and at > hit.fetched_at:
                return True
        return False


def _seconds(hit: IndexHit) -> float:
    """Return seconds since 1970 of a time in the index, which has no zone, and is in UTC."""
    at = hit.fetched_at
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return at.timestamp()
