"""The index's fields (docs/outputs.md), and what counts as a word, in any language: the same for pages and queries.

A word is a run of letters and digits, in lower case and without accents (tantivy's tokenizer and filters). In writing
without spaces between words each character stands for itself: `prepared` puts marks between them that are neither
white space nor part of a word. A query of several such characters is then a phrase, and finds them side by side.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime
from typing import Any

import tantivy

from webcrawl.base.hosts import host_of

MARK, _MARK = "\u200b", "\u200b".encode()  # zero width space: in pages it means a possible line break
# Han, kana, Hangul, bopomofo, Thai, Lao, Myanmar and Khmer letters, their marks and digits, compatibility forms too.
_SPACELESS = (
    "\u0e01-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3021-\u3029\u3038-\u303c\u3041-\u312f\u3131-\u318e"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\ua9e0-\ua9fe\uaa60-\uaa7f\uac00-\ud7fb\uf900-\ufaff"
    "\uff66-\uffdc\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)
_RUN = re.compile(f"[{_SPACELESS}]+")
# The bytes of UTF-8 with which such a character, or one of _FOLDS, may begin: most pages have neither.
_MAY_STAND_ALONE = bytes((0xE0, 0xE1, *range(0xE3, 0xF5)))
_MAY_FOLD = bytes((*range(0xCD, 0xD2), 0xD8, 0xD9, 0xE1))
_LETTERS_OF_THEIR_OWN = "\u0419\u0439"  # Cyrillic short I


def _folds() -> dict[int, str]:
    """Letters with accents that tantivy's filter leaves as they are, since it knows Latin ones; each becomes one."""
    folds = {0x0623: "\u0627", 0x0625: "\u0627", 0x0622: "\u0627", 0x0649: "\u064a"}  # forms of alef, and of ya
    for code in (*range(0x370, 0x460), *range(0x1F00, 0x2000)):
        first, *marks = tuple(unicodedata.normalize("NFD", chr(code)))
        if marks and all(map(unicodedata.combining, marks)) and chr(code) not in _LETTERS_OF_THEIR_OWN:
            folds[code] = first
    return folds | {ord(MARK): " "}


_FOLDS = _folds()


def normal(text: str) -> str:
    """The text with composed characters; `prepared` changes each of these into one, and adds marks."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def prepared(text: str) -> str:
    """The form of a text in which it is indexed and searched for."""
    text = normal(text)
    if text.isascii():
        return text
    data = text.encode(errors="replace")
    if _MARK in data or len(data.translate(None, _MAY_FOLD)) < len(data):
        text = text.translate(_FOLDS)
    if len(data.translate(None, _MAY_STAND_ALONE)) < len(data):
        text = _RUN.sub(_marked, text)
    return text


def _marked(run: re.Match[str]) -> str:
    """The characters apart from each other, and from what stands beside them."""
    before = MARK if run.start() and run.string[run.start() - 1].isalnum() else ""
    return f"{before}{MARK.join(run[0])}{MARK}"


def place(text: str, at: int) -> int:
    """The position in the normal text of a character of the prepared one."""
    return at - text.count(MARK, 0, at)


ANALYZER = "words"
LONGEST = 100  # bytes of a word; what is longer is data
SEARCHED = {"title": 3.0, "headings": 1.5, "body": 1.0}  # fields in which a word is looked for, and their weights
ORDINAL = "ordinal"
BLANK = "(none)"  # in place of the host of a page that has no text any more: no search finds it


def schema() -> tantivy.Schema:
    """`file` and `offset` say where the page's line lies: the number of its file, and the member's first byte."""
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field(ORDINAL, stored=True, indexed=True, fast=True)
    builder.add_text_field("url", stored=True, tokenizer_name="raw", index_option="basic")
    for name in ("host", "domain"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in (*SEARCHED, "language"):
        builder.add_text_field(name, tokenizer_name=ANALYZER)
    builder.add_date_field("fetched_at", stored=True, indexed=True, fast=True)
    for name in ("file", "offset"):
        builder.add_unsigned_field(name, stored=True)
    return builder.build()


def register(index: tantivy.Index) -> None:
    """Gives the analyzer to an index that was just opened."""
    words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    for one in (tantivy.Filter.remove_long(LONGEST), tantivy.Filter.lowercase(), tantivy.Filter.ascii_fold()):
        words = words.filter(one)
    index.register_tokenizer(ANALYZER, words.build())


def unfindable(document: dict[str, Any]) -> dict[str, Any]:
    """The document of a page that no question may find: the index counts its pages, so it has one."""
    nothing = {"host": "", "domain": "", "language": "", **dict.fromkeys(SEARCHED, "")}
    return {**document, **nothing, "headings": []}


def fields(line: dict[str, Any], domain: str, file: int, offset: int) -> dict[str, Any]:
    """The document of a page's line; of one without text only that there is none any more."""
    if not line["text"]:
        about = {ORDINAL: line["ordinal"], "url": line["url"], "host": BLANK, "file": file, "offset": offset}
        return {**about, "fetched_at": datetime.fromisoformat(line["fetched_at"])}
    return {
        ORDINAL: line["ordinal"],
        "url": line["url"],
        "host": host_of(line["url"]),
        "domain": domain,
        "title": prepared(line["title"]),
        "headings": [prepared(heading) for heading in line["headings"]],
        "body": prepared(line["text"]),
        "language": line["language"],
        "fetched_at": datetime.fromisoformat(line["fetched_at"]),
        "file": file,
        "offset": offset,
    }
