"""`webcrawl diff`: what differs between two crawls."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from webcrawl.base.dates import iso
from webcrawl.base.program import ExitStatus, program
from webcrawl.base.readable import count, readable
from webcrawl.store.errors import StoreError
from webcrawl.tools.tool_command import (
    ToolCommand,
    discard_further_output,
    print_line,
    usage_error,
    write_out,
    write_text,
)

if TYPE_CHECKING:
    from webcrawl.tools.crawl_diff import Change, CrawlDiff

SIGNS = {"added": "+", "gone": "-", "moved": ">", "changed": "~"}


class Command(ToolCommand):
    """Reads finished archive files, and changes nothing (docs/diff.md)."""

    summary = "Compare two crawls: pages that are new, gone, moved, or have another text"
    usage = "BEFORE [AFTER] [options]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--host", metavar="NAME", help="only pages of this host")
        parser.add_argument("--brief", action="store_true", help="without the texts' differences")
        shape = parser.add_mutually_exclusive_group()
        shape.add_argument("--json", action="store_true", help="print one JSON object per page")
        shape.add_argument("--feed", action="store_true", help="print an Atom feed")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Compare the two crawls, or the first and the last visits of one."""
        if not 1 <= len(args) <= 2:
            raise usage_error(
                f"one or two crawls: {program()} diff crawls/monday crawls/tuesday; "
                "of one with revisits, its first and last visits are compared"
            )
        # Scrapy imports every command for any
        from webcrawl.record.warc.archive_files import NoArchive  # noqa: PLC0415
        from webcrawl.record.warc.unpacked_stream import TornRecord  # noqa: PLC0415
        from webcrawl.store.jobdir.crawls import HIVE, is_crawl  # noqa: PLC0415
        from webcrawl.store.jobdir.index_line import BadLine  # noqa: PLC0415
        from webcrawl.tools.absent_archives import absent_archives  # noqa: PLC0415
        from webcrawl.tools.crawl_diff import CrawlDiff  # noqa: PLC0415

        try:
            with tempfile.TemporaryDirectory(prefix="webcrawl-") as folder:
                diff = CrawlDiff([args[0]], [args[-1]], Path(folder), opts.host)
                for line in chain.from_iterable(map(absent_archives, args)):
                    sys.stderr.write(f"{line}\n")
                try:
                    self._print(diff, opts)
                finally:
                    diff.close()
        except BrokenPipeError:
            discard_further_output()
        except (NoArchive, StoreError, OSError) as error:
            self.fail(error)
        except (TornRecord, BadLine) as error:
            # Only crawls and hives can be verified
            folders = [Path(argument) for argument in args]
            can_verify = any(is_crawl(folder) or (folder / HIVE).exists() for folder in folders)
            hint = f": {program()} verify says where" if can_verify else ""
            self.fail(f"{error}: the archive is damaged{hint}")

    def _print(self, diff: CrawlDiff, opts: argparse.Namespace) -> None:
        """Print the changes; exit status 1 if a page could not be read."""
        _print_left_out(diff)
        is_for_programs = opts.json or opts.feed
        for line in _lines(diff, opts):
            write_text(f"{line}\n")
        write_out()
        if not is_for_programs:
            print_line(_totals(diff))
        if diff.unread:
            sys.stderr.write(
                f"{count(len(diff.unread), 'page')} could not be read: its text may have changed\n"
            )
            self.exitcode = ExitStatus.FAILED


def _print_left_out(diff: CrawlDiff) -> None:
    """Print a line for each unfinished archive file, and for each crawl with URLs left."""
    for path in diff.unfinished:
        sys.stderr.write(f"{readable(str(path))}: not finished, and left out\n")
    for folder, left, is_later in diff.incomplete:
        kind = "gone" if is_later else "added"
        queued = f", with {count(left, 'URL')} queued" if left else ""
        sys.stderr.write(
            f"{readable(str(folder))}: not complete{queued}; what it "
            f"has not fetched is listed as {kind}\n"
        )


def _lines(changes: Iterable[Change], opts: argparse.Namespace) -> Iterator[str]:
    """Yield the lines of the output. Lines for people have control characters escaped."""
    if opts.json:
        return (json.dumps(change.as_dict()) for change in changes)
    if opts.feed:
        return _feed(changes)
    return map(readable, _table(changes, brief=opts.brief))


def _table(changes: Iterable[Change], *, brief: bool) -> Iterator[str]:
    for host, of_host in groupby(changes, key=lambda change: change.host):
        yield host
        for change in of_host:
            yield f"  {SIGNS[change.kind]} {change.url}{_note(change)}"
            if not brief:
                yield from (f"      {line}" for line in change.text)


def _note(change: Change) -> str:
    """Return where a page has moved to, or the status of a page that is gone."""
    if change.kind == "moved":
        return f" -> {change.target}"
    if change.kind == "gone":
        return f" ({change.status})" if change.status else " (the later crawl has no answer)"
    return ""


def _totals(diff: CrawlDiff) -> str:
    changes = ", ".join(f"{number} {kind}" for kind, number in diff.counts.items())
    same = f"{diff.unchanged} the same, {diff.markup} with the same text in another markup"
    hidden = "not seen behind block pages, logins or errors"
    blocked = f", {diff.unclear} {hidden}" if diff.unclear else ""
    return f"{changes}; {same}{blocked}"


def _feed(changes: Iterable[Change]) -> Iterator[str]:
    """Yield an Atom feed with an entry for each page."""
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield '<feed xmlns="http://www.w3.org/2005/Atom">'
    updated = f"<updated>{iso(time.time(), fraction=False)}</updated>"
    yield f"<title>Pages that differ</title><id>urn:webcrawl:diff</id>{updated}"
    for change in changes:
        title = escape(f"{change.kind}: {change.url}{_note(change)}")
        link = quoteattr(change.target or change.url)
        text = escape("\n".join(change.text))
        yield (
            f"<entry><title>{title}</title>"
            f"<id>{escape(change.url)}</id>{updated}<link href={link}/>"
            f"<category term={quoteattr(change.kind)}/><content>{text}</content></entry>"
        )
    yield "</feed>"
