"""`webcrawl search`: finds pages of a crawl by their words."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.base.loading import missing
from webcrawl.base.program import ExitStatus, program
from webcrawl.base.readable import readable
from webcrawl.store.errors import StoreError
from webcrawl.tools.crawl_search import search_of
from webcrawl.tools.tool_command import (
    ToolCommand,
    ignore_closed_pipe,
    print_error,
    usage_error,
    whole_number,
)

if TYPE_CHECKING:
    from webcrawl.record.fulltext.text_search import FoundPage, Snippet

BOLD, PLAIN = "\x1b[1m", "\x1b[0m"
MOST = 10_000


class Command(ToolCommand):
    """Exit status 0, found or not; 1 if an index is missing, 2 without a query."""

    summary = "Search the text of the pages (OUTPUTS=index)"
    usage = "JOBDIR WORDS... [-n 10] [--json]"
    accepts_dashed_words = True

    def long_desc(self) -> str:
        return (
            "Prints title, URL and a piece of the text of the pages that have both words, or of more than two words"
            " more than half, the best first; the OUTPUTS of the crawl must name index. Other forms of a word count as"
            ' well. Queries: "words side by side", +needed, -without, this OR that, site:example.com, after:2026-11-01,'
            " before:2026, title:word, language:en. Any other text is searched as its words. Write -- before the words"
            " if one looks like an option."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "-n", metavar="N", dest="most", default="10", help="print at most N pages (default: 10)"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object per page")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if "--" in args:
            args.remove("--")
        query = " ".join(args[1:])
        if not query.strip():
            raise usage_error(f"give a folder and words: {program()} search JOBDIR WORDS...")
        most = whole_number("-n", opts.most, 1, MOST)
        fail = partial(self._fail, as_json=opts.json)
        try:
            search = search_of(Path(args[0]))
            total, answers = search.find(query, most)
            if search.remark:
                print_error(search.remark)
            (_as_json if opts.json else _as_text)(total, answers)
            for error in search.unread:
                self._fail(ExitStatus.FAILED, f"{error}; its pages are not among these")
        except ImportError:
            fail(ExitStatus.FAILED, missing("tantivy"))
        except BrokenPipeError:
            ignore_closed_pipe()
        except (StoreError, OSError) as error:
            fail(ExitStatus.FAILED, str(error))

    def _fail(self, status: int, why: str, *, as_json: bool = False) -> None:
        print_error(why, as_json=as_json)
        self.exitcode = status


def _as_json(total: int, answers: Iterable[FoundPage]) -> None:
    del total
    for answer in answers:
        sys.stdout.write(f"{json.dumps(answer.as_row())}\n")


def _as_text(total: int, answers: Iterable[FoundPage]) -> None:
    shown = 0
    bold = sys.stdout.isatty()
    for answer in answers:
        shown += 1
        title = _line(answer.title) or "(no title)"
        snippet = _marked(answer.snippet) if bold else _line(answer.snippet[0])
        lines = (
            f"{shown}. {title}",
            f"   {_line(answer.url)}",
            f"   {snippet}",
            f"   {_similar(answer.similar)}",
        )
        sys.stdout.write("\n".join(line for line in lines if line.strip()) + "\n\n")
    sys.stdout.write(
        f"{shown} of {total} pages\n" if shown < total else f"{total} page{'s' * (total != 1)}\n"
    )


def _similar(urls: list[str]) -> str:
    if not urls:
        return ""
    more = f" and {len(urls) - 1} more" if len(urls) > 1 else ""
    return f"nearly the same: {_line(urls[0])}{more}"


def _marked(snippet: Snippet) -> str:
    """Return the words in bold; what a terminal would obey in the page's text is spelled out."""
    text, ranges = snippet
    pieces, at = [], 0
    for start, end in ranges:
        pieces += [_line(text[at:start]), BOLD, _line(text[start:end]), PLAIN]
        at = end
    return "".join([*pieces, _line(text[at:])])


def _line(text: str) -> str:
    """Return a text on one line, harmless to a terminal."""
    return readable(text.replace("\n", " "))
