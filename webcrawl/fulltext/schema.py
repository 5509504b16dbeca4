"""The index's fields (docs/outputs.md), and how tantivy cuts texts into words."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import tantivy

from webcrawl.fulltext.words import prepared
from webcrawl.urls.hosts import host_of

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
