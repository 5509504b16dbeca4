"""`scrapy verify`: whether all is there that a crawl left, and as it was written."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from webcrawl.logs.readable import readable
from webcrawl.store.errors import StoreError
from webcrawl.verify.whole import verify


class Command(ScrapyCommand):
    """Exit status 0 and a summary, or 1 and a line a damaged place; docs/operations.md has examples."""

    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "JOBDIR"

    def short_desc(self) -> str:
        return "Check every file that a crawl left, and change none: it may be running"

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        del opts
        if len(args) != 1:
            raise UsageError
        found: Counter[str] = Counter()
        damages = 0
        try:
            for damage in verify(Path(args[0]), found):
                damages += 1
                _say(str(damage))
        except (StoreError, OSError) as error:
            sys.stderr.write(f"{readable(' '.join(str(error).split()))}\n")
            self.exitcode = 1
            return
        if damages:
            _say(f"{args[0]}: damaged places: {damages}")
            self.exitcode = 1
        else:
            for line in _summary(args[0], found):
                _say(line)


def _summary(jobdir: str, found: Counter[str]) -> list[str]:
    outputs = f"outputs: {found['files']} files of {found['bytes']} bytes, {found['records']} WARC records"
    lines = [
        f"{jobdir}: all is there",
        f"frontier: {found['queued']} URLs queued, {found['hosts']} hosts, robots.txt of {found['robots']}",
        f"seen: {found['keys']} URLs, {found['waiting']} links not yet judged",
        f"{outputs}, {found['lines']} log lines",
    ]
    if found["behind"]:
        lines.append(f"{found['behind']} bytes were written after the last checkpoint: the next start cuts them off")
    return lines


def _say(line: str) -> None:
    """A damaged name may be anything."""
    sys.stdout.write(f"{readable(line)}\n")
    sys.stdout.flush()
