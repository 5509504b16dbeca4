"""The fields of the index (docs/outputs.md), its words in any language, and users' queries.

A word is a run of letters and digits, in lower case and without accents (tantivy's tokenizer and
filters). In scripts without spaces between words, each character is a word: `prepared` puts marks
between them that are neither white space nor part of a word. A query of several such characters is
then a phrase, and finds them side by side. The field of its language has the stems of a page's
words, by Snowball's rules, which tantivy has.

In a query, only single words, `site:`, `after:` and `before:` are rewritten. Everything else is
passed to tantivy. If tantivy does not understand a query, its `plain_words` are searched for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from typing import Any
from urllib.parse import unquote

import tantivy

from webcrawl.base.url_text import host_of
from webcrawl.content.html.text_language import LIKELY, SAME, knows_languages, likely_language
from webcrawl.urls.canonical import InvalidUrl, canonical
from webcrawl.urls.host_names import names_above

MARK = "\u200b"  # zero width space; in pages it means a possible line break
_MARK_BYTES = MARK.encode()
# Han, kana, Hangul, bopomofo, Thai, Lao, Myanmar and Khmer letters, their marks and digits,
# compatibility forms too.
_SPACELESS = (
    "\u0e01-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3021-\u3029\u3038-\u303c\u3041-\u312f\u3131-\u318e"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\ua9e0-\ua9fe\uaa60-\uaa7f\uac00-\ud7fb\uf900-\ufaff"
    "\uff66-\uffdc\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)
_RUN = re.compile(f"[{_SPACELESS}]+")
# The bytes with which such a character, or one of _FOLDS, may begin in UTF-8. Most pages have none
# of them.
_MAY_STAND_ALONE = bytes((0xE0, 0xE1, *range(0xE3, 0xF5)))
_MAY_FOLD = bytes((*range(0xCD, 0xD2), 0xD8, 0xD9, 0xE1))
_ADDRESS = re.compile(r"^[a-z]+://(?:www\.)?")  # what most addresses begin with
_OWN_LETTERS = "\u0419\u0439"  # Cyrillic short I: its mark is part of the letter, and no accent


def _folds() -> dict[int, str]:
    """Return replacements of Greek, Cyrillic and Arabic letters with accents, by character code.

    tantivy's filter folds Latin letters only.
    """
    # Forms of alef, and of ya
    folds = {0x0623: "\u0627", 0x0625: "\u0627", 0x0622: "\u0627", 0x0649: "\u064a"}
    for code in (*range(0x370, 0x460), *range(0x1F00, 0x2000)):
        decomposed = unicodedata.normalize("NFD", chr(code))
        accents = decomposed[1:]
        has_accents = bool(accents) and all(map(unicodedata.combining, accents))
        if has_accents and chr(code) not in _OWN_LETTERS:
            folds[code] = decomposed[0]
    return folds | {ord(MARK): " "}


_FOLDS = _folds()


def composed(text: str) -> str:
    """Return the text with composed characters (NFC). `prepared` changes each into a single one."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def prepared(text: str) -> str:
    """Return the form of a text in which it is indexed and searched for."""
    text = composed(text)
    if text.isascii():
        return text
    # Searching for the bytes takes 30 µs for 10 KB. Most pages have none of them, and are done.
    data = text.encode(errors="replace")
    if _MARK_BYTES in data or len(data.translate(None, _MAY_FOLD)) < len(data):
        text = text.translate(_FOLDS)
    if len(data.translate(None, _MAY_STAND_ALONE)) < len(data):
        text = _RUN.sub(_with_marks, text)
    return text


def _with_marks(run: re.Match[str]) -> str:
    """Return the characters with marks between them and their neighbours, so that each is a word."""
    before = MARK if run.start() and run.string[run.start() - 1].isalnum() else ""
    return f"{before}{MARK.join(run[0])}{MARK}"


def position_in_composed(text: str, at: int) -> int:
    """Return the position in the composed text of the character at `at` in the prepared text."""
    return at - text.count(MARK, 0, at)


ANALYZER = "words"
MAX_WORD_BYTES = 100  # what is longer is data
# The fields in which a word is searched for, and their weights: round numbers from the middle of a
# plateau. nDCG of judged queries is 0.785 to 0.80 with titles from 0.5 to 3 and addresses from 0.3
# to 1. If the crawl extracts main texts, `body` has the main text and `rest` all the text, else
# `body` has all the text.
FIELD_WEIGHTS = {"title": 1.5, "headings": 0.5, "body": 1.0, "rest": 0.3, "address": 0.5}
ORDINAL = "ordinal"
BLANK = "(none)"  # in place of the host of a blank line, which no search finds
_LANGUAGES = (
    (
        "ar",
        "arabic",
        "da",
        "danish",
        "de",
        "german",
        "el",
        "greek",
        "en",
        "english",
        "es",
        "spanish",
        "fi",
        "finnish",
    ),
    (
        "fr",
        "french",
        "hu",
        "hungarian",
        "it",
        "italian",
        "nl",
        "dutch",
        "no",
        "norwegian",
        "pt",
        "portuguese",
    ),
    ("ro", "romanian", "ru", "russian", "sv", "swedish", "ta", "tamil", "tr", "turkish"),
)
STEMMERS = {
    code: name for row in _LANGUAGES for code, name in zip(row[::2], row[1::2], strict=True)
}


def stems_of(language: str) -> str:
    """Return the name of the field that has the stems of a language."""
    return f"stems_{language}"


def schema() -> tantivy.Schema:
    """Return the schema of the index. `file` and `offset` are the place of a page's member."""
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field(ORDINAL, stored=True, indexed=True, fast=True)
    builder.add_text_field("url", stored=True, tokenizer_name="raw", index_option="basic")
    for name in ("host", "site", "stemmed", "links"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    # As a column, too, so that the domains that link to a page can be counted
    builder.add_text_field("domain", fast=True, tokenizer_name="raw", index_option="basic")
    for name in FIELD_WEIGHTS:
        builder.add_text_field(name, tokenizer_name=ANALYZER)
    builder.add_text_field("language", stored=True, tokenizer_name=ANALYZER)
    # A field for each language, because the analyzer of a field cannot depend on the page. Stemming
    # in Python would hold its lock for 430 µs per page of 10 KB. No positions, because phrases are
    # searched for in the words as they are written.
    for language in STEMMERS:
        builder.add_text_field(
            stems_of(language), tokenizer_name=stems_of(language), index_option="freq"
        )
    builder.add_date_field("fetched_at", stored=True, indexed=True, fast=True)
    for name in ("file", "offset"):
        builder.add_unsigned_field(name, stored=True)
    return builder.build()


def register_analyzers(index: tantivy.Index) -> None:
    """Register the analyzers of all fields with an index that was just opened."""
    index.register_tokenizer(ANALYZER, _analyzer())
    for language in STEMMERS:
        index.register_tokenizer(stems_of(language), stemmer(language))


@cache
def stemmer(language: str) -> tantivy.TextAnalyzer:
    """Return the analyzer of a language's field."""
    return _analyzer(tantivy.Filter.stemmer(STEMMERS[language]))


def _analyzer(*stemmers: tantivy.Filter) -> tantivy.TextAnalyzer:
    """Return an analyzer with these filters."""
    # A tokenizer by a regular expression takes 480 µs for 5 KB, and this one 100
    words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    filters = (
        tantivy.Filter.remove_long(MAX_WORD_BYTES),
        tantivy.Filter.lowercase(),
        # Stemmers need accents, which are folded after them
        *stemmers,
        tantivy.Filter.ascii_fold(),
    )
    for word_filter in filters:
        words = words.filter(word_filter)
    return words.build()


def blank_document(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document that no search finds.

    The index needs a document for each line, because it counts them.
    """
    kept = {name: document[name] for name in (ORDINAL, "url", "fetched_at", "file", "offset")}
    return {**kept, "host": BLANK}


def document_of(line: dict[str, Any], domain: str, file: int, offset: int) -> dict[str, Any]:
    """Return the document of a line. A line without text has a document that no search finds."""
    host = host_of(line["url"])
    values = {
        ORDINAL: line["ordinal"],
        "url": line["url"],
        "host": host,
        "fetched_at": datetime.fromisoformat(line["fetched_at"]),
        "file": file,
        "offset": offset,
    }
    if not line["text"]:
        return blank_document(values)
    title = prepared(line["title"])
    text = prepared(line["text"])
    language = language_of(line)
    main = prepared(line.get("main_text", ""))
    if language in STEMMERS:
        values |= {"stemmed": language, stems_of(language): [title, text]}
    return values | {
        "domain": domain,
        "site": list(names_above(host)),
        "address": prepared(_ADDRESS.sub("", unquote(line["url"]))),
        "title": title,
        "headings": [prepared(heading) for heading in line["headings"]],
        "body": main or text,
        "rest": text if main else "",
        "links": line.get("links", []),
        "language": [line["language"], language],
    }


def language_of(line: dict[str, Any]) -> str:
    """Return the code of a page's language, or an empty string if it is not known.

    It is the declared language, unless the text is clearly in another one.
    """
    declared = line["language"].replace("_", "-").partition("-")[0].strip().lower()
    language: str = line.get("written_in") or SAME.get(declared, declared)
    if language or not knows_languages():
        return language
    language, distance = likely_language(line["text"])
    return language if distance <= LIKELY else ""


# In this order: a text in quotes, or a range or set, with or without a field; a parenthesis;
# blanks; anything else
_PIECE = re.compile(
    r"""[\w.+-]*:?"[^"]*"?[^\s()]*|[\w.+-]*:?[\[{][^\]}]*[\]}]?\S*|[()]|\s+|[^()\s"]+"""
)
_WORD = re.compile(r"[^\W_]{1,40}")  # is a single word for the analyzers, too
EVERYTHING = "*"
_OPERATOR_WORDS = frozenset(("AND", "OR", "NOT"))
_OPERATORS = _OPERATOR_WORDS | {"IN", "TO", "(", ")"}
_CODE = re.compile(r"::|\w!?[\[({]|#!?\[|(?<!\S)'\w")  # Vec::new, vec![1], len(), #[test], 'a
_FILTER = re.compile(r"([+-]?)(site|after|before):(.+)", re.DOTALL)
_FIELD = re.compile(r"^[+-]?\w+:")
_DATE = re.compile(r"(\d{4})(?:-(\d\d?))?(?:-(\d\d?))?")
# Of a query. Their stems are searched, too, and each costs a search in the field of each language.
MAX_QUERY_WORDS = 64
STEM_WEIGHT = 1.0  # of a stem beside its word: nDCG is flat from 0.5 to 3 (test_judged.py)
# A page must have all words of a query of up to two words: the second one narrows the search. Of a
# longer query it must have more than half of the words.
MAX_REQUIRED_WORDS = 2


class BadQuery(ValueError):  # noqa: N818 - reads as what it is
    """The value of a filter in a query is malformed; the message says what is expected."""


@dataclass(slots=True)
class ParsedQuery:
    """The parts of a query, each in tantivy's language."""

    words: list[str]  # more than half of which a page must have
    others: list[str]  # conditions, all of which a page must meet
    typed: list[str]  # words without stems: pages that have them side by side rank higher


def parse_query(query: str, languages: Sequence[str]) -> ParsedQuery:
    """Return the parts of a query, for an index that has pages in these languages.

    A query with operators or few words is a single condition, which a page must meet as a whole,
    except for what the operators make optional. Raise BadQuery if the value of a filter is
    malformed.
    """
    words: list[str] = []
    others: list[str] = []
    typed: list[str] = []
    whole: list[str] = []
    stems = [f"{stems_of(language)}:" for language in languages]
    # `whole` has all pieces in their order, for a query that is a single condition
    for piece in _PIECE.findall(query):
        match = _FILTER.fullmatch(piece)
        if match is not None:
            sign, name, value = match.groups()
            others.append(sign + _FILTERS[name](value))
            whole.append(others[-1])
        elif _is_word(piece):
            has_stems = len(words) < MAX_QUERY_WORDS
            typed.append(prepared(piece))
            words.append(_with_stems(prepared(piece), stems if has_stems else ()))
            whole.append(words[-1])
        else:
            others.append(piece)
            whole.append(piece)
    has_operators = not _OPERATORS.isdisjoint(others)
    if has_operators:
        return ParsedQuery([], ["".join(whole)], [])
    if len(words) <= MAX_REQUIRED_WORDS:
        return ParsedQuery([], ["".join(whole)], typed)
    # Punctuation alone, such as a question mark, is no condition: no page could meet it
    conditions = [piece for piece in others if piece == EVERYTHING or _WORD.search(piece)]
    return ParsedQuery(words, conditions, typed)


def _is_word(piece: str) -> bool:
    return piece not in _OPERATORS and _WORD.fullmatch(prepared(piece)) is not None


def _with_stems(word: str, stems: Sequence[str]) -> str:
    """Return the query for a word, or for its stem in any of these fields."""
    if not stems:
        return word
    forms = [word, *(f"{stem}{word}^{STEM_WEIGHT}" for stem in stems)]
    return f"({' OR '.join(forms)})"


def has_text(query: str) -> bool:
    """Return whether a query has a word, beside operators and names of fields, or EVERYTHING."""
    pieces = (_FIELD.sub("", piece) for piece in _PIECE.findall(query) if piece not in _OPERATORS)
    return any(EVERYTHING in piece or _WORD.search(prepared(piece)) for piece in pieces)


def plain_words(query: str) -> str:
    """Return the words of any text in lower case, without operators and without punctuation."""
    all_words = _WORD.findall(prepared(query))
    # If there are only operators, they are words
    words = [word for word in all_words if word not in _OPERATOR_WORDS] or all_words
    return " ".join(words[:MAX_QUERY_WORDS]).lower()


def quote_code(query: str) -> str | None:
    """Return a query with pieces of code in quotes, so that tantivy takes them for phrases.

    Return None if it has no code.
    """
    if _CODE.search(query) is None:
        return None
    pieces = (_quoted(piece) for piece in re.findall(r'"[^"]*"?|[^\s"]+', query))
    return " ".join(filter(None, pieces))


def _quoted(piece: str) -> str:
    """Return a piece of a query, in quotes if it is code; empty if it has no letter or digit."""
    is_understood = piece.startswith('"') or piece in _OPERATOR_WORDS
    if is_understood or _FILTER.fullmatch(piece):
        return piece
    sign = piece[0] if piece[0] in "+-" else ""
    word = piece[len(sign) :]
    if _WORD.fullmatch(word):
        return piece
    if not re.search(r"\w", word):
        return ""
    return f'{sign}"{word}"'


def _site_query(value: str) -> str:
    """Return the query for pages of this host and of hosts below it. Raise BadQuery."""
    host = value.strip('"').removeprefix("*.").removeprefix(".")
    try:
        url = canonical(host if "://" in host else f"http://{host}")
    except InvalidUrl:
        url = ""
    path = url.split("/", 3)[3] if url else ""
    if not url or path:
        raise BadQuery(
            f"site:{value}: expected a host name, or the end of one, such as example.org"
        )
    return f'site:"{host_of(url)}"^0'


def _start_of_day(value: str) -> str:
    """Return the start of a day, month or year in tantivy's form. Raise BadQuery."""
    match = _DATE.fullmatch(value.strip('"'))
    # The date is invalid if its month or day is out of range
    with suppress(ValueError):
        if match is not None:
            year, month, day = (int(part or 1) for part in match.groups())
            return f"{date(year, month, day)}T00:00:00Z"
    raise BadQuery(f"{value}: expected a day, month or year, such as 2026-11-30, 2026-11 or 2026")


_FILTERS: dict[str, Callable[[str], str]] = {
    "site": _site_query,
    "after": lambda value: f"fetched_at:[{_start_of_day(value)} TO *]",
    "before": lambda value: f"fetched_at:{{* TO {_start_of_day(value)}}}",
}
