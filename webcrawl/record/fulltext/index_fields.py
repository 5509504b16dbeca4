"""The index's fields (docs/outputs.md), its words in any language, and users' queries.

Beside its words a page has their stems, in the field of its language: Snowball's rules, which
tantivy has.

A word is a run of letters and digits, in lower case and without accents (tantivy's tokenizer and
filters). In writing without spaces between words each character stands for itself: `prepared` puts
marks between them that are neither white space nor part of a word. A query of several such
characters is then a phrase, and finds them side by side.

Of a query only words that stand alone, `site:`, `after:` and `before:` are rewritten. All else is
tantivy's. A query that tantivy does not understand has its `words_alone` looked for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
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

# Zero width space: in pages it means a possible line break
MARK, _MARK = "\u200b", "\u200b".encode()
# Han, kana, Hangul, bopomofo, Thai, Lao, Myanmar and Khmer letters, their marks and digits,
# compatibility forms too.
_SPACELESS = (
    "\u0e01-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3021-\u3029\u3038-\u303c\u3041-\u312f\u3131-\u318e"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\ua9e0-\ua9fe\uaa60-\uaa7f\uac00-\ud7fb\uf900-\ufaff"
    "\uff66-\uffdc\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)
_RUN = re.compile(f"[{_SPACELESS}]+")
# The bytes of UTF-8 with which such a character, or one of _FOLDS, may begin: most pages have
# neither.
_MAY_STAND_ALONE = bytes((0xE0, 0xE1, *range(0xE3, 0xF5)))
_MAY_FOLD = bytes((*range(0xCD, 0xD2), 0xD8, 0xD9, 0xE1))
_ADDRESS = re.compile(r"^[a-z]+://(?:www\.)?")  # what most addresses begin with
_LETTERS_OF_THEIR_OWN = "\u0419\u0439"  # Cyrillic short I


def _folds() -> dict[int, str]:
    """Return replacements of letters with accents that tantivy's filter, which knows Latin, leaves."""
    # Forms of alef, and of ya
    folds = {0x0623: "\u0627", 0x0625: "\u0627", 0x0622: "\u0627", 0x0649: "\u064a"}
    for code in (*range(0x370, 0x460), *range(0x1F00, 0x2000)):
        first, *marks = tuple(unicodedata.normalize("NFD", chr(code)))
        if (
            marks
            and all(map(unicodedata.combining, marks))
            and chr(code) not in _LETTERS_OF_THEIR_OWN
        ):
            folds[code] = first
    return folds | {ord(MARK): " "}


_FOLDS = _folds()


def normal(text: str) -> str:
    """Return the text with composed characters, each of which `prepared` changes into one."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def prepared(text: str) -> str:
    """Return the form of a text in which it is indexed and searched for."""
    text = normal(text)
    if text.isascii():
        return text
    # To look for the bytes takes 30 µs for 10 KB, and most pages have none of them
    data = text.encode(errors="replace")
    if _MARK in data or len(data.translate(None, _MAY_FOLD)) < len(data):
        text = text.translate(_FOLDS)
    if len(data.translate(None, _MAY_STAND_ALONE)) < len(data):
        text = _RUN.sub(_marked, text)
    return text


def _marked(run: re.Match[str]) -> str:
    """Return the characters apart from each other, and from what stands beside them."""
    before = MARK if run.start() and run.string[run.start() - 1].isalnum() else ""
    return f"{before}{MARK.join(run[0])}{MARK}"


def place(text: str, at: int) -> int:
    """Return the position in the normal text of a character of the prepared one."""
    return at - text.count(MARK, 0, at)


ANALYZER = "words"
LONGEST = 100  # bytes of a word; what is longer is data
# Fields in which a word is looked for, and their weights: round numbers from the middle of a plateau.
# nDCG of judged queries is 0.785 to 0.80 with titles from 0.5 to 3 and addresses from 0.3 to 1.
# `body` is the main text if the crawl has it, and then `rest` is all the text; else all the text.
SEARCHED = {"title": 1.5, "headings": 0.5, "body": 1.0, "rest": 0.3, "address": 0.5}
ORDINAL = "ordinal"
BLANK = "(none)"  # in place of the host of a page that has no text any more: no search finds it
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
    """Return the name of the field of a language."""
    return f"stems_{language}"


def schema() -> tantivy.Schema:
    """Return the schema. `file` and `offset` are the page's text file and its member's first byte."""
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field(ORDINAL, stored=True, indexed=True, fast=True)
    builder.add_text_field("url", stored=True, tokenizer_name="raw", index_option="basic")
    for name in ("host", "site", "stemmed", "links"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    # In columns, too: the domains that link to a page are counted
    builder.add_text_field("domain", fast=True, tokenizer_name="raw", index_option="basic")
    for name in SEARCHED:
        builder.add_text_field(name, tokenizer_name=ANALYZER)
    builder.add_text_field("language", stored=True, tokenizer_name=ANALYZER)
    # A field for each language, because the analyzer of a field cannot depend on the page, and to
    # stem in Python would hold its lock for 430 µs per page of 10 KB. Without positions, because
    # phrases are looked for in the words as they are written.
    for language in STEMMERS:
        builder.add_text_field(
            stems_of(language), tokenizer_name=stems_of(language), index_option="freq"
        )
    builder.add_date_field("fetched_at", stored=True, indexed=True, fast=True)
    for name in ("file", "offset"):
        builder.add_unsigned_field(name, stored=True)
    return builder.build()


def register(index: tantivy.Index) -> None:
    """Give the analyzers to an index that was just opened."""
    index.register_tokenizer(ANALYZER, _analyzer())
    for language in STEMMERS:
        index.register_tokenizer(stems_of(language), stemmer(language))


@cache
def stemmer(language: str) -> tantivy.TextAnalyzer:
    """Return the analyzer of a language's field."""
    return _analyzer(tantivy.Filter.stemmer(STEMMERS[language]))


def _analyzer(*stemmers: tantivy.Filter) -> tantivy.TextAnalyzer:
    """Return an analyzer. Stemmers know accents, so accents are folded after them."""
    # A tokenizer by a regular expression takes 480 µs for 5 KB, and this one 100.
    words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    filters = (
        tantivy.Filter.remove_long(LONGEST),
        tantivy.Filter.lowercase(),
        *stemmers,
        tantivy.Filter.ascii_fold(),
    )
    for one in filters:
        words = words.filter(one)
    return words.build()


def unfindable(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document that no query finds: the index counts its pages, so each has one."""
    kept = {name: document[name] for name in (ORDINAL, "url", "fetched_at", "file", "offset")}
    return {**kept, "host": BLANK}


def fields(line: dict[str, Any], domain: str, file: int, offset: int) -> dict[str, Any]:
    """Return the document of a page's line; of one without text only that there is none any more."""
    host = host_of(line["url"])
    about = {
        ORDINAL: line["ordinal"],
        "url": line["url"],
        "host": host,
        "fetched_at": datetime.fromisoformat(line["fetched_at"]),
        "file": file,
        "offset": offset,
    }
    if not line["text"]:
        return unfindable(about)
    title = prepared(line["title"])
    text = prepared(line["text"])
    language = language_of(line)
    main = prepared(line.get("main_text", ""))
    if language in STEMMERS:
        about |= {"stemmed": language, stems_of(language): [title, text]}
    return about | {
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
    """Return the code of a page's language: as declared, unless its text is in another; or ""."""
    declared = line["language"].replace("_", "-").partition("-")[0].strip().lower()
    found: str = line.get("written_in") or SAME.get(declared, declared)
    if found or not knows_languages():
        return found
    found, measure = likely_language(line["text"])
    return found if measure <= LIKELY else ""


# A text in quotes, a range or a set, with or without a field; a parenthesis or blanks; anything
# else.
_PIECE = re.compile(
    r"""[\w.+-]*:?"[^"]*"?[^\s()]*|[\w.+-]*:?[\[{][^\]}]*[\]}]?\S*|[()]|\s+|[^()\s"]+"""
)
_WORD = re.compile(r"[^\W_]{1,40}")  # what the analyzers take for one word, too
EVERYTHING = "*"
_WORDS = frozenset(("AND", "OR", "NOT"))
_OPERATORS = _WORDS | {"IN", "TO", "(", ")"}
_CODE = re.compile(r"::|\w!?[\[({]|#!?\[|(?<!\S)'\w")  # Vec::new, vec![1], len(), #[test], 'a
_FILTER = re.compile(r"([+-]?)(site|after|before):(.+)", re.DOTALL)
_FIELD = re.compile(r"^[+-]?\w+:")
_DATE = re.compile(r"(\d{4})(?:-(\d\d?))?(?:-(\d\d?))?")
MOST = 64  # words with stems: each costs a look at each language
WEIGHT = 1.0  # of a stem beside its word: nDCG is flat from 0.5 to 3 (test_judged.py)
# Words, all of which must be there: a second word narrows a query. A longer query needs more than
# half of its words.
FEW = 2


class BadQuery(ValueError):  # noqa: N818 - reads as what it is
    """The query has a filter whose value makes no sense: it is searched as words."""


@dataclass(slots=True)
class ParsedQuery:
    """A query for tantivy: `words`, most of which a page must have, and further conditions.

    `typed`: the words without their stems, which rank pages that have them side by side higher.
    """

    words: list[str]
    others: list[str]
    typed: list[str]


def asked(query: str, languages: Sequence[str]) -> ParsedQuery:
    """Return the query for an index that has pages in these languages.

    Raise BadQuery if the value of a filter makes no sense. A query with operators or few words is
    a whole: a page must have all of it, except what the operators make optional.
    """
    words: list[str] = []
    others: list[str] = []
    typed: list[str] = []
    whole: list[str] = []
    stems = [f"{stems_of(language)}:" for language in languages]
    # `whole` has all pieces in their order, for a query that is given to tantivy as it is
    for piece in _PIECE.findall(query):
        found = _FILTER.fullmatch(piece)
        if found is not None:
            others.append(found[1] + _FILTERS[found[2]](found[3]))
            whole.append(others[-1])
        elif _is_word(piece):
            typed.append(prepared(piece))
            words.append(_with_stems(prepared(piece), stems if len(words) < MOST else ()))
            whole.append(words[-1])
        else:
            others.append(piece)
            whole.append(piece)
    has_operators = not _OPERATORS.isdisjoint(others)
    if has_operators:
        return ParsedQuery([], ["".join(whole)], [])
    if len(words) <= FEW:
        return ParsedQuery([], ["".join(whole)], typed)
    # A question mark alone is no condition: no page could have it
    conditions = [piece for piece in others if piece == EVERYTHING or _WORD.search(piece)]
    return ParsedQuery(words, conditions, typed)


def _is_word(piece: str) -> bool:
    return piece not in _OPERATORS and _WORD.fullmatch(prepared(piece)) is not None


def _with_stems(word: str, stems: Sequence[str]) -> str:
    """Return the query for a word, or for its stem in one of these fields, which weighs less."""
    if not stems:
        return word
    forms = [word, *(f"{stem}{word}^{WEIGHT}" for stem in stems)]
    return f"({' OR '.join(forms)})"


def has_text(query: str) -> bool:
    """Return whether a query has a word beside operators and names of fields, or asks for all."""
    pieces = (_FIELD.sub("", piece) for piece in _PIECE.findall(query) if piece not in _OPERATORS)
    return any(EVERYTHING in piece or _WORD.search(prepared(piece)) for piece in pieces)


def words_alone(query: str) -> str:
    """Return the words of any text, without anything that could be an operator or a field."""
    found = _WORD.findall(prepared(query))
    words = [word for word in found if word not in _WORDS] or found
    return " ".join(words[:MOST]).lower()


def as_code(query: str) -> str | None:
    """Return a query that tantivy rejects with its code as phrases; None if it has no code."""
    if _CODE.search(query) is None:
        return None
    pieces = (_quoted(piece) for piece in re.findall(r'"[^"]*"?|[^\s"]+', query))
    return " ".join(filter(None, pieces))


def _quoted(piece: str) -> str:
    is_understood = piece.startswith('"') or piece in _WORDS
    if is_understood or _FILTER.fullmatch(piece):
        return piece
    sign = piece[0] if piece[0] in "+-" else ""
    word = piece[len(sign) :]
    if _WORD.fullmatch(word):
        return piece
    if not re.search(r"\w", word):
        return ""
    return f'{sign}"{word}"'


def _site(value: str) -> str:
    """Return the query for pages of this host, and of hosts below it."""
    named = value.strip('"').removeprefix("*.").removeprefix(".")
    try:
        url = canonical(named if "://" in named else f"http://{named}")
    except InvalidUrl:
        url = "http:///?"
    if url.split("/", 3)[3]:
        raise BadQuery(
            f"site:{value}: expected a host name, or the end of one, such as example.org"
        )
    return f'site:"{host_of(url)}"^0'


def _day(value: str) -> str:
    found = _DATE.fullmatch(value.strip('"'))
    try:
        if found is not None:
            return f"{date(*(int(part or 1) for part in found.groups()))}T00:00:00Z"
    except ValueError:
        pass
    raise BadQuery(f"{value}: expected a day, month or year, such as 2026-11-30, 2026-11 or 2026")


_FILTERS: dict[str, Callable[[str], str]] = {
    "site": _site,
    "after": lambda value: f"fetched_at:[{_day(value)} TO *]",
    "before": lambda value: f"fetched_at:{{* TO {_day(value)}}}",
}
