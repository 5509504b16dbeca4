"""`webcrawl search`: finds pages of a crawl by their words."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.base.loading import missing
from webcrawl.base.program import ExitStatus, program
from webcrawl.base.readable import count, readable
from webcrawl.store.errors import StoreError
from webcrawl.tools.crawl_search import search_of
from webcrawl.tools.tool_command import (
    ToolCommand,
    discard_further_output,
    print_error,
    usage_error,
    whole_number,
    write_out,
    write_text,
)

if TYPE_CHECKING:
    from webcrawl.record.fulltext.text_search import FoundPage, Snippet

BOLD = "\x1b[1m"
PLAIN = "\x1b[0m"
MAX_PAGES = 10_000


class Command(ToolCommand):
    """Searches the full-text index of a crawl or hive.

    Exit status 0, found or not; 1 if an index is missing, 2 without a query.
    """

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
        """Print the pages that match, and each index that could not be searched."""
        if "--" in args:
            args.remove("--")
        query = " ".join(args[1:])
        if not query.strip():
            raise usage_error(f"give a folder and words: {program()} search JOBDIR WORDS...")
        max_pages = whole_number("-n", opts.most, 1, MAX_PAGES)
        try:
            search = search_of(Path(args[0]))
            total, pages = search.find(query, max_pages)
            if search.remark:
                print_error(search.remark)
            if opts.json:
                _print_json(pages)
            else:
                _print_text(total, pages)
            write_out()
            for error in search.unread:
                self._fail(f"{error}; its pages are not among these")
        except ImportError:
            self._fail(missing("tantivy"), as_json=opts.json)
        except BrokenPipeError:
            discard_further_output()
        except (StoreError, OSError) as error:
            self._fail(error, as_json=opts.json)

    def _fail(self, why: object, *, as_json: bool = False) -> None:
        print_error(why, as_json=as_json)
        self.exitcode = ExitStatus.FAILED


def _print_json(pages: Iterable[FoundPage]) -> None:
    for page in pages:
        write_text(f"{json.dumps(page.as_row())}\n")


def _print_text(total: int, pages: Iterable[FoundPage]) -> None:
    """Print title, URL, snippet and copies of each page, then how many pages there are."""
    printed = 0
    is_terminal = sys.stdout.isatty()
    for page in pages:
        printed += 1
        title = _one_line(page.title) or "(no title)"
        snippet = _with_bold_words(page.snippet) if is_terminal else _one_line(page.snippet[0])
        lines = (
            f"{printed}. {title}",
            f"   {_one_line(page.url)}",
            f"   {snippet}",
            f"   {_similar(page.similar)}",
        )
        write_text("\n".join(line for line in lines if line.strip()) + "\n\n")
    if printed < total:
        write_text(f"{printed} of {total} pages\n")
    else:
        write_text(f"{count(total, 'page')}\n")


def _similar(urls: list[str]) -> str:
    """Return a note on pages with nearly the same text; empty if there are none."""
    if not urls:
        return ""
    more = f" and {len(urls) - 1} more" if len(urls) > 1 else ""
    return f"nearly the same: {_one_line(urls[0])}{more}"


def _with_bold_words(snippet: Snippet) -> str:
    """Return a snippet with the found words in bold, and control characters of the page escaped."""
    text, ranges = snippet
    pieces = []
    last_end = 0
    for start, end in ranges:
        pieces += [_one_line(text[last_end:start]), BOLD, _one_line(text[start:end]), PLAIN]
        last_end = end
    return "".join([*pieces, _one_line(text[last_end:])])


def _one_line(text: str) -> str:
    """Return a text on one line, with control characters escaped."""
    return readable(text.replace("\n", " "))
