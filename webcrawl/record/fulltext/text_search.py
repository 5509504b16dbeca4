"""Searches the index of a crawl, running or not, as of its last commit.

`SearchAll` searches several indexes at once, such as those of a hive. `SnippetMarks` finds the part
of a page's text that answers a query best.
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
    FIELD_WEIGHTS,
    ORDINAL,
    STEMMERS,
    BadQuery,
    ParsedQuery,
    composed,
    has_text,
    language_of,
    parse_query,
    plain_words,
    position_in_composed,
    prepared,
    quote_code,
    schema,
    stemmer,
    stems_of,
)
from webcrawl.record.fulltext.text_files import TextPlace, lines_of_member
from webcrawl.record.fulltext.text_index import (
    FOLDER,
    BrokenIndex,
    how_to_build,
    open_index,
    tantivy_errors,
)
from webcrawl.store.errors import StoreError
from webcrawl.urls.canonical import InvalidUrl, canonical
from webcrawl.urls.exclusion_rules import Forgotten

SNIPPET_BYTES = 200  # of the prepared text, at most
Range = tuple[int, int]  # where a word begins and ends
Snippet = tuple[str, list[Range]]  # a text, and the query's words in it


class SnippetMarks:
    """Finds the words of a query, and words with the same stems, in the texts of pages."""

    def __init__(
        self, searcher: tantivy.Searcher, query: tantivy.Query, schema: tantivy.Schema
    ) -> None:
        self._searcher = searcher
        self._query = query
        self._schema = schema
        self._generators: dict[str, tantivy.SnippetGenerator] = {}

    def of_line(self, line: Mapping[str, Any]) -> Snippet:
        """Return the best part of a page's text for the query.

        It is of the main text, unless only the rest of the text has words of the query.
        """
        language = language_of(dict(line))
        main_text = line.get("main_text", "")
        if not main_text:
            return self.snippet(line["text"], "body", language)
        snippet = self.snippet(main_text, "body", language)
        if snippet[1]:
            return snippet
        of_rest = self.snippet(line["text"], "rest", language)
        return of_rest if of_rest[1] else snippet

    def snippet(self, text: str, field: str, language: str = "") -> Snippet:
        """Return the best part of a text on one line, or its beginning if it has none of the words.

        `field` is the field in which the index has the text.
        """
        body = prepared(text)
        text = composed(text)
        best = self._best(body, field)
        if language in STEMMERS:
            by_stems = self._best(body, stems_of(language))
            # If both are equally good, the one by stems is taken
            if len(by_stems.highlighted()) >= len(best.highlighted()):
                best = by_stems
        fragment = best.fragment()
        if not fragment:
            return " ".join(text[:SNIPPET_BYTES].split()), []
        # tantivy counts bytes of the prepared text
        data = body.encode()
        first = len(data[: best.fragment_range().start].decode())
        fragment_data = fragment.encode()
        start = position_in_composed(body, first)
        ranges = []
        for word in best.highlighted():
            word_start = first + len(fragment_data[: word.start].decode())
            word_end = first + len(fragment_data[: word.end].decode())
            ranges.append(
                (
                    position_in_composed(body, word_start) - start,
                    position_in_composed(body, word_end) - start,
                )
            )
        end = position_in_composed(body, first + len(fragment))
        return text[start:end].replace("\n", " "), merge_ranges(ranges)

    def _best(self, body: str, field: str) -> tantivy.Snippet:
        """Return tantivy's snippet of a prepared text, as if it were in this field."""
        if field not in self._generators:
            self._generators[field] = tantivy.SnippetGenerator.create(
                self._searcher, self._query, self._schema, field
            )
            self._generators[field].set_max_num_chars(SNIPPET_BYTES)
        return self._generators[field].snippet_from_doc(
            tantivy.Document.from_dict({field: body}, self._schema)
        )


def merge_ranges(ranges: list[Range]) -> list[Range]:
    """Return the ranges in order, with those merged that overlap or touch."""
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


MAX_QUERY_CHARS = 4096
# tantivy's parser calls itself for each parenthesis: 50,000 of them end the process
MAX_PARENTHESES = 50
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")  # as in don't: the parser takes it for a quotation mark
# Of one URL, that are read: a user's spider may request a URL many times
MAX_HITS_OF_URL = 100
# Beginnings of tantivy's messages about a query that fails only during the search
LATE_ERRORS = ("The field does not exist", "Schema error: 'Field")
MAX_SHOWN_CHARS = 100  # of a query in a message
MAX_SIMILAR = 20  # pages that are read for each one that is wanted
COMPARED_CHARS = 1 << 16  # of texts that may be nearly the same
RANKED_PAGES = 100  # the best pages by words, which links and language then put in order
# Weights of the words of a query if they are side by side
PHRASE_WEIGHTS = {"title": 1.5, "headings": 1.5, "body": 0.5}
NAMED_URL_SCORE = 100.0  # of the page whose URL is the query: more than words can give
MAX_DOMAINS = 64  # that count: a page to which more of them link is known well enough
LINK_WEIGHT = 0.05  # of the score, for each doubling of the domains that link to a page
OTHER_LANGUAGE_FACTOR = 0.8  # of the score of a page in a language that is unlikely for the query
UNLIKELY_FACTOR = 3.0  # a language is unlikely if the query is so much likelier in another one
# Assumed for each language, with each word as frequent as in all languages together: so a language
# with few pages is not unlikely by chance
PRIOR_PAGES = 10.0


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page that was found. If its text file is missing, title, text and time are empty."""

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
    """A page that was found, with what the index has of it. Its text is not read yet."""

    score: float
    url: str
    fetched_at: datetime
    stored: dict[str, list[Any]]


@dataclass(frozen=True, slots=True)
class IndexQuery:
    """A query as one index understands it."""

    query: tantivy.Query
    total: int  # matching pages
    remark: str  # how it differs from what was typed, or empty
    unlikely: frozenset[str]  # languages that the query is probably not in


class IndexSearch:
    """Searches one index."""

    def __init__(self, jobdir: Path) -> None:
        """Raise StoreError if the folder has no readable index."""
        self._jobdir = jobdir
        self._index = open_index(jobdir / FOLDER)
        if self._index.schema != schema():
            raise BrokenIndex(
                f"{jobdir / FOLDER}: this index was built by another version: {how_to_build(jobdir / FOLDER)}"
            )
        with tantivy_errors(jobdir / FOLDER):
            self._searcher = searcher = self._index.searcher()
            # Those of which the index has pages
            self._languages = [code for code in STEMMERS if searcher.doc_freq("stemmed", code)]

    def find(self, query: str, most: int) -> tuple[int, Iterator[FoundPage]]:
        """Return the number of matching pages, and the best of them."""
        index_query = self.read(query)
        hits = ((self, hit) for hit in self.hits(index_query, most, self.linking_domains))
        return index_query.total, best_pages(hits, most, {self: index_query})

    def hits(
        self, query: IndexQuery, at_once: int, linking_domains: Callable[[str], int]
    ) -> Iterator[IndexHit]:
        """Yield all matching pages, the best first.

        `at_once` of them are read at once, but at least RANKED_PAGES. `linking_domains` returns how
        many domains link to a URL.
        """
        wanted = _only_with_text(query.query, self._index.schema)
        offset = 0
        at_once = max(at_once, RANKED_PAGES)
        lowest = math.inf
        while True:
            with tantivy_errors(self._jobdir / FOLDER):
                hits = self._searcher.search(wanted, at_once, count=False, offset=offset).hits
            ranked = (
                self._ranked(self._hit(score, address), query, linking_domains)
                for score, address in hits
            )
            for hit in sorted(ranked, key=lambda hit: -hit.score):
                # A page that is read later must not have a higher score than those before it
                lowest = min(lowest, hit.score)
                yield replace(hit, score=lowest)
            if len(hits) < at_once:
                return
            offset += at_once

    def _ranked(
        self, hit: IndexHit, query: IndexQuery, linking_domains: Callable[[str], int]
    ) -> IndexHit:
        """Return a page with a score that depends on links and language, too."""
        domains = min(linking_domains(hit.url), MAX_DOMAINS)
        score = hit.score * (1 + LINK_WEIGHT * math.log2(1 + domains))
        if query.unlikely.intersection(hit.stored.get("language", ())[-1:]):
            score *= OTHER_LANGUAGE_FACTOR
        return replace(hit, score=score)

    def linking_domains(self, url: str) -> int:
        """Return how many domains have pages in this index that link to the URL."""
        with tantivy_errors(self._jobdir / FOLDER):
            linking = tantivy.Query.term_query(self._index.schema, "links", url)
            return round(self._searcher.cardinality(linking, "domain"))

    def marks(self, query: IndexQuery) -> SnippetMarks:
        """Return what finds the words of a query in texts."""
        with tantivy_errors(self._jobdir / FOLDER):
            return SnippetMarks(self._searcher, query.query, self._index.schema)

    def fetched(self, url: str) -> datetime | None:
        """Return the time of this page's last fetch, or None if the index has no such page."""
        with tantivy_errors(self._jobdir / FOLDER):
            named = tantivy.Query.term_query(self._index.schema, "url", url)
            hits = self._searcher.search(named, MAX_HITS_OF_URL, count=False).hits
            return max(
                (self._hit(score, address).fetched_at for score, address in hits), default=None
            )

    def _hit(self, score: float, address: tantivy.DocAddress) -> IndexHit:
        with tantivy_errors(self._jobdir / FOLDER):
            stored = self._searcher.doc(address).to_dict()
        return IndexHit(score, stored["url"][0], stored["fetched_at"][0], stored)

    def read(self, query: str) -> IndexQuery:
        """Return the query that any text means.

        If tantivy does not understand the text, its code is put in quotes. If it has no code, or
        that does not help, it is taken for words without operators.
        """
        typed = query[:MAX_QUERY_CHARS].encode(errors="replace").decode()
        written = _APOSTROPHE.sub("\u2019", typed)
        reason = ""
        words = plain_words(typed)
        unlikely = self._unlikely(words.split())
        for reading in (written, quote_code(written)):
            if reading is None or not has_text(reading) or reading.count("(") > MAX_PARENTHESES:
                continue
            try:
                return self._count_matches(
                    self._query_with_stems(reading, unlikely),
                    typed,
                    _truncation_remark(query),
                    unlikely,
                )
            except BadQuery as error:
                # The remark then says why the text is taken for plain words
                reason = f": {error}"
            except ValueError:
                # tantivy's message is not shown: it may quote the query that `parse_query` made
                continue
        if not words:
            remark = f"{query[:MAX_SHOWN_CHARS]}: no word, so no page is searched for"
            return self._count_matches(None, typed, remark, unlikely)
        remark = (
            _truncation_remark(query)
            or f"{query[:MAX_SHOWN_CHARS]}: searched as plain words{reason[: 2 * MAX_SHOWN_CHARS]}"
        )
        if any(_urls_of(typed)):
            # For a URL the reading as plain words needs no remark
            remark = ""
        return self._count_matches(self._query_with_stems(words, unlikely), typed, remark, unlikely)

    def _count_matches(
        self, query: ParsedQuery | None, typed: str, remark: str, unlikely: frozenset[str]
    ) -> IndexQuery:
        """Return the query for this index, with the number of matching pages.

        A URL also finds the page of this URL. Raise ValueError if tantivy does not understand the
        query, such as `field:*` of a field without a list of values.
        """
        parsed = tantivy.Query.empty_query() if query is None else self._tantivy_query(query)
        urls = list(_urls_of(typed))
        if urls:
            named = tantivy.Query.term_set_query(self._index.schema, "url", urls)
            either = [
                (tantivy.Occur.Should, parsed),
                (tantivy.Occur.Should, tantivy.Query.const_score_query(named, NAMED_URL_SCORE)),
            ]
            parsed = tantivy.Query.boolean_query(either)
        try:
            with tantivy_errors(self._jobdir / FOLDER):
                total = _count(
                    self._searcher.search(_only_with_text(parsed, self._index.schema), 1)
                )
        except BrokenIndex as error:
            if str(error.__cause__).startswith(LATE_ERRORS):
                raise ValueError(remark) from error
            raise
        return IndexQuery(parsed, total, remark, unlikely)

    def _query_with_stems(self, query: str, unlikely: frozenset[str]) -> ParsedQuery:
        """Return the query with stems of the likely languages.

        In an unlikely language the words are rare, and would weigh too much.
        """
        return parse_query(query, [code for code in self._languages if code not in unlikely])

    def _tantivy_query(self, query: ParsedQuery) -> tantivy.Query:
        """Return tantivy's query of these parts. Raise ValueError if it is not understood."""
        parts = []
        if query.words:
            words = [(tantivy.Occur.Should, self._parse_plain(word)) for word in query.words]
            most = tantivy.Query.boolean_query(
                words, minimum_number_should_match=len(words) // 2 + 1
            )
            parts.append((tantivy.Occur.Must, most))
            for other in query.others:
                if len(other) > 1 and other[0] == "-":
                    parts.append((tantivy.Occur.MustNot, self._parse_plain(other[1:])))
                else:
                    parts.append((tantivy.Occur.Must, self._parse_plain(other)))
        else:
            parts.append((tantivy.Occur.Must, self._parse_plain(query.others[0])))
        if query.typed:
            phrase = f'"{" ".join(query.typed)}"'
            together = self._index.parse_query(
                phrase, list(PHRASE_WEIGHTS), field_boosts=PHRASE_WEIGHTS
            )
            parts.append((tantivy.Occur.Should, together))
        return tantivy.Query.boolean_query(parts)

    def _parse_plain(self, query: str) -> tantivy.Query:
        """Return tantivy's query of a text, all words of which a page must have."""
        fields = list(FIELD_WEIGHTS)
        return self._index.parse_query(
            prepared(query), fields, field_boosts=FIELD_WEIGHTS, conjunction_by_default=True
        )

    def _unlikely(self, words: Sequence[str]) -> frozenset[str]:
        """Return the languages in which these words are far less likely than in another one.

        The likelihood of a word in a language is the share of its pages that have a form of it.
        """
        with tantivy_errors(self._jobdir / FOLDER):
            pages_of = {code: self._searcher.doc_freq("stemmed", code) for code in self._languages}
            log_likelihood = dict.fromkeys(self._languages, 0.0)
            for word in words:
                pages_with = {code: self._pages_with(word, code) for code in self._languages}
                share_of_all = sum(pages_with.values()) / max(1, sum(pages_of.values()))
                # A word that no page has tells nothing
                if not share_of_all:
                    continue
                for code, pages in pages_with.items():
                    share = (pages + PRIOR_PAGES * share_of_all) / (pages_of[code] + PRIOR_PAGES)
                    log_likelihood[code] += math.log(share)
        best = max(log_likelihood.values(), default=0.0)
        least = best - math.log(UNLIKELY_FACTOR)
        return frozenset(code for code, value in log_likelihood.items() if value < least)

    def _pages_with(self, word: str, language: str) -> int:
        """Return how many pages in a language have a form of a word. A phrase counts as none."""
        stems = stemmer(language).analyze(word)
        return self._searcher.doc_freq(stems_of(language), stems[0]) if len(stems) == 1 else 0

    def line(self, hit: IndexHit) -> dict[str, Any]:
        """Return the line of a page in the text files; empty if its file is missing."""
        place = TextPlace(hit.stored["file"][0], hit.stored["offset"][0])
        for line in lines_of_member(self._jobdir, place):
            if line["ordinal"] == hit.stored[ORDINAL][0]:
                return line
        return {}


def _truncation_remark(query: str) -> str:
    return (
        f"only the first {MAX_QUERY_CHARS} characters are searched for"
        if len(query) > MAX_QUERY_CHARS
        else ""
    )


def _urls_of(query: str) -> Iterator[str]:
    """Yield the URLs that a query may mean, if it is a URL with or without its scheme."""
    address = query.strip()
    if "." not in address or any(map(str.isspace, address)):
        return
    bare = address.partition("://")[2] or address
    for scheme in ("https", "http"):
        with suppress(InvalidUrl):
            yield canonical(f"{scheme}://{bare}")


def best_pages(
    hits: Iterable[tuple[IndexSearch, IndexHit]],
    most: int,
    queries: Mapping[IndexSearch, IndexQuery],
) -> Iterator[FoundPage]:
    """Return the best `most` pages, each with the later ones that have nearly the same text."""
    marks = {search: search.marks(query) for search, query in queries.items()}
    clusters = Clusters(DISTANCE)
    pages: dict[int | str, FoundPage] = {}
    # The number of pages that are read is limited: a site may have thousands of copies of one page
    for search, hit in islice(hits, MAX_SIMILAR * most):
        line = search.line(hit)
        cluster = _cluster_of(line, clusters) or hit.url
        if cluster in pages:
            pages[cluster].similar.append(hit.url)
        else:
            pages[cluster] = _found_page(hit, line, marks[search])
        if len(pages) == most:
            break
    return iter(pages.values())


def _cluster_of(line: Mapping[str, Any], clusters: Clusters) -> int | str:
    """Return a key that pages of nearly the same text share.

    A text that is too short for a fingerprint has its digest as the key, or an empty string.
    """
    text = line.get("main_text") or line.get("text", "")
    text_fingerprint = fingerprint(text[:COMPARED_CHARS])
    if text_fingerprint is None:
        digest: str = line.get("digest", "")
        return digest
    return clusters.of(text_fingerprint)


def _found_page(hit: IndexHit, line: Mapping[str, Any], marks: SnippetMarks) -> FoundPage:
    """Return a page with its snippet. Its line is empty if its text file is missing."""
    if not line:
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


def _only_with_text(parsed: tantivy.Query, schema: tantivy.Schema) -> tantivy.Query:
    """Return the query, restricted to pages that still have a text."""
    blank = tantivy.Query.term_query(schema, "host", BLANK)
    return tantivy.Query.boolean_query(
        [(tantivy.Occur.Must, parsed), (tantivy.Occur.MustNot, blank)]
    )


def _count(result: Any) -> int:
    """Return the count of a search result, which tantivy's type hints lack."""
    return int(result.count)


class SearchAll:
    """Searches the indexes of several crawls. Any text is a query."""

    def __init__(self, jobdirs: Sequence[Path], forgotten: Forgotten | None = None) -> None:
        """Open the indexes that can be read. Raise StoreError if there is none.

        No search finds a page that is `forgotten`.
        """
        self._forgotten = forgotten or Forgotten()
        self.unread: list[StoreError] = []  # why the other indexes cannot be read
        self.remark = ""  # on how the last query was understood, or empty
        self._hidden = 0  # matching pages of the last query that were left out
        self._open: list[IndexSearch] = []
        for jobdir in jobdirs:
            try:
                self._open.append(IndexSearch(jobdir))
            except StoreError as error:
                self.unread.append(error)
        if not self._open and self.unread:
            raise self.unread[0]

    def find(self, query: str, most: int) -> tuple[int, Iterator[FoundPage]]:
        """Return the number of matching pages in all indexes, and the best `most` of them.

        Afterwards `remark` says how the query was understood, if not as it was typed.

        Scores of different indexes are compared, although each index weighs words by its own
        pages. How rare a word is, and how long a page is on average, hardly differs between drones,
        because hosts are spread by hash. A page whose host has passed to another drone may be in
        several indexes: only its last fetch is found. The number includes outdated and forgotten
        pages, except those that were come across among the best ones.
        """
        queries = {search: search.read(query) for search in self._open}
        self.remark = next((index_query.remark for index_query in queries.values()), "")
        self._hidden = 0
        hits = (
            zip(repeat(search), search.hits(queries[search], most, self._linking_domains))
            for search in self._open
        )
        by_score = merge(*hits, key=lambda search_and_hit: -search_and_hit[1].score)
        pages = best_pages(filter(self._may_be_found, by_score), most, queries)
        total = sum(index_query.total for index_query in queries.values())
        return total - self._hidden, pages

    def _linking_domains(self, url: str) -> int:
        """Return how many domains link to the URL. A domain counts once for each of its drones."""
        return sum(search.linking_domains(url) for search in self._open)

    def _may_be_found(self, search_and_hit: tuple[IndexSearch, IndexHit]) -> bool:
        """Return whether a page is neither forgotten nor outdated; count it if it is."""
        search, hit = search_and_hit
        is_hidden = self._forgotten.has(hit.url, _seconds(hit)) or self._is_outdated(search, hit)
        self._hidden += is_hidden
        return not is_hidden

    def _is_outdated(self, search: IndexSearch, hit: IndexHit) -> bool:
        """Return whether another index has a later fetch of this page."""
        for other in self._open:
            if other is search:
                continue
            fetched_at = other.fetched(hit.url)
            if fetched_at is not None and fetched_at > hit.fetched_at:
                return True
        return False


def _seconds(hit: IndexHit) -> float:
    """Return the seconds since 1970 of the time when a page was fetched."""
    fetched_at = hit.fetched_at
    # tantivy returns times in UTC without a zone
    if fetched_at.tzinfo is None:
        fetched_at = fetched_at.replace(tzinfo=UTC)
    return fetched_at.timestamp()
